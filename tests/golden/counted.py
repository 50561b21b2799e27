"""The golden releases with numbers of users or rows: which numbers, which mechanisms, which data."""

from __future__ import annotations

import dpsel

#: Numbers of users and rows, for users of more released items than count whole, and with public items.
COUNTS: dict[str, dpsel.Counts] = {
    "users": dpsel.Counts(share=0.3),
    "users-2": dpsel.Counts(share=0.5, max_counted_items=2, nonnegative=True),
    "rows": dpsel.Counts(share=0.3, count="rows", max_rows_per_item=2),
    "rows-3-of-2": dpsel.Counts(share=0.5, max_counted_items=2, count="rows", max_rows_per_item=3),
}

#: The data of these; its users have items in several rows.
DATA = ("groups", "demo_zeta")

#: Noise and curves: with a budget for items and numbers together, and with one for each.
MECHANISMS: dict[str, object] = {
    "count-gaussian": dpsel.CountGaussian(),
    "count-laplace": dpsel.CountLaplace(),
    "sips": dpsel.Sips(),
    "sips-curve": dpsel.Sips(release="curve"),
    "steered": dpsel.Steered(),
    "weighted-laplace-curve": dpsel.WeightedLaplace(release="curve"),
    "auto": "auto",
}
