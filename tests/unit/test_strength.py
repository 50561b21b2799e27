"""A guarantee that protects hardly anybody is warned of: once a call, with reasons, where it was chosen."""

from __future__ import annotations

import warnings

import pytest

import dpsel

ROWS = [(user, "tea") for user in range(50)]
WEAK = dpsel.ApproxDP(epsilon=25.0, delta=0.5)


def select(privacy, **arguments):
    return dpsel.select_partitions(ROWS, privacy=privacy, max_items_per_user=1, **arguments)


def top_k(privacy, **arguments):
    return dpsel.select_top_k(ROWS, k=1, privacy=privacy, domain=["tea", "gin"], **arguments)


def from_counts(privacy, *, counts=None):
    return dpsel.top_k_from_counts([50, 3], k=1, privacy=privacy, publish_counts=counts)


def told(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return seen


@pytest.mark.parametrize("call", [select, top_k, from_counts])
def test_a_weak_guarantee_is_warned_of_once_and_where_it_was_chosen(call):
    (warning,) = told(lambda: call(WEAK))
    assert warning.category is dpsel.WeakGuaranteeWarning
    assert issubclass(warning.category, dpsel.exceptions.DpselWarning)
    assert warning.filename == __file__
    text = str(warning.message)
    assert "epsilon = 25 lets one user change probabilities by a factor of e^25" in text
    assert "delta = 0.5 is the chance" in text


@pytest.mark.parametrize(
    ("privacy", "weak"),
    [
        (dpsel.ApproxDP(epsilon=20.0, delta=1e-3), False),
        (dpsel.ApproxDP(epsilon=20.01, delta=1e-6), True),
        (dpsel.ApproxDP(epsilon=1.0, delta=0.00101), True),
        (dpsel.ZCDP(rho=5.0, delta=1e-6), False),
        (dpsel.ZCDP(rho=5.1, delta=1e-6), True),
    ],
)
def test_the_limits(privacy, weak):
    assert bool(told(lambda: select(privacy))) is weak


@pytest.mark.parametrize("call", [top_k, from_counts])
def test_counts_count(call):
    items, counts = dpsel.PureDP(epsilon=15.0), dpsel.PureDP(epsilon=10.0)
    assert told(lambda: call(items)) == []
    (warning,) = told(lambda: call(items, counts=counts))
    assert "epsilon = 25" in str(warning.message)


def test_a_test_key_is_stamped_instead():
    assert told(lambda: select(WEAK, insecure_test_key=bytes(32))) == []


def test_functions_on_made_up_data_are_silent():
    assert told(lambda: dpsel.plan(privacy=WEAK, max_items_per_user=1)) == []
    assert told(lambda: dpsel.compare(ROWS, privacy=WEAK, max_items_per_user=1, public_data=True)) == []


def test_warnings_depend_on_parameters_only():
    """Law 5: what a warning says is output as well."""
    texts = {
        str(
            told(lambda rows=rows: dpsel.select_partitions(rows, privacy=WEAK, max_items_per_user=2))[
                0
            ].message
        )
        for rows in ([], ROWS, [(1, "secret")], [(user, item) for user in range(9) for item in "abc"])
    }
    assert len(texts) == 1
