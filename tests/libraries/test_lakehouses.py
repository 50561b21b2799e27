"""Tables that deltalake writes: their files hold deleted rows, so the folder is refused."""

from __future__ import annotations

import pytest

import dpsel
from dpsel.exceptions import FileError

deltalake = pytest.importorskip("deltalake", reason="in the group `libraries`; run `nox -s libraries`")
pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.libraries

SELECT = {"user": "user", "item": "item", "max_items_per_user": 2, "insecure_test_key": bytes(32)}
SELECT |= {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6)}


@pytest.mark.parametrize("parts", [[], ["day"]])
def test_deleted_rows_are_not_released(tmp_path, parts):
    path = tmp_path / "table"
    rows = pa.table({"user": list(range(800)), "item": ["tea"] * 400 + ["deleted"] * 400, "day": ["1"] * 800})
    deltalake.write_deltalake(path, rows, partition_by=parts)
    deltalake.DeltaTable(path).delete("item = 'deleted'")
    files = sorted(path.rglob("*.parquet"))
    assert len(files) == 2
    for given in (path, f"{path}/**/*.parquet", files[0].parent, files[0], [*files]):
        with pytest.raises(FileError, match=r"belongs to a Delta table.*deltalake\.DeltaTable"):
            dpsel.select_partitions(given, **SELECT)
    table = deltalake.DeltaTable(path).to_pyarrow_table()
    assert dpsel.select_partitions(table, **SELECT).to_pylist() == ["tea"]
