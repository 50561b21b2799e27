"""The kinds of guarantees."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeVar

from dpsel import _core_calls
from dpsel._arguments import as_count, as_number, type_name
from dpsel.exceptions import InvalidParameterError

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Privacy",
    "PureDP",
    "checked_privacy",
    "derived",
    "is_free",
    "is_reported",
    "is_uncharged",
    "of_json",
    "paid_alike",
    "uncharged",
    "with_payment",
]


class _Origin(Enum):
    """In place of a payment: why nobody pays."""

    #: The numbers come from a report, and nobody wrote them.
    REPORT = "report"
    #: Our own call on public or made-up data, which neither pays nor warns.
    OURS = "ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parameters:
    """The base of all kinds: their fields are numbers, which the core checks."""

    kind: ClassVar[str]
    # What pays for these parameters, of `dpsel.budget`, which is above this file; not a parameter. It is in
    # `__init__` so that `dataclasses.replace` and `asdict` keep it, which is no business of type checkers.
    if TYPE_CHECKING:
        _payment: object = field(default=None, init=False, repr=False, compare=False)
    else:
        _payment: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters: a guarantee that exists is valid."""
        values = {name: as_number(name, value) for name, value in self._numbers().items()}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _core_calls.validate(privacy={"kind": self.kind} | self._numbers())

    def to_json(self) -> dict[str, Any]:
        """Return the parameters as they stand in requests and reports.

        A budget books decimals. So where one pays, these are floats that are not above what it booked.
        """
        numbers = self._numbers()
        if self._payment is not None and not is_free(self):
            numbers = {name: _not_above_decimal(value) for name, value in numbers.items()}
        return {"kind": self.kind} | numbers

    def _numbers(self) -> dict[str, Any]:
        cls: type = type(self)
        return {name: getattr(self, name) for name in _names(cls)}


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(cls) if each.name != "_payment")


def _not_above_decimal(value: float) -> float:
    """Return the float, or the next one below if it is above the shortest decimal that writes it."""
    from decimal import Decimal

    # `Decimal(value)` can be forbidden by the context of the caller.
    is_above = Decimal.from_float(value) > Decimal(repr(value))  # noqa: FURB164
    return math.nextafter(value, 0.0) if is_above else value


@dataclass(frozen=True, slots=True, kw_only=True)
class PureDP(_Parameters):
    """Pure differential privacy (Dwork, McSherry, Nissim and Smith, 2006).

    No mechanism can release unknown items under it; it is for known domains and for budgets.

    Args:
        epsilon: Bound on the log-likelihood ratio; finite and above 0.

    Raises:
        InvalidParameterError: If it is not.

    Examples:
        >>> import dpsel
        >>> dpsel.PureDP(epsilon=1.0)
        PureDP(epsilon=1.0)
    """

    kind: ClassVar[str] = "pure_dp"
    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxDP(_Parameters):
    """Approximate differential privacy (Dwork, Kenthapadi, McSherry, Mironov and Naor, 2006).

    Args:
        epsilon: Finite and above 0.
        delta: Above 0 and below 1; far below 1 / number of users.

    Raises:
        InvalidParameterError: If one is outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.ApproxDP(epsilon=1.0, delta=1e-8)
        ApproxDP(epsilon=1.0, delta=1e-08)
    """

    kind: ClassVar[str] = "approx_dp"
    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ZCDP(_Parameters):
    """delta-approximate rho-zCDP, zero-concentrated differential privacy (Bun and Steinke, 2016).

    Args:
        rho: Finite and above 0.
        delta: Above 0 and below 1; far below 1 / number of users.

    Raises:
        InvalidParameterError: If one is outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.ZCDP(rho=0.1, delta=1e-5)
        ZCDP(rho=0.1, delta=1e-05)
    """

    kind: ClassVar[str] = "zcdp"
    rho: float
    delta: float

    def to_approx_dp(
        self, *, epsilon: float | None = None, delta: float | None = None, releases: int = 1
    ) -> ApproxDP:
        """Return what this guarantees as (epsilon, delta), rounded up.

        Swanberg, Desfontaines and Haney (PoPETs 2023), Corollary 9, which adds this delta to the tight
        conversion of Canonne, Kamath and Steinke (2020). What finite precision may cost a release of this
        library, 1e-18 (1 + e^epsilon), is added too.

        Args:
            epsilon: Find the delta for this epsilon.
            delta: Or find the epsilon for this total delta, which must be above the own one.
            releases: How many releases this is the cost of; 0 for the conversion in exact arithmetic.

        Returns:
            The guarantee.

        Raises:
            InvalidParameterError: If not exactly one is given, or if there is no such guarantee.

        Examples:
            >>> import dpsel
            >>> dpsel.ZCDP(rho=0.1, delta=1e-5).to_approx_dp(delta=4.96e-5).epsilon < 1.766
            True
        """
        converted = _core_calls.convert_zcdp(
            self.rho,
            self.delta,
            epsilon=None if epsilon is None else as_number("epsilon", epsilon),
            target_delta=None if delta is None else as_number("delta", delta),
            releases=as_count("releases", releases),
        )
        values = {name: converted[name] for name in ("epsilon", "delta")}
        return derived(ApproxDP(**values), self)


Privacy: TypeAlias = PureDP | ApproxDP | ZCDP
"""Every kind of guarantee."""

Kind = TypeVar("Kind", bound=Privacy)

KINDS: Final[dict[str, type[PureDP | ApproxDP | ZCDP]]] = {cls.kind: cls for cls in (PureDP, ApproxDP, ZCDP)}
"""The classes by the names of their kinds in requests and reports."""


def of_json(fields: dict[str, Any]) -> Privacy:
    """Return the guarantee that stands in a request or report, whose numbers are floats."""
    values = dict(fields)
    privacy: Privacy = KINDS[values.pop("kind")](**values)
    return with_payment(privacy, _Origin.REPORT)


def is_reported(privacy: Privacy) -> bool:
    """Whether a budget counts the numbers as floats, not as the decimals that write them."""
    return privacy._payment is _Origin.REPORT  # noqa: SLF001 - of this file


def is_free(privacy: _Parameters) -> bool:
    """Whether a mark stands in place of a payment."""
    return isinstance(privacy._payment, _Origin)  # noqa: SLF001 - of this file


def uncharged(privacy: Kind) -> Kind:
    """Return parameters for one call of ours on public or made-up data: it neither pays nor warns.

    They are an argument of that call alone. Code of others that runs inside it, such as a lazy source, makes
    calls with its own parameters, which pay.
    """
    return with_payment(privacy, _Origin.OURS)


def is_uncharged(privacy: Privacy) -> bool:
    """Whether it is such a call."""
    return privacy._payment is _Origin.OURS  # noqa: SLF001 - of this file


def with_payment(privacy: Kind, payment: object) -> Kind:
    """Return a copy of parameters that something pays for, or nothing if it is ``None``."""
    copy = replace(privacy)
    object.__setattr__(copy, "_payment", payment)
    return copy


def derived(computed: Kind, privacy: Privacy) -> Kind:
    """Return parameters that were computed from others: what pays for those pays for them."""
    own = privacy._payment  # noqa: SLF001 - of this file
    return with_payment(computed, _Origin.REPORT if own is None else own)


def paid_alike(counts: Privacy, privacy: Privacy) -> Privacy:
    """Return the guarantee of counts, for which a budget pays that pays for the items."""
    return with_payment(counts, privacy._payment)  # noqa: SLF001 - of this file


def checked_privacy(privacy: object) -> Privacy:
    """Refuse a value that is no privacy parameter, such as a bare epsilon."""
    if isinstance(privacy, PureDP | ApproxDP | ZCDP):
        return privacy
    if privacy is None:
        raise InvalidParameterError(
            "privacy is None, as is what remains of a budget that is spent: nothing more can be released "
            "from it. A guarantee such as dpsel.ApproxDP(epsilon=..., delta=...) would come on top of that "
            "budget"
        )
    raise InvalidParameterError(
        f"privacy must be ApproxDP, ZCDP or PureDP, got {type_name(privacy)}; "
        "write privacy=dpsel.ApproxDP(epsilon=..., delta=...)"
    )
