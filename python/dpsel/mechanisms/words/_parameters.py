"""The parameters of registered mechanisms, read off the fields of their dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from dpsel.mechanisms._base import Mechanism
from dpsel.mechanisms.words._syntax import Inner

if TYPE_CHECKING:
    from dpsel.mechanisms.words._syntax import Value

#: Names that the files of the mechanisms import for type checkers alone.
_FOR_TYPE_CHECKERS = {"Iterable": Iterable, "Mapping": Mapping}
#: Denominators up to this are shown as fractions.
_SIMPLE = 100


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter: its name, its type, and the value that a mechanism has without it."""

    name: str
    type: Any
    default: Any

    @property
    def words(self) -> tuple[str, ...]:
        """The values that completion can offer."""
        if get_origin(self.type) is Literal:
            return tuple(map(str, get_args(self.type)))
        return ("true", "false") if self.type is bool else ()

    @property
    def is_mechanism(self) -> bool:
        """Whether the parameter is another mechanism."""
        return isinstance(self.type, type) and issubclass(self.type, Mechanism)

    @property
    def is_table(self) -> bool:
        """Whether the parameter is data, which has no place between parentheses."""
        return not self.words and not self.is_mechanism and self.type not in (int, float)

    @property
    def expected(self) -> str:
        """What a value has to be, in words."""
        if self.words:
            return " or ".join(self.words)
        if self.is_mechanism:
            return "a mechanism"
        return {int: "a whole number", float: "a number"}.get(self.type, "a table")

    def accepts(self, value: Value) -> bool:
        """Whether a value has the type; its range is checked by the mechanism."""
        if self.type is bool or isinstance(value, bool):
            return self.type is bool and isinstance(value, bool)
        if self.words:
            return value in self.words
        if self.is_mechanism:
            return isinstance(value, str | Inner)
        return isinstance(value, int) or (self.type is float and isinstance(value, float))

    def of(self, mechanism: Mechanism) -> Any:
        """Return the value that a mechanism has."""
        return getattr(mechanism, self.name)

    def __str__(self) -> str:
        """Return the parameter with its default, as it is written."""
        if self.default is None:
            return self.name
        if self.is_mechanism:
            inside = [each for each in written(type(self.default)) if each.default != each.of(self.default)]
            shown = ", ".join(f"{each.name}={_written(each.of(self.default))}" for each in inside)
            return f"{self.name}={self.default.name}" + (f"({shown})" if shown else "")
        return f"{self.name}={_written(self.default)}"


def parameters_of(cls: type[Mechanism]) -> dict[str, Parameter]:
    """Return the parameters of a mechanism by name; a default may follow from other parameters."""
    hints = get_type_hints(cls, localns=_FOR_TYPE_CHECKERS)
    usual = cls()
    return {
        field.name: Parameter(field.name, _required(hints[field.name]), getattr(usual, field.name))
        for field in dataclasses.fields(cls)  # type: ignore[arg-type] # every registered class is one
    }


def written(cls: type[Mechanism]) -> list[Parameter]:
    """Return the parameters that may stand between parentheses."""
    return [each for each in parameters_of(cls).values() if not each.is_table]


def summary(cls: type[Mechanism]) -> str:
    """Return the first sentence of a mechanism's documentation."""
    return _plain(inspect.cleandoc(cls.__doc__ or "").split("\n\n", maxsplit=1)[0])


def described(cls: type[Mechanism]) -> dict[str, str]:
    """Return what the documentation of a mechanism says about each parameter."""
    text = inspect.cleandoc(cls.__doc__ or "")
    section = re.search(r"^Args:\n((?:    .*\n?|\n(?=    ))+)", text, re.MULTILINE)
    entries = re.findall(r"^    (\w+): (.*(?:\n      .*)*)", section[1] if section else "", re.MULTILINE)
    return {name: _plain(words) for name, words in entries}


def _required(hint: Any) -> Any:
    """Return the type of a parameter that is given: without ``None``."""
    if get_origin(hint) in (Union, types.UnionType):
        kept = [each for each in get_args(hint) if each is not types.NoneType]
        return kept[0] if len(kept) == 1 else hint
    return hint


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        near = Fraction(value).limit_denominator(_SIMPLE)
        is_long = len(f"{value:.12g}") > len("0.1234")
        return str(near) if is_long and float(near) == value else f"{value:g}"
    return str(value)


def _plain(text: str) -> str:
    """Return a docstring's text without the marks of its markup, on one line."""
    text = re.sub(r"\[`([^`]+)`\]\[[\w.]+\]", r"\1", text)
    return " ".join(re.sub(r"``|[*][*]", "", text).split())
