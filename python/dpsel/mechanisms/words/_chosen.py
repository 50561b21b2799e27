"""The mechanism that a text names, checked against the registry."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel.mechanisms.words._parameters import Parameter, parameters_of, written
from dpsel.mechanisms.words._syntax import Inner, MechanismSyntaxError, parse
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpsel.mechanisms._base import Mechanism
    from dpsel.mechanisms.words._syntax import Value

__all__ = ["AUTO", "InWords", "UnknownNameError", "by_shown_name", "in_words", "shown_name", "spellings"]

AUTO: Final = "auto"


class UnknownNameError(MechanismSyntaxError):
    """A name that no mechanism has; the message says which one was meant."""

    def __init__(self, name: str, message: str) -> None:
        """Keep the name."""
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class InWords:
    """A mechanism as it was written, before its parameters are checked for their ranges.

    Args:
        cls: Its class; ``None`` for ``auto``.
        parameters: Its parameters; their names exist, and their values have the right types.
    """

    cls: type[Mechanism] | None
    parameters: dict[str, Any]

    def made(self) -> Any:
        """Return the mechanism, or ``"auto"``.

        Raises:
            InvalidParameterError: If a parameter is out of range.
        """
        return AUTO if self.cls is None else self.cls(**self.parameters)


def shown_name(cls: type[Mechanism]) -> str:
    """Return the name of a mechanism in words."""
    return cls.name.replace("_", "-")


def by_shown_name(classes: Iterable[type[Mechanism]]) -> dict[str, type[Mechanism]]:
    """Return mechanisms by their names in words."""
    return {shown_name(cls): cls for cls in classes}


def spellings(named: Mapping[str, type[Mechanism]]) -> dict[str, type[Mechanism]]:
    """Return mechanisms by all names that are accepted: ``a-b``, ``a_b`` and ``AB``."""
    return {spelling: cls for name, cls in named.items() for spelling in (name, cls.name, cls.__name__)}


def in_words(text: str, named: Mapping[str, type[Mechanism]], *, auto: bool) -> InWords:
    """Return the mechanism that a text names.

    Args:
        text: ``name`` or ``name(parameter=value, ...)``.
        named: The mechanisms that are accepted, by their names in words.
        auto: Whether ``auto`` is accepted.

    Raises:
        UnknownNameError: If no mechanism has the name.
        MechanismSyntaxError: If the text has another form, or a parameter does not exist or has another type.

    Examples:
        >>> import dpsel
        >>> from dpsel.mechanisms.words import by_shown_name, in_words
        >>> in_words("sips(rounds=5)", by_shown_name([dpsel.Sips]), auto=True).made()
        Sips(rounds=5, ratio=0.3333333333333333)
    """
    name, parameters = parse(text)
    if auto and name == AUTO:
        if parameters:
            message = "auto has no parameters; name a mechanism to set them"
            raise MechanismSyntaxError(message)
        return InWords(None, {})
    return _checked(name, parameters, named, auto=auto)


def _checked(
    name: str, parameters: Mapping[str, Value], named: Mapping[str, type[Mechanism]], *, auto: bool
) -> InWords:
    cls = spellings(named).get(name)
    if cls is None:
        raise UnknownNameError(name, _unknown(name, named, auto=auto))
    known, made = parameters_of(cls), dict[str, Any](parameters)
    for key, each in parameters.items():
        if fault := _fault(cls, known, key, each):
            raise MechanismSyntaxError(fault)
        if known[key].is_mechanism:
            inner = each if isinstance(each, Inner) else Inner(str(each), {})
            made[key] = _checked(inner.name, inner.parameters, named, auto=False).made()
    return InWords(cls, made)


def _unknown(name: str, named: Mapping[str, type[Mechanism]], *, auto: bool) -> str:
    known = spellings(named)
    names = [*([AUTO] if auto else []), *named]
    near = difflib.get_close_matches(name, [*names, *known], n=1)
    meant = near and (shown_name(known[near[0]]) if near[0] in known else near[0])
    hint = f"did you mean {meant}?" if meant else f"use one of {', '.join(names)}"
    return f"there is no mechanism {quoted(name)}; {hint}"


def _fault(cls: type[Mechanism], known: dict[str, Parameter], key: str, value: Any) -> str | None:
    """Return what is wrong with a parameter, if anything is."""
    parameter, name = known.get(key), shown_name(cls)
    if parameter is None:
        list_of = ", ".join(map(str, written(cls)))
        has = f"its parameters are {list_of}" if list_of else "it has none"
        return f"{name} has no parameter {quoted(key)}; {has}"
    if parameter.is_table:
        return (
            f"{key} is a table, which has no words; pass {cls.__name__}({key}=...), or --{key} FILE to "
            "dpsel select"
        )
    if not parameter.accepts(value):
        return f"{key} of {name} must be {parameter.expected}, got {_shown(value)}"
    return None


def _shown(value: Any) -> str:
    if isinstance(value, Inner):
        return f"a mechanism {value.name}"
    if isinstance(value, str):
        return quoted(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)
