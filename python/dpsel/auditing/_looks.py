"""The audit of a look at the data: the noisy numbers that ``Quantile`` and ``MatchingOr`` show.

Of a quantile one user is in one of the numbers of users. The attack goes by the number of its class, on
tables of few users. Of a choice the attack goes by the score, on tables in which one user changes it most.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from dpsel._request import selection_request
from dpsel.accounting import ApproxDP, Quantile
from dpsel.accounting._privacy import uncharged
from dpsel.auditing._events import Samples
from dpsel.auditing._search import Claim, falsify
from dpsel.auditing._verdicts import sampled
from dpsel.mechanisms import CountGaussian, MatchingOr
from dpsel.mechanisms._matching_or import SHORT
from dpsel.selection import select_partitions

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.auditing._exact import Needed
    from dpsel.auditing._findings import Finding
    from dpsel.auditing._search import Effort
    from dpsel.mechanisms import SelectionMechanism

__all__ = ["audit_look", "law_of_choice", "with_share"]

#: The look gets half of this.
_BUDGET: Final = ApproxDP(epsilon=2.0, delta=0.02)
_SHARE: Final = 0.5
#: A limit up to which each length of a list is a class of its own, and which the rule can find.
_MOST: Final = 3
#: A call takes this many times longer than a draw of a top-k.
_SLOWNESS: Final = 8
_SEED: Final = 1
#: What numbers are cut off to; the true ones are 0 to 2.
_LEAST: Final = -1
_LARGEST: Final = 3
#: The items of each user where a score is attacked, and the change of the score by one user who has them.
_ITEMS: Final = 16
_CHANGE: Final = 128
#: Scores are told apart by parts of the change.
_PARTS: Final = 4

#: The lengths of the lists of all users, without the added user and with it.
Lengths = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class LookSampler:
    """Calls on users with lists of given lengths; an outcome is a number of users, or the score."""

    mechanism: SelectionMechanism
    privacy: ApproxDP
    limit: int | Quantile

    def draw(self, tables: Lengths, cost: int) -> Samples:
        """Return outcomes of what the added user changes; the cost is in calls."""
        added = tables[1][-1]
        without, with_user = (Counter(self._one(lengths, added) for _ in range(cost)) for lengths in tables)
        return Samples(without, with_user)

    def _one(self, lengths: tuple[int, ...], added: int) -> float:
        rows = [(user, item) for user, length in enumerate(lengths) for item in range(length)]
        release = select_partitions(
            rows, privacy=uncharged(self.privacy), max_items_per_user=self.limit, mechanism=self.mechanism
        )
        look = release.report["look"]
        if "score" in look:
            # The added user makes it smaller.
            return float(-look["score"] * _PARTS // _CHANGE)
        number = look["users"][_class_of(added)]
        # All numbers beyond these tell the same.
        return float(min(max(number, _LEAST), _LARGEST))


def _class_of(length: int) -> int:
    """Return the class of a list: up to 3 every length has one, and the last one is of all longer lists."""
    return min(length, _MOST + 1) - 1


def with_share(limit: Quantile) -> Quantile:
    """Return the quantile with the share and the limits of an audit."""
    return Quantile(limit.quantile, share=_SHARE, most=_MOST)


def worst_of_score(choice: MatchingOr, privacy: ApproxDP) -> list[Lengths]:
    """Return tables of users who all have the same items: so many that they fill one and hold all."""
    rest = replace(uncharged(privacy), epsilon=privacy.epsilon * (1 - choice.share))
    first = selection_request(rest, _ITEMS, SHORT).calibrate()["rounds"][0]
    quota = first["weighting"]["matching"]["quota"]
    return [((_ITEMS,) * users, (_ITEMS,) * (users + 1)) for users in (quota, quota - 1)]


def law_of_choice(
    choice: MatchingOr, privacy: ApproxDP, law: Callable[[SelectionMechanism, ApproxDP], Needed | None]
) -> Needed | None:
    """Return the most that the laws of both mechanisms need that a look may choose, with what it leaves.

    What the look itself shows costs the rest, and samples of it are a finding of their own.
    """
    left = replace(privacy, epsilon=privacy.epsilon * (1 - choice.share))
    laws = [found for each in (choice.otherwise, SHORT) if (found := law(each, left)) is not None]
    if not laws:
        return None
    worst = max(laws, key=lambda each: each.delta)
    tables = f"{worst.tables}, given what was chosen"
    return replace(worst, tables=tables, epsilon=max(each.epsilon for each in laws))


def audit_look(subject: Any, name: str, privacy: ApproxDP | None, effort: Effort, alpha: float) -> Finding:
    """Return the finding of the look of a quantile or of a choice, whose claim has no delta."""
    budget = privacy or _BUDGET
    if isinstance(subject, Quantile):
        sampler = LookSampler(CountGaussian(), budget, with_share(subject))
        lengths: list[Lengths] = [((1,), (1, 2)), ((1,), (1, 1)), ((1,), (1, _MOST + 2))]
    else:
        choice = replace(subject, share=_SHARE)
        sampler, lengths = LookSampler(choice, budget, _ITEMS), worst_of_score(choice, budget)
    claim = Claim(_SHARE * budget.epsilon, 0.0)
    shown = falsify(
        sampler,
        lengths,
        claim,
        effort.scaled(_SLOWNESS),
        alpha=alpha,
        random=Random(_SEED),  # noqa: S311 - chooses tables, not noise
    )
    return sampled(name, claim, shown, of="lists of lengths")
