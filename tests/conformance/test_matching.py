"""Matching: the lemmas of its page by brute force, and the cost of ranking and release together."""

from __future__ import annotations

import json
import random
from itertools import chain, combinations, combinations_with_replacement, pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import exp, mp, mpf

import dpsel
from dpsel.exceptions import DpselError
from reference import curves, matching
from reference import mechanisms as reference
from rounds import shipped
from strategies import keys
from support import KEY, items_of, released, report_of, select, table

mp.dps = 40

UNIT = curves.UNIT
PRIVACY = [
    dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5),
    dpsel.ApproxDP(epsilon=6.0, delta=1e-6),
    dpsel.ApproxDP(epsilon=0.5, delta=1e-3),
]
GENEROUS = dpsel.ApproxDP(epsilon=6.0, delta=0.05)
ADDED = "u"


@st.composite
def small_tables(draw) -> tuple[dict, list[tuple]]:
    """Users of few items, one of whom is the added one, and slots in some order of the items."""
    items = draw(st.permutations(range(draw(st.integers(1, 4)))))
    users = {n: draw(st.sets(st.sampled_from(items))) for n in range(draw(st.integers(0, 5)))}
    users[ADDED] = draw(st.sets(st.sampled_from(items)))
    return users, matching.slots_of(items, draw(st.integers(1, 3)), draw(st.integers(1, 3)))


@given(small_tables())
def test_a_slot_raises_the_rank_as_much_with_the_user_as_without(drawn) -> None:
    """Lemma 2, for any slots before it: here those of every prefix and of every second one."""
    users, slots = drawn
    without = {user: items for user, items in users.items() if user != ADDED}
    for at, slot in enumerate(slots):
        for before in (slots[:at], slots[:at:2]):
            grown, alone = (
                matching.rank(each, [*before, slot]) - matching.rank(each, before)
                for each in (users, without)
            )
            assert grown >= alone


@given(small_tables())
def test_kept_slots_are_those_that_raise_the_rank(drawn) -> None:
    """Lemma 3: augmenting paths against the definition."""
    users, slots = drawn
    raised = [
        slot
        for at, slot in enumerate(slots)
        if matching.rank(users, slots[: at + 1]) > matching.rank(users, slots[:at])
    ]
    assert matching.kept(users, slots) == raised


@given(small_tables())
def test_a_user_keeps_one_slot_more_at_most_and_drops_none(drawn) -> None:
    """Lemma 4."""
    users, slots = drawn
    without = {user: items for user, items in users.items() if user != ADDED}
    before, after = (set(matching.kept(each, slots)) for each in (without, users))
    assert before <= after
    assert len(after - before) <= 1


def largest(users: list[set], slots: list[tuple]) -> int:
    """The size of a largest matching by König's formula: slots of other items and users of some."""
    held = sorted({item for item, _ in slots})
    choices = chain.from_iterable(combinations(held, count) for count in range(len(held) + 1))
    return min(
        sum(item not in chosen for item, _ in slots) + sum(not items.isdisjoint(chosen) for items in users)
        for chosen in choices
    )


def kept_by_rank(users: list[set], slots: list[tuple]) -> list[tuple]:
    """The slots by which a largest matching grows."""
    ranks = [largest(users, slots[:at]) for at in range(len(slots) + 1)]
    return [slot for slot, (before, after) in zip(slots, pairwise(ranks), strict=True) if after > before]


@pytest.mark.parametrize(
    ("quota", "most"), [(quota, most) for most in (1, 2, 3) for quota in range(1, most + 1)]
)
def test_all_tables_of_three_items_and_four_users(quota, most) -> None:
    """Lemmas 3 and 4, for every user who may be the added one. Other orders of the items are other tables."""
    slots = matching.slots_of(range(3), quota, most)
    lists = [set(items) for count in range(4) for items in combinations(range(3), count)]
    by_rank = {}
    for count in range(5):
        for chosen in combinations_with_replacement(range(len(lists)), count):
            users = [lists[each] for each in chosen]
            found = kept_by_rank(users, slots)
            by_rank[chosen] = set(found)
            assert matching.kept(dict(enumerate(users)), slots) == found
            for left_out in range(count):
                without = by_rank[chosen[:left_out] + chosen[left_out + 1 :]]
                assert without <= by_rank[chosen]
                assert len(by_rank[chosen]) <= len(without) + 1
    assert len(by_rank) == 495


def screened(privacy) -> tuple[dict, dict, list[mpf]]:
    """Both rounds with screening, and the release probabilities of the levels."""
    (first, second), (_, words) = shipped(dpsel.Matching(screening=True), privacy, 10)
    return first, second, [*(mpf(word) / 2**128 for word in words), mpf(1)]


def noise_law(first: dict) -> dict[int, mpf]:
    """The law of the noise of a ranking, as far as it is not negligible."""
    a, b = exp(-mpf(first["rate_above"])), exp(-mpf(first["rate_below"]))
    most = (1 - a) * (1 - b) / (1 - a * b)
    reach = [int(60 / first[name]) for name in ("rate_below", "rate_above")]
    return {z: most * (a**z if z >= 0 else b**-z) for z in range(-reach[0], reach[1])}


@pytest.mark.parametrize("privacy", PRIVACY, ids=str)
def test_seeing_the_ranking_and_the_release_stays_within_delta(privacy) -> None:
    """The exact divergence, both ways; the tables may put the change anywhere after each ranking."""
    first, _, chances = screened(privacy)
    law, factor = noise_law(first), exp(mpf(privacy.epsilon))
    pairs = list(pairwise(chances))

    def excess(mine: mpf, other: mpf, released: list[tuple[mpf, mpf]]) -> mpf:
        """By how much a result is likelier than e^epsilon times the other, for the worst level."""
        return max(
            max(mpf(0), mine * p - factor * other * q)
            + max(mpf(0), mine * (1 - p) - factor * other * (1 - q))
            for p, q in released
        )

    adding, removing = mpf(0), mpf(0)
    for z, chance in law.items():
        # The noisy level z of an item of level 0, and of one of level 1.
        with_user = law.get(z - 1, mpf(0))
        if with_user == 0:
            continue
        adding += excess(with_user, chance, [(p, q) for q, p in pairs])
        removing += excess(chance, with_user, pairs)
    delta = mpf(privacy.delta)
    assert max(adding, removing) <= delta * (1 + mpf("1e-12"))
    assert adding > delta * mpf("0.999")
    # Beyond the curve's last step the second condition has room.
    assert removing > delta / 2


@pytest.mark.parametrize("privacy", PRIVACY, ids=str)
def test_shares_of_epsilon_and_the_recurrence(privacy) -> None:
    first, second, chances = screened(privacy)
    curve, epsilon = second["curve"], mpf(privacy.epsilon)
    for rate, share in (("rate_above", "adding"), ("rate_below", "removing")):
        assert epsilon * (1 - mpf("1e-12")) <= mpf(first[rate]) + mpf(curve[share]) <= epsilon
    assert (curve["kind"], curve["delta"], second["quantum"]) == ("one_unit", privacy.delta, UNIT)
    expected = curves.table(second)
    assert len(expected) <= len(chances) - 1 <= len(expected) + 1
    for exact, got in zip(expected, chances, strict=False):
        assert mpf(0) <= exact - got <= mpf("1e-8") * min(exact, 1 - exact)
    quota, most = (second["weighting"]["matching"][name] for name in ("quota", "most"))
    assert first["weighting"]["matching"] == {"quota": quota, "most": quota}
    assert chances[most] == 1 > chances[most - 1]
    assert chances[quota] >= mpf("0.5")
    for level in range(quota - 1, quota + 1):
        worth = chances[level + 1] - chances[level] > chances[level] / level / 2
        assert worth == (level < quota) or (level < quota and chances[level] < mpf("0.5"))


def test_the_release_probabilities_of_the_page() -> None:
    _, second, chances = screened(PRIVACY[0])
    assert second["weighting"]["matching"]["quota"] == 8
    assert [round(float(chances[level]), 2) for level in (7, 8)] == [0.78, 0.94]


@given(data=st.data(), key=keys)
def test_any_ranking_leaves_one_unit_to_one_item(data, key) -> None:
    """Whatever was seen: replay with and without a user, whose own items may be novel."""
    rows = data.draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=40))
    added = [(99, item) for item in data.draw(st.sets(st.integers(0, 14)))]
    ranking = {(int, item): data.draw(st.integers(-3, 6)) for item in range(15)}
    bound, quota = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    parameters = {"quota": quota, "most": data.draw(st.integers(1, 6))}
    before, after = (
        matching.levels(reference.bound(reference.sets_of(each), bound, key), parameters, key, ranking)
        for each in (rows, rows + added)
    )
    changes = [after.get(item, 0) - before.get(item, 0) for item in before | after]
    assert sorted(changes)[:-1] == [0] * (len(changes) - 1) or not changes
    assert max(changes, default=0) in (0, UNIT)


@pytest.mark.parametrize("screening", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_users_of_novel_items_change_nothing_for_others(seed, screening) -> None:
    """Items that nobody else holds have slots of their own, wherever they stand in the order."""
    rows = [(u, i) for u in range(80) for i in range(14) if (u * 7 + i * 11) % 14 >= i]
    novel = [(1000 + u, 1000 + 20 * u + i) for u in range(30) for i in range(20)]
    arguments = {
        "privacy": GENEROUS,
        "max_items_per_user": 5,
        "mechanism": dpsel.Matching(screening=screening),
        "key": bytes([seed]) * 32,
    }
    without = items_of(select(table(rows), **arguments))
    assert without
    with_novel = items_of(select(table(rows + novel), **arguments))
    assert [item for item in with_novel if item < 1000] == without


def test_users_move_where_that_fills_one_more_slot() -> None:
    """Users of one item need it; those of two items leave it to them, whoever comes first."""
    need = len(shipped(dpsel.Matching(), GENEROUS, 2)[1][0])
    rows = [(n, 1) for n in range(need)] + [(1000 + n, item) for n in range(need) for item in (1, 2)]
    for seed in range(8):
        found = select(
            table(rows),
            privacy=GENEROUS,
            max_items_per_user=2,
            mechanism=dpsel.Matching(),
            key=bytes([seed]) * 32,
        )
        assert items_of(found) == [1, 2]


@pytest.mark.parametrize("screening", [False, True])
def test_neither_threads_nor_the_order_of_rows_matter(screening) -> None:
    chance = random.Random(5)
    pairs = [(chance.randrange(20_011), int(3000 * chance.random() ** 2)) for _ in range(200_000)]
    data = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    found = [
        released(
            select(
                each,
                privacy=GENEROUS,
                max_items_per_user=100,
                mechanism=dpsel.Matching(screening=screening),
                threads=threads,
            )
        )
        for each, threads in ((data, 1), (data, 8), (data.reverse(), 2))
    ]
    assert len(found[0]) > 100
    assert found[0] == found[1] == found[2]


def test_a_limit_that_cuts_nothing_changes_nothing() -> None:
    rows = [(u, (u * i) % 40) for u in range(300) for i in range(9)]
    found = [
        items_of(
            select(
                table(rows), privacy=GENEROUS, max_items_per_user=limit, mechanism=dpsel.Matching(), key=KEY
            )
        )
        for limit in (9, 10_000)
    ]
    assert found[0] == found[1] != []


def test_screening_moves_slots_to_items_that_can_be_filled() -> None:
    """Every user has one common item and many rare ones, which take users away where the order is random."""
    chance = random.Random(3)
    rows = [(u, item) for u in range(600) for item in (u % 60, *chance.sample(range(100, 2100), 8))]
    arguments = {"privacy": GENEROUS, "max_items_per_user": 20}
    counts = [
        sum(
            len(
                select(
                    table(rows), mechanism=dpsel.Matching(screening=each), key=bytes([seed]) * 32, **arguments
                )
            )
            for seed in range(3)
        )
        for each in (False, True)
    ]
    assert counts[1] > counts[0]


def test_a_changed_ranking_does_not_check() -> None:
    mechanism = dpsel.Matching(screening=True)
    release = select(table([(1, 1)]), privacy=PRIVACY[0], max_items_per_user=3, mechanism=mechanism, key=None)
    assert dpsel.check(release.report).ok
    assert str(dpsel.Report(release.report.to_json())).strip()
    for name, value in (("rate_above", 0.5), ("rate_below", 0.0)):
        changed = json.loads(release.report.to_json())
        changed["calibration"]["rounds"][0][name] = value
        assert "round 1" in dpsel.check(dpsel.Report(json.dumps(changed))).reason
    assert "Matching(screening=True)" in repr(release)
    assert report_of(release)["request"]["mechanism"] == {"name": "matching", "screening": True}


def test_parameters_are_checked() -> None:
    for wrong in (None, 1, "yes"):
        with pytest.raises(DpselError, match="screening must be True or False"):
            dpsel.Matching(screening=wrong)
    for privacy in (dpsel.ZCDP(rho=0.1, delta=1e-6), dpsel.PureDP(epsilon=1.0)):
        with pytest.raises(DpselError, match="Matching"):
            select(table([]), privacy=privacy, max_items_per_user=3, mechanism=dpsel.Matching())
