"""Sentences of the documents with figures that can be computed without data."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError

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


@pytest.mark.parametrize(("epsilon", "limit"), [(3.0, 10), (3.0, 300), (10.0, 10)])
def test_from_where_on_auto_is_refused_on_the_disk(tmp_path, epsilon, limit):
    """As the page on data larger than memory says: from an epsilon of 3 to 10, and from 10 items on."""
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=1e-6)
    call = {"privacy": privacy, "scratch": str(tmp_path), "memory_limit": "64MiB"}
    with pytest.raises(InvalidParameterError, match="Matching.*Steered, its other choice"):
        dpsel.select_partitions([(1, 1)], max_items_per_user=limit, **call)
    dpsel.select_partitions([(1, 1)], max_items_per_user=limit, mechanism=dpsel.Steered(reach=3), **call)


@pytest.mark.parametrize(("epsilon", "limit"), [(2.9, 300), (10.0, 9), (1.0, 10)])
def test_up_to_where_auto_goes_on_from_the_disk(tmp_path, epsilon, limit):
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=1e-6)
    dpsel.select_partitions([(1, 1)], privacy=privacy, max_items_per_user=limit, scratch=str(tmp_path))
