"""What a user may be in a table, whose column may have another type than the value that names the user.

What a column can have is on [a page](https://dpsel.github.io/dpsel/algorithms/canonical-keys/): whole
numbers, texts, bytes, truth values, days, and times with and without a zone.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from operator import index
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from dpsel import _core_calls
from dpsel._ingest._c_schema import type_of
from dpsel._ingest._libraries import library_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel._protocols import ArrowArrayExportable

__all__ = ["UserColumn", "forms_of"]

_WHOLE: Final = re.compile(r"0|-?[1-9][0-9]{0,19}")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_YEAR: Final = re.compile(r"([+-]?[0-9]{4,9})(?=-)", re.ASCII)
#: Of seconds, to the nanosecond.
_FRACTION: Final = re.compile(
    r"(?:(?<=[T ][0-9]{2}:[0-9]{2}:[0-9]{2})|(?<=T[0-9]{6}))[.,]([0-9]{1,9})0*(?![0-9])", re.ASCII
)
_LEAST, _MOST, _MOST_UNSIGNED = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
_SECOND: Final = 10**9
_DAY: Final = 86_400 * _SECOND
#: Days and years after which the calendar repeats.
_CYCLE_DAYS, _CYCLE = 146_097, 400
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
#: Nanoseconds of the units of times in NumPy.
_UNITS: Final = {"h": 3_600 * _SECOND, "m": 60 * _SECOND, "s": _SECOND, "ms": 10**6, "us": 10**3, "ns": 1}
#: Arrow's letters for the units of times, and their nanoseconds.
_TIMES: Final = (("n", 1), ("u", 10**3), ("m", 10**6), ("s", _SECOND))


@dataclass(frozen=True, slots=True)
class _Of:
    """A number that stands for a value of a type of Arrow, as its C interface writes types."""

    kind: str
    number: int


def forms_of(user: Any) -> list[Any]:
    """Return the values that say the same in columns of all types that can; what can be no user is alone."""
    if library_of(user) == "numpy" and (found := _NUMPY.get(type(user).__name__)):
        return found(user)
    return next((found(user) for kind, found in _FORMS if isinstance(user, kind)), [user])


def _of_text(text: str) -> list[Any]:
    """Return a text, its bytes, and the number, truth value, day, time or UUID that it stands for."""
    try:
        return [text, text.encode(), *_read(text)]
    except UnicodeEncodeError:
        return [text]


def _read(text: str) -> list[Any]:
    if _WHOLE.fullmatch(text):
        return [_whole(int(text))] if _LEAST <= int(text) <= _MOST_UNSIGNED else []
    if text.lower() in ("true", "false"):
        return [text.lower() == "true"]
    if _UUID.fullmatch(text):
        return [UUID(text).bytes]
    return _days_and_times(text)


def _days_and_times(text: str) -> list[Any]:
    """Return the day and the time of a text of ISO 8601, of any year and to the nanosecond."""
    cycles, fraction = 0, 0
    if year := _YEAR.match(text):
        # Python's dates have the years 1 to 9999 alone, and drop nanoseconds.
        cycles, rest = divmod(int(year[1]) - 2000, _CYCLE)
        text = f"{2000 + rest}{text[year.end() :]}"
    if part := _FRACTION.search(text):
        fraction = int(part[1].ljust(9, "0"))
        text = text[: part.start()] + text[part.end() :]
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return []
    if "." in text or "," in text:
        return []
    at = _nanoseconds(time) + fraction + cycles * _CYCLE_DAYS * _DAY
    days = _days(at // _DAY) if len(text) <= len("2026-01-01") else []
    return [*days, *_times(at)]


def _of_whole(user: Any) -> list[Any]:
    try:
        number = index(user)
    except TypeError:  # NumPy calls its durations whole numbers, too
        return [user]
    return [_whole(number), str(number)]


def _of_decimal(user: Decimal) -> list[Any]:
    return _of_whole(int(user)) if user.is_finite() and user == user.to_integral_value() else [user]


def _of_time(user: dt.datetime) -> list[Any]:
    is_missing = user != user  # noqa: PLR0124 - NaT of pandas
    if is_missing or (user.tzinfo is not None and user.utcoffset() is None):
        return [user]
    texts = [user.isoformat(), str(user)]
    if hasattr(user, "to_datetime64"):  # that of pandas, which has nanoseconds
        return [*_of_numpy(user.to_datetime64()), *texts]
    return [*_times(_nanoseconds(user)), *texts]


def _of_day(user: dt.date) -> list[Any]:
    return [*_days(user.toordinal() - _EPOCH), user.isoformat()]


def _of_bytes(user: bytes) -> list[Any]:
    try:
        return [user, user.decode()]
    except UnicodeDecodeError:
        return [user]


def _of_flag(user: Any) -> list[Any]:
    return [bool(user), str(user), str(user).lower()]


def _of_numpy(user: Any) -> list[Any]:
    """Return a `numpy.datetime64`: days are a day, hours and less a time."""
    unit = re.fullmatch(r"datetime64\[([0-9]*)([A-Za-z]+)\]", user.dtype.name)
    number = int(user.astype("int64"))
    if unit is None or number == _LEAST:  # no time
        return [user]
    number *= int(unit[1] or 1)
    found = _days(number) if unit[2] == "D" else _times(number * _UNITS.get(unit[2], 0))
    # Years and months are no days, and what is shorter than a nanosecond is in no table.
    return [*found, str(user)] if unit[2] in ("D", *_UNITS) else [user]


_NUMPY: Final = {"datetime64": _of_numpy, "bool": _of_flag, "bool_": _of_flag}
#: The first that fits: a truth value is an integer to Python, and a time a day.
_FORMS: Final[tuple[tuple[type, Callable[[Any], list[Any]]], ...]] = (
    (str, _of_text),
    (bool, _of_flag),
    (Integral, _of_whole),
    (Decimal, _of_decimal),
    (dt.datetime, _of_time),
    (dt.date, _of_day),
    (bytes, _of_bytes),
    (UUID, lambda user: [user.bytes, str(user)]),
)


def _whole(number: int) -> Any:
    return _Of("L", number) if _MOST < number <= _MOST_UNSIGNED else number


def _days(number: int) -> list[_Of]:
    """Return a day as its milliseconds, which hold all days that a table can have."""
    milliseconds = number * (_DAY // 10**6)
    return [_Of("tdm", milliseconds)] if _LEAST <= milliseconds <= _MOST else []


def _nanoseconds(time: dt.datetime) -> int:
    """Return what is between 1970 and a time, in UTC if it has a zone."""
    apart = time.replace(tzinfo=None) - dt.datetime(1970, 1, 1) - (time.utcoffset() or dt.timedelta())  # noqa: DTZ001
    return (apart.days * 86_400 + apart.seconds) * _SECOND + apart.microseconds * 10**3


def _times(at: int) -> list[_Of]:
    """Return a time of columns without a zone and with one: without one, as the time of UTC."""
    for unit, size in _TIMES:
        if at % size == 0 and _LEAST <= at // size <= _MOST:
            return [_Of(f"ts{unit}:{zone}", at // size) for zone in ("", "UTC")]
    return []


class UserColumn:
    """A column of one user."""

    def __init__(self, name: str, form: Any) -> None:
        """Keep the name that errors tell, and one of the forms."""
        self._name, self._form = name, form

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return the column."""
        form = self._form
        if not isinstance(form, _Of):
            return _column(form, self._name).__arrow_c_array__()
        # The core makes it of the number; only text holds all numbers that have no sign.
        value = str(form.number) if form.kind == "L" else form.number
        return _column(value, self._name).__arrow_c_array__(type_of(form.kind))


def _column(value: Any, name: str) -> ArrowArrayExportable:
    return _core_calls.object_column([value], name, lists=False, of_pandas=False)
