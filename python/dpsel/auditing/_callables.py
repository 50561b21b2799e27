"""The audit of a function, from arguments to a report."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import as_count, as_number, at_least_one, is_one_of, type_name
from dpsel.accounting import ZCDP, ApproxDP, PureDP, checked_privacy
from dpsel.auditing._calls import Clock, Subject, name_of
from dpsel.auditing._claims import Bounds, bounds_of, with_epsilon
from dpsel.auditing._families import USUAL, Levels, family, swapped
from dpsel.auditing._findings import AuditReport, Finding, checked_chance
from dpsel.auditing._hunt import Hunt
from dpsel.auditing._probe import copies_for_search, jumps_of, levels_of
from dpsel.auditing._sequential import Evidence, Side, largest_refuted
from dpsel.auditing._tables import KINDS, converter
from dpsel.auditing._witness import witness_of
from dpsel.exceptions import InvalidParameterError
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpsel.accounting import Privacy
    from dpsel.auditing._hunt import Tested
    from dpsel.auditing._tables import Kind, Pair

__all__ = ["run_callable"]

#: Items of searched tables, and the largest epsilon or rho that a bound is looked for.
_MOST_ITEMS: Final = 400
_MOST_EPSILON: Final = 64.0
_NEIGHBOURS: Final = ("add_remove", "swap")
_EVEN: Final = 0.5
_SHOWN: Final = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What an audit of a function was asked for, checked."""

    privacy: Privacy
    bound: int
    clock: Clock
    copies: int
    neighbours: str
    kinds: tuple[Kind, ...]
    are_required: bool
    padding: int
    domain: int | None
    alpha: float


def run_callable(
    function: Callable[[list[Any]], Iterable[Any]],
    *,
    name: str | None,
    progress: Callable[[str], None] | None,
    **options: Any,
) -> AuditReport:
    """Audit a function."""
    plan = _checked(**options)
    subject = Subject(function, name or name_of(function), plan.clock, plan.copies, plan.domain)
    candidates, levels, left_out = _candidates(subject, plan)
    kind = candidates[0].kind
    # With a public list a search beyond it would leave what is claimed.
    hunt = Hunt(
        subject,
        bounds_of(plan.privacy),
        plan.bound,
        plan.alpha,
        plan.domain or _MOST_ITEMS,
        copies=copies_for_search(subject, levels, kind, plan.padding)
        if plan.neighbours == "add_remove"
        else plan.copies,
        progress=progress,
    )
    found = hunt.run(candidates)
    if found is None:
        hunt.check_names()
    hunt.tested = [test for test in hunt.tested if test.evidence.likely.trials and test.evidence.rare.trials]
    if not hunt.tested:
        spent = f"{plan.clock.called} calls took {plan.clock.elapsed:.1f} s"
        raise InvalidParameterError(
            f"no event could be tested in the time given: {spent}; give more seconds or calls"
        )
    return AuditReport((_finding(hunt, plan, found, left_out),), plan.alpha)


def _checked(
    *,
    privacy: Any,
    max_items_per_user: int,
    seconds: float,
    calls: int | None,
    copies: int,
    neighbours: str,
    items: Any,
    padding: int,
    domain: int | None,
    false_alarm: float,
) -> Plan:
    time = as_number("seconds", seconds)
    if not 0 < time < math.inf:
        raise InvalidParameterError(f"seconds must be above 0 and finite, got {time}")
    if not is_one_of(neighbours, *_NEIGHBOURS):
        raise InvalidParameterError(f'neighbours must be "add_remove" or "swap", got {neighbours!r}')
    alpha = checked_chance(false_alarm)
    return Plan(
        privacy=checked_privacy(privacy),
        bound=at_least_one("max_items_per_user", max_items_per_user),
        clock=Clock(time, None if calls is None else at_least_one("calls", calls)),
        copies=at_least_one("copies", copies),
        neighbours=neighbours,
        kinds=_kinds(items),
        are_required=items is not None,
        padding=as_count("padding", padding),
        domain=None if domain is None else at_least_one("domain", domain),
        alpha=alpha,
    )


def _kinds(items: Any) -> tuple[Kind, ...]:
    """Return the kinds of items to try; without a wish NumPy's are tried if NumPy is in use anyway."""
    if items is None:
        return tuple(kind for kind in KINDS if kind != "numpy" or "numpy" in sys.modules)
    chosen = (items,) if isinstance(items, str) else tuple(items)
    for kind in chosen:
        if kind not in KINDS:
            names = ", ".join(f'"{each}"' for each in KINDS)
            raise InvalidParameterError(f"items must be some of {names}, got {type_name(items)} {items!r}")
        converter(kind)
    if not chosen:
        raise InvalidParameterError("items must name at least one kind of items")
    return chosen


def _candidates(subject: Subject, plan: Plan) -> tuple[list[Pair], Levels, list[str]]:
    """Return the tables to try, the boundary, and the kinds of items that the function does not take.

    The first kind that it takes has all tables, the others have a few.
    """
    found: list[Pair] = []
    left_out: list[str] = []
    main: Levels | None = None
    refused: InvalidParameterError | None = None
    for kind in plan.kinds:
        try:
            levels = levels_of(subject, plan.bound, kind, plan.padding, whole=main is None)
        except InvalidParameterError as error:
            if plan.are_required:
                raise
            left_out.append(f"{kind} ({type(error.__cause__).__name__})")
            refused = refused or error
            continue
        pairs = family(plan.bound, levels, kind, whole=main is None)
        if main is None:
            main = levels
            pairs[USUAL:USUAL] = jumps_of(subject, levels, kind, plan.padding)
        found += swapped(pairs, levels) if plan.neighbours == "swap" else pairs
    if main is None:
        assert refused is not None  # noqa: S101 - there is a kind, which was taken or refused
        raise refused
    width = plan.domain or math.inf
    padded = [replace(pair, padding=plan.padding) for pair in found if pair.width <= width]
    if not padded:
        raise InvalidParameterError(
            f"no tables to try have {quantity(plan.domain or 0, 'item')} or fewer with these neighbours; "
            "give a larger domain"
        )
    return padded, main, left_out


def _finding(hunt: Hunt, plan: Plan, found: Tested | None, left_out: list[str]) -> Finding:
    privacy = plan.privacy
    tested = [found] if found else hunt.tested
    epsilons = [_least_epsilon(test.evidence, privacy, test.alpha) for test in tested]
    deltas = [_least_delta(test.evidence, privacy, test.alpha) for test in tested]
    worst = tested[max(range(len(tested)), key=lambda place: (deltas[place], epsilons[place]))]
    return Finding(
        hunt.subject.name,
        "sampled",
        worst.pair.words,
        privacy.rho if isinstance(privacy, ZCDP) else privacy.epsilon,
        0.0 if isinstance(privacy, PureDP) else privacy.delta,
        max(epsilons),
        max(deltas),
        found is not None,
        min(worst.evidence.likely.trials, worst.evidence.rare.trials),
        measure="rho" if isinstance(privacy, ZCDP) else "epsilon",
        neighbours=plan.neighbours,  # type: ignore[arg-type]
        event=worst.cut.words,
        witness=witness_of(found, hunt.subject.name, plan.copies) if found else None,
        tried=tuple(looked.pair.words for looked in hunt.looked),
        seen="" if found else _seen(hunt, plan, left_out),
    )


def _least_epsilon(evidence: Evidence, privacy: Privacy, alpha: float) -> float:
    def allowed(epsilon: float) -> Bounds:
        return bounds_of(with_epsilon(privacy, max(epsilon, 1e-9)))

    return largest_refuted(evidence, allowed, alpha, _MOST_EPSILON)


def _least_delta(evidence: Evidence, privacy: Privacy, alpha: float) -> float:
    def allowed(delta: float) -> Bounds:
        delta = min(max(delta, 1e-12), 1 - 1e-9)
        if isinstance(privacy, ZCDP):
            return bounds_of(ZCDP(rho=privacy.rho, delta=delta))
        return bounds_of(ApproxDP(epsilon=privacy.epsilon, delta=delta))

    return largest_refuted(evidence, allowed, alpha, 1.0)


def _seen(hunt: Hunt, plan: Plan, left_out: list[str]) -> str:
    """Say which tables were tried and what size of fault would have been seen on them."""
    longest = max(hunt.tested, key=lambda test: test.evidence.likely.trials)
    trials, bounds = longest.evidence.likely.trials, hunt.bounds
    fewest = min(test.evidence.likely.trials for test in hunt.tested)
    names = list(dict.fromkeys(test.pair.words for test in hunt.tested))
    new = _first(lambda p: _is_seen(p, 0.0, trials, bounds, longest.alpha), bounds.most(0.0), 1.0)
    even = _first(lambda q: _is_seen(_EVEN, _EVEN - q, trials, bounds, longest.alpha), 0.0, _EVEN)
    shown = "; ".join(names[:_SHOWN]) + (f"; and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    kinds = [kind for kind in plan.kinds if all(not out.startswith(kind) for out in left_out)]
    refused = f" (not taken: {', '.join(left_out)})" if left_out else ""
    return (
        f"{len(hunt.looked)} pairs of tables were tried, with items of the kinds "
        f"{', '.join(kinds)}{refused}. "
        f"Events were tested on: {shown}. On {longest.pair.words}, with the most samples, {trials:,}, these "
        f"would have been seen: an event of probability {new:.4g} that never happens on the other "
        f"table, and an event of probability 0.5 that has at most {_EVEN - even:.4g} there. The other tests "
        f"had at least {fewest:,} samples, and see less. Other tables and smaller faults were not looked at."
    )


def _is_seen(likely: float, rare: float, trials: int, bounds: Bounds, alpha: float) -> bool:
    sides = []
    for rate in (likely, rare):
        before = trials // 4
        side = Side.expected(min(before, round(rate * trials / 4)), before)
        side.hits, side.trials = round(rate * trials), trials
        sides.append(side)
    return Evidence(*sides).against(bounds) >= -math.log(alpha)


def _first(holds: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
