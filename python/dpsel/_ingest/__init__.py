"""Sources: every kind of data becomes a source that the core reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dpsel import _core_calls
from dpsel._arguments import as_name_of_file, as_path_or_address, type_name, with_article
from dpsel._core_calls import Source
from dpsel._ingest import _frames
from dpsel._ingest._c_schema import checked, exported
from dpsel._ingest._delimiters import delimiter_of
from dpsel._ingest._foreign import opened
from dpsel._ingest._libraries import library_of
from dpsel._ingest._plain import Plain, of_columns, of_iterator, of_numpy, of_records, of_scipy
from dpsel._ingest._remote import is_remote, scan
from dpsel._ingest._tokens import Tokens
from dpsel._request import NamedColumns, columns_of
from dpsel.exceptions import DpselError, InvalidParameterError, SchemaError
from dpsel.formats import Csv, local_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel._core_calls import Job
    from dpsel._restored import Restored
    from dpsel.typing import FileFormat

T = TypeVar("T")
#: What classes of tables have as attributes; a list of pairs has none of them.
_DECLARES = ("columns", "column_names", "dtypes", "dtype", "fields", "schema")

__all__ = [
    "Opened",
    "Tokens",
    "as_paths",
    "is_read_once",
    "may_be_quoted",
    "open_columns",
    "open_data",
    "source_of",
]


@dataclass(frozen=True)
class Opened:
    """Data that is ready to be read once.

    Args:
        source: What the core reads.
        returns: The kind of table to return.
        has_named_columns: False for pairs.
        restored: The types of columns to restore.
        failure: Why the source could not be opened. It may tell of rows, so it is raised when they are read.
        declared: A table without rows that has the types, where the library declares them.
    """

    source: Source
    returns: str
    has_named_columns: bool = True
    restored: Restored | None = None
    failure: DpselError | None = None
    declared: Any = None

    def read(self, reader: Callable[[Source, Job], T], job: Job) -> T:
        """Return what ``reader`` makes of the source."""
        if self.failure is not None:
            raise self.failure
        return reader(self.source, job)

    def check(self, job: Job) -> None:
        """Refuse what needs no row: missing columns, types, files, and lists that do not fit the types.

        It must cost no budget, and a budget must have paid for all else.
        """
        if self.failure is None:
            _core_calls.check_source(self.source, job, self.declared)


def open_columns(
    data: object, user: object, item: object, file_format: FileFormat | None, tokens: Tokens | None = None
) -> Opened:
    """Recognise the data; a table must have its columns named."""
    named = user is not None and item is not None
    if isinstance(data, list | tuple) and not data and (named or file_format is not None):
        # Pairs need no names, paths do: this is a search for files that found none.
        raise InvalidParameterError(
            f"the {type_name(data)} is empty and names no file; name at least one, or pass iter(data) "
            "if it is to hold pairs"
        )
    opened = open_data(data, columns=columns_of(user, item), file_format=file_format, tokens=tokens)
    if opened.has_named_columns and not named:
        missing = [name for name, given in (("user", user), ("item", item)) if given is None]
        written = ", ".join(f"{name}='...'" for name in missing)
        raise InvalidParameterError(
            f"user and item must name columns of the table, got no {' and no '.join(missing)}; "
            f"write {written}"
        )
    return opened


def open_data(
    data: object, *, columns: NamedColumns, file_format: FileFormat | None, tokens: Tokens | None = None
) -> Opened:
    """Recognise ``data``; nothing is read yet.

    Args:
        data: Any source.
        columns: The needed columns, for projection; empty if they are not named.
        file_format: The format of files; refused for everything else.
        tokens: The tokens of a function of the caller's, which are the items.

    Raises:
        SchemaError: If it is nothing that can be read; the message has the fix.
        InvalidParameterError: If ``file_format`` does not apply.
        DataError: If a table's own library fails to open it.
    """
    paths = as_paths(data)
    if paths is not None and tokens is not None:
        raise InvalidParameterError(
            'tokenizer must be "words", "chars" or "subwords" for files, got a function; open them with a '
            "library, such as polars.scan_parquet, and pass that"
        )
    if paths is not None:
        return opened(lambda: _open_paths(data, paths, columns, file_format))
    if file_format is not None:
        raise InvalidParameterError(f"file_format applies to paths only, got {type_name(data)}; leave it out")
    return opened(lambda: _open_object(data, columns, tokens))


def _open_paths(
    data: object, paths: list[str], columns: NamedColumns, file_format: FileFormat | None
) -> Opened:
    quoted = may_be_quoted(data)
    if any(map(is_remote, paths)):
        return _of_frame(scan(paths, columns, file_format, may_be_fetched=quoted), columns)
    return Opened(source_of(paths, file_format, quoted=quoted), "table")


def _of_frame(lazy: Any, columns: NamedColumns) -> Opened:
    # As for files that the core reads, the items come back as a table without a library.
    return replace(_open_object(lazy, columns), returns="table", restored=None)


def source_of(paths: list[str], file_format: FileFormat | None, *, quoted: bool) -> Source:
    """Return files as a source, which opens none of them yet."""
    if isinstance(file_format, Csv):
        given = file_format.delimiter
        delimiter = delimiter_of(paths, quoted=quoted) if given is None else given
        return Source.files(
            paths,
            None,
            quoted=quoted,
            delimiter=delimiter,
            header=file_format.header,
            quote=file_format.quote,
            escape=file_format.escape,
        )
    # Half of a surrogate pair is no text for the core, and names no format.
    name: Any = None if file_format is None else file_format.encode(errors="replace").decode()
    return Source.files(paths, name, quoted=quoted)


def _open_object(data: object, columns: NamedColumns, tokens: Tokens | None = None) -> Opened:
    if isinstance(data, type):
        raise SchemaError(f"{data.__name__} is a class, which has no rows; pass a table that is one")
    library = library_of(data)
    if library == "pyspark":
        # Before the Arrow protocol: from 4.2 on a Spark DataFrame has it, and would stream every partition
        # through the driver without a word.
        raise SchemaError(
            "a Spark DataFrame is selected from where it is; call dpsel.spark.select_partitions or "
            "dpsel.spark.select_top_k instead"
        )
    if (adapter := _frames.ADAPTERS.get(library)) and (adapted := adapter(data, columns)):
        return _open_adapted(adapted, columns, tokens)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _open_adapted(_frames.Adapted(data, "table"), columns, tokens)
    if plain := _plain_of(library, data, columns):
        return _open_plain(plain, columns, tokens)
    return _open_pairs(data, columns, tokens)


def _open_adapted(adapted: _frames.Adapted, columns: NamedColumns, tokens: Tokens | None) -> Opened:
    declared = adapted.declared
    if declared is not None:
        declared = checked(declared, columns)
    elif not adapted.in_batches:
        # Only the opened stream tells the types, so it is opened now, which may run a query.
        try:
            adapted = replace(adapted, source=opened(lambda: exported(adapted.source)))
        except DpselError as failure:
            return Opened(Source.pairs(()), adapted.returns, failure=failure)
        adapted = replace(adapted, source=checked(adapted.source, columns))
    if tokens is not None:
        rows = tokens.of_table(adapted.source, columns.items, in_batches=adapted.in_batches)
        if adapted.declared is not None:
            tokens.check(adapted.declared, columns.items[0])
        return Opened(Source.batches(rows, adapted.names), adapted.returns, declared=declared)
    if adapted.in_batches:
        source = Source.batches(adapted.source, adapted.names)
    else:
        source = Source.stream(adapted.source, adapted.found, adapted.names)
    return Opened(source, adapted.returns, restored=adapted.restored, declared=declared)


def _plain_of(library: str, data: object, columns: NamedColumns) -> Plain | None:
    """Recognise arrays, records and columns by name; ``None`` for all else."""
    if library == "numpy" and hasattr(data, "dtype") and data.dtype.kind != "O":
        return of_numpy(data, columns)
    if library == "scipy" and hasattr(data, "tocoo"):
        return of_scipy(data, columns)
    if isinstance(data, Mapping):
        return of_columns(data, columns)
    if isinstance(data, Sequence) and data and not isinstance(data, str | bytes):
        if isinstance(data[0], Mapping):
            return of_records(data, columns)
        if _is_table(data[0]):
            raise SchemaError(
                f"the {type_name(data)} holds tables ({type_name(data[0])}); join them to one first, for "
                "example with the concat of their library"
            )
    return None


def _is_table(data: object) -> bool:
    """Whether an object is a table, by its class, so that its elements are no pairs; a series is none."""
    if isinstance(data, tuple) or library_of(data) == "numpy" or hasattr(data, "dtype"):
        return False
    declared = (getattr(type(data), name, None) for name in _DECLARES)
    return hasattr(data, "__arrow_c_stream__") or any(
        each is not None and not callable(each) for each in declared
    )


def _open_plain(plain: Plain, columns: NamedColumns, tokens: Tokens | None) -> Opened:
    if tokens is not None and not plain.is_table:
        return replace(_open_pairs(plain.rows, columns, tokens), has_named_columns=plain.has_named_columns)
    if not plain.is_table:
        return Opened(Source.pairs(plain.rows), "list", has_named_columns=plain.has_named_columns)
    schema = plain.rows.schema
    adapted = _frames.Adapted(
        plain.rows,
        "list",
        found=plain.rows.found,
        names=list(schema.names),
        declared=_frames.without_rows(schema),
    )
    found = _open_adapted(adapted, columns, tokens)
    return replace(found, has_named_columns=plain.has_named_columns)


def _open_pairs(data: object, columns: NamedColumns, tokens: Tokens | None = None) -> Opened:
    if _is_table(data):
        raise SchemaError(
            f"{with_article(data)} declares columns and is not read here; convert it to a table of Arrow, "
            "polars or pandas, or to NumPy arrays in a dict of columns"
        )
    if isinstance(data, Mapping):
        raise SchemaError(
            f"{with_article(data)} is not a table; name its columns with user= and item=, or pass "
            "data.items() if it maps users to lists of items"
        )
    if hasattr(data, "read"):
        raise SchemaError(
            f"{type_name(data)} is an open file; pass its path, or the table that a library reads from it"
        )
    if isinstance(data, bytes | bytearray | memoryview) or not isinstance(data, Iterable):
        raise SchemaError(
            f"{type_name(data)} cannot be read; pass a DataFrame, an Arrow table, paths of files, "
            "or an iterable of (user, item) pairs"
        )
    rows = data
    if isinstance(data, Iterator) and len(columns.named) == len(columns):
        # Rows of named columns may be records. Only the first one tells.
        rows = of_iterator(data, columns)
    rows = rows if tokens is None else tokens.of_pairs(rows)
    return Opened(Source.pairs(rows), "list", has_named_columns=False)


def is_read_once(data: object) -> bool:
    """Whether ``data`` can be read once only: an iterator, a pipe, a device, the standard input."""
    return isinstance(data, Iterator) or any(_is_pipe(path) for path in as_paths(data) or ())


def _is_pipe(path: str) -> bool:
    # As the core decides it in `files/input.rs`.
    descriptor = re.match(r"/dev/fd/|/dev/stdin$|/proc/", path)
    return path == "-" or descriptor is not None or _is_no_file(path)


def _is_no_file(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)  # noqa: PTH110, PTH112, PTH113


def as_paths(data: object) -> list[str] | None:
    """Return the paths that ``data`` is, if it is a path or a list of them."""
    if isinstance(data, str | os.PathLike):
        return [_as_path(data)]
    if isinstance(data, list | tuple) and data and all(isinstance(path, str | os.PathLike) for path in data):
        return [_as_path(path) for path in data]
    return None


def may_be_quoted(data: object) -> bool:
    """Whether errors may quote the paths before they turn out to name files.

    A list of texts looks like a list of paths, and its elements are data. One path on its own, and what only
    a path can be, is what the caller wrote.
    """
    return isinstance(data, str | os.PathLike) or (
        isinstance(data, list | tuple) and all(isinstance(path, os.PathLike) for path in data)
    )


def _as_path(path: str | os.PathLike[Any]) -> str:
    text = os.fsdecode(path)
    if "\0" in text:  # of which the core says at which position
        return text
    found = local_path(as_path_or_address("data", text))
    return found if isinstance(path, str) else as_name_of_file("data", found)
