"""Functions that take strings only, public items only, or much time, and answers that name no item."""

from __future__ import annotations

import ast
import math
import random
import time
from collections import Counter, defaultdict

import pytest

import dpsel
from dpsel.auditing import _callables, _hunt
from dpsel.auditing._claims import bounds_of
from dpsel.auditing._sequential import Evidence, Side
from dpsel.exceptions import InvalidParameterError

CLAIM = dpsel.ApproxDP(epsilon=1.0, delta=0.02)
AT = 1 + math.log(25)


@pytest.fixture
def draws() -> random.Random:
    return random.Random(1)


def laplace(draws: random.Random, scale: float = 1.0) -> float:
    return scale * (draws.expovariate(1) - draws.expovariate(1))


def counted(rows: list, limit: int = 1) -> Counter:
    """Users of each item; of a user the first items count."""
    users = defaultdict(list)
    for user, item in rows:
        if item not in users[user]:
            users[user].append(item)
    return Counter(item for items in users.values() for item in items[:limit])


@pytest.mark.long("a whole audit")
def test_a_function_of_strings_only_is_audited_as_others_are(draws) -> None:
    def by_digits(rows):
        counts = Counter({item.lower(): users for item, users in counted(rows).items()})
        out = [item for item, users in counts.items() if users + laplace(draws) >= AT]
        return sorted(out, key=lambda item: (-len(str(counts[item])), item))

    report = dpsel.audit_callable(by_digits, privacy=CLAIM, max_items_per_user=1, calls=40_000)
    assert not report.ok
    assert "str items" in report.findings[0].tables


def test_the_wish_for_strings_is_heard_from_the_first_call() -> None:
    def lower(rows):
        return {item.lower() for _, item in rows}

    assert not dpsel.audit_callable(lower, privacy=CLAIM, max_items_per_user=1, calls=4000, items="str").ok


def test_what_no_kind_of_items_suits_is_told_with_its_error() -> None:
    def never(rows):
        raise KeyError(rows[0][0])

    with pytest.raises(InvalidParameterError, match="never raised KeyError"):
        dpsel.audit_callable(never, privacy=CLAIM, max_items_per_user=1, calls=100)


@pytest.mark.parametrize("options", [{}, {"max_items_per_user": 9}, {"copies": 5}, {"neighbours": "swap"}])
def test_items_beyond_a_public_list_never_come(draws, options) -> None:
    def histogram(rows):
        users = [set() for _ in range(6)]
        for user, item in rows:
            users[item].add(user)
        return [(item, len(held) + laplace(draws, 100.0)) for item, held in enumerate(users)]

    arguments = {"max_items_per_user": 1, "items": "int", "domain": 6, "calls": 3000} | options
    assert dpsel.audit_callable(histogram, privacy=CLAIM, **arguments).ok


@pytest.mark.long("a whole audit")
def test_numbers_of_a_swap_are_looked_at_together(draws) -> None:
    def numbers(rows):
        counts = counted(rows)
        return [(item, counts[item] + laplace(draws)) for item in range(6)]

    report = dpsel.audit_callable(
        numbers,
        privacy=dpsel.PureDP(epsilon=1.0),
        max_items_per_user=1,
        neighbours="swap",
        domain=6,
        calls=150_000,
    )
    assert not report.ok
    assert report.findings[0].epsilon > 1.0


def test_an_audit_without_a_tested_event_is_an_error() -> None:
    def slow(rows):
        time.sleep(0.05)
        return rows[:0]

    started = time.monotonic()
    with pytest.raises(InvalidParameterError, match="no event could be tested"):
        dpsel.audit_callable(slow, privacy=CLAIM, max_items_per_user=1, seconds=0.2)
    assert time.monotonic() - started < 20


def test_answers_that_name_no_item_are_an_error() -> None:
    def named(_rows):
        return ["item-0"]

    with pytest.raises(InvalidParameterError, match="returned 'item-0', for example"):
        dpsel.audit_callable(named, privacy=CLAIM, max_items_per_user=1, calls=4000)


def test_every_program_of_a_witness_is_python() -> None:
    for name in (None, "my function", "library:everything"):
        report = dpsel.audit_callable(
            lambda rows: {item for _, item in rows},
            privacy=CLAIM,
            max_items_per_user=1,
            calls=4000,
            name=name,
        )
        ast.parse(report.findings[0].witness.replay)


@pytest.mark.parametrize("trials", range(1, 12))
def test_what_would_have_been_seen_is_known_for_few_samples(trials) -> None:
    bounds = bounds_of(CLAIM)
    assert not any(_callables._is_seen(rate / 10, 0.0, trials, bounds, 1e-6) for rate in range(10))


@pytest.mark.parametrize("claim", [CLAIM, dpsel.ZCDP(rho=0.5, delta=0.02)], ids=repr)
def test_a_fault_is_hardly_ever_given_up(claim) -> None:
    bounds, draws, dropped = bounds_of(claim), random.Random(2), 0
    rare = 0.002
    likely = 1.3 * bounds.most(rare)
    for _ in range(200):
        sides = [Side(1.0, 1.0), Side(1.0, 1.0)]
        test = _hunt.Tested(None, None, Evidence(*sides), 1e-6)
        for _ in range(10):
            for side, p in zip(sides, (likely, rare), strict=True):
                side.trials += 100
                side.hits += sum(draws.random() < p for _ in range(100))
            dropped += test.is_hopeless(bounds)
    # A test is dropped three standard errors below the claim, and is looked at ten times here.
    assert dropped <= 20
