"""The audit of a series: the law of an item whose holders hold nothing else, and samples of numbers.

Whoever holds one item alone gives it all that it may spend, whatever the item's importance is. So its score
is a random walk with known steps, which ends where it is paused, and comes out where it reaches a threshold.
"""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass
from functools import partial
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel.accounting import ApproxDP
from dpsel.accounting._privacy import uncharged
from dpsel.auditing._bounds import JointCounts
from dpsel.auditing._exact import Needed
from dpsel.auditing._search import Claim, LowerBounds
from dpsel.auditing._verdicts import claim_of, exact, sampled
from dpsel.exceptions import InvalidParameterError
from dpsel.release._wording import quantity
from dpsel.series import CountSeries, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel.auditing._findings import Finding

__all__ = ["AuditedSeries", "audit_series", "chance", "given", "is_series", "law_of_lists", "plan_of"]

UNIT: Final = 2**30
#: Points of the grid of scores in one standard deviation of a round.
_FINE: Final = 8
#: Noise is cut off at so many standard deviations.
_FAR: Final = 7
#: More users than that of one item tell no more.
_MOST_USERS: Final = 400
#: An item that comes out with this probability tells no more with another user.
_SURE: Final = 0.999
#: Numbers are cheap: so many for each row of the effort.
_NUMBERS: Final = 4
#: At this claim few samples tell most of it.
_CLEAR: Final = ApproxDP(epsilon=2.0, delta=0.05)
_USUAL: Final = ApproxDP(epsilon=1.0, delta=1e-6)


@dataclass(frozen=True, slots=True)
class AuditedSeries:
    """What a series to audit is made with; ``privacy`` is the one that is asked for, or a usual one."""

    name: str
    privacy: ApproxDP | None = None
    releases: int = 52
    max_items_per_user: int = 10
    prompt: bool = False
    #: Window, limit and unit of numbers.
    counts: tuple[tuple[str, Any], ...] | None = None

    @classmethod
    def of_lists(cls) -> AuditedSeries:
        """Return the plan behind the name ``"series"``."""
        return cls("series")

    @classmethod
    def of_numbers(cls) -> AuditedSeries:
        """Return the plan behind the name ``"count-series"``."""
        counts = {"window": 1, "max_releases_per_item": 2, "unit": "user"}
        return cls("count-series", None, releases=2, max_items_per_user=9, counts=tuple(counts.items()))

    @classmethod
    def of(cls, series: Any) -> AuditedSeries:
        """Return the plan of a series."""
        status = series.status()
        counts = None if status.counts is None else tuple(status.counts.items())
        name = "series" if counts is None else "count-series"
        if not isinstance(status.privacy, ApproxDP):
            raise InvalidParameterError(
                "a series must have an ApproxDP for an audit, got ZCDP; audit the name "
                f"{name!r} with the privacy that it implies, see to_approx_dp"
            )
        return cls(name, status.privacy, status.releases, status.max_items_per_user, status.prompt, counts)


def is_series(subject: Any) -> bool:
    """Whether something is a series."""
    return isinstance(subject, Series | CountSeries)


def audit_series(plan: AuditedSeries, privacy: Any, bound: int | None, rows: int, alpha: float) -> Finding:
    """Return what lists need by their law, or what numbers need by samples."""
    if privacy is not None and not isinstance(privacy, ApproxDP):
        raise InvalidParameterError("privacy must be ApproxDP for a series, got PureDP; give a delta as well")
    if plan.privacy is not None and (privacy is not None or bound is not None):
        raise InvalidParameterError(
            "privacy and max_items_per_user must be left out with a series, which has its own; leave them "
            "out, or give the name 'series' or 'count-series'"
        )
    limit = bound or plan.max_items_per_user
    if plan.counts is None:
        budget = privacy or plan.privacy or _USUAL
        claim = claim_of(budget)
        return exact(plan.name, claim, law_of_lists(plan_of(plan, budget, limit), claim))
    budget = privacy or plan.privacy or _CLEAR
    claim = claim_of(budget)
    return sampled(plan.name, claim, _of_numbers(plan, budget, limit, claim, (rows, alpha)), of="numbers of")


def plan_of(plan: AuditedSeries, budget: ApproxDP, limit: int) -> dict[str, Any]:
    """Return the integers of a series, as the core plans them."""
    stated = budget.to_json()
    make = partial(_core_calls.series_plan, waits=not plan.prompt)
    if plan.counts is not None:
        asked = dict(plan.counts)
        make = partial(
            _core_calls.count_series_plan,
            window=asked["window"],
            max_releases_per_item=asked["max_releases_per_item"],
            is_of_one_release=asked["unit"] == "user-release",
        )
    planned = make(
        epsilon=stated.get("epsilon"),
        delta=stated["delta"],
        rho=stated.get("rho"),
        releases=plan.releases,
        max_items_per_user=limit,
    )
    return dict(json.loads(planned))


def law_of_lists(plan: dict[str, Any], claim: Claim) -> Needed:
    """Return what an item of users of nothing else needs, in the last block, at the worst number of users."""
    steps = given(plan)
    without, worst = chance(plan, steps, 0), Needed("", 0.0, 0.0)
    for others in range(_MOST_USERS):
        with_user = chance(plan, steps, others + 1)
        # Both events: that the item comes out, and that it does not.
        for likely, rare in ((with_user, without), (1 - without, 1 - with_user)):
            delta = max(0.0, likely - math.exp(claim.epsilon) * rare)
            more = likely - claim.delta
            epsilon = math.log(more / rare) if more > rare > 0 else 0.0
            name = f"an item of {quantity(others, 'other')}, in the last block"
            tables = name if epsilon > worst.epsilon else worst.tables
            worst = Needed(tables, max(epsilon, worst.epsilon), max(delta, worst.delta))
        without = with_user
        if without > _SURE:
            break
    return worst


def given(plan: dict[str, Any]) -> list[int]:
    """Return what a user that comes with the last block gives its only item, step by step."""
    first, last, rounds, pace = plan["blocks"][-1], plan["asked"]["releases"], plan["rounds"], plan["pace"]
    left, total, steps = plan["norm"], 0, []
    for age in range(last - first + 1):
        ahead = sum(pace[age : last - first + 1])
        norm = math.isqrt(left * pace[age] // max(ahead, 1)) // rounds
        for _ in range(rounds):
            weight = max(0, min(norm, plan["caps"][age][0] - total))
            total += weight
            left -= rounds * weight * weight
            steps.append(weight)
    return steps


def chance(plan: dict[str, Any], steps: Sequence[int], users: int) -> float:
    """Return the probability that an item of so many such users comes out in the last block.

    Scores are in standard deviations of a round, on a grid; a point stands for half a step to both sides.
    """
    scale, rounds = UNIT * plan["sigma"], plan["rounds"]
    drifts = [users * step / scale for step in steps]
    thresholds = [threshold / scale for threshold in plan["thresholds"][: len(steps) // rounds]]
    pauses = [_pause(plan, len(steps), done) / scale for done in range(1, len(steps))]
    low = math.floor(min([*pauses, 0.0])) - 1
    size = math.ceil((max(thresholds) + sum(drifts) + _FAR - low) * _FINE)
    above = partial(_above, low, size)
    mass = [0.0] * size
    mass[-low * _FINE] = 1.0
    out = total = 0.0
    for done, drift in enumerate(drifts, start=1):
        total += drift
        mass = _moved(mass, drift)
        if done < len(drifts):
            mass = list(map(mul, mass, above(pauses[done - 1])))
        if done % rounds == 0:
            threshold = thresholds[done // rounds - 1]
            listed = [a - b for a, b in zip(above(threshold), above(threshold + total), strict=True)]
            out += math.fsum(map(mul, mass, listed))
            mass = [each * (1 - part) for each, part in zip(mass, listed, strict=True)]
    return out


def _above(low: int, size: int, bound: float) -> list[float]:
    """Return the part of each point of the grid that is above a bound."""
    first = (bound - low) * _FINE
    return [min(1.0, max(0.0, at + 0.5 - first)) for at in range(size)]


def _moved(mass: list[float], drift: float) -> list[float]:
    """Return the law after one step: drift and noise."""
    reach = _FAR * _FINE
    whole = round(drift * _FINE)
    # What comes to a point from `at - whole` points before it, for `at` from -reach to reach.
    noise = [
        math.exp(-(((whole + at) / _FINE - drift) ** 2) / 2) / (_FINE * math.sqrt(2 * math.pi))
        for at in range(reach, -reach - 1, -1)
    ]
    padded = [0.0] * (reach + whole) + mass + [0.0] * reach
    return [math.fsum(map(mul, padded[at : at + 2 * reach + 1], noise)) for at in range(len(mass))]


def _pause(plan: dict[str, Any], every: int, done: int) -> float:
    """Return the score below which an item is paused after so many steps of a block."""
    below = 3 * plan["spread"] * math.sqrt(done * (every - done) / (every * plan["rounds"]))
    return float(plan["thresholds"][every // plan["rounds"] - 1] * done / every - below)


def _of_numbers(
    plan: AuditedSeries, budget: Any, limit: int, claim: Claim, effort: tuple[int, float]
) -> LowerBounds:
    """Return bounds from the numbers of users that have all their items in the first releases."""
    stated, asked = plan_of(plan, budget, limit), dict(plan.counts or ())
    moved = _shift(stated, asked["max_releases_per_item"])
    trials = max(2, _NUMBERS * effort[0] // (limit * len(moved)))
    scores = _scores(plan, budget, limit, _decoded(stated, moved), trials)
    norm = limit * math.fsum(each * each for each in moved)
    # The event whose probabilities differ most at the epsilon of the claim, either way.
    far = norm / 2 + claim.epsilon * stated["sigma"] ** 2
    half = trials // 2
    seen = [sum(score >= far for score in scores[:half]), sum(score >= far for score in scores[half:])]
    back = norm - far
    missed = [sum(score <= back for score in scores[half:]), sum(score <= back for score in scores[:half])]
    counts = [
        JointCounts(seen[0], half, seen[1], trials - half),
        JointCounts(missed[0], trials - half, missed[1], half),
    ]
    each = effort[1] / 4
    name = f"{quantity(limit, 'item')} in {quantity(asked['max_releases_per_item'], 'release')}"
    return LowerBounds(
        [name],
        epsilon=max(found.least_epsilon(claim.delta, each) for found in counts),
        delta=max(found.least_delta(claim.epsilon, each) for found in counts),
        samples=half,
    )


def _shift(stated: dict[str, Any], releases: int) -> list[float]:
    """Return by how much a user in so many releases moves each noisy value, up to the last one that moves."""
    weights = [weight / stated["weights"][0] for weight in stated["weights"]]
    moved = [
        math.fsum(
            weights[number - each]
            for each in range(min(number + 1, releases))
            if number - each < len(weights)
        )
        for number in range(stated["asked"]["releases"])
    ]
    while moved and moved[-1] == 0:
        moved.pop()
    return moved


def _decoded(stated: dict[str, Any], moved: list[float]) -> list[float]:
    """Return the factors of the numbers in what tells most of a user: its shift times the noisy values."""
    decode = [part / stated["decode"][0] for part in stated["decode"]]
    factors: list[float] = [0.0] * len(moved)
    for number in reversed(range(len(moved))):
        later = range(number + 1, len(moved))
        known = math.fsum(
            decode[each - number] * factors[each] for each in later if each - number < len(decode)
        )
        factors[number] = moved[number] - known
    return factors


def _scores(plan: AuditedSeries, budget: Any, limit: int, factors: list[float], trials: int) -> list[float]:
    """Return what the numbers of the items of each trial tell; users are in the first half of the trials."""
    asked = dict(plan.counts or ())
    if asked["unit"] == "user-release":
        asked["max_releases_per_item"] = None
    items = range(trials * limit)
    held = [(item // limit, item) for item in items[: trials // 2 * limit]]
    scores = [0.0] * trials
    with tempfile.TemporaryDirectory() as folder:
        series = CountSeries.create(
            Path(folder) / "series",
            key=Path(folder) / "key",
            privacy=uncharged(budget),
            releases=plan.releases,
            max_items_per_user=limit,
            user="user",
            item="item",
            **asked,
        )
        for number, factor in enumerate(factors):
            # A user that comes for ever counts in its first releases only.
            made = series.release(held, str(number), items=items if number == 0 else None)
            for item, users in made.items:
                scores[item // limit] += factor * users
    return scores
