"""Extension types inside dictionaries, which the core cannot see.

Arrow's C interface has them, and Arrow in Rust leaves them out. So the schema of a stream is read here,
before the core takes it, as the specification lays it out:
https://arrow.apache.org/docs/format/CDataInterface.html
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dpsel.exceptions import SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["Stream", "checked"]

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


class Stream:
    """A stream that was already exported."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule; it can be read once."""
        return self._capsule


def checked(data: Any, columns: Collection[str] | None = None) -> Any:
    """Return an object with the Arrow stream, or the Arrow array, of ``data``.

    Raises:
        SchemaError: If it is a column, or if one of the columns, or any one, has an extension type in a
            dictionary.
    """
    if not hasattr(data, "__arrow_c_stream__"):
        schema, _ = data.__arrow_c_array__()
        _check(_Schema.from_address(_address(schema, b"arrow_schema")), columns)
        return data
    capsule = data.__arrow_c_stream__()
    at = _address(capsule, b"arrow_array_stream")
    stream, schema = _Stream.from_address(at), _Schema()
    # A stream that is at its end, or fails, is an error of the core.
    if stream.release and stream.get_schema(at, ctypes.byref(schema)) == 0:
        try:
            _check(schema, columns)
        finally:
            schema.release(ctypes.byref(schema))
    return Stream(capsule)


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
