"""The list of mechanisms."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final, TypeAlias

from dpsel.mechanisms._additive import (
    CountGaussian,
    CountLaplace,
    Mad,
    OneItem,
    WeightedGaussian,
    WeightedLaplace,
)
from dpsel.mechanisms._greedy import GreedyFrequency, UnitGreedy
from dpsel.mechanisms._policies import PolicyGaussian, PolicyLaplace
from dpsel.mechanisms._rounds import Mad2R, Sips, Steered

Mechanism: TypeAlias = (
    CountLaplace
    | CountGaussian
    | WeightedLaplace
    | WeightedGaussian
    | PolicyLaplace
    | PolicyGaussian
    | GreedyFrequency
    | UnitGreedy
    | Sips
    | Steered
    | OneItem
    | Mad
    | Mad2R
)
"""Every mechanism."""

CLASSES: Final = (
    CountLaplace,
    CountGaussian,
    WeightedLaplace,
    WeightedGaussian,
    PolicyLaplace,
    PolicyGaussian,
    GreedyFrequency,
    UnitGreedy,
    Sips,
    Steered,
    OneItem,
    Mad,
    Mad2R,
)


def every() -> list[Mechanism]:
    """Return each mechanism with its default parameters."""
    return [cls() for cls in CLASSES]


def to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Return the mechanism as it stands in requests and reports."""
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    if "prior" in parameters:
        # The table is public and long; what is enforced does not depend on it.
        parameters["order"] = "counts" if parameters.pop("prior") is None else "prior"
    return {"name": mechanism.name} | parameters
