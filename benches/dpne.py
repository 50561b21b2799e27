"""Differentially private n-gram extraction (DPNE) of Kim, Gopi, Kulkarni and Yekhanin (2021), in numpy.

It is written after the paper (https://arxiv.org/abs/2108.02831), for comparison only: its noise comes from a
floating-point generator. Each length has a part of the budget. Words are selected by the weighted Gaussian
mechanism with a threshold that half of delta pays for. Candidates of more words are all that consist of two
released n-grams of a word less. All of them get noise, also those that nobody wrote, so that no delta is
needed there: the threshold lets a share `eta` of them out, relative to the n-grams released before. These
are drawn here by their number, which is a binomial one.

Two things are better for DPNE than in its own program: the number of candidates is counted and not estimated
from a sample, and delta is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Settings:
    """The guarantee, and what users give: those of the paper but for the guarantee.

    Args:
        epsilon: Epsilon of all lengths together.
        delta: Delta of all lengths together.
        limit: The n-grams of one length that a user gives at most.
        eta: The share of n-grams that nobody need have written.
        base: The noise of a length is so many times that of the length before.
    """

    epsilon: float
    delta: float
    limit: int = 300
    eta: float = 0.01
    base: float = 1.0


@dataclass(frozen=True)
class Level:
    """What came out of one length: how many n-grams, how many that nobody wrote, and the threshold."""

    released: int
    invented: int
    threshold: float


@dataclass(frozen=True)
class Texts:
    """All words one after the other: users, numbers of words, and where a sentence ends before the next."""

    users: Array
    words: Array
    ends: Array

    @classmethod
    def of(cls, users: Sequence[Sequence[Sequence[str]]]) -> Texts:
        """Number the words of the sentences of each user."""
        numbers: dict[str, int] = {}
        rows = [
            (user, numbers.setdefault(word, len(numbers)), place == len(sentence) - 1)
            for user, sentences in enumerate(users)
            for sentence in sentences
            for place, word in enumerate(sentence)
        ]
        columns = np.array(rows, dtype=np.int64)
        return cls(columns[:, 0], columns[:, 1], columns[:, 2].astype(bool))


def gaussian_scale(epsilon: float, delta: float) -> float:
    """The noise of the Gaussian mechanism of sensitivity 1, by the exact condition (Balle and Wang 2018)."""

    def excess(scale: float) -> float:
        half, shift = 1 / (2 * scale), epsilon * scale
        return float(norm.cdf(half - shift) - math.exp(epsilon) * norm.cdf(-half - shift)) - delta

    return float(brentq(excess, 1e-3, 1e4))


def scales(settings: Settings, most: int) -> list[float]:
    """The noise of each length: the squares of the inverses add up to that of half of delta."""
    whole = gaussian_scale(settings.epsilon, settings.delta / 2)
    powers = [settings.base**length for length in range(1, most + 1)]
    return [whole * power * math.sqrt(sum(other**-2 for other in powers)) for power in powers]


def word_threshold(settings: Settings, scale: float) -> float:
    """The threshold of words: no user's own words come out but with half of delta."""
    held = np.arange(1, settings.limit + 1)
    return float(np.max(held**-0.5 + scale * norm.ppf((1 - settings.delta / 2) ** (1 / held))))


def weights(users: Array, grams: Array, limit: int, draw: np.random.Generator) -> tuple[Array, Array]:
    """The n-grams that users give, at random up to the limit, and the weight of each: 1 over a root."""
    width = int(grams.max(initial=0)) + 1
    pairs = np.unique(users * width + grams)
    holders = pairs // width
    order = np.lexsort((draw.random(len(pairs)), holders))
    _, first, held = np.unique(holders, return_index=True, return_counts=True)
    kept = np.arange(len(pairs)) - np.repeat(first, held) < limit
    given = np.repeat(1 / np.sqrt(np.minimum(held, limit)), held)[kept]
    found, places = np.unique(pairs[order[kept]] % width, return_inverse=True)
    return found, np.bincount(places, weights=given, minlength=len(found))


@dataclass(frozen=True)
class Released:
    """N-grams of one length: places in the length before, of what is left without the last and first word."""

    prefix: Array
    suffix: Array

    def middles(self) -> tuple[Array, Array]:
        """For each middle of a longer n-gram, how many of these end and how many begin with it."""
        size = int(max(self.prefix.max(initial=-1), self.suffix.max(initial=-1))) + 1
        return np.bincount(self.suffix, minlength=size), np.bincount(self.prefix, minlength=size)


def unwritten(number: int, before: Released, given: Array, draw: np.random.Generator) -> Array:
    """So many candidates that no user gave, drawn at random."""
    ending, beginning = before.middles()
    chances = ending * beginning / max((ending * beginning).sum(), 1)
    ends_with, begins_with = (np.argsort(side, kind="stable") for side in (before.suffix, before.prefix))
    end_at, begin_at = (np.cumsum(side) - side for side in (ending, beginning))
    taken, found = set(given.tolist()), set[int]()
    while len(found) < number:
        middle = draw.choice(len(chances), p=chances)
        left = ends_with[end_at[middle] + draw.integers(ending[middle])]
        right = begins_with[begin_at[middle] + draw.integers(beginning[middle])]
        key = int(left) * len(before.prefix) + int(right)
        if key not in taken:
            found.add(key)
    return np.array(sorted(found), dtype=np.int64)


def extract(texts: Texts, most: int, settings: Settings, draw: np.random.Generator) -> list[Level]:
    """Release n-grams of one word to `most` words."""
    noise = scales(settings, most)
    found, given = weights(texts.users, texts.words, settings.limit, draw)
    threshold = word_threshold(settings, noise[0])
    out = found[given + draw.normal(0, noise[0], len(found)) > threshold]
    levels, before = [Level(len(out), 0, threshold)], Released(out * 0, out * 0)
    current = places_of(texts.words, out)
    for scale in noise[1:]:
        if not len(before.prefix):
            break
        level, current, before = longer(texts, current, before, settings.eta, settings.limit, scale, draw)
        levels.append(level)
    return levels


def places_of(keys: Array, out: Array) -> Array:
    """The place of each key in a sorted list, and -1 if it is not there."""
    if not len(out):
        return np.full(len(keys), -1)
    where = np.minimum(np.searchsorted(out, keys), len(out) - 1)
    return np.where(out[where] == keys, where, -1)


def longer(
    texts: Texts,
    current: Array,
    before: Released,
    eta: float,
    limit: int,
    scale: float,
    draw: np.random.Generator,
) -> tuple[Level, Array, Released]:
    """Release the n-grams of one word more than those so far, and say where they begin."""
    size, next_one = len(before.prefix), np.append(current[1:], -1)
    at = np.flatnonzero((current >= 0) & (next_one >= 0) & ~texts.ends)
    keys = current[at] * size + next_one[at]
    found, given = weights(texts.users[at], keys, limit, draw)
    ending, beginning = before.middles()
    possible = int((ending * beginning).sum())
    threshold = scale * float(norm.ppf(1 - eta * min(1.0, size / max(possible, 1))))
    held = found[given + draw.normal(0, scale, len(found)) > threshold]
    number = draw.binomial(possible - len(found), norm.cdf(-threshold / scale))
    added = unwritten(number, before, found, draw)
    out = np.union1d(held, added)
    begins = np.full(len(current), -1)
    begins[at] = places_of(keys, out)
    level = Level(len(out), len(np.setdiff1d(added, keys)), threshold)
    return level, begins, Released(out // size, out % size)
