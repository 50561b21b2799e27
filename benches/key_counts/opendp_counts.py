"""Keys with counts by OpenDP's Polars front. KIND: `laplace` or `gaussian`.

With Gaussian noise half of delta pays for the threshold. The other half, with epsilon, gives rho by OpenDP's
own conversion. One row for each item, and then `limit` rows, are `limit` items.
"""

import json
import sys
from importlib.metadata import version

import opendp.prelude as dp
import polars as pl

path, epsilon, delta, limits, kind = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:6]
dp.enable_features("contrib", "honest-but-curious")


def largest_rho() -> float:
    """The largest rho of zCDP that is (epsilon, delta / 2)-DP."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def holds(rho: float) -> bool:
        noise = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=(2 * rho) ** -0.5))
        return bool(noise.map(1.0).delta(epsilon) <= delta / 2)

    low, high = 1e-9, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


if kind == "gaussian":
    loss = dp.loss_of(rho=largest_rho(), delta=delta / 2)
else:
    loss = dp.loss_of(epsilon=epsilon, delta=delta)
for limit in map(int, limits.split(",")):
    context = dp.Context.compositor(
        data=pl.scan_csv(path, schema_overrides={"user": pl.String, "item": pl.String}),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
        privacy_loss=loss,
        split_evenly_over=1,
    )
    query = (
        context.query()
        .truncate_per_group(1, by=["item"])
        .truncate_per_group(limit)
        .group_by("item")
        .agg(dp.len(signed=True))
    )
    table = query.release().collect()
    counts = dict(zip(table["item"].to_list(), map(float, table["len"].to_list()), strict=True))
    print(json.dumps({"limit": limit, "counts": counts, "version": version("opendp")}), flush=True)
