"""The registration of mechanisms, and what all of them have.

``@registered`` on a frozen dataclass enters a mechanism in the list of Python. Exports, argument types, the
command line, audits, comparisons, and the tests that run over all mechanisms follow.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Mechanism", "SelectionMechanism", "TopKMechanism", "selection_mechanisms", "top_k_mechanisms"]

Guarantee: TypeAlias = Literal["pure_dp", "approx_dp", "zcdp"]
"""The kind of a guarantee, as in requests and reports."""

Sensitivity: TypeAlias = Literal["count_l1", "count_l2", "l1", "l2", "l2_and_slack", "one_item", "chosen"]
"""How far one user changes the histogram of a round.

``count_l1`` and ``count_l2``: by 1 in each of at most ``max_items_per_user`` items. ``l1`` and ``l2``: by 1
in that norm. ``l2_and_slack``: by 1 in the L2 norm, and by a rounding error that the calibration covers.
``one_item``: by 1 in one item. ``chosen``: as the mechanism that is chosen.
"""

Weights: TypeAlias = Literal["noisy_weight", "cumulative_score", "none"]
"""What ``with_weights=True`` returns for a released item."""


class Mechanism:
    """A mechanism with its parameters: a frozen value that is valid if it exists.

    Examples:
        >>> import dpsel
        >>> isinstance(dpsel.Sips(), dpsel.mechanisms.Mechanism)
        True
    """

    __slots__ = ()

    name: ClassVar[str]
    """The name in requests and reports. The command line writes it with hyphens."""
    guarantees: ClassVar[tuple[Guarantee, ...]]
    """The kinds of guarantees that are proved. ``pure_dp`` also stands for the other two."""

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as it stands in requests and reports."""
        return {"name": self.name} | parameters(self)


class SelectionMechanism(Mechanism):
    """A mechanism of [`select_partitions`][dpsel.select_partitions].

    Examples:
        >>> import dpsel
        >>> isinstance(dpsel.WeightedGaussian(), dpsel.mechanisms.SelectionMechanism)
        True
    """

    __slots__ = ()

    sensitivity: ClassVar[Sensitivity]
    """The bound of the change that one user makes to the histogram of a round."""
    weights: ClassVar[Weights]
    """What ``with_weights=True`` returns, unless the items are released by a curve."""
    additive: ClassVar[bool]
    """Whether each user adds a weight to its items that depends on their number alone."""

    @property
    def has_guarantee(self) -> bool:
        """Whether the guarantee is proved for these parameters: not for ``calibration="published"``."""
        return True

    def public_table(self) -> list[tuple[int, Any]] | None:
        """Return the public preferences of users as (rank, item), if the mechanism has any."""
        return None

    def __repr__(self) -> str:
        """Return the mechanism as code."""
        return as_code(self)


class TopKMechanism(Mechanism):
    """A mechanism of [`select_top_k`][dpsel.select_top_k].

    Examples:
        >>> import dpsel
        >>> isinstance(dpsel.Joint(), dpsel.mechanisms.TopKMechanism)
        True
    """

    __slots__ = ()

    ordered: bool
    """Whether the answer is a sequence; otherwise it is a set."""
    finds_domain: ClassVar[bool]
    """Whether the items are secret; otherwise they come from a public list."""
    needs_rows: ClassVar[bool] = False
    """Whether it selects partitions, so that counts alone are not enough."""

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as it stands in requests and reports; the core fills in what is not given."""
        return {"name": self.name} | {
            key: value for key, value in parameters(self).items() if value is not None
        }


_SELECTION: Final[dict[str, type[SelectionMechanism]]] = {}
_TOP_K: Final[dict[str, type[TopKMechanism]]] = {}

#: The class variables that every mechanism must set. None of them has a default.
_SELECTION_STATES: Final = ("name", "guarantees", "sensitivity", "weights", "additive")
_TOP_K_STATES: Final = ("name", "guarantees", "ordered", "finds_domain")

MechanismT = TypeVar("MechanismT", bound=Mechanism)


def registered(cls: type[MechanismT]) -> type[MechanismT]:
    """Make a frozen dataclass one of the mechanisms that ship.

    Raises:
        TypeError: If the class lacks a class variable that every mechanism must set, or its name is taken.
    """
    stated = _SELECTION_STATES if issubclass(cls, SelectionMechanism) else _TOP_K_STATES
    missing = [each for each in stated if not hasattr(cls, each)]
    if missing:
        raise TypeError(f"{cls.__name__} does not state {', '.join(missing)}")
    if cls.name in _SELECTION or cls.name in _TOP_K:
        raise TypeError(f"there is a mechanism of the name {cls.name} already")
    if issubclass(cls, SelectionMechanism):
        _SELECTION[cls.name] = cls
    elif issubclass(cls, TopKMechanism):
        _TOP_K[cls.name] = cls
    else:
        raise TypeError(f"{cls.__name__} is neither a SelectionMechanism nor a TopKMechanism")
    return cls


def selection_mechanisms() -> Mapping[str, type[SelectionMechanism]]:
    """Return the mechanisms of ``select_partitions`` by name, in the order of registration.

    Examples:
        >>> import dpsel
        >>> dpsel.mechanisms.selection_mechanisms()["sips"]().rounds
        3
    """
    return MappingProxyType(_SELECTION)


def top_k_mechanisms() -> Mapping[str, type[TopKMechanism]]:
    """Return the mechanisms of ``select_top_k`` by name, in the order of registration.

    Examples:
        >>> import dpsel
        >>> list(dpsel.mechanisms.top_k_mechanisms())[:2]
        ['joint', 'joint_set']
    """
    return MappingProxyType(_TOP_K)


def class_name(name: str) -> str:
    """Return the name of the class of a mechanism in a report; the report may come from a later version."""
    known: dict[str, type[Mechanism]] = {**_SELECTION, **_TOP_K}
    if name in known:
        return known[name].__name__
    return "".join(part.capitalize() for part in name.split("_"))


def item_bound(mechanism: Mechanism, max_items_per_user: int) -> int:
    """Return how many items a user keeps at most: more than the limit if the mechanism has a reach."""
    reach: int = getattr(mechanism, "reach", 1)
    return reach * max_items_per_user


def planned(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism that a plan without data is for: of two in a choice, the one for long lists."""
    usual: Mechanism = getattr(mechanism, "otherwise", mechanism)
    return usual


def parameters(mechanism: Mechanism) -> dict[str, Any]:
    """Return the parameters of a mechanism by name."""
    cls: type = type(mechanism)
    return {name: getattr(mechanism, name) for name in _names(cls)}


@cache
def _names(cls: type) -> tuple[str, ...]:
    # `fields` asks for a dataclass, which every registered class is.
    return tuple(each.name for each in fields(cls))


def as_code(mechanism: Mechanism) -> str:
    """Return the mechanism as code, without parameters that have their usual values."""
    shown = [
        f"{key}={'...' if key == 'prior' else repr(value)}"
        for key, value in parameters(mechanism).items()
        if not is_usual(key, value)
    ]
    return f"{type(mechanism).__name__}({', '.join(shown)})"


def is_usual(key: str, value: object) -> bool:
    """Whether a parameter is left out where a mechanism is written as code."""
    return value is None or (key, value) in [("release", "noise"), ("calibration", "curve"), ("reach", 1)]
