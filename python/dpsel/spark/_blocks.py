"""Blocks of users between scored rounds: where they are kept, and how they go on to the next round.

In a classic session they are pairs of Java. Spark Connect has rows of tables only. There the plan of a round
would hold those of all rounds before, so Spark cuts it off (a local checkpoint). Spark cannot make such rows
again, and keeps them on two executors.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel.spark import _packed, _pairs, _tasks

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dpsel import _core

__all__ = ["Pairs", "Tables"]

#: Pairs are shuffled after this number of rounds. A task has all that they may be made of up to the last
#: shuffle, which after fifteen rounds of tables was too deep for Java's stack.
UNSHUFFLED_ROUNDS: Final = 6


@dataclass(frozen=True)
class Tables:
    """Rows of tables without plans."""

    def taken(self, rows: Any) -> Any:
        """Return the blocks among the rows that the tasks of the first round made."""
        return _packed.of_users(rows)

    def made(self, blocks: Any, task: Any) -> Any:
        """Return what the tasks of a round make of blocks: new ones, and values for the driver."""
        return _packed.made(blocks, task)

    def persisted(self, made: Any) -> AbstractContextManager[Any]:
        """Keep what tasks made until it is no longer needed."""
        from pyspark import StorageLevel

        on_two = StorageLevel(True, True, False, True, 2)
        return nullcontext(made.localCheckpoint(eager=False, storageLevel=on_two))

    def sent(self, made: Any, tasks: range) -> _core.ExchangePacked:
        """Return what these tasks made for the driver."""
        return _packed.sent(made, tasks)

    def passed(self, made: Any, number: int) -> Any:  # noqa: ARG002 - no plan grows
        """Return the blocks that go on to the round of this number."""
        return _packed.of_users(made)


@dataclass(frozen=True)
class Pairs:
    """Pairs of Java, for a number of tasks."""

    session: Any
    tasks: int

    def taken(self, rows: Any) -> Any:
        """Return the blocks among the rows that the tasks of the first round made."""
        return _pairs.values(_packed.of_users(rows))

    def made(self, blocks: Any, task: Any) -> Any:
        """Return what the tasks of a round make of blocks: new ones, and values for the driver."""
        return _pairs.made(blocks, _tasks.OfValues(task), self.session)

    def persisted(self, made: Any) -> AbstractContextManager[Any]:
        """Keep what tasks made until it is no longer needed."""
        return _pairs.persisted(made)

    def sent(self, made: Any, tasks: range) -> _core.ExchangePacked:
        """Return what these tasks made for the driver."""
        return _pairs.sent(made, tasks)

    def passed(self, made: Any, number: int) -> Any:
        """Return the blocks that go on to the round of this number."""
        is_shuffled = number % UNSHUFFLED_ROUNDS == 0
        return _pairs.shuffled(made, self.tasks) if is_shuffled else _pairs.of_users(made)
