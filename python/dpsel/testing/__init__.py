"""Helpers for the tests of mechanisms, ours and your own: replays, exact distances, random tables.

A replay runs the same computation, under the same key, on two tables that differ in one user, and measures
how far the histograms of weights are apart. That distance is what noise is calibrated to, so it has to hold
exactly: weights are compared as integers or fractions, and floating-point weights by their exact values.

A release is more than its items: [`replay_release`][dpsel.testing.replay_release] checks that nothing else of
it depends on a user.

The strategies need Hypothesis (``pip install 'dpsel[testing]'``); the shape of a release needs pyarrow;
nothing else here needs more than dpsel. See <https://dpsel.github.io/dpsel/guide/testing/>.

Examples:
    >>> from dpsel import testing
    >>> testing.distance({"tea": 2}, {"tea": 3, "gin": 1})
    Distance(l0=2, l1=2, l2_squared=2, linf=1, lowered=0)
"""

from __future__ import annotations

from dpsel.testing._replay import (
    TEST_KEY,
    UNIT,
    Distance,
    SensitivityError,
    check_distance,
    distance,
    replay,
    weight_units,
)
from dpsel.testing._shape import ShapeError, check_shape, replay_release, shape
from dpsel.testing._strategies import (
    approx_dp,
    contributions,
    neighbours,
    release_keys,
    zcdp,
)

__all__ = [
    "TEST_KEY",
    "UNIT",
    "Distance",
    "SensitivityError",
    "ShapeError",
    "approx_dp",
    "check_distance",
    "check_shape",
    "contributions",
    "distance",
    "neighbours",
    "release_keys",
    "replay",
    "replay_release",
    "shape",
    "weight_units",
    "zcdp",
]
