"""Words and helpers that the tests of the command line share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: A release key known to the tests.
KEY = "00" * 32
BUDGET = ("--epsilon", "1", "--delta", "1e-6", "--max-items-per-user", "5")
COLUMNS = ("--user", "user", "--item", "item")
COMMON = ("kiwi", "plum")


def instead(call: Sequence[str], *given: str) -> list[str]:
    """The call with these words at its end, and without its own values of the options of numbers in them."""
    numbers = {"--epsilon", "--delta", "--max-items-per-user", "--k", "--releases"} & set(given)
    before = [None, *call]
    kept = [word for word, last in zip(call, before, strict=False) if not {word, last} & numbers]
    return [*kept, *given]


@dataclass(frozen=True)
class Run:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of an error, which has to be the last and the only one of its kind."""
        lines = self.err.splitlines()
        assert self.out == ""
        assert [line.startswith("error: ") for line in lines] == [False] * (len(lines) - 1) + [True]
        assert "Traceback" not in self.err
        return lines[-1]


def names(folder: Path) -> set[str]:
    """Every file and folder there, hidden ones too."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
