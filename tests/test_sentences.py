"""Sentences of the documents with figures that can be computed without data."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

import dpsel

DOCS = Path(__file__).resolve().parents[1] / "docs"


def first_round(
    epsilon: float, delta: float, limit: int, mechanism: object, **options: float
) -> tuple[float, int]:
    """Standard deviation and threshold."""
    release = dpsel.select_partitions(
        [(1, 1)],
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
        max_items_per_user=limit,
        mechanism=mechanism,
        **options,
    )
    first = json.loads(release.report.to_json())["calibration"]["rounds"][0]
    return first["noise"]["sigma"], first["threshold"]


def test_what_counts_cost_a_single_round_of_gaussian_noise():
    text = (DOCS / "guide" / "counts.md").read_text(encoding="utf-8")
    found = re.search(r"(\d+) to (\d+) % more noise, and a threshold that is (\d+) to (\d+) %\s+higher", text)
    least_noise, most_noise, least, most = (1 + int(number) / 100 for number in found.groups())
    mechanisms = (dpsel.WeightedGaussian(), dpsel.CountGaussian())
    for epsilon, delta, limit, mechanism in itertools.product((0.1, 8.0), (1e-9, 1e-5), (1, 300), mechanisms):
        sigma, threshold = first_round(epsilon, delta, limit, mechanism)
        sigma_beside, threshold_beside = first_round(epsilon, delta, limit, mechanism, counts=0.2)
        assert least_noise <= sigma_beside / sigma <= most_noise
        assert least <= threshold_beside / threshold <= most


@pytest.mark.parametrize("counts", [None, 0.3])
@pytest.mark.parametrize("limit", [1, 3, 4, 300, 2000])
@pytest.mark.parametrize(
    "privacy",
    [
        *[dpsel.ApproxDP(epsilon=epsilon, delta=1e-6) for epsilon in (0.1, 0.49, 0.5, 3.0, 10.0, 12.0)],
        dpsel.ZCDP(rho=0.5, delta=1e-6),
    ],
    ids=repr,
)
def test_auto_takes_what_runs_on_the_disk(tmp_path, privacy, limit, counts):
    """As the page on parameters says: no look from an epsilon of 0.5 to 10 and 4 items on."""
    call = {"privacy": privacy, "max_items_per_user": limit, "counts": counts}
    here = dpsel.select_partitions([(1, 1)], **call)
    there = dpsel.select_partitions([(1, 1)], scratch=str(tmp_path), memory_limit="64MiB", **call)
    looks = privacy.kind == "approx_dp" and 0.5 <= privacy.epsilon <= 10.0 and limit >= 4
    assert (here.report["request"]["mechanism"] != there.report["request"]["mechanism"]) == looks
    assert dpsel.check(there).ok
