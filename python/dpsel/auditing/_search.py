"""The falsifier: screen neighbouring tables, climb from the worst, and test the worst on fresh samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dpsel.auditing._events import cautious_delta, cautious_epsilon, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from dpsel.auditing._sampling import Sampler

__all__ = ["Claim", "Effort", "LowerBounds", "falsify"]

Tables = TypeVar("Tables")


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed; a delta of 0 is pure differential privacy."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class Effort:
    """The effort of a search, in the units of a sampler.

    Args:
        screen: For the first samples of one pair of tables.
        climbs: Number of variations of the worst pairs that are tried.
        test: For testing events on one pair, and half as much for choosing them.
        tested: On how many pairs of tables events are tested, beside the first one.
    """

    screen: int
    climbs: int
    test: int
    tested: int

    def scaled(self, slowness: int) -> Effort:
        """Return the effort for a mechanism that is ``slowness`` times slower than usual."""
        return replace(self, screen=self.screen // slowness, test=self.test // slowness)


@dataclass(frozen=True, slots=True)
class LowerBounds:
    """Lower bounds on one pair of tables."""

    tables: Any
    epsilon: float
    delta: float
    samples: int

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim cannot hold, but for the chance of a false alarm."""
        return self.delta > claim.delta or self.epsilon > claim.epsilon


def falsify(
    sampler: Sampler,
    candidates: Sequence[Tables],
    claim: Claim,
    effort: Effort,
    *,
    alpha: float,
    vary: Callable[[Tables, Random], Tables] | None = None,
    random: Random,
) -> LowerBounds:
    """Return the largest lower bounds that were found; too large with a chance of ``alpha`` at most.

    Each tested pair of tables has two events, one for delta and one for epsilon, so ``alpha`` is divided
    among twice as many bounds. Neither tables nor events depend on the samples that they are tested on.
    """
    seen = [_look(sampler, tables, claim, effort.screen) for tables in candidates]
    for _ in range(effort.climbs if vary else 0):
        assert vary is not None  # noqa: S101 - no climbs otherwise
        parent = random.choice(_worst(seen, 3))
        seen.append(_look(sampler, vary(parent.tables, random), claim, effort.screen))
    # The first one is the usual worst case: noise of the first samples must not lose it.
    worst = list({id(each): each for each in [seen[0], *_worst(seen, effort.tested)]}.values())
    each = alpha / (2 * len(worst))
    shown = [_test(sampler, one.tables, claim, effort.test, each) for one in worst]
    first = max(shown, key=lambda found: (found.refutes(claim), found.delta, found.epsilon))
    return replace(first, epsilon=max(found.epsilon for found in shown))


@dataclass(frozen=True, slots=True)
class _Look:
    """Cautious estimates of the epsilon and delta that a pair of tables needs."""

    tables: Any
    delta: float
    epsilon: float


def _look(sampler: Sampler, tables: Any, claim: Claim, cost: int) -> _Look:
    """Choose events on some samples and bound them on others."""
    fitted, weighed, other = (sampler.draw(tables, cost // 3) for _ in range(3))
    for_delta, for_epsilon = choose(fitted, weighed, claim.epsilon, claim.delta)
    return _Look(
        tables,
        cautious_delta(for_delta.count(other), claim.epsilon),
        cautious_epsilon(for_epsilon.count(other), claim.delta),
    )


def _worst(seen: list[_Look], number: int) -> list[_Look]:
    """Return the worst by delta and the worst by epsilon in turns, none of them twice."""
    by_delta = sorted(seen, key=lambda each: each.delta, reverse=True)
    by_epsilon = sorted(seen, key=lambda each: each.epsilon, reverse=True)
    turns = [each for pair in zip(by_delta, by_epsilon, strict=True) for each in pair]
    return list({id(each): each for each in turns}.values())[:number]


def _test(sampler: Sampler, tables: Any, claim: Claim, cost: int, alpha: float) -> LowerBounds:
    fitted, weighed = (sampler.draw(tables, cost // 4) for _ in range(2))
    for_delta, for_epsilon = choose(fitted, weighed, claim.epsilon, claim.delta, alpha=alpha)
    fresh = sampler.draw(tables, cost)
    return LowerBounds(
        tables,
        epsilon=for_epsilon.count(fresh).least_epsilon(claim.delta, alpha),
        delta=for_delta.count(fresh).least_delta(claim.epsilon, alpha),
        samples=fresh.without.total(),
    )
