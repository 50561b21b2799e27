"""The audit of items with numbers of users or rows: ``counts=`` beside every selection."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from dpsel.accounting import ApproxDP, Counts
from dpsel.auditing._exact import worst_of_selection
from dpsel.auditing._looks import law_of_choice
from dpsel.auditing._number_attacks import on_items_with_numbers, on_numbers
from dpsel.auditing._published_scores import worst_of_scored
from dpsel.auditing._scored import is_scored
from dpsel.auditing._verdicts import claim_of, exact, sampled
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms import CountGaussian, CountLaplace, MatchingOr, Steered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpsel.auditing._exact import Needed
    from dpsel.auditing._findings import Finding
    from dpsel.mechanisms import SelectionMechanism

__all__ = ["ATTACKED", "LARGE", "audit_counts", "law_with_numbers"]

#: A share at which numbers need most of the claim, so that every mechanism does.
LARGE: Final = Counts(share=0.9)
#: Shares as people use them, with a budget for both together, and with one for each.
USUAL: Final[tuple[tuple[SelectionMechanism, Counts], ...]] = (
    (CountGaussian(), Counts(share=0.2)),
    (CountLaplace(), Counts(share=0.2)),
    (Steered(), Counts(share=0.2, count="rows", max_rows_per_item=3)),
)
#: What is sampled: users and rows, with a budget for both together, and with one for each.
_USERS: Final = Counts(share=0.8, max_counted_items=1)
_ROWS: Final = Counts(share=0.8, max_counted_items=1, count="rows", max_rows_per_item=3)
ATTACKED: Final[tuple[tuple[SelectionMechanism, Counts], ...]] = (
    (CountGaussian(), _USERS),
    (CountLaplace(), _USERS),
    (Steered(), _ROWS),
    (CountLaplace(), _ROWS),
)
#: Little noise, so that few samples show how far a user moves numbers.
CLEAR: Final = ApproxDP(epsilon=4.0, delta=0.1)
_USUAL: Final = ApproxDP(epsilon=1.0, delta=1e-6)
_BOUND: Final = 10


def audit_counts(
    named: Iterable[tuple[str, SelectionMechanism]], privacy: Any, bound: int | None, rows: int, alpha: float
) -> Iterator[Finding]:
    """Yield the laws beside all these mechanisms, by their names, and what samples of a few show."""
    if privacy is not None and not isinstance(privacy, ApproxDP):
        raise InvalidParameterError(
            "privacy must be ApproxDP for counts beside a selection, got PureDP; give a delta as well"
        )
    usual, clear = privacy or _USUAL, privacy or CLEAR
    lines = [(f"counts, {name}", mechanism, LARGE) for name, mechanism in named]
    lines += [(_named(mechanism, counts), mechanism, counts) for mechanism, counts in USUAL]
    for name, mechanism, counts in lines:
        if law := law_with_numbers(mechanism, usual, _limit(mechanism, bound), counts):
            tables = f"{law.tables}, and public ones; share {counts.share:g}"
            yield exact(name, claim_of(usual), replace(law, tables=tables))
    each = alpha / (2 * len(ATTACKED))
    for mechanism, counts in ATTACKED:
        name = _named(mechanism, counts)
        for attack in (
            on_items_with_numbers(mechanism, clear, counts),
            on_numbers(mechanism, clear, counts),
        ):
            yield sampled(name, attack.claim, attack.run(rows, each))


def law_with_numbers(
    mechanism: SelectionMechanism, privacy: ApproxDP, bound: int, counts: Counts
) -> Needed | None:
    """Return what the law of items and numbers needs."""
    if isinstance(mechanism, MatchingOr):
        return law_of_choice(
            mechanism, privacy, lambda each, left: law_with_numbers(each, left, bound, counts)
        )
    law = worst_of_scored if is_scored(mechanism) else worst_of_selection
    return law(mechanism, privacy, bound, counts)


def _limit(mechanism: SelectionMechanism, bound: int | None) -> int:
    if mechanism.name == "one_item":
        return 1
    # Laws of curves have many steps, and one item shows as much.
    return bound or (1 if getattr(mechanism, "release", "noise") == "curve" else _BOUND)


def _named(mechanism: SelectionMechanism, counts: Counts) -> str:
    of = "" if counts.count == "users" else " of rows"
    return f"counts{of}, {mechanism.name.replace('_', '-')}"
