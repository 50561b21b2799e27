"""What would `Steered` release if it knew the true weights of items, which are secret?

    python -m benches.true_rates path/to/folder --short imdb     # sets, as in benches.accuracy

Norms, caps, shares, noise, threshold and noise check are those of `Steered` at the same limit. Importances
follow each item's noisy score, as there, but its *true* weight per importance. Without error in these rates
items without a chance can be left much earlier. How much rates grow while other items leave is tuned on the
data. So this has no guarantee. It tells how much is lost because rates are secret.

It is a model in floating point, with the generator of numpy. With the rules of `Steered` the same model gives
the sizes of `Steered` (`tests/unit/test_true_rates.py`).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

import dpsel
from benches.releases import DELTAS, arguments, datasets

if TYPE_CHECKING:
    from collections.abc import Callable

    from benches.releases import Data

    Steering = Callable[["State", "Rules"], Any]

#: The name in the file of sizes.
TRUE_RATES = "Steered by true rates"
#: Exponents of the growth of scores: after the share F of all rounds an item has F^exponent of its score.
GROWTHS = (1.25, 1.4, 1.5)
#: Weights, thresholds and scores of a report are integers, so many for one unit.
UNIT = 1 << 30
SHARES = 1 << 20


@dataclass(frozen=True)
class Rules:
    """What the report of `Steered` says of its rounds, in units."""

    shares: Any
    noise: float
    threshold: float
    sizes: Any
    norms: Any
    caps: Any


@dataclass
class Rows:
    """The rows that are kept: user and item, and the norm and the cap of the user."""

    user: Any
    item: Any
    norm: Any
    cap: Any


@lru_cache
def rules(epsilon: float, limit: int) -> Rules:
    """The calibration of `Steered` where users keep at most `limit` items."""
    release = dpsel.select_partitions(
        [(0, 0)],
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=DELTAS[epsilon]),
        max_items_per_user=limit,
        mechanism=dpsel.Steered(),
        insecure_test_key=bytes(32),
    )
    rounds = json.loads(release.report.to_json())["calibration"]["rounds"]
    published = rounds[-1]["publish"]
    return Rules(
        shares=np.array([each["share"] for each in rounds]) / SHARES,
        noise=published["score_noise"]["sigma"],
        threshold=published["threshold"] / UNIT,
        sizes=np.array([each["items"] for each in published["sizes"]]),
        norms=np.array([each["norm"] for each in published["sizes"]]) / UNIT,
        caps=np.array([each["cap"] for each in published["sizes"]]) / UNIT,
    )


def size(data: Data, epsilon: float, limit: int) -> int:
    """The number of released items, with the best growth."""
    found = rules(epsilon, limit)
    rows = kept(data, limit, found)
    return max(released(rows, found, partial(by_true_rates, growth=growth)) for growth in GROWTHS)


def kept(data: Data, limit: int, found: Rules) -> Rows:
    """At most `limit` random items of each user."""
    shuffled = np.random.default_rng(1).permutation(len(data.table))
    user = np.unique(data.table["user"].to_numpy()[shuffled], return_inverse=True)[1]
    item = np.unique(data.table["item"].to_numpy()[shuffled], return_inverse=True)[1]
    order = np.argsort(user, kind="stable")
    user, item = user[order], item[order]
    place = np.arange(len(user)) - np.searchsorted(user, user)
    user, item = user[place < limit], item[place < limit]
    size = np.searchsorted(found.sizes, np.bincount(user))[user]
    return Rows(user, item, found.norms[size], found.caps[size])


@dataclass
class State:
    """What is known of each item after the share `past` of all rounds: its score, and what it is made of."""

    true: Any
    noise: Any
    exposure: Any
    past: float = 0.0

    @property
    def score(self) -> Any:
        return self.true + self.noise


def released(rows: Rows, found: Rules, steer: Steering, seed: int = 2) -> int:
    """The number of released items if `steer` says how important each item is."""
    draw = np.random.default_rng(seed)
    items = rows.item.max() + 1
    state = State(np.zeros(items), np.zeros(items), np.zeros(items))
    importance, drift = np.ones(items), np.zeros(len(rows.item))
    of_share = found.noise / math.sqrt((found.shares**2).sum())
    for share in found.shares:
        state.true += weighed(rows, importance, share, drift)
        state.noise += share * of_share * draw.standard_normal(items)
        state.exposure += share * importance
        state.past += share
        if state.past < 1 - 1e-9:
            importance = np.where(importance > 0, steer(state, found), 0.0)
    return int(((state.score >= found.threshold) & (state.noise < found.threshold)).sum())


def weighed(rows: Rows, importance: Any, share: float, drift: Any) -> Any:
    """The weights of one round for each item; `drift` grows."""
    own = importance[rows.item]
    squares = np.bincount(rows.user, own * own)[rows.user]
    scale = np.divide(share * rows.norm, np.sqrt(squares), out=np.zeros_like(own), where=squares > 0)
    weight = np.minimum(own * scale, rows.cap - drift)
    drift += weight
    return np.bincount(rows.item, weight, len(importance))


def by_true_rates(state: State, found: Rules, growth: float) -> Any:
    """The square of the chance to come through, but no more than what the item needs."""
    rate = state.true / np.maximum(state.exposure, 1e-12)
    last = state.score + rate * state.past * (state.past**-growth - 1)
    noise = found.noise * math.sqrt(1 - state.past)
    prospect = np.clip((last - found.threshold) / noise / 2 + 1, 0.0, 1.0)
    return np.minimum(prospect**2, needed(state, found, rate))


def by_noisy_scores(state: State, found: Rules) -> Any:
    """The rules of `docs/algorithms/steered.md`."""
    path = found.threshold * state.past**1.5
    width = 3 * found.noise * math.sqrt(state.past * (1 - state.past))
    prospect = np.clip((state.score - path + width) / width, 0.0, 1.0)
    rate = np.maximum(state.score, 0.0) / np.maximum(state.exposure, 1e-12)
    return np.minimum(prospect**2, needed(state, found, rate))


def needed(state: State, found: Rules, rate: Any) -> Any:
    """The importance that brings an item of this rate to the threshold, and a little further."""
    left = 1 - state.past
    missing = np.maximum(found.threshold + 2 * found.noise * math.sqrt(left) - state.score, 0.0)
    return np.minimum(missing / (left * 1.25 * np.maximum(rate, 1e-9)), 1.0) ** 1.5


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--limit", type=int, default=300, help="the most items that a user keeps")
    args = parser.parse_args()
    for data in datasets(args.paths, args.short, args.most_rows):
        for epsilon in args.epsilons:
            print(f"{data.name}, epsilon {epsilon:g}: {size(data, epsilon, args.limit):,}")


if __name__ == "__main__":
    main()
