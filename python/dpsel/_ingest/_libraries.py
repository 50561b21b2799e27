"""Which library an object comes from, without importing any."""

from __future__ import annotations

from typing import Final

__all__ = ["library_of"]

_KNOWN: Final = {
    "pyspark": "pyspark",
    "polars": "polars",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "duckdb": "duckdb",
    "_duckdb": "duckdb",
    "datasets": "datasets",
    "numpy": "numpy",
    "scipy": "scipy",
}


def library_of(data: object) -> str:
    """Return the library that defines the class of ``data`` or one of its parents, or ``""``.

    The names of modules are enough, so a library that the user has not imported stays unimported.
    """
    for cls in type(data).__mro__:
        library = _KNOWN.get(cls.__module__.partition(".")[0])
        if library is not None:
            return library
    return ""
