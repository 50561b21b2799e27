"""Extension types inside dictionaries, which the core cannot see.

Arrow's C interface has them, and Arrow in Rust leaves them out. So the schema of a stream is read here,
before the core takes it, as the specification lays it out:
https://arrow.apache.org/docs/format/CDataInterface.html

That takes ``ctypes``, because no library does it: pyarrow leaves them out as well unless the type is
registered, many sources have no ``__arrow_c_schema__``, and safe Rust gets the schema of a stream only
after the conversion that drops them. It reads what the core would follow next, so it adds no danger.
"""

from __future__ import annotations

import ctypes
import struct
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dpsel.exceptions import DataError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["checked", "exported", "type_of"]

#: The flag of what may be null: a column, and never a table.
_NULLABLE: Final = 2
_EXTENSION: Final = b"ARROW:extension:name"


class _Schema(ctypes.Structure):
    """The structure ``ArrowSchema``."""


_Release = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _Release),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """The structure ``ArrowArrayStream``, as far as it is used."""

    _fields_: ClassVar = [
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Schema))),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
    ]


_address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


@cache
def type_of(kind: str) -> object:
    """Return the capsule of a plain type, as the interface writes it, such as `L` for uint64.

    An array can be asked for in this type. The capsule owns nothing, and is kept for ever.
    """
    _KEPT.append(schema := _Schema(format=kind.encode(), name=b"", flags=_NULLABLE))
    return _capsule(ctypes.addressof(schema), b"arrow_schema", None)


#: What the capsules point at.
_KEPT: Final[list[_Schema]] = []


class Stream:
    """A stream that was already exported."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule; it can be read once."""
        return self._capsule

    @contextmanager
    def schema(self) -> Iterator[_Schema | None]:
        """Lend the schema; ``None`` if the stream is at its end, or fails."""
        at, schema = _address(self._capsule, b"arrow_array_stream"), _Schema()
        stream = _Stream.from_address(at)
        if not stream.release or stream.get_schema(at, ctypes.byref(schema)) != 0:
            yield None
            return
        try:
            yield schema
        finally:
            schema.release(ctypes.byref(schema))


class Array:
    """One batch that was already exported."""

    def __init__(self, schema: object, array: object) -> None:
        self._schema, self._array = schema, array

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return the capsules; they can be read once."""
        return self._schema, self._array

    @contextmanager
    def schema(self) -> Iterator[_Schema | None]:
        """Lend the schema."""
        yield _Schema.from_address(_address(self._schema, b"arrow_schema"))


def exported(data: Any) -> Stream | Array:
    """Return the stream, or the batch, of ``data``, which are made now.

    Raises:
        DataError: If the stream gives no schema. What ``data`` raises is passed on.
    """
    if isinstance(data, Stream | Array):
        return data
    if not hasattr(data, "__arrow_c_stream__"):
        return Array(*data.__arrow_c_array__())
    stream = Stream(data.__arrow_c_stream__())
    with stream.schema() as schema:
        if schema is None:
            raise DataError(
                "the source of the data failed: its Arrow stream is at its end, or gives no schema; read it "
                "without dpsel to see why"
            )
    return stream


def checked(data: Any, columns: Collection[str] | None = None) -> Stream | Array:
    """Return the stream, or the batch, of ``data``.

    Raises:
        SchemaError: If it is a column, or if one of the columns, or any one, has an extension type in a
            dictionary.
        DataError: As `exported`.
    """
    made = exported(data)
    with made.schema() as schema:
        if schema is not None:
            _check(schema, columns)
    return made


def _check(table: _Schema, columns: Collection[str] | None) -> None:
    if table.format == b"+s" and table.flags & _NULLABLE:
        raise SchemaError(
            "the Arrow data is one column, whose null rows would be read as rows; pass a table with a user "
            "column and an item column"
        )
    for field in _children(table):
        name = (field.name or b"").decode(errors="replace")
        is_read = columns is None or name in columns
        if is_read and (extension := _in_dictionary(field, inside=False)) is not None:
            raise SchemaError(
                f"column '{name}' has a dictionary of the extension type '{extension}', which is not "
                "supported; cast it to string, or to the type that it stands for"
            )


def _in_dictionary(field: _Schema, *, inside: bool) -> str | None:
    """Return the name of an extension type inside a dictionary of this field, or ``None``."""
    if inside and (name := _metadata(field).get(_EXTENSION)) is not None:
        return name.decode(errors="replace")
    below = [(child, inside) for child in _children(field)]
    if field.dictionary:
        below.append((field.dictionary.contents, True))
    names = (_in_dictionary(each, inside=is_inside) for each, is_inside in below)
    return next((name for name in names if name is not None), None)


def _children(field: _Schema) -> Iterator[_Schema]:
    return (field.children[at].contents for at in range(field.n_children))


def _metadata(field: _Schema) -> dict[bytes, bytes]:
    """Return the pairs of a field: their number, and each text after its length."""
    if not field.metadata:
        return {}
    at = field.metadata

    def number() -> int:
        nonlocal at
        (value,) = struct.unpack("=i", ctypes.string_at(at, 4))
        at += 4
        return int(value)

    def text() -> bytes:
        nonlocal at
        length = number()
        value = ctypes.string_at(at, length)
        at += length
        return value

    return {text(): text() for _ in range(number())}
