"""Parquet files of object stores and web servers, which polars reads: ``s3://``, ``gs://``, ``az://``, ``https://``."""

from __future__ import annotations

import importlib
import os
import re
from typing import TYPE_CHECKING, Any, Final

from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from dpsel._request import NamedColumns

__all__ = ["is_remote", "rows_at", "scan"]

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
#: The schemes that polars fetches. Others are paths of this machine to it, which the core would check.
_FETCHED: Final = frozenset(
    ["s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "http", "https", "hf"]
)


def is_remote(path: str) -> bool:
    """Whether a path has the form of an address; a local file of that name is a file."""
    return _SCHEME.match(path) is not None and not os.path.exists(path)  # noqa: PTH110 - as the core sees it


def scan(paths: list[str], columns: NamedColumns, file_format: object, *, may_be_fetched: bool) -> Any:
    """Return a lazy polars frame of remote Parquet files; polars finds credentials in the environment.

    Of other formats polars keeps copies of the files in a temporary folder, in clear. So they are refused.

    Args:
        paths: The addresses.
        columns: The needed columns.
        file_format: The format, if the names do not tell it.
        may_be_fetched: Whether these are addresses for sure. A list of texts may be data, which must not be
            sent anywhere.

    Raises:
        SchemaError: If polars is missing, does not fetch them or reads a column inexactly, if local paths are
            among them, or if it may be data.
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
        scheme = path.partition("://")[0]
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
    return rows_at(pl, paths, columns)


def rows_at(pl: Any, paths: list[str], columns: NamedColumns) -> Any:
    """Return the rows, with the needed columns that only names of folders tell: texts, as of local folders.

    A type that polars infers from the names would follow from which folders there are.

    Args:
        pl: The module of polars.
        paths: The addresses.
        columns: The needed columns.
    """
    frame = pl.scan_parquet(paths, hive_partitioning=False)
    own = frame.collect_schema()
    _refuse_nanoseconds(own, columns)
    if all(name in own for name in columns):
        return frame
    told = pl.scan_parquet(paths, hive_partitioning=True, try_parse_hive_dates=False).collect_schema()
    texts = {name: pl.String for name in told if name not in own}
    return pl.scan_parquet(paths, hive_partitioning=True, hive_schema=texts) if texts else frame


def _refuse_nanoseconds(schema: Any, columns: NamedColumns) -> None:
    """Refuse the type that polars gives to INT96: it makes one time of all that are beyond 64 bits."""
    for name in columns:
        dtype = schema.get(name)
        inner = getattr(dtype, "inner", None) or dtype
        if getattr(inner, "time_unit", None) == "ns" and hasattr(inner, "time_zone"):
            raise SchemaError(
                f"column '{name}' has times in nanoseconds, as which polars also reads INT96, and then makes "
                "one time of all beyond the year 2262; fetch the files, which are then read exactly"
            )
