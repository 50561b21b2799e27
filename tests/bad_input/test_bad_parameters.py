"""Parameters that make no sense are refused before any data is looked at."""

from __future__ import annotations

import math

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError
from refusals import GOOD, PRIVACY, refused, run


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: dpsel.ApproxDP(epsilon=x, delta=1e-6),
        lambda x: dpsel.ZCDP(rho=x, delta=1e-6),
        lambda x: dpsel.PureDP(epsilon=x),
    ],
    ids=["ApproxDP", "ZCDP", "PureDP"],
)
def test_budget_that_is_no_positive_number(make, value) -> None:
    with pytest.raises(ValueError, match=r"(epsilon|rho) must be .* above 0") as caught:
        run(GOOD, privacy=make(value))
    assert isinstance(caught.value, dpsel.DpselError)


@pytest.mark.parametrize("delta", [0, -1e-9, 1, 1.0, 2.0, math.nan, math.inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda d: dpsel.ApproxDP(epsilon=1.0, delta=d),
        lambda d: dpsel.ZCDP(rho=1.0, delta=d),
    ],
    ids=["ApproxDP", "ZCDP"],
)
def test_delta_outside_0_1(make, delta) -> None:
    with pytest.raises(ValueError, match="delta must be above 0 and below 1") as caught:
        run(GOOD, privacy=make(delta))
    assert isinstance(caught.value, dpsel.DpselError)


@pytest.mark.parametrize("bound", [0, -1, 10**8, 2**70])
def test_bound_outside_its_range(bound) -> None:
    refused(GOOD, max_items_per_user=bound, match="max_items_per_user must", kind=ValueError)


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_items_per_user": 2.5},
        {"max_items_per_user": "10"},
        {"max_items_per_user": None},
        {"max_items_per_user": True},
        {"privacy": 1.0},
        {"privacy": None},
        {"mechanism": "sips please"},
        {"mechanism": dpsel.Sips},
        {"user": 3},
        {"item": []},
        {"threads": 0},
        {"threads": -1},
        {"memory_limit": -5},
        {"ngrams": (0, 1)},
        {"ngrams": (3, 2)},
        {"ngrams": (1, 99)},
        {"item": ["item", "item"]},
        {"item": "user"},
    ],
    ids=str,
)
def test_arguments_that_make_no_sense(arguments) -> None:
    name = next(iter(arguments))
    with pytest.raises((dpsel.DpselError, TypeError, ValueError), match=name):
        run(GOOD, **arguments)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dpsel.Sips(rounds=0),
        lambda: dpsel.Sips(rounds=-1),
        lambda: dpsel.Sips(ratio=0.0),
        lambda: dpsel.Sips(ratio=1.5),
        lambda: dpsel.Sips(ratio=math.nan),
        lambda: dpsel.Sips(rounds=10**6),
    ],
)
def test_mechanism_parameters_out_of_range(make) -> None:
    with pytest.raises(ValueError, match="rounds|ratio") as caught:
        run(GOOD, mechanism=make())
    assert isinstance(caught.value, dpsel.DpselError)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: dpsel.Sips(ratio=10**400), "ratio"),
        (lambda: dpsel.Sips(rounds=10**5000), "rounds"),
        (lambda: dpsel.PolicyGaussian(alpha=10**400), "alpha"),
        (lambda: dpsel.ApproxDP(epsilon=10**400, delta=1e-6), "epsilon"),
        (lambda: dpsel.Discover(share=math.nan), "share"),
        (lambda: dpsel.Discover(share=math.inf), "share"),
    ],
)
def test_numbers_that_no_request_can_carry(make, name) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{name} "):
        make()


def test_privacy_decisions_have_no_defaults() -> None:
    whole = {"user": "user", "item": "item", "privacy": PRIVACY, "max_items_per_user": 3}
    for name in whole:
        rest = {k: v for k, v in whole.items() if k != name}
        with pytest.raises((TypeError, dpsel.DpselError), match=name):
            dpsel.select_partitions(GOOD, **rest)
    with pytest.raises(TypeError):
        dpsel.select_partitions(GOOD, "user", "item", PRIVACY, 3)
