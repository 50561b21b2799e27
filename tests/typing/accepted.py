"""Must type-check under mypy --strict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import polars as pl

import dpsel
from dpsel.release import CheckResult, ItemTable

if TYPE_CHECKING:
    import duckdb

    from dpsel.typing import IntoContributions

privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
budget = dpsel.Budget(dpsel.ZCDP(rho=1.0, delta=1e-6))

release = dpsel.select_partitions([("ada", "tea")], privacy=privacy, max_items_per_user=3)
assert_type(release, dpsel.Release[list[Any]])
assert_type(release.items, list[Any])
assert_type(release.to_table(), ItemTable)
assert_type(release.report, dpsel.Report)
assert_type(dpsel.check(release.report), CheckResult)
assert_type(dpsel.check("report.json").ok, bool)

dpsel.select_partitions(
    Path("events.parquet"),
    user="user",
    item=["city", "means"],
    privacy=budget.spend(dpsel.ZCDP(rho=0.1, delta=1e-7), "events"),
    max_items_per_user=3,
    mechanism=dpsel.Sips(rounds=2),
    with_weights=True,
    threads=2,
    memory_limit=1 << 30,
    progress=lambda done, total: print(done, total),
    file_format="parquet",
)


def kinds(
    frame: pl.DataFrame, lazy: pl.LazyFrame, relation: duckdb.DuckDBPyRelation, anything: IntoContributions
) -> dpsel.Release:
    """What comes in comes back; a bare ``Release`` is one of any kind."""
    eager = dpsel.select_partitions(frame, user="u", item="i", privacy=privacy, max_items_per_user=3)
    assert_type(eager.items, pl.DataFrame)
    streamed = dpsel.select_partitions(lazy, user="u", item="i", privacy=privacy, max_items_per_user=3)
    assert_type(streamed.items, pl.DataFrame)
    table: ItemTable = dpsel.select_partitions(
        "events.csv", user="u", item="i", privacy=privacy, max_items_per_user=3
    ).items
    assert_type(len(table), int)
    assert_type(
        dpsel.select_top_k(frame, user="u", item="i", k=3, privacy=privacy, domain=["tea"]).items,
        pl.DataFrame,
    )
    dpsel.select_partitions(relation, user="u", item="i", privacy=privacy, max_items_per_user=3)
    return dpsel.select_partitions(anything, user="u", item="i", privacy=privacy, max_items_per_user=3)


pure = dpsel.Budget(dpsel.PureDP(epsilon=1.0))
assert_type(pure.remaining, dpsel.PureDP | None)
assert_type(pure.share(2), dpsel.PureDP)
assert_type(pure.spend(pure.remaining), dpsel.PureDP)
assert_type(pure.spend(dpsel.Cost(items=pure.share(2), counts=pure.share(4))), dpsel.Cost)
assert_type(dpsel.top_k_from_counts([3, 1], k=1, privacy=pure.spend(pure.remaining, "rest")).items, list[Any])

dpsel.select_partitions(["a.csv", "b.csv"], user="u", item="i", privacy=privacy, max_items_per_user=3)
dpsel.select_partitions({"ada": ["tea"]}.items(), privacy=privacy, max_items_per_user=3)
dpsel.select_partitions(release, user="u", item="i", privacy=privacy, max_items_per_user=3, ngrams=(1, 2))

assert_type(
    dpsel.plan(privacy=privacy, max_items_per_user=[1, 10], mechanisms=["auto", dpsel.Sips()]), dpsel.Plan
)
chosen: list[dpsel.SelectionMechanism] = [dpsel.Mad2R(alpha=1), dpsel.mechanisms.OneItem()]
dpsel.plan(privacy=privacy, max_items_per_user=1, mechanisms=chosen)
assert_type(dpsel.Sips(rounds=2).rounds, int)
assert_type(dpsel.selection_mechanisms()["sips"]().name, str)
picked: dpsel.TopKMechanism = dpsel.top_k_mechanisms()["joint"]()
assert_type(picked.ordered, bool)
assert_type(dpsel.ZCDP(rho=0.1, delta=1e-5).to_approx_dp(delta=1e-4), dpsel.ApproxDP)

assert_type(dpsel.audit("sips", dpsel.Joint(), effort="thorough"), dpsel.AuditReport)
assert_type(dpsel.audit(privacy=privacy, max_items_per_user=3, progress=print).ok, bool)
assert_type(
    dpsel.audit_callable(lambda rows: [item for _, item in rows], privacy=privacy, max_items_per_user=3),
    dpsel.AuditReport,
)
