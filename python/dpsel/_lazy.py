"""Names of a package that are loaded when they are first asked for, so that the import stays quick."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["loader"]


def loader(
    package: str, places: Mapping[str, str], submodules: frozenset[str] = frozenset()
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: The name of the package.
        places: The module that each name comes from.
        submodules: Submodules that are attributes of the package although it does not import them.
    """

    def load(name: str) -> Any:
        """Load a name; from then on it is an ordinary attribute of the package."""
        if name in submodules:
            return import_module(f"{package}.{name}")
        module = sys.modules[package]
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        value = getattr(import_module(places[name]), name)
        setattr(module, name, value)
        return value

    return load
