"""What names of folders and files tell: columns such as ``year=2026/``, and delimiters of text files."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from dpsel._core_calls import Source
from dpsel.exceptions import InvalidParameterError, SchemaError

if TYPE_CHECKING:
    from dpsel._request import NamedColumns
    from dpsel.typing import FileFormat

__all__ = ["delimiter_of", "scan_folders"]

_PARQUET: Final = (".parquet", ".pq")
_TABS: Final = (".tsv", ".tab")
#: What tools write for a missing value.
_MISSING: Final = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class _File:
    """A Parquet file, the columns that its folders name, and its own columns."""

    path: str
    folders: dict[str, str]
    schema: dict[str, Any]


def delimiter_of(paths: list[str], *, quoted: bool) -> str:
    """Return the delimiter that the names of all files tell: a tab, or a comma.

    Raises:
        InvalidParameterError: If some names tell one and some the other.
        FileError: If the core refuses the paths.
    """
    names = [file.lower() for file, _ in _files_of(paths, "csv", quoted=quoted)]
    with_tabs = [name.removesuffix(".gz").removesuffix(".zst").endswith(_TABS) for name in names]
    if any(with_tabs) and not all(with_tabs):
        raise InvalidParameterError(
            "delimiter must be given for files of which only some are .tsv or .tab, got none; "
            "read files of one kind, or name the character between two fields"
        )
    return "\t" if any(with_tabs) else ","


def scan_folders(
    paths: list[str], file_format: FileFormat | None, columns: NamedColumns, *, quoted: bool
) -> Any | None:
    """Return a lazy frame of the needed columns, if folders name one; ``None`` leaves all to the core.

    Columns of folders are text: a type that follows from the names of folders would follow from which folders
    there are. A column of the files is never taken from a folder.

    Raises:
        SchemaError: If a column is one of some files and not of all, or its types differ.
        FileError: If the core refuses the paths.
    """
    wanted = list(dict.fromkeys(columns))
    if not wanted or file_format not in (None, "parquet"):
        return None
    found = _files_of(paths, file_format, quoted=quoted)
    if not all(file.lower().endswith(_PARQUET) and os.path.isfile(file) for file, _ in found):  # noqa: PTH113
        return None
    named = [(file, _folders_of(file, given)) for file, given in found]
    if not any(name in folders for _, folders in named for name in wanted):
        return None
    files = [_File(file, folders, _schema_of(file)) for file, folders in named]
    own = [name for name in wanted if _stands_in_files(name, files)]
    from_folders = [name for name in wanted if name not in own and name in files[0].folders]
    if not from_folders:
        return None
    return _frame(files, {name: _common_type(name, files) for name in own}, from_folders)


def _schema_of(file: str) -> dict[str, Any]:
    # Not by its name, in which polars expands patterns.
    with Path(file).open("rb") as opened:
        return dict(_polars().read_parquet_schema(opened))


def _frame(files: list[_File], own: dict[str, Any], from_folders: list[str]) -> Any:
    """One scan for all files with the same columns and folders."""
    pl = _polars()
    groups: dict[Any, list[_File]] = {}
    for file in files:
        alike = (tuple(file.schema.items()), tuple(file.folders[name] for name in from_folders))
        groups.setdefault(alike, []).append(file)
    frames = []
    for group in groups.values():
        # From the root on, no name is an address or a home.
        paths = [os.path.abspath(file.path) for file in group]  # noqa: PTH100 - links stay as they are
        rows = pl.scan_parquet(paths, hive_partitioning=False, glob=False)
        values = {name: _value(group[0].folders[name]) for name in from_folders}
        columns = [pl.col(name).cast(kind) for name, kind in own.items()]
        columns += [pl.lit(value, dtype=pl.String).alias(name) for name, value in values.items()]
        frames.append(rows.with_columns(columns).select([*own, *from_folders]))
    return pl.concat(frames, how="vertical")


def _stands_in_files(name: str, files: list[_File]) -> bool:
    """Whether a column is one of the files. Otherwise it is one of all folders, or of none.

    Raises:
        SchemaError: If neither holds: one column would mean two things.
    """
    in_files = {name in file.schema for file in files}
    in_folders = {name in file.folders for file in files}
    if in_files == {True} or (len(in_files) == 1 and len(in_folders) == 1):
        return in_files == {True}
    raise SchemaError(
        f"column '{name}' is named by some folders or files and not by all; give every file the column, "
        "or every file a folder that names it"
    )


def _common_type(name: str, files: list[_File]) -> Any:
    """Return the type that holds the values of a column of every file, as the core has it.

    Raises:
        SchemaError: If there is none.
    """
    pl = _polars()
    signed, unsigned = [pl.Int8, pl.Int16, pl.Int32, pl.Int64], [pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]
    texts = (pl.String, pl.Categorical, pl.Enum)
    kinds = [file.schema[name] for file in files]
    kinds = [pl.String() if isinstance(kind, texts) else kind for kind in kinds if kind != pl.Null]
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0] if kinds else pl.String()
    for order in (signed, unsigned):
        if all(kind in order for kind in kinds):
            return max(kinds, key=order.index)
    if all(kind in signed + unsigned[:-1] for kind in kinds):
        return pl.Int64()
    raise SchemaError(
        f"column '{name}' has types in some files that no type of the others holds; give all files of one "
        "source the same column types"
    )


def _files_of(paths: list[str], file_format: Any, *, quoted: bool) -> list[tuple[str, str]]:
    """Return the files that the core would read, each once, and the path that names each."""
    named = Source.files(paths, file_format, quoted=quoted).named_files()
    return [(os.fspath(file), paths[place]) for place, file in named]


def _folders_of(file: str, given: str) -> dict[str, str]:
    """Return the columns that folders name, from the given path on.

    Folders above it name none, apart from an unbroken row of such folders that ends with it: ``rows/year=1``
    is the same part of a table, whether ``rows`` or this folder is given.

    Raises:
        SchemaError: If two folders of one path name the same column.
    """
    root = os.path.abspath(_unpatterned(given))  # noqa: PTH100 - links stay as they are
    while os.path.basename(root).find("=") > 0:  # noqa: PTH119
        root = os.path.dirname(root)  # noqa: PTH120
    below = os.path.relpath(os.path.abspath(file), root).split(os.sep)[:-1]  # noqa: PTH100, PTH206
    pairs = [part.partition("=")[::2] for part in below if part.find("=") > 0]
    folders = dict(pairs)
    if len(folders) < len(pairs):
        raise SchemaError("two folders of one path name the same column; rename one of them")
    return folders


def _unpatterned(given: str) -> str:
    """Return the folder that a path starts from: itself, that of a file, or what stands before a pattern."""
    if os.path.isdir(given):  # noqa: PTH112
        return given
    root = os.path.dirname(given)  # noqa: PTH120
    while not os.path.exists(root or os.curdir):  # noqa: PTH110
        root = os.path.dirname(root)  # noqa: PTH120
    return root


def _value(text: str) -> str | None:
    """Return the value that a name of a folder stands for: tools write some characters as ``%2F``."""
    return None if text == _MISSING else unquote(text, errors="strict")


def _polars() -> Any:
    try:
        return importlib.import_module("polars")
    except ImportError:
        raise SchemaError(
            "a column is named by folders, and polars reads such files, which is not installed; "
            'pip install "dpsel[remote]"'
        ) from None
