"""Parquet files of object stores and web servers, which polars reads: ``s3://``, ``gs://``, ``az://``, ``https://``."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any, Final

from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.quoting import quoted

__all__ = ["is_remote", "scan"]

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
#: The schemes that polars fetches.
_FETCHED: Final = frozenset(
    ["s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "http", "https", "hf", "file"]
)


def is_remote(path: str) -> bool:
    """Whether a path has the form of an address; a local file of that name is a file."""
    return _SCHEME.match(path) is not None and not os.path.exists(path)  # noqa: PTH110 - as the core sees it


def scan(paths: list[str], file_format: object, *, may_be_fetched: bool) -> Any:
    """Return a lazy polars frame of remote Parquet files; polars finds credentials in the environment.

    Of other formats polars keeps copies of the files in a temporary folder, in clear. So they are refused.

    Args:
        paths: The addresses.
        file_format: The format, if the names do not tell it.
        may_be_fetched: Whether these are addresses for sure. A list of texts may be data, which must not be
            sent anywhere.

    Raises:
        SchemaError: If polars is missing or does not fetch them, if local paths are among them, or if it
            may be data.
        InvalidParameterError: If the format is not Parquet.
    """
    if not may_be_fetched:
        raise SchemaError(
            "a list of texts may be data, so the addresses in it are not fetched; pass one address or "
            "pattern as a text, or the frame of polars.scan_parquet(...)"
        )
    if not all(map(is_remote, paths)):
        raise SchemaError("local paths and addresses cannot be read in one call; make it one kind")
    for path in paths:
        scheme = path.partition("://")[0].lower()
        if scheme not in _FETCHED:
            shown = f"'{scheme}://'" if quoted(scheme) == f"'{scheme}'" else quoted(scheme)
            raise SchemaError(
                f"an address that starts with {shown} is not fetched here; fetch its "
                "files first, or pass what another library reads there, such as a dataset of pyarrow"
            )
    named = all(path.partition("?")[0].lower().endswith((".parquet", ".pq")) for path in paths)
    if file_format != "parquet" and (file_format is not None or not named):
        raise InvalidParameterError(
            "file_format must be 'parquet' for an address without that extension, got none or another; "
            "other formats would be copied to this disk in clear, so fetch such files first"
        )
    try:
        pl = importlib.import_module("polars")
    except ImportError:
        raise SchemaError(
            'addresses are read by polars, which is not installed; pip install "dpsel[remote]"'
        ) from None
    return pl.scan_parquet(paths)
