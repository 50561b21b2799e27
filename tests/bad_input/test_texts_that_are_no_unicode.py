"""Names that UTF-8 cannot hold: files of any name are read and written, all else is an error of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import dpsel
from dpsel.exceptions import DpselError, InvalidParameterError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
ODD = os.fsdecode(b"\xff")
HALF = "\ud800x"
TABLE = pl.DataFrame({"user": range(300), "item": ["tea"] * 300})
PAIRS = [(user, "tea") for user in range(300)]
NAMES = {"user": "user", "item": "item"}
WRITERS = {
    "parquet": TABLE.write_parquet,
    "csv": TABLE.write_csv,
    "ndjson": TABLE.write_ndjson,
    "arrow": lambda path: TABLE.write_ipc(path, compat_level=pl.CompatLevel.oldest()),
}
SOURCES = {
    "pairs": PAIRS,
    "polars": TABLE,
    "lazy": TABLE.lazy(),
    "pandas": pd.DataFrame({"user": range(300), "item": ["tea"] * 300}),
    "pyarrow": TABLE.to_arrow(),
    "columns": {"user": list(range(300)), HALF: ["tea"] * 300},
    "records": [{"user": user, HALF: "tea"} for user in range(300)],
}
CALLS = {
    "select": lambda data, **names: dpsel.select_partitions(
        data, privacy=PRIVACY, max_items_per_user=1, **names
    ),
    "top-k": lambda data, **names: dpsel.select_top_k(
        data, privacy=dpsel.PureDP(epsilon=1.0), k=1, domain=["tea"], **names
    ),
    "compare": lambda data, **names: dpsel.compare(
        data, privacy=PRIVACY, max_items_per_user=1, public_data=True, **names
    ),
    "filter": lambda data, item, **_: release().filter(data, item=item),
}


class OfBytes:
    """A path whose name is bytes."""

    def __init__(self, path):
        self._path = os.fsencode(path)

    def __fspath__(self):
        return self._path


def release():
    return dpsel.select_partitions(PAIRS, privacy=PRIVACY, max_items_per_user=1)


@pytest.fixture(params=WRITERS)
def odd(request, tmp_path):
    """A file whose name is no UTF-8."""
    plain, path = tmp_path / "plain", f"{tmp_path}/{ODD}.{request.param}"
    WRITERS[request.param](plain)
    try:
        plain.rename(path)
    except OSError:
        pytest.skip("this system has no such names")
    return path


@pytest.mark.parametrize("kind", [str, OfBytes])
def test_a_file_of_any_name_is_read_filtered_and_written(kind, odd):
    made = dpsel.select_partitions(kind(odd), privacy=PRIVACY, max_items_per_user=1, **NAMES)
    assert list(made) == ["tea"]
    folder, _, name = odd.rpartition("/")
    filtered, written = f"{folder}/filtered {name}", f"{folder}/written {name}"
    made.filter_file(kind(odd), kind(filtered))
    made.write(written)
    for path in (filtered, written):
        assert Path(path).stat().st_size > 0


@pytest.mark.parametrize("command", ["select", "filter", "check", "card"])
def test_the_command_line_takes_files_of_any_name(command, odd, tmp_path):
    report = f"{tmp_path}/{ODD} report.json"
    output = f"{tmp_path}/{ODD} out{Path(odd).suffix}"
    made = dpsel.select_partitions(odd, privacy=PRIVACY, max_items_per_user=1, **NAMES)
    made.report.save(report)
    made.write(tmp_path / "items.csv")
    names = ["--user", "user", "--item", "item"]
    given = {
        "select": [
            odd,
            *names,
            "--epsilon",
            "1",
            "--delta",
            "1e-6",
            "--max-items-per-user",
            "1",
            "-o",
            output,
        ],
        "filter": ["items.csv", odd, "--report", report, "--item", "item", "-o", output],
        "check": [report],
        "card": [report, "-o", f"{tmp_path}/{ODD} card.html"],
    }[command]
    ran = subprocess.run(
        [sys.executable, "-m", "dpsel.cli", command, *given], cwd=tmp_path, capture_output=True, check=False
    )
    assert (ran.returncode, b"Unicode" in ran.stderr) == (0, False), ran.stderr


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", ["user", "item"])
def test_a_column_of_such_a_name_is_refused_by_argument(role, call, source):
    if call == "filter" and role == "user":
        return
    for name in (HALF, ["item", HALF]):
        with pytest.raises(InvalidParameterError, match=f"{role} must name columns in Unicode"):
            CALLS[call](SOURCES[source], **(NAMES | {role: name}))


@pytest.mark.parametrize("name", [HALF + ".csv", "a\0b.csv"])
def test_a_path_that_no_file_can_have_is_refused_by_argument(name, tmp_path):
    made = release()
    (tmp_path / "rows.csv").write_text("user,item\n1,tea\n")
    rows = str(tmp_path / "rows.csv")
    with pytest.raises(DpselError, match="data must be a path|cannot read what was given as a path"):
        CALLS["select"](name, **NAMES)
    calls = {
        "source": lambda: made.filter_file(name, rows),
        "target": lambda: made.filter_file(rows, name),
        "path": lambda: dpsel.Ledger(name, PRIVACY),
    }
    for argument, call in calls.items():
        with pytest.raises(
            DpselError, match=f"({argument}|data) must be a path, got str that no|was given as a path"
        ):
            call()
    for call in (lambda: made.write(name), lambda: made.report.save(name), lambda: dpsel.check(name)):
        with pytest.raises(DpselError):
            call()


def test_a_format_of_such_a_name_is_refused():
    with pytest.raises(InvalidParameterError, match="file_format"):
        CALLS["select"]("rows", file_format=HALF, **NAMES)


@pytest.mark.parametrize("argument", ["public_items", "exclude"])
def test_items_of_such_texts_are_refused_by_argument(argument):
    with pytest.raises(DpselError, match=f"{argument}= holds text that is not valid Unicode"):
        CALLS["select"](PAIRS, **{argument: [HALF]})
