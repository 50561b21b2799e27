"""DPNE in `benches/dpne.py`: its noise, its candidates, and what it invents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benches import dpne
from scipy.stats import norm


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 5e-7), (6.0, 5e-7), (0.5, 1e-5)])
def test_the_noise_is_that_of_the_exact_condition(epsilon, delta):
    scale = dpne.gaussian_scale(epsilon, delta)
    half, shift = 1 / (2 * scale), epsilon * scale
    assert norm.cdf(half - shift) - math.exp(epsilon) * norm.cdf(-half - shift) == pytest.approx(
        delta, rel=1e-6
    )


def test_noise_and_thresholds_are_those_that_the_program_of_its_authors_prints():
    settings = dpne.Settings(1.765, 4.96e-5)
    noise = dpne.scales(settings, 3)
    assert noise == pytest.approx([3.666571881868236] * 3, rel=1e-8)
    assert dpne.word_threshold(settings, noise[0]) == pytest.approx(19.25080152793053, rel=1e-8)


@pytest.mark.parametrize("base", [1.0, 1.4, 2.0])
def test_the_noises_of_all_lengths_compose_to_the_whole_budget(base):
    noise = dpne.scales(dpne.Settings(1.765, 4.96e-5, base=base), 5)
    whole = dpne.gaussian_scale(1.765, 4.96e-5 / 2)
    assert sum(each**-2 for each in noise) == pytest.approx(whole**-2)
    assert noise[1] / noise[0] == pytest.approx(base)


def test_the_threshold_of_words_is_the_smallest_that_half_of_delta_pays_for():
    settings = dpne.Settings(1.0, 1e-4, limit=50)
    scale = dpne.scales(settings, 1)[0]
    threshold = dpne.word_threshold(settings, scale)
    held = np.arange(1, settings.limit + 1)
    crossed = 1 - norm.cdf((threshold - held**-0.5) / scale) ** held
    assert crossed.max() == pytest.approx(settings.delta / 2, rel=1e-3)


def test_users_give_weights_of_norm_one_for_at_most_the_limit():
    users, grams = np.repeat([0, 1], [9, 2]), np.array([*range(9), 0, 0])
    found, given = dpne.weights(users, grams, 4, np.random.default_rng(1))
    assert given.sum() == pytest.approx(4 / 2 + 1)
    assert len(found) in (4, 5)


def released(sentences: list[str], users: int, most: int) -> list[dpne.Level]:
    texts = dpne.Texts.of([[sentence.split() for sentence in sentences] for _ in range(users)])
    return dpne.extract(texts, most, dpne.Settings(20.0, 1e-6, eta=1e-9), np.random.default_rng(1))


def test_what_all_users_wrote_comes_out_and_nothing_across_sentences():
    levels = released(["one two three", "four five"], 2_000, 4)
    assert [level.released for level in levels] == [5, 3, 1, 0]
    assert all(level.invented == 0 for level in levels)


def test_a_share_eta_of_phrases_is_invented():
    words = [f"w{number}" for number in range(60)]
    texts = dpne.Texts.of([[[word] for word in words] for _ in range(500)])
    settings = dpne.Settings(20.0, 1e-6, eta=0.2)
    found = [dpne.extract(texts, 2, settings, np.random.default_rng(seed))[1] for seed in range(20)]
    assert all(level.released == level.invented for level in found)
    assert sum(level.invented for level in found) / 20 == pytest.approx(0.2 * len(words), abs=2.5)
