"""What only the process that made it may use, and what no copy may have twice."""

from __future__ import annotations

import os
from typing import Any, Final, Self

from dpsel.exceptions import BudgetExceededError

__all__ = ["OfOneProcess"]

_ELSEWHERE: Final = (
    "what a Budget or spend() pays for is for the process that spent it: nobody could add up what copies in "
    "other processes spend; nothing was released; use share() or on_use() of a dpsel.Ledger, from which all "
    "processes pay"
)


class OfOneProcess:
    """A base of things of which there is one: a copy is the thing itself, and no other process uses it."""

    __slots__ = ("_process",)

    def __init__(self) -> None:
        """Belong to this process."""
        self._process = os.getpid()

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is the copy that a fork made."""
        return self._process != os.getpid()

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
