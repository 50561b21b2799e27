"""The look at what Matching fills: the lemmas of its page, on all small tables."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import filled
from reference import mechanisms as reference
from reference.matching import in_order
from strategies import keys

ITEMS = range(3)
LISTS = [set(items) for count in range(len(ITEMS) + 1) for items in combinations(ITEMS, count)]
QUOTAS = (1, 2, 3)
#: The least and the largest change of the score by a user of three items at most who joins up to four others.
EXTREMES = {1: (-24, 48), 2: (-16, 56), 3: (-8, 56)}


def tables(most_users: int):
    """All tables of three items. All orders of the items are among them, as other tables."""
    for count in range(most_users + 1):
        for chosen in combinations_with_replacement(LISTS, count):
            yield dict(enumerate(chosen))


@pytest.mark.parametrize("quota", QUOTAS)
def test_a_user_more_changes_the_score_by_its_bounds(quota) -> None:
    """Lemmas 1 to 3, with every list as that of the added user."""
    changes = set()
    for users in tables(4):
        for added in LISTS:
            more = users | {"u": added}
            before, after = (filled.beyond_a_quarter(each, ITEMS, quota, quota) for each in (users, more))
            found = after - before
            held = filled.held(more, quota) - filled.held(users, quota)
            assert 0 <= found <= 4
            assert 0 <= held <= 8 * len(added)
            score = filled.score(more, ITEMS, quota) - filled.score(users, ITEMS, quota)
            assert score == 16 * found - held
            assert -filled.MOST_HELD <= score <= filled.MOST_FILLED
            changes.add(score)
    assert (min(changes), max(changes)) == EXTREMES[quota]


@pytest.mark.parametrize("quota", QUOTAS)
def test_the_order_of_users_and_later_slots_change_no_number(quota) -> None:
    """In whatever order users are visited, and however many slots come after the turns."""
    for users in tables(3):
        number = filled.beyond_a_quarter(users, ITEMS, quota, quota)
        for order in permutations(users):
            assert (
                filled.beyond_a_quarter({user: users[user] for user in order}, ITEMS, quota, quota) == number
            )
        assert filled.beyond_a_quarter(users, ITEMS, quota, quota + 2) == number


@pytest.mark.parametrize("quota", QUOTAS)
def test_users_and_rows_bound_the_numbers(quota) -> None:
    """So none of them overflows."""
    for users in tables(4):
        assert filled.beyond_a_quarter(users, ITEMS, quota, quota) <= 3 * len(users)
        assert filled.held(users, quota) <= 8 * sum(map(len, users.values()))


@given(data=st.data(), key=keys)
def test_a_user_more_of_any_length_before_bounding(data, key) -> None:
    """Kept lists and the order of items by the key; items of a public list are out before that."""
    rows = data.draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=40))
    added = [(99, item) for item in data.draw(st.sets(st.integers(0, 40)))]
    public = data.draw(st.sets(st.integers(0, 14), max_size=3))
    limit, quota = data.draw(st.integers(1, filled.SEEN)), data.draw(st.integers(1, 4))

    def score(rows) -> int:
        sets = reference.sets_of([(user, item) for user, item in rows if item not in public])
        bounded = reference.bound(sets, limit, key)
        users = {user: set(items) for user, items in bounded.items()}
        return filled.score(users, in_order(bounded, key), quota)

    change = score(rows + added) - score(rows)
    assert -filled.MOST_HELD <= change <= filled.MOST_FILLED
