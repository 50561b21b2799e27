"""The mechanism of a call as it was given: a value, or a text that names one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpsel._arguments import type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms import Mechanism, selection_mechanisms, top_k_mechanisms

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["given"]

MechanismT = TypeVar("MechanismT", bound=Mechanism)


def given(mechanism: object, known: Mapping[str, type[MechanismT]], noun: str) -> MechanismT | None:
    """Return a mechanism that was given, or ``None`` for ``"auto"``; refuse everything else."""
    for cls in known.values():
        if isinstance(mechanism, cls):
            return mechanism
    if isinstance(mechanism, str):
        return _named(mechanism, known)
    cls = mechanism if isinstance(mechanism, type) else type(mechanism)
    if elsewhere := _elsewhere(cls, known):
        raise InvalidParameterError(elsewhere)
    names = ", ".join(f"{each.__name__}()" for each in known.values())
    got, use = type_name(mechanism), f"use one of {names}"
    if cls in known.values():
        got, use = "a class", f"write {cls.__name__}()"
    raise InvalidParameterError(f"mechanism must be 'auto' or {noun}, got {got}; {use}")


def _named(text: str, known: Mapping[str, type[MechanismT]]) -> MechanismT | None:
    """Return the mechanism that a text names, or ``None`` for ``"auto"``."""
    if text == "auto":
        return None
    # Most calls name none in words, and reading them needs more modules.
    from dpsel.mechanisms import words

    try:
        chosen: MechanismT | str = words.in_words(text, words.by_shown_name(known.values()), auto=True).made()
    except words.UnknownNameError as error:
        every = words.by_shown_name([*selection_mechanisms().values(), *top_k_mechanisms().values()])
        elsewhere = _elsewhere(words.spellings(every).get(error.name), known)
        raise InvalidParameterError(elsewhere or f"mechanism: {error}") from None
    except words.MechanismSyntaxError as error:
        raise InvalidParameterError(f"mechanism: {error}") from None
    return None if isinstance(chosen, str) else chosen


def _elsewhere(cls: type | None, known: Mapping[str, type[Mechanism]]) -> str | None:
    """Return where a mechanism belongs that is not accepted here, in the words of the command line."""
    if cls is None or cls in known.values():
        return None
    if cls in top_k_mechanisms().values():
        return f"{cls.__name__} picks a top-k; it belongs to select_top_k"
    if cls in selection_mechanisms().values():
        return f"{cls.__name__} selects items; it belongs to select_partitions"
    return None
