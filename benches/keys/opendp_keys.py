"""Keys by OpenDP: a private group-by with its Polars front. The counts made on the way are dropped.

One row for each item, and then `limit` rows, are `limit` items. `truncate_num_groups` would say it directly,
but fails in 0.16.0 where the key is one column.
"""

import opendp.prelude as dp
import polars as pl
from timed import report


def job(path, epsilon, delta, limit):
    # job
    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_csv(path, schema_overrides={"user": pl.String, "item": pl.String}),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
        privacy_loss=dp.loss_of(epsilon=epsilon, delta=delta),
        split_evenly_over=1,
    )
    query = (
        context.query()
        .truncate_per_group(1, by=["item"])
        .truncate_per_group(limit)
        .group_by("item")
        .agg(dp.len())
    )
    return query.release().collect()["item"]
    # end


report(job, "opendp")
