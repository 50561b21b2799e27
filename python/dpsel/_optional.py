"""Libraries that dpsel does not need itself, loaded when a caller asks for their tables."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["optional"]


def optional(name: str, caller: str) -> Any:
    """Return a library.

    Args:
        name: Its name, also for pip.
        caller: The method that needs it, for the message.

    Raises:
        ModuleNotFoundError: If it is not installed; the message has the command that installs it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # the library is there, and lacks something itself
        message = f"{caller} needs {name}; install it with pip install {name}"
        raise ModuleNotFoundError(message, name=name) from error
