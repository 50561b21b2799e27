"""Columns of Spark DataFrames: what is declared decides, whatever Spark is set to."""

from __future__ import annotations

from typing import Any, Final

from dpsel.exceptions import InvalidParameterError, SchemaError

__all__ = ["arrow_type", "check_batches", "check_case", "check_collation", "quoted", "same_form"]

#: The collation that compares bytes.
_BYTES: Final = "UTF8_BINARY"
_RECORDS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"


def check_case(data: Any, columns: list[str]) -> None:
    """Refuse columns that Spark cannot tell from others: their names differ only in case.

    Raises:
        SchemaError: If there are such columns, unless Spark heeds case.
    """
    if data.sparkSession.conf.get("spark.sql.caseSensitive", "false").lower() == "true":
        return
    for name in columns:
        if any(other != name and other.lower() == name.lower() for other in data.columns):
            raise SchemaError(
                f"column '{name}' and another one have names that differ only in case, so Spark cannot tell "
                "them apart; rename one, or set spark.sql.caseSensitive"
            )


def arrow_type(role: str, name: str, kind: Any) -> Any:
    """Return the Arrow type of a Spark type. Times that are instants have the zone UTC.

    In Arrow, some of Spark's types look like others: one of the caller's own like what it is stored as. So
    those that are known are listed, and the core judges them.

    Raises:
        SchemaError: For any other type, and for users under a collation.
    """
    import pyarrow as pa

    known = {
        "NullType": pa.null(),
        "BooleanType": pa.bool_(),
        "ByteType": pa.int8(),
        "ShortType": pa.int16(),
        "IntegerType": pa.int32(),
        "LongType": pa.int64(),
        "FloatType": pa.float32(),
        "DoubleType": pa.float64(),
        "StringType": pa.string(),
        "BinaryType": pa.binary(),
        "DateType": pa.date32(),
        "TimeType": pa.time64("ns"),
        "TimestampType": pa.timestamp("us", tz="UTC"),
        "TimestampNTZType": pa.timestamp("us"),
    }
    # Not the classes: they differ between versions, and a subclass is another type.
    called = type(kind).__name__
    if called == "ArrayType":
        return pa.list_(arrow_type(role, name, kind.elementType))
    if called == "DecimalType" and kind.scale >= 0:
        return pa.decimal128(kind.precision, kind.scale)
    if called not in known:
        raise SchemaError(
            f"{role} column '{name}' of the input has type {kind.simpleString()} of Spark, which is not "
            "supported; use an integer, string, binary, boolean, date or timestamp column, or make one of it"
        )
    check_collation(role, name, getattr(kind, "collation", _BYTES))
    return known[called]


def check_collation(role: str, name: str, collation: str) -> None:
    """Refuse users under a collation: Spark takes different texts for one user, and the core does not.

    Raises:
        SchemaError: If the column is one of users, and its texts are not compared by their bytes.
    """
    if role == "user" and collation != _BYTES:
        raise SchemaError(
            f"user column '{name}' of the input has the collation {collation}, under which Spark takes "
            "different texts for one user, and dpsel would count them apart; write each user in one way, "
            "such as with lower(), and give the column the collation UTF8_BINARY"
        )


def same_form(found: Any, declared: Any) -> bool:
    """Whether Spark hands a declared type over as this one: settings decide its width and its zone."""
    import pyarrow.types as pt

    if pt.is_list(declared):
        is_list = pt.is_list(found) or pt.is_large_list(found)
        return is_list and same_form(found.value_type, declared.value_type)
    if pt.is_timestamp(declared) and pt.is_timestamp(found):
        return found.unit == declared.unit and (found.tz is None) == (declared.tz is None)
    wide = {pt.is_string: pt.is_large_string, pt.is_binary: pt.is_large_binary}
    is_wide = any(small(declared) and large(found) for small, large in wide.items())
    return is_wide or bool(found == declared)


def check_batches(session: Any) -> None:
    """Refuse batches without a limit of rows, with which PySpark fails, or never ends.

    Raises:
        InvalidParameterError: If the session asks for them.
    """
    if int(session.conf.get(_RECORDS)) < 1:
        raise InvalidParameterError(
            f"{_RECORDS} is not positive, with which PySpark fails or runs without end; set it to a number "
            "of rows, such as 10000"
        )


def quoted(name: str) -> str:
    """Return the name as Spark's expressions write it: dots and quotes mean nothing."""
    return "`" + name.replace("`", "``") + "`"
