"""Names and types of the columns of Spark DataFrames."""

from __future__ import annotations

from typing import Any

__all__ = ["arrow_type", "quoted"]


def arrow_type(kind: Any) -> Any:
    """Return the Arrow type of a Spark type. Time zones may be other ones than tasks see."""
    import pyarrow as pa
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(kind, timezone="UTC")
    except PySparkTypeError:
        # Neither Spark nor dpsel can hand on such a column: it stands for a type that is refused.
        return pa.duration("us")
    except TypeError:
        # PySpark before 4.3 takes no time zone.
        return to_arrow_type(kind)


def quoted(name: str) -> str:
    """Return the name as Spark's expressions write it: dots and quotes mean nothing."""
    return "`" + name.replace("`", "``") + "`"
