"""Files of object stores and web servers, which polars reads: ``s3://``, ``gs://``, ``az://``, ``https://``."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any, Final

from dpsel.exceptions import InvalidParameterError, SchemaError

__all__ = ["is_remote", "scan"]

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_EXTENSIONS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}


def is_remote(path: str) -> bool:
    """Whether a path has the form of an address; a local file of that name is a file."""
    return _SCHEME.match(path) is not None and not os.path.exists(path)  # noqa: PTH110 - as the core sees it


def scan(paths: list[str], file_format: str | None, *, may_be_fetched: bool) -> Any:
    """Return a lazy polars frame of remote files; polars finds credentials in the environment.

    Args:
        paths: The addresses.
        file_format: The format, if the names do not tell it.
        may_be_fetched: Whether these are addresses for sure. A list of texts may be data, which must not be
            sent anywhere.

    Raises:
        SchemaError: If polars is missing, if local paths are among them, or if it may be data.
        InvalidParameterError: If the format is not one of those that are read from far.
    """
    if not may_be_fetched:
        raise SchemaError(
            "a list of texts may be data, so the addresses in it are not fetched; pass one address or "
            "pattern as a text, or the frame of polars.scan_parquet(...)"
        )
    if not all(map(is_remote, paths)):
        raise SchemaError("local paths and addresses cannot be read in one call; make it one kind")
    formats = {file_format or _format_of(path) for path in paths}
    if len(formats) > 1 or not formats <= {"parquet", "csv", "ipc"}:
        raise InvalidParameterError(
            "file_format must be 'parquet', 'csv' or 'ipc' for addresses, got another or several; give one, "
            "or fetch the files first"
        )
    try:
        pl = importlib.import_module("polars")
    except ImportError:
        raise SchemaError(
            'addresses are read by polars, which is not installed; pip install "dpsel[remote]"'
        ) from None
    (only,) = formats
    if only == "csv":
        # As a local file: every column is text, and an empty field is null.
        return pl.scan_csv(paths, infer_schema=False)
    return pl.scan_parquet(paths) if only == "parquet" else pl.scan_ipc(paths)


def _format_of(path: str) -> str:
    name = path.partition("?")[0].lower() if path.lower().startswith("http") else path.lower()
    name = name.removesuffix(".gz").removesuffix(".zst") if name.endswith((".csv.gz", ".csv.zst")) else name
    found = next((each for extension, each in _EXTENSIONS.items() if name.endswith(extension)), None)
    if found is None:
        raise InvalidParameterError(
            "file_format must be given for an address whose name does not end in .parquet, .csv or .arrow, "
            "got none; give 'parquet', 'csv' or 'ipc'"
        )
    return found
