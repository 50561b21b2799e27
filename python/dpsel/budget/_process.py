"""What only the process that made it may use, and what no copy may have twice."""

from __future__ import annotations

import os
from typing import Any, Final, Self

from dpsel.exceptions import BudgetExceededError

_ELSEWHERE: Final = (
    "what a Budget or spend() pays for is for the process that spent it: nobody could add up what copies in "
    "other processes spend; nothing was released; use share() or on_use() of a dpsel.Ledger, from which all "
    "processes pay"
)

__all__ = ["OfOneProcess"]


class _Process:
    """A process from its fork on. Its number alone is used again, and counted anew in other namespaces."""

    __slots__ = ("number",)

    current: _Process

    def __init__(self) -> None:
        """Stand for the process that runs this."""
        self.number = os.getpid()

    @classmethod
    def begin(cls) -> None:
        """Let whatever was made before belong to the process that forked."""
        cls.current = cls()


_Process.begin()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Process.begin)


def _here() -> _Process:
    # A fork that Python does not know of has another number at least.
    if _Process.current.number != os.getpid():
        _Process.begin()
    return _Process.current


class OfOneProcess:
    """A base of things of which there is one: a copy is the thing itself, and no other process uses it."""

    __slots__ = ("_process",)

    def __init__(self) -> None:
        """Belong to this process."""
        self._process = _here()

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is the copy that a fork made."""
        return self._process is not _here()

    def refuse_elsewhere(self) -> None:
        """Refuse the copy that a fork made.

        Raises:
            BudgetExceededError: If this is another process.
        """
        if self.is_elsewhere:
            raise BudgetExceededError(_ELSEWHERE)

    def __copy__(self) -> Self:
        """Return itself."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse a pickle, which could be read twice, or elsewhere."""
        raise BudgetExceededError(_ELSEWHERE)
