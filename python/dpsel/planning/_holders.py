"""Probabilities of release of an item whose users have more items than they keep."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from math import exp, lgamma, log, log1p, sqrt
from typing import TYPE_CHECKING, Final

from dpsel import _core_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Holders"]

#: Numbers of keepers further than this from the mean, in standard deviations and then keepers, never happen.
_FAR: Final = 9
_FURTHER: Final = 40
#: So many of them stand for all. Beyond them the noise is far wider than the step from one to the next.
_POINTS: Final = 2048


@dataclass(frozen=True, slots=True)
class Holders:
    """Users who hold an item: each has ``held`` items, and keeps a random choice of ``kept`` of them.

    Args:
        request: The request of the release, with a limit that is a number.
        held: Items of each user.
        kept: As many of them as users keep.
    """

    request: str
    held: int
    kept: int
    #: An item that nobody keeps is not there to be released.
    _known: dict[int, float] = field(default_factory=lambda: {0: 0.0}, init=False)

    def keep(self, users: Sequence[int]) -> list[float]:
        """Return the probability of release of an item of each number of such users.

        Of n users a binomial number keeps it: each does by itself, with probability kept / held.
        """
        if self.kept == self.held:
            return _core_calls.keep_probabilities(self.request, self.kept, list(users))
        spread = [self._keepers(number) for number in users]
        self._ask({number for weights in spread for number in weights} - self._known.keys())
        return [self._mean(weights) for weights in spread]

    def needed(self, probabilities: Sequence[float]) -> list[int | None]:
        """Return the fewest such users for each probability; ``None`` if more than the core counts to."""
        fewest = _core_calls.users_needed(self.request, self.kept, list(probabilities))
        if self.kept == self.held:
            return fewest
        return [
            None if least is None else self._fewest(least, probability)
            for least, probability in zip(fewest, probabilities, strict=True)
        ]

    def _fewest(self, least: int, probability: float) -> int:
        """Return the fewest users, at least as many as if all kept the item."""

        def keep(number: int) -> float:
            return self.keep([number])[0]

        most = -(-least * self.held // self.kept)
        while keep(most) < probability:
            most *= 2
        return least + bisect_left(range(least, most), probability, key=keep)

    def _ask(self, numbers: set[int]) -> None:
        """Have the core reckon the probabilities of release of these numbers of keepers."""
        if asked := sorted(numbers):
            kept = _core_calls.keep_probabilities(self.request, self.kept, asked)
            self._known.update(zip(asked, kept, strict=True))

    def _mean(self, weights: dict[int, float]) -> float:
        """Return the probability of release over numbers of keepers with these weights."""
        released = sum(weight * self._known[number] for number, weight in weights.items())
        return min(1.0, released / sum(weights.values()))

    def _keepers(self, users: int) -> dict[int, float]:
        """Return numbers of users who keep the item, with weights in proportion to their probabilities."""
        share = self.kept / self.held
        mean = users * share
        far = _FAR * sqrt(mean * (1 - share)) + _FURTHER
        first, last = max(0, int(mean - far)), min(users, int(mean + far))
        # A power of two, so that neighbouring numbers of users share most of their points.
        step = 1 << max(0, ((last - first) // _POINTS).bit_length() - 1)
        yes, no = log(share), log1p(-share)
        logs = {
            number: number * yes + (users - number) * no - lgamma(number + 1) - lgamma(users - number + 1)
            for number in range(-(-first // step) * step, last + 1, step)
        }
        highest = max(logs.values())
        return {number: exp(each - highest) for number, each in logs.items()}
