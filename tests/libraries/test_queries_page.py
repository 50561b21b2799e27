"""A query by ADBC, as the guide shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dpsel

duckdb = pytest.importorskip("duckdb", reason="in the group `libraries`; run `nox -s libraries`")
pytest.importorskip("adbc_driver_manager", reason="in the group `libraries`; run `nox -s libraries`")
pytestmark = pytest.mark.libraries

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "queries.md"


def test_a_query_comes_as_a_stream(tmp_path, monkeypatch) -> None:
    (cell,) = re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("shop.duckdb") as connection:
        connection.sql("CREATE TABLE visits AS SELECT range % 500 AS uid, range % 3 AS page FROM range(1500)")
        connection.sql("INSERT INTO visits VALUES (7, 13)")
    parameters = {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-8), "max_items_per_user": 3}
    names = {"dpsel": dpsel, "parameters": parameters}
    exec(compile(cell, str(PAGE), "exec"), names)  # noqa: S102 - our own example
    assert names["release"].to_pylist() == [0, 1, 2]
