"""What names of folders and files tell: columns such as ``year=2026/``, and delimiters of text files."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Final

from dpsel.exceptions import InvalidParameterError, SchemaError

if TYPE_CHECKING:
    from dpsel._request import NamedColumns
    from dpsel.typing import FileFormat

__all__ = ["delimiter_of", "names_a_folder", "scan_folders"]

_PARQUET: Final = (".parquet", ".pq")
_TABS: Final = (".tsv", ".tab")


def names_a_folder(paths: list[str], file_format: FileFormat | None, columns: NamedColumns) -> bool:
    """Whether all are Parquet, and a wanted column stands in the path of the first file and not in it."""
    if file_format not in (None, "parquet") or not columns:
        return False
    files = [file for path in paths for file in _files_of(path)]
    if not files or not all(file.lower().endswith(_PARQUET) for file in files):
        return False
    wanted = set(columns) & set(_folder_names(files[0]))
    return bool(wanted) and not wanted <= set(_polars().read_parquet_schema(files[0]))


def delimiter_of(paths: list[str]) -> str:
    """Return the delimiter that the names of all files tell: a tab, or a comma.

    Raises:
        InvalidParameterError: If some names tell one and some the other.
    """
    # A path that names no file is refused when it is read, so its own name does.
    names = [name.lower() for path in paths for name in _files_of(path) or [path]]
    with_tabs = [name.removesuffix(".gz").removesuffix(".zst").endswith(_TABS) for name in names]
    if any(with_tabs) and not all(with_tabs):
        raise InvalidParameterError(
            "delimiter must be given for files of which only some are .tsv or .tab, got none; "
            "read files of one kind, or name the character between two fields"
        )
    return "\t" if any(with_tabs) else ","


def scan_folders(paths: list[str]) -> Any:
    """Return a lazy frame of the files, in which the columns of folders are text.

    Text, because a type that follows from the names of folders would follow from which folders there are.
    """
    pl = _polars()
    files = [file for path in paths for file in _files_of(path)]
    text = dict.fromkeys((name for file in files for name in _folder_names(file)), pl.String)
    return pl.scan_parquet(files, hive_partitioning=True, hive_schema=text, glob=False)


def _files_of(path: str) -> list[str]:
    """Return the files of a path, folder or pattern, in order."""
    import glob

    if os.path.isdir(path):  # noqa: PTH112 - as the core sees it
        inside = glob.glob("**/*", root_dir=path, recursive=True)  # noqa: PTH207 - hidden files are left out
        shown = [name for name in inside if not any(map(_is_hidden, _parts(name)))]
        found = [os.path.join(path, name) for name in shown]  # noqa: PTH118 - a text goes on
    elif os.path.exists(path):  # noqa: PTH110
        found = [path]
    else:
        found = glob.glob(path, recursive=True)  # noqa: PTH207
    return sorted(filter(os.path.isfile, found))


def _is_hidden(name: str) -> bool:
    """As the core decides it in ``files/expand.rs``."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _folder_names(file: str) -> list[str]:
    """Return the names of columns that the folders of a file give."""
    return [part.partition("=")[0] for part in _parts(file)[:-1] if part.find("=") > 0]


def _parts(path: str) -> list[str]:
    return path.replace(os.altsep or os.sep, os.sep).split(os.sep)  # noqa: PTH206 - a text goes on


def _polars() -> Any:
    try:
        return importlib.import_module("polars")
    except ImportError:
        raise SchemaError(
            "a column is named by folders, and polars reads such files, which is not installed; "
            'pip install "dpsel[remote]"'
        ) from None
