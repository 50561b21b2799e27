"""What the tests need again and again: one way to call the library and to look at what came back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

import dpsel
from dpsel.testing import TEST_KEY, weight_units
from reference.mechanisms import Round
from reference.steered import ScoredRound, UserSize

if TYPE_CHECKING:
    from collections.abc import Hashable

KEY = TEST_KEY
#: Released item -> noisy weight in grid steps.
units_of = weight_units


def table(rows, *, user_type: pa.DataType | None = None, item_type: pa.DataType | None = None) -> pa.Table:
    """Rows of (user, item) as a table; int64 users and items if there are none to tell."""
    users, items = [u for u, _ in rows], [i for _, i in rows]
    return pa.table(
        {
            "user": pa.array(users, user_type or (None if rows else pa.int64())),
            "item": pa.array(items, item_type or (None if rows else pa.int64())),
        }
    )


def select(data, *, key: bytes | None = KEY, **arguments):
    """`dpsel.select_partitions` on columns `user` and `item` under the test key."""
    arguments.setdefault("user", "user")
    arguments.setdefault("item", "item")
    return dpsel.select_partitions(data, insecure_test_key=key, **arguments)


def released(release) -> pa.Table:
    """The released items as an Arrow table."""
    return pa.table(release)


def items_of(release) -> list[Hashable]:
    """The released items as Python values, in order; tuples for composite items."""
    columns = [name for name in released(release).column_names if name != "weight"]
    values = [released(release)[name].to_pylist() for name in columns]
    return values[0] if len(values) == 1 else list(zip(*values, strict=True))


def report_of(release) -> dict:
    """The report as plain JSON data."""
    return json.loads(release.report.to_json())


def scored_round(round_: dict) -> ScoredRound:
    """A scored round, from a calibration."""
    publish = round_.get("publish") or {"threshold": None, "noise_check": "absent", "sizes": []}
    sizes = tuple(UserSize(**size) for size in publish["sizes"])
    is_checked = {"below_threshold": True, "absent": False}[publish["noise_check"]]
    names = ("share", "futility_bound", "expected_path", "target", "settled_bound")
    steering = (round_[name] for name in names)
    return ScoredRound(round_["noise"]["sigma"], *steering, publish["threshold"], is_checked, sizes)


def rounds_of(release) -> list[Round | ScoredRound]:
    """Scale and threshold of every round, from the report."""
    rounds = []
    for round_ in report_of(release)["calibration"]["rounds"]:
        noise = round_["noise"]
        if "share" in round_:
            rounds.append(scored_round(round_))
            continue
        scale = noise["sigma"] if noise["kind"] == "gaussian" else noise["scale"]
        rounds.append(Round(scale, round_["threshold"], round_["weighting"]))
    return rounds
