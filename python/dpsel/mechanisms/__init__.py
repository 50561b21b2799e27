"""The mechanisms as frozen values: which weights select the items, and by which rule.

All of them guarantee privacy for adding or removing one user with all of its rows. They release an item if
its noisy weight reaches a threshold, or with a probability that grows with its weight. Proofs are in
``docs/algorithms/``.

Examples:
    >>> from dpsel import Sips
    >>> Sips(rounds=3)
    Sips(rounds=3, ratio=0.3333333333333333)
"""

from __future__ import annotations

from dpsel.mechanisms._additive import (
    CountGaussian,
    CountLaplace,
    Mad,
    OneItem,
    WeightedGaussian,
    WeightedLaplace,
)
from dpsel.mechanisms._every import Mechanism
from dpsel.mechanisms._greedy import GreedyFrequency, UnitGreedy
from dpsel.mechanisms._policies import PolicyGaussian, PolicyLaplace
from dpsel.mechanisms._rounds import Mad2R, Sips, Steered

__all__ = [
    "CountGaussian",
    "CountLaplace",
    "GreedyFrequency",
    "Mad",
    "Mad2R",
    "Mechanism",
    "OneItem",
    "PolicyGaussian",
    "PolicyLaplace",
    "Sips",
    "Steered",
    "UnitGreedy",
    "WeightedGaussian",
    "WeightedLaplace",
]
