"""Mechanisms by their names on the command line, taken from the dataclasses themselves."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from dpsel import mechanisms

AUTO = "auto"


# A registered mechanism is a mechanism of the command line.
BY_NAME: dict[str, type[Any]] = {
    name.replace("_", "-"): cls for name, cls in sorted(mechanisms.selection_mechanisms().items())
}
NAMES = tuple(BY_NAME)


def mechanism_from(name: str, parameters: dict[str, Any]) -> Any:
    """Return the mechanism called ``name``; refuse parameters (not ``None``) that it does not have."""
    given = {key: value for key, value in parameters.items() if value is not None}
    cls = BY_NAME.get(name)
    allowed = {field.name for field in dataclasses.fields(cls)} if cls else set()
    for key in given:
        if key not in allowed:
            owners = [n for n, c in BY_NAME.items() if key in {f.name for f in dataclasses.fields(c)}]
            message = f"--{key} does not apply to --mechanism {name}; it belongs to {', '.join(owners)}"
            raise click.UsageError(message)
    return cls(**given) if cls else AUTO
