"""The public helpers for tests: distances are exact, and a replay notices what is too far apart."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel import testing
from weak import WEAK

pytestmark = WEAK

HISTOGRAMS = st.dictionaries(st.integers(0, 9), st.integers(-50, 50))


@given(before=HISTOGRAMS, after=HISTOGRAMS)
def test_distances_are_those_of_the_definition(before, after) -> None:
    changes = [after.get(i, 0) - before.get(i, 0) for i in range(10)]
    found = testing.distance(before, after)
    assert found.l0 == sum(change != 0 for change in changes)
    assert found.l1 == sum(map(abs, changes))
    assert found.l2_squared == sum(change**2 for change in changes)
    assert found.linf == max(map(abs, changes))
    assert found.lowered == sum(change < 0 for change in changes)


@pytest.mark.parametrize("norm", ["l0", "l1", "l2_squared", "linf"])
def test_every_norm_is_checked_and_has_no_slack(norm) -> None:
    before, after = {1: 5}, {1: 7, 2: 3}
    least = getattr(testing.distance(before, after), norm)
    testing.check_distance(before, after, **{norm: least})
    with pytest.raises(testing.SensitivityError, match=f"{norm} is {least}"):
        testing.check_distance(before, after, **{norm: least - Fraction(1, 10**9)})


def shares(power: float, kind: type):
    def histogram(rows, _key):
        sets, weights = defaultdict(set), defaultdict(kind)
        for user, item in rows:
            sets[user].add(item)
        for items in sets.values():
            for item in items:
                weights[item] += kind(1 / len(items) ** power)
        return weights

    return histogram


@pytest.mark.parametrize("items", [5, 6, 7, 14])
def test_floating_point_weights_are_seen_to_exceed_their_norm(items) -> None:
    """The squares of k floats 1/sqrt(k) add up to more than 1 for some k: no sample would show it."""
    tables = ([], [(1, item) for item in range(items)])
    exact = Fraction(1 / math.sqrt(items)) ** 2 * items
    found = testing.replay(shares(0.5, float), tables)
    assert found.l2_squared == exact
    if exact > 1:
        with pytest.raises(testing.SensitivityError, match="l2_squared"):
            testing.replay(shares(0.5, float), tables, l2_squared=1)


def test_some_floating_point_norm_is_exceeded() -> None:
    assert any(Fraction(1 / math.sqrt(k)) ** 2 * k > 1 for k in (5, 6, 7, 14))


def test_sums_of_floats_in_another_order_are_seen() -> None:
    """The same weights, added up after those of a user who came first."""
    others = [(user, 0) for user in range(5) for _ in range(3)]
    tables = (others, [(99, 0), *others])

    def total(rows, _key):
        return {0: sum(0.1 * (1 + user % 7) for user, _ in rows)}

    assert testing.replay(total, tables).linf != Fraction(0.1 * (1 + 99 % 7))


@given(tables=testing.neighbours(), key=testing.release_keys())
def test_a_replay_of_our_own_weights(tables, key) -> None:
    """The noise of an item is the same in both releases, so it cancels."""
    crowd = [(10_000 + n, item) for item in range(25) for n in range(40 * item, 40 * item + 40)]

    def weights(rows, key):
        release = dpsel.select_partitions(
            [*rows, *crowd],
            privacy=dpsel.ApproxDP(epsilon=20.0, delta=0.01),
            max_items_per_user=3,
            mechanism=dpsel.WeightedGaussian(),
            with_weights=True,
            insecure_test_key=key,
        )
        return testing.weight_units(release)

    found = testing.replay(weights, tables, key=key, l0=3, l2_squared=testing.UNIT**2)
    assert found.l0 >= 1
    assert found.lowered == 0


@given(tables=testing.neighbours(users=4, items=6, max_rows=20, added=3))
def test_neighbours_differ_in_one_user(tables) -> None:
    before, after = tables
    more = after[len(before) :]
    assert after[: len(before)] == before
    assert len({user for user, _ in more}) == 1
    assert 1 <= len(more) <= 3
    assert {user for user, _ in more}.isdisjoint(user for user, _ in before)


@given(table=testing.contributions(users=4, items=2, max_rows=5))
def test_tables_keep_to_their_sizes(table) -> None:
    assert len(table) <= 5
    assert all(0 <= user < 4 and 0 <= item < 2 for user, item in table)


def test_weights_have_to_be_asked_for() -> None:
    release = dpsel.select_partitions(
        [(1, 2)], privacy=dpsel.ApproxDP(epsilon=1.0, delta=0.1), max_items_per_user=1
    )
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="with_weights=True"):
        testing.weight_units(release)


def test_only_the_strategies_need_hypothesis() -> None:
    script = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from dpsel import testing\n"
        "print(testing.distance({}, {1: 2}).l1)\n"
        "try:\n    testing.neighbours()\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    number, message = done.stdout.splitlines()
    assert number == "2"
    assert "pip install 'dpsel[testing]'" in message
