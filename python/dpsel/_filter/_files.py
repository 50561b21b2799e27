"""The rows of files whose item was released, written to another file of the same format.

Files are found, and text is read, as in a selection; the core copies the rows of text as they are written.
``_arrow.py`` has the rows of Parquet and Arrow.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import as_name_of_file, type_name
from dpsel._filter._arrow import write_arrow
from dpsel._filter._labels import labels_of
from dpsel._ingest import as_paths, may_be_quoted, source_of
from dpsel._ingest._delimiters import told_by
from dpsel._ingest._foreign import opened
from dpsel._ingest._remote import is_remote
from dpsel.exceptions import FileError, InvalidParameterError, SchemaError
from dpsel.formats import Csv
from dpsel.outputs import checked_output
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel._filter._keys import Keys
    from dpsel.typing import FileFormat

__all__ = ["filter_file"]

_BY_NAME: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".arrows": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
_FORMATS: Final = ("parquet", "csv", "tsv", "ndjson", "ipc")
_TEXT: Final = ("csv", "tsv", "ndjson")


def filter_file(
    keys: Keys,
    source: object,
    target: str | os.PathLike[str],
    columns: list[str],
    other: Any,
    file_format: FileFormat | None = None,
) -> None:
    """Write the rows of files whose item is one of ``keys`` to another file, complete or not at all."""
    labels = labels_of(keys, other, columns)
    path = Path(as_name_of_file("target", target)).expanduser()
    checked_output(path)
    # Exceptions of codecs and parsers hold rows, and so do the variables of what they went through.
    opened(lambda: _write(keys, source, path, (columns, labels), file_format))


def _write(
    keys: Keys,
    data: object,
    target: Path,
    wanted: tuple[list[str], list[Any] | None],
    file_format: FileFormat | None,
) -> None:
    paths = _paths(data, file_format)
    source = source_of(paths, file_format, quoted=may_be_quoted(data))
    files = [os.fspath(file) for file in source.named_files()]
    kind = _kind(files, target, file_format)
    columns, labels = wanted
    if kind in _TEXT:
        texts = _as_text(labels, kind)
        with _aside(target) as made:
            keys.copy_rows(source, columns, texts, made, target)
    else:
        with _aside(target) as made:
            # Read as in a selection before pyarrow reads them, which takes some damaged files for whole ones.
            write_arrow(keys, source.whole_files(columns), (made, target), wanted, kind)


def _paths(data: object, file_format: object) -> list[str]:
    paths = as_paths(data)
    if paths is None:
        raise SchemaError(
            f"{type_name(data)} is no path of a file; pass a path, or several, and tables to release.filter()"
        )
    if any(map(is_remote, paths)):
        raise FileError(
            "cannot filter files at an address; fetch them first, or pass polars.scan_parquet(...) to "
            "release.filter()"
        )
    if file_format is not None and not isinstance(file_format, Csv) and file_format not in _FORMATS:
        raise InvalidParameterError(
            f"file_format must be one of {', '.join(_FORMATS)}, or Csv(...); give one of these"
        )
    return paths


def _kind(files: list[str], target: Path, given: FileFormat | None) -> str:
    """Return the format of all files: as given, or as their names tell."""
    if any(os.path.realpath(file) == os.path.realpath(target) for file in files):
        raise FileError(f"cannot write {quoted_path(target)}: it is the file that is read; name another one")
    if isinstance(given, Csv):
        if given.delimiter is None and told_by(target) != told_by(files[0]):
            raise FileError(
                f"cannot write {quoted_path(target)}: its name tells another delimiter than those of the "
                "files that are read; give it their extension, or pass file_format=dpsel.Csv(delimiter=)"
            )
        return "csv"
    if given is not None:
        return given
    kinds = {_format(Path(file)) for file in files}
    if kinds != {_format(target)}:
        raise FileError(
            f"cannot write {quoted_path(target)}: rows stay in the format of the files that are read; "
            "give all the same extension, or pass file_format="
        )
    return kinds.pop()


def _format(path: Path) -> str:
    suffix = Path(path.stem).suffix if path.suffix.lower() in {".gz", ".zst"} else path.suffix
    kind = _BY_NAME.get(suffix.lower())
    if kind is None or (kind not in _TEXT and suffix != path.suffix):
        raise FileError(
            f"{quoted_path(path)} has no extension that rows can be filtered in; use one of "
            f"{', '.join(_BY_NAME)}, those of text also with .gz or .zst, or pass file_format="
        )
    return kind


def _as_text(labels: list[Any] | None, kind: str) -> list[str] | None:
    """Return labels as the core writes them: texts, or JSON.

    Raises:
        InvalidParameterError: For a label that a format of text would write as something else.
    """
    for label in labels or []:
        if kind != "ndjson" and (not isinstance(label, str) or not label):
            raise InvalidParameterError(
                "other must be a text of at least one character in a file of this format, where an empty "
                f"field is a missing one, got {type_name(label)}; choose another text"
            )
        if kind == "ndjson" and type(label) not in (str, int, bool):
            raise InvalidParameterError(
                f"other must be a text, an integer or a boolean of JSON, got {type_name(label)}; choose such "
                "a value"
            )
    if labels is None or kind != "ndjson":
        return labels
    return [json.dumps(label, ensure_ascii=False) for label in labels]


@contextmanager
def _aside(target: Path) -> Iterator[Path]:
    """Give a path beside the target, and rename it in the end; after an error nothing is left."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{target.stem}.", dir=target.parent)
    except OSError as error:
        raise FileError(f"cannot write {quoted_path(target)}: {error.strerror}") from None
    with folder as name:
        made = Path(name) / target.name
        yield made
        try:
            made.replace(target)
        except OSError as error:
            raise FileError(f"cannot write {quoted_path(target)}: {error.strerror}") from None
