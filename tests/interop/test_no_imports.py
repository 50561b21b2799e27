"""Importing and using dpsel imports no library that the user did not."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import dpsel
release = dpsel.select_partitions(
    [(user, "tea") for user in range(500)],
    privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
    max_items_per_user=1,
)
assert release.items == ["tea"]
str(release), repr(release), release.to_table()
dpsel.plan(privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=[1, 10])
print(*sorted(name for name in sys.modules if "." not in name))
"""


def test_no_optional_library_is_imported():
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "dpsel" in loaded
    optional = {"numpy", "polars", "pandas", "pyarrow", "duckdb", "matplotlib", "click", "tqdm", "pyspark"}
    assert loaded & optional == set()


@pytest.mark.parametrize("missing", ["pyarrow", "pandas", "duckdb"])
def test_polars_alone_is_enough(missing):
    script = f"""
import sys
sys.modules[{missing!r}] = None
import dpsel, polars as pl
privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
data = pl.DataFrame({{"user": list(range(500)), "item": ["tea"] * 500}})
release = dpsel.select_partitions(
    data, user="user", item="item", privacy=privacy, max_items_per_user=1
)
assert release.items.to_dict(as_series=False) == {{"item": ["tea"]}}
lazy = dpsel.select_partitions(
    data.lazy(), user="user", item="item", privacy=privacy, max_items_per_user=1
)
assert lazy.items.to_dict(as_series=False) == {{"item": ["tea"]}}
"""
    subprocess.run([sys.executable, "-c", script], check=True)
