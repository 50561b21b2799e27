"""Parameters are checked when they are made, with a message that names the fix."""

from __future__ import annotations

import dataclasses
import math
import pickle

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
ROWS = [(1, "a")]


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, math.nan])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match=r"^epsilon must be a finite number above 0, got .*; choose it"):
        dpsel.ApproxDP(epsilon=epsilon, delta=1e-6)
    with pytest.raises(InvalidParameterError, match="^epsilon must be"):
        dpsel.PureDP(epsilon=epsilon)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, 2.0, math.nan])
def test_delta_out_of_range(delta):
    for make in (lambda: dpsel.ApproxDP(epsilon=1, delta=delta), lambda: dpsel.ZCDP(rho=1, delta=delta)):
        with pytest.raises(
            InvalidParameterError, match=r"^delta must be above 0 and below 1, got .*far below"
        ):
            make()


@pytest.mark.parametrize("value", ["1", b"1", None, True, [1.0]])
def test_numbers_of_the_wrong_type(value):
    with pytest.raises(InvalidParameterError, match="^rho must be a number, got"):
        dpsel.ZCDP(rho=value, delta=1e-6)


def test_privacy_parameters_are_values():
    assert dpsel.ApproxDP(epsilon=1, delta=1e-6) == PRIVACY
    assert isinstance(dpsel.ApproxDP(epsilon=1, delta=1e-6).epsilon, float)
    assert hash(PRIVACY) == hash(pickle.loads(pickle.dumps(PRIVACY)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        PRIVACY.epsilon = 2.0
    with pytest.raises(TypeError):
        dpsel.ApproxDP(1.0, 1e-6)


@pytest.mark.parametrize("rounds", [0, -1])
def test_sips_rounds_out_of_range(rounds):
    with pytest.raises(InvalidParameterError, match="^rounds must be"):
        dpsel.Sips(rounds=rounds)


@pytest.mark.parametrize("ratio", [0, -0.5, 1.01, math.nan, math.inf])
def test_sips_ratio_out_of_range(ratio):
    with pytest.raises(InvalidParameterError, match="^ratio must be"):
        dpsel.Sips(ratio=ratio)


@pytest.mark.parametrize("rounds", [2.0, "3", True, None])
def test_sips_rounds_of_the_wrong_type(rounds):
    with pytest.raises(InvalidParameterError, match="^rounds must be a whole number, got"):
        dpsel.Sips(rounds=rounds)


@pytest.mark.parametrize("limit", [0, -1, 10_000_001])
def test_max_items_per_user_out_of_range(limit):
    with pytest.raises(InvalidParameterError, match=rf"^max_items_per_user must be .*got {limit};"):
        dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=limit)


@pytest.mark.parametrize("limit", [None, 2.0, "3", True])
def test_max_items_per_user_of_the_wrong_type(limit):
    with pytest.raises(InvalidParameterError, match="^max_items_per_user must be a whole number, got"):
        dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=limit)


def test_privacy_decisions_have_no_defaults():
    for missing in ({"privacy": PRIVACY}, {"max_items_per_user": 3}):
        with pytest.raises(TypeError, match="required keyword-only"):
            dpsel.select_partitions(ROWS, **missing)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"privacy": 1.0}, r"^privacy must be ApproxDP, ZCDP or PureDP, got float; write privacy="),
        (
            {"mechanism": 3},
            r"^mechanism must be 'auto' or a mechanism, got int; use one of Sips\(\)",
        ),
        ({"mechanism": int}, r"^mechanism must be 'auto' or a mechanism, got type; use one of"),
        (
            {"mechanism": dpsel.Sips},
            r"^mechanism must be 'auto' or a mechanism, got a class; write Sips\(\)$",
        ),
        ({"mechanism": dpsel.Joint()}, "^Joint picks a top-k; it belongs to select_top_k$"),
        ({"mechanism": dpsel.Joint}, "^Joint picks a top-k; it belongs to select_top_k$"),
        ({"mechanism": "joint"}, "^Joint picks a top-k; it belongs to select_top_k$"),
        ({"threads": 0}, "^threads must be a whole number above 0, got 0; leave it out"),
        ({"threads": 1.5}, "^threads must be a whole number, got float"),
        ({"memory_limit": 0}, "^memory_limit must be a whole number above 0, got 0; it counts bytes"),
        (
            {"insecure_test_key": b"short"},
            "^insecure_test_key must be exactly 32 bytes, got 5 bytes; leave it",
        ),
        ({"insecure_test_key": "0" * 32}, "^insecure_test_key must be 32 bytes, got str; leave it out"),
        ({"ngrams": 2}, r"^ngrams must be \(fewest, most\) words, got int"),
        ({"ngrams": (0, 1)}, r"^ngrams must be \(min, max\)"),
        ({"ngrams": (2, 1)}, r"^ngrams must be \(min, max\)"),
        ({"item": ["a", "a"]}, "^item must be one or more distinct columns"),
        ({"item": []}, "^item must be one or more distinct columns"),
        ({"user": "item"}, "^item must be one or more distinct columns"),
        ({"user": 1}, "^user and item must be names of columns, got int"),
        ({"file_format": "csv"}, "^file_format applies to paths only, got list; leave it out"),
        ({"max_items_per_user": 1 << 70}, "^max_items_per_user must fit 64 bits"),
    ],
)
def test_messages(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        dpsel.select_partitions(ROWS, **({"privacy": PRIVACY, "max_items_per_user": 3} | arguments))


def test_a_guarantee_that_no_mechanism_has_is_refused():
    for given, name in (("auto", "a selection"), ("steered", "Steered"), (dpsel.Sips(), "Sips")):
        with pytest.raises(InvalidParameterError, match=f"^{name} finds items that nobody named .* use Appr"):
            dpsel.select_partitions(
                ROWS, privacy=dpsel.PureDP(epsilon=1.0), max_items_per_user=3, mechanism=given
            )
    for mechanism in (dpsel.CountLaplace(), dpsel.WeightedLaplace()):
        with pytest.raises(InvalidParameterError, match="zCDP|ZCDP"):
            dpsel.select_partitions(
                ROWS, privacy=dpsel.ZCDP(rho=1.0, delta=1e-6), max_items_per_user=3, mechanism=mechanism
            )


def test_every_exception_is_a_dpsel_error_and_a_builtin():
    for name in dpsel.exceptions.__all__:
        cls = getattr(dpsel.exceptions, name)
        assert cls.__doc__
        if not name.endswith("Warning"):
            assert issubclass(cls, dpsel.DpselError)


@pytest.mark.parametrize("flag", ["no", 0, None, 1.0])
def test_flags_are_bools(flag):
    with pytest.raises(InvalidParameterError, match="^with_weights must be True or False"):
        dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=1, with_weights=flag)
    with pytest.raises(InvalidParameterError, match="^with_weights must be True or False"):
        dpsel.plan(privacy=PRIVACY, max_items_per_user=1, with_weights=flag)
    options = {"k": 1, "privacy": PRIVACY, "ordered": flag}
    for call in (
        lambda: dpsel.select_top_k(ROWS, domain=["a"], **options),
        lambda: dpsel.top_k_from_counts([1], **options),
        lambda: dpsel.plan_top_k(items=5, **options),
        lambda: dpsel.Discover(ordered=flag),
    ):
        with pytest.raises(InvalidParameterError, match="^ordered must be True or False"):
            call()


def test_a_plan_of_more_items_than_there_are():
    with pytest.raises(InvalidParameterError, match="k must be at most items, got k = 10 of 5"):
        dpsel.plan_top_k(privacy=PRIVACY, k=[5, 10], items=5)


def test_without_a_list_a_top_k_needs_a_delta():
    for more in ({}, {"max_items_per_user": 3}):
        with pytest.raises(
            InvalidParameterError, match="the items are secret, which needs a delta; use privacy="
        ):
            dpsel.select_top_k(ROWS, k=1, privacy=dpsel.PureDP(epsilon=1.0), **more)
