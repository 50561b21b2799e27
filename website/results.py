"""Pages of results for `website/screenshots.py`: a ledger, a card, and what a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dpsel
from dpsel import demo_data

if TYPE_CHECKING:
    from pathlib import Path

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=1e-5)
HEAD = '<!doctype html><meta charset="utf-8"><style>body{font:14px sans-serif}</style>'


def write_pages(folder: Path) -> None:
    """Write them. Those with the ending `.html` have to show all that they have without scrolling aside."""
    ledger = dpsel.Ledger(folder / "spent.jsonl", dpsel.ApproxDP(epsilon=9.0, delta=1e-4))
    words = {"user": "line", "item": "text", "ngrams": (1, 2), "max_items_per_user": 20}
    paid = ledger.on_use(PRIVACY, "words of the quotations, for those who look at pages")
    release = dpsel.select_partitions(demo_data.quotations(), privacy=paid, counts=0.2, **words)
    ledger.spend(PRIVACY, "https://example.org/" + "a-long-address/" * 12)
    top = dpsel.select_top_k(
        demo_data.quotations(),
        k=5,
        privacy=PRIVACY,
        counts=PRIVACY,
        **words,
    )
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=[1, 20], items_per_user=[1, 20])
    shown = (
        release, release.to_table(), release.report, ledger, top, plan, dpsel.explain(release),
        dpsel.check(release), release & ["the"], release.card(),
    )  # fmt: skip
    (folder / "ledger.html").write_text(ledger.to_html(), encoding="utf-8")
    (folder / "card.html").write_text(release.card().to_html(), encoding="utf-8")
    (folder / "notebook").mkdir()
    cells = "<hr>".join(each._repr_html_() for each in shown)
    (folder / "notebook" / "index.html").write_text(HEAD + cells, encoding="utf-8")
