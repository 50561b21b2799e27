"""A mechanism is registered once: what it states is true, and everything that lists mechanisms follows."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pytest

import dpsel
from dpsel.auditing import _cases
from dpsel.exceptions import CalibrationError, InvalidParameterError
from dpsel.mechanisms import _base, selection_mechanisms, top_k_mechanisms

KINDS = {
    "pure_dp": dpsel.PureDP(epsilon=1.0),
    "approx_dp": dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
    "zcdp": dpsel.ZCDP(rho=0.5, delta=1e-6),
}
EVERY = {**selection_mechanisms(), **top_k_mechanisms()}


def shipped(base: type) -> set[type]:
    """All classes below a base, without those that `slots=True` replaced."""
    import sys

    found = {each for cls in base.__subclasses__() for each in {cls, *shipped(cls)}}
    return {cls for cls in found if getattr(sys.modules[cls.__module__], cls.__name__, None) is cls}


def test_every_class_of_a_mechanism_is_registered() -> None:
    bases = {_base.SelectionMechanism, _base.TopKMechanism}
    inside = {cls for cls in shipped(_base.Mechanism) if cls.__module__.startswith("dpsel.")}
    assert inside - bases == set(EVERY.values())


@pytest.mark.parametrize("name", EVERY)
def test_a_mechanism_is_exported_and_audited(name) -> None:
    cls = EVERY[name]
    assert cls.name == name
    for module in (dpsel, dpsel.mechanisms):
        assert getattr(module, cls.__name__) is cls
        assert cls.__name__ in module.__all__
    assert cls in {type(case.mechanism) for case in _cases.every_case()}


def test_the_lists_of_public_names_are_complete() -> None:
    for module in (dpsel, dpsel.mechanisms):
        assert len(set(module.__all__)) == len(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("name", EVERY)
def test_a_mechanism_is_a_frozen_value(name) -> None:
    mechanism = EVERY[name]()
    assert mechanism == EVERY[name]()
    assert repr(mechanism).startswith(f"{EVERY[name].__name__}(")
    for each in ("name", *(one.name for one in fields(mechanism))):
        with pytest.raises((AttributeError, TypeError)):
            setattr(mechanism, each, None)


@pytest.mark.parametrize("kind", ["approx_dp", "zcdp"])
@pytest.mark.parametrize("name", selection_mechanisms())
def test_a_selection_has_the_guarantees_that_it_states(name, kind) -> None:
    mechanism = EVERY[name]()

    def plan() -> dpsel.Plan:
        return dpsel.plan(privacy=KINDS[kind], max_items_per_user=1, mechanisms=mechanism)

    if kind in mechanism.guarantees:
        assert plan().rows
    else:
        with pytest.raises((CalibrationError, InvalidParameterError)):
            plan()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", top_k_mechanisms())
def test_a_top_k_has_the_guarantees_that_it_states(name, kind) -> None:
    mechanism = EVERY[name]()

    def select() -> dpsel.TopKRelease:
        return dpsel.select_top_k(
            [(user, "tea") for user in range(100)],
            k=1,
            privacy=KINDS[kind],
            mechanism=mechanism,
            ordered=mechanism.ordered,
            domain=None if mechanism.finds_domain else ["tea"],
            max_items_per_user=1,
        )

    # What is pure is also approximate and zCDP.
    if {kind, "pure_dp"} & set(mechanism.guarantees):
        assert len(select()) <= 1
    else:
        with pytest.raises((CalibrationError, InvalidParameterError)):
            select()


@pytest.mark.parametrize("name", selection_mechanisms())
def test_a_selection_returns_the_weights_that_it_states(name) -> None:
    mechanism = EVERY[name]()

    def plan() -> dpsel.Plan:
        return dpsel.plan(
            privacy=KINDS["approx_dp"], max_items_per_user=1, mechanisms=mechanism, with_weights=True
        )

    if mechanism.weights == "none":
        with pytest.raises(InvalidParameterError):
            plan()
    else:
        assert plan().rows


def test_a_mechanism_that_does_not_say_what_it_is_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Silent(_base.SelectionMechanism):
        name = "silent"
        guarantees = ("approx_dp",)

    with pytest.raises(TypeError, match="Silent does not state sensitivity, weights, additive"):
        _base.registered(Silent)


def test_a_name_is_taken_once() -> None:
    @dataclass(frozen=True, slots=True)
    class Other(_base.TopKMechanism):
        name = "sips"
        guarantees = ("approx_dp",)
        ordered = True
        finds_domain = True

    with pytest.raises(TypeError, match="sips already"):
        _base.registered(Other)
    assert selection_mechanisms()["sips"] is dpsel.Sips


def test_the_registries_cannot_be_changed_from_outside() -> None:
    for registry in (selection_mechanisms(), top_k_mechanisms()):
        with pytest.raises(TypeError):
            registry["mine"] = object
