"""The sampler that Joint is compared with has its law, as far as frequencies tell."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from benches.top_k_numpy import joint
from scipy.stats import chi2

from dpsel.auditing import _laws as laws
from false_alarm import ALPHA

DRAWS = 3000


def in_numpy(counts: list[int], k: int, number: int) -> tuple[int, ...]:
    return tuple(joint(np.array(counts), k, 1.0, np.random.default_rng(number)).tolist())


@pytest.mark.parametrize(("counts", "k"), [([10, 10, 5], 2), ([4, 3, 3, 1], 3), ([2, 9], 1)])
def test_the_published_sampler_has_the_law_of_joint(counts, k) -> None:
    law = laws.joint(counts, k, 0.5)
    seen = Counter(in_numpy(counts, k, number) for number in range(DRAWS))
    assert set(seen) <= set(law)
    cells = [(seen[outcome], p * DRAWS) for outcome, p in law.items() if p * DRAWS >= 5]
    statistic = sum((number - expected) ** 2 / expected for number, expected in cells)
    assert chi2.sf(statistic, max(1, len(cells) - 1)) > ALPHA
