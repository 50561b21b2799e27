"""The top-k mechanisms as frozen values.

Those over a known domain pick from a public list of items. The others find the items themselves, which costs
accuracy and needs delta. Proofs are in ``docs/algorithms/``.

Examples:
    >>> import dpsel
    >>> dpsel.GumbelPeel()
    GumbelPeel(conversion='tight')
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from dpsel._arguments import as_flag, as_number, at_least_one, type_name
from dpsel.cost import of_json
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from dpsel.accounting import Privacy

__all__ = [
    "Discover",
    "Gamma",
    "GumbelPeel",
    "Joint",
    "JointSet",
    "LaplaceTopK",
    "LimitDomain",
    "PermuteFlipJoint",
    "PermuteFlipPeel",
    "TopKMechanism",
]


@dataclass(frozen=True, slots=True)
class Joint:
    """The exponential mechanism over sequences of k items, drawn exactly in one pass over the counts.

    Gillenwater, Joseph, Munoz Medina and Ribero, "A joint exponential mechanism for differentially private
    top-k" (ICML 2022). Best under pure differential privacy where the counts have gaps. Guarantees
    :class:`~dpsel.PureDP` and :class:`~dpsel.ZCDP`, for users of any number of items.

    Examples:
        >>> import dpsel
        >>> dpsel.Joint()
        Joint()
    """

    name: ClassVar[str] = "joint"
    ordered: ClassVar[bool] = True
    finds_domain: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class JointSet:
    """The exponential mechanism over sets of k items: far more accurate where no order is needed.

    The canonical mechanism of Shekelyan and Loukides, "Differentially private top-k selection via canonical
    Lipschitz mechanism" (2022), drawn exactly. Guarantees :class:`~dpsel.PureDP` and :class:`~dpsel.ZCDP`.

    Examples:
        >>> import dpsel
        >>> dpsel.JointSet().ordered
        False
    """

    name: ClassVar[str] = "joint_set"
    ordered: ClassVar[bool] = False
    finds_domain: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class GumbelPeel:
    """Exponential mechanisms one after the other: the law of Gumbel noise on every count (CDP-Peel).

    Durfee and Rogers (NeurIPS 2019). Best for many items under approximate differential privacy.

    Args:
        conversion: ``"tight"``, or ``"paper"`` for the smaller budget per pick of the Joint paper.

    Examples:
        >>> import dpsel
        >>> dpsel.GumbelPeel(conversion="paper")
        GumbelPeel(conversion='paper')
    """

    name: ClassVar[str] = "gumbel_peel"
    ordered: ClassVar[bool] = True
    finds_domain: ClassVar[bool] = False
    conversion: Literal["tight", "paper"] = "tight"

    def __post_init__(self) -> None:
        """Check the name."""
        if self.conversion not in {"tight", "paper"}:
            raise InvalidParameterError(
                f'conversion must be "tight" or "paper", got {type_name(self.conversion)}; '
                '"tight" is at least as accurate for the same guarantee'
            )


@dataclass(frozen=True, slots=True)
class PermuteFlipJoint:
    """Permute-and-flip over sequences of k items (PNF-Joint), exactly and for every k.

    Permute-and-flip of McKenna and Sheldon (NeurIPS 2020) with the loss of :class:`Joint`. Never worse than
    that, and the same but for about the reciprocal of the number of good sequences: of use for few items.
    Guarantees :class:`~dpsel.PureDP`.

    Examples:
        >>> import dpsel
        >>> dpsel.PermuteFlipJoint()
        PermuteFlipJoint()
    """

    name: ClassVar[str] = "permute_flip_joint"
    ordered: ClassVar[bool] = True
    finds_domain: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class PermuteFlipPeel:
    """Permute-and-flip one item after the other (PNF-Peel), exactly.

    McKenna and Sheldon, "Permute-and-flip" (NeurIPS 2020). Guarantees :class:`~dpsel.PureDP`.

    Examples:
        >>> import dpsel
        >>> dpsel.PermuteFlipPeel()
        PermuteFlipPeel()
    """

    name: ClassVar[str] = "permute_flip_peel"
    ordered: ClassVar[bool] = True
    finds_domain: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Gamma:
    """Noise of probability proportional to e^(-epsilon max |z|) on all counts, and the k largest.

    Steinke and Ullman (2017), on integers. Its noisy counts are free (``counts="free"``). For comparison:
    its noise grows with the number of items. Guarantees :class:`~dpsel.PureDP`.

    Examples:
        >>> import dpsel
        >>> dpsel.Gamma()
        Gamma()
    """

    name: ClassVar[str] = "gamma"
    ordered: ClassVar[bool] = True
    finds_domain: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class LaplaceTopK:
    """Discrete Laplace noise on all counts, and the k largest.

    Best where ``max_items_per_user`` is far below k; then its noisy counts are free (``counts="free"``).
    Guarantees :class:`~dpsel.PureDP`.

    Examples:
        >>> import dpsel
        >>> dpsel.LaplaceTopK()
        LaplaceTopK()
    """

    name: ClassVar[str] = "laplace_top_k"
    ordered: ClassVar[bool] = True
    finds_domain: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class LimitDomain:
    """Exponential mechanisms among the largest counts of the data, with a stop above the last of them.

    After Durfee and Rogers (NeurIPS 2019). Finds the items itself, and may return fewer than k. Guarantees
    :class:`~dpsel.ApproxDP`.

    Args:
        candidates: How many of the largest counts are looked at; by default ten times k.

    Examples:
        >>> import dpsel
        >>> dpsel.LimitDomain(candidates=500)
        LimitDomain(candidates=500)
    """

    name: ClassVar[str] = "limit_domain"
    ordered: ClassVar[bool] = True
    finds_domain: ClassVar[bool] = True
    candidates: int | None = None

    def __post_init__(self) -> None:
        """Check the type."""
        if self.candidates is not None:
            object.__setattr__(self, "candidates", at_least_one("candidates", self.candidates))


@dataclass(frozen=True, slots=True)
class Discover:
    """Select partitions with one part of the budget, then a top-k of what was selected.

    After Dick, Joseph and Raman (2026). Finds the items itself, and may return fewer than k. Guarantees
    :class:`~dpsel.ApproxDP` and :class:`~dpsel.ZCDP`; ``max_items_per_user`` is needed.

    Args:
        share: The part of epsilon or rho that the selection gets; all of delta goes there.
        ordered: Whether the answer has an order.

    Examples:
        >>> import dpsel
        >>> dpsel.Discover(share=0.25)
        Discover(share=0.25, ordered=True)
    """

    name: ClassVar[str] = "discover"
    finds_domain: ClassVar[bool] = True
    share: float = 0.5
    ordered: bool = True

    def __post_init__(self) -> None:
        """Check the types."""
        object.__setattr__(self, "share", as_number("share", self.share))
        object.__setattr__(self, "ordered", as_flag("ordered", self.ordered))


TopKMechanism: TypeAlias = (
    Joint
    | JointSet
    | GumbelPeel
    | PermuteFlipJoint
    | PermuteFlipPeel
    | Gamma
    | LaplaceTopK
    | LimitDomain
    | Discover
)
"""Every top-k mechanism."""

CLASSES: Final = (
    Joint,
    JointSet,
    GumbelPeel,
    PermuteFlipJoint,
    PermuteFlipPeel,
    Gamma,
    LaplaceTopK,
    LimitDomain,
    Discover,
)


def every() -> list[TopKMechanism]:
    """Return each mechanism with its default parameters."""
    return [cls() for cls in CLASSES]


def to_json(mechanism: TopKMechanism) -> dict[str, Any]:
    """Return the mechanism as it stands in requests and reports."""
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    return {"name": mechanism.name} | {key: value for key, value in parameters.items() if value is not None}


def _is_auto(mechanism: object) -> bool:
    return isinstance(mechanism, str) and mechanism == "auto"


def resolve(
    mechanism: TopKMechanism | Literal["auto"],
    privacy: Privacy,
    *,
    known: bool,
    ordered: bool,
    bounded: bool,
) -> tuple[TopKMechanism, str | None]:
    """Return the mechanism and, if it was chosen here, the reason; public facts decide, never counts."""
    if isinstance(mechanism, CLASSES):
        if not ordered and mechanism.ordered:
            raise InvalidParameterError(
                f"ordered=False asks for a set, but {type(mechanism).__name__} makes a sequence; "
                "use JointSet, or leave ordered= out"
            )
        return mechanism, None
    if not _is_auto(mechanism):
        names = ", ".join(f"{cls.__name__}()" for cls in CLASSES)
        raise InvalidParameterError(
            f"mechanism must be 'auto' or a top-k mechanism, got {type_name(mechanism)}; use one of {names}"
        )
    return (
        _choose_known(privacy, ordered=ordered)
        if known
        else _choose_unknown(privacy, ordered=ordered, bounded=bounded)
    )


def reasons(request: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the mechanisms and reasons with which ``"auto"`` may answer the request of a report.

    A report says by its mechanism whether an order was asked for, so there may be one for each answer.
    """
    found = []
    for ordered in (True, False):
        try:
            chosen, reason = resolve(
                "auto",
                of_json(request["privacy"]),
                known=request["domain"]["kind"] != "unknown",
                ordered=ordered,
                bounded=request["max_items_per_user"] is not None,
            )
        except InvalidParameterError:
            continue  # there is no answer of this kind
        if reason is not None:
            found.append((to_json(chosen), reason))
    return found


def _choose_unknown(privacy: Privacy, *, ordered: bool, bounded: bool) -> tuple[TopKMechanism, str]:
    if privacy.kind == "pure_dp":
        raise InvalidParameterError(
            "without domain= the items are secret, which needs a delta; "
            "use privacy=ApproxDP(epsilon=..., delta=...), or give domain= a public list"
        )
    if bounded:
        return Discover(ordered=ordered), "auto: nobody named the items and users are bounded"
    if not ordered:
        raise InvalidParameterError(
            "ordered=False without domain= needs Discover, which needs bounded users; set max_items_per_user"
        )
    return LimitDomain(), "auto: nobody named the items and users may have any number of them"


def _choose_known(privacy: Privacy, *, ordered: bool) -> tuple[TopKMechanism, str]:
    if not ordered:
        return JointSet(), "auto: a set of public items; the joint mechanism over sets is the most accurate"
    if privacy.kind == "pure_dp":
        return Joint(), "auto: a sequence of public items under pure differential privacy"
    return (
        GumbelPeel(),
        "auto: a sequence of public items; peeling composes best outside of pure privacy",
    )
