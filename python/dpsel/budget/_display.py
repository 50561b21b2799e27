"""What people see of a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dpsel._tables import SHOWN_ROWS, Display

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel.accounting import Privacy
    from dpsel.budget._payment import Payment

__all__ = ["display_of", "latest", "page_of"]

#: A page with margins, whose table shows all columns.
_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:80em;margin:2em auto;padding:0 1em;color:#1b1b1b}"
    "table{border-collapse:collapse}"
    "td,th{padding:.3em .9em .3em 0;border-bottom:1px solid #ccc;text-align:left;vertical-align:top}"
    "td:nth-child(2){white-space:nowrap}td:nth-child(3){min-width:10em;overflow-wrap:anywhere}"
    "code{overflow-wrap:anywhere}"
)
#: On a narrow screen an entry is a block of lines, each with the name of its column.
_NARROW: Final = (
    "tr:first-child{display:none}tr,td{display:block}tr{padding:.5em 0;border-bottom:1px solid #ccc}"
    "td{padding:0;border:0}td::before{color:#666}"
)


def display_of(
    entries: Sequence[Payment], total: Privacy, remaining: str, times: Sequence[str] | None = None
) -> Display:
    """Return the entries with the times of a file, if there are any, and the totals below them."""
    mechanisms = [each.report and str(each.report["request"]["mechanism"]["name"]) for each in entries]
    columns = {
        "number": [str(number) for number in range(1, len(entries) + 1)],
        **({} if times is None else {"time": times}),
        "for": [entry.label for entry in entries],
        "items": [repr(entry.cost.items) for entry in entries],
        "counts": [repr(entry.cost.counts) if entry.cost.counts else "-" for entry in entries],
        "mechanism": [name or "-" for name in mechanisms],
    }
    totals = [f"total: {total!r}", f"remaining: {remaining}"]
    return Display(head=list(columns), rows=list(zip(*columns.values(), strict=True)), below=totals)


def latest(display: Display) -> Display:
    """Return the last entries, and how many came before."""
    earlier = len(display.rows) - SHOWN_ROWS
    more = [f"and {earlier:,} earlier"] if earlier > 0 else []
    return replace(display, rows=display.rows[-SHOWN_ROWS:], below=[*more, *display.below])


def page_of(display: Display, head: str) -> str:
    """Return a page of a ledger that needs no other file: the totals, all entries, and the last hash."""
    shown = replace(
        display, above=display.below, below=["Costs add up, also if they are chosen as one goes."]
    )
    names = (
        f'td:nth-child({place})::before{{content:"{name}: "}}' for place, name in enumerate(display.head, 1)
    )
    narrow = f"@media(max-width:56em){{{_NARROW}{''.join(names)}}}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Privacy ledger</title>'
        f"<style>{_STYLE}{narrow}</style></head><body><h1>Privacy ledger</h1>{shown.html()}"
        f"<p>Hash of the last line: <code>{head}</code></p></body></html>\n"
    )
