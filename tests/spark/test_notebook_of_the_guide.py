"""The cells of the guide for a notebook, on a local session."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import dpsel
from weak import WEAK

pytestmark = [pytest.mark.spark, WEAK]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "spark.md"


def test_the_cells_release_a_table(spark, tmp_path, monkeypatch) -> None:
    text = PAGE.read_text(encoding="utf-8").split("### A notebook on Databricks")[1]
    cell = re.search(r"```py\n(.*?)```", text, re.DOTALL)
    assert cell is not None
    monkeypatch.chdir(tmp_path)
    spark.createDataFrame(
        [(user, page) for user in range(600) for page in ("home", "help")] + [(1, "hunter2")], ["uid", "page"]
    ).createOrReplaceTempView("visits")
    kept: dict[str, object] = {}
    # A local session has no catalogue of tables that would be written to a place of the test's own.
    written = str(tmp_path / "released_pages")
    code = cell[1].replace('.saveAsTable("released_pages")', f".parquet({written!r})")
    assert code != cell[1]
    with warnings.catch_warnings():
        # Whether the session encrypts what it writes is no matter of this test.
        warnings.simplefilter("ignore", UserWarning)
        exec(compile(code, str(PAGE), "exec"), {"spark": spark}, kept)  # noqa: S102 - our own example
    assert sorted(row.page for row in spark.read.parquet(written).collect()) == ["help", "home"]
    assert dpsel.check(dpsel.Report.load("released_pages.json")) is not None
