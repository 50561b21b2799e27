"""What refutes a claim, so that others can check it: tables, event, counts, and a program that replays it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dpsel.auditing._hunt import Tested
    from dpsel.auditing._tables import Pair

__all__ = ["Witness", "witness_of"]

_MOST_ROWS: Final = 12
_KINDS: Final = {"int": "item", "str": "str(item)", "numpy": "numpy.int64(item)"}


@dataclass(frozen=True, slots=True)
class Witness:
    """Two neighbouring tables and an event that is too likely on one of them.

    Args:
        tables: The tables in words.
        without: The users of the table in which the added user is absent or has other rows, as Python: the
            items of each user's rows.
        added: The users of the other table.
        event: What was looked for, in words.
        likely_on: ``"added"`` or ``"without"``: the table on which the event is likelier.
        likely: How often it happened there.
        likely_trials: In so many samples.
        rare: How often it happened on the other table.
        rare_trials: In so many samples.
        replay: A program that counts the event again. It asks for ``function``, which it imports if the name
            of the function says from where.

    Examples:
        >>> import dpsel
        >>> def everything(rows):
        ...     return {item for _, item in rows}
        >>> claim = dpsel.ApproxDP(epsilon=1.0, delta=0.02)
        >>> report = dpsel.audit_callable(everything, privacy=claim, max_items_per_user=1, seconds=5)
        >>> report.findings[0].witness.event
        'item 0 is released'
    """

    tables: str
    without: str
    added: str
    event: str
    likely_on: str
    likely: int
    likely_trials: int
    rare: int
    rare_trials: int
    replay: str

    def __str__(self) -> str:
        """Return all of it as a few lines, with the program."""
        other = "without" if self.likely_on == "added" else "added"
        return "\n".join([
            f"tables: {self.tables}",
            f"  without: users with the items {self.without}",
            f"  added:   users with the items {self.added}",
            f"event: {self.event}",
            f"  {self.likely:,} of {self.likely_trials:,} answers on the table {self.likely_on!r}",
            f"  {self.rare:,} of {self.rare_trials:,} answers on the table {other!r}",
            "replay:",
            *("    " + line for line in self.replay.splitlines()),
        ])  # fmt: skip


def witness_of(test: Tested, name: str, copies: int) -> Witness:
    """Return the witness of a test."""
    pair, cut, evidence = test.pair, test.cut, test.evidence
    return Witness(
        tables=pair.words,
        without=_users(pair, added=False),
        added=_users(pair, added=True),
        event=cut.words,
        likely_on="added" if cut.added else "without",
        likely=evidence.likely.hits,
        likely_trials=evidence.likely.trials,
        rare=evidence.rare.hits,
        rare_trials=evidence.rare.trials,
        replay=_program(test, name, copies),
    )


def _rows(pair: Pair) -> str:
    """Return the line that makes rows; mixed ones are sorted by a key that only their user decides."""
    if pair.place != "mixed":
        return f"    rows = [(user, {_KINDS[pair.kind]}) for user, own in users for item in own]"
    key = "random.Random(1000 * user + n).random()"
    row = f"({key}, user, {_KINDS[pair.kind]})"
    return (
        f"    rows = sorted({row} for user, own in users for n, item in enumerate(own))\n"
        "    rows = [(user, item) for _, user, item in rows]"
    )


def _users(pair: Pair, *, added: bool) -> str:
    """Return the items of all users as Python, equal users together."""
    runs: list[tuple[int, tuple[int, ...]]] = []
    for items in pair.users(added=added):
        if runs and runs[-1][1] == items:
            runs[-1] = (runs[-1][0] + 1, items)
        else:
            runs.append((1, items))
    shown = [f"[{_items(items)}]" + (f" * {number}" if number > 1 else "") for number, items in runs]
    return " + ".join(shown) or "[]"


def _items(items: tuple[int, ...]) -> str:
    if len(items) > _MOST_ROWS and len(set(items)) == 1:
        return f"({items[0]},) * {len(items)}"
    if len(items) > _MOST_ROWS and items == tuple(range(items[0], items[-1] + 1)):
        return f"tuple(range({items[0]}, {items[-1] + 1}))"
    return repr(items)


def _program(test: Tested, name: str, copies: int) -> str:
    """Return a program of about ten lines."""
    pair = test.pair
    module, _, attribute = name.partition(":")
    given = f"function = {name}" if name.isidentifier() else f"function = ...  # {name}"
    start = int(pair.place == "first" and pair.instead is None)
    lines = [
        f"from {module} import {attribute} as function" if attribute else given,
        "from dpsel.auditing import items_and_numbers  # an answer as whole numbers, -1 for others",
        "from math import inf",
    ]
    lines += ["import numpy"] if pair.kind == "numpy" else []
    lines += ["import random"] if pair.place == "mixed" else []
    lines += [
        f"without = list(enumerate({_users(pair, added=False)}, {start}))",
        f"added = list(enumerate({_users(pair, added=True)}))",
        "counts = []",
        "for users in (without, added):",
        _rows(pair),
    ]
    sorted_too = "" if pair.shows_order else ", ordered=False"
    lines += [
        "    raw = [function(list(rows)) for _ in range(2000)]",
        f"    answers = [items_and_numbers(each, {pair.width}{sorted_too}) for each in raw]",
        f"    counts.append(sum({test.cut.code} for items, number in answers))",
        f"print(counts, 'of 2000 without and with: {copies} copies in a call were tested')"
        if copies > 1
        else "print(counts, 'of 2000 without and with')",
    ]
    return "\n".join(lines)
