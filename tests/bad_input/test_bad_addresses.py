"""An address where a file of this machine is expected is refused in words that say so, before payment."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpsel
from dpsel.cli import main
from dpsel.exceptions import DpselError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
SCHEMES = ["s3", "gs", "abfss", "hdfs", "https", "file", "dbfs"]
ROWS = [(user, "tea") for user in range(300)]
SELECT = [
    "--user",
    "user",
    "--item",
    "item",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
    "--max-items-per-user",
    "1",
]


@pytest.fixture(scope="module")
def tea():
    return dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=1)


def compared(address):
    dpsel.compare(ROWS, privacy=PRIVACY, max_items_per_user=1, public_data=True).write_csv(address)


#: Every function that takes a path of this machine, with an address that ends in the format.
CALLS = {
    "items": ("csv", lambda tea, at: tea.to_table().write(at)),
    "report": ("json", lambda tea, at: tea.report.save(at)),
    "card": ("html", lambda tea, at: dpsel.release.Card(tea.report).save(at)),
    "load": ("csv", lambda _, at: dpsel.Release.load(at)),
    "load a report": ("json", lambda _, at: dpsel.Report.load(at)),
    "ledger": ("jsonl", lambda _, at: dpsel.Ledger(at, PRIVACY)),
    "scratch": (
        "d",
        lambda _, at: dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=1, scratch=at),
    ),
    "compare": ("csv", lambda _, at: compared(at)),
    "demo data": ("csv", lambda _, at: dpsel.demo_data.write([(1, "tea")], at)),
    "filter to": ("csv", lambda tea, at: tea.filter_file("rows.csv", at, item="item")),
}


@pytest.mark.parametrize("as_path", [str, Path])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("call", CALLS)
def test_an_address_is_named_as_one(call, scheme, as_path, tea, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("user,item\n1,tea\n")
    end, function = CALLS[call]
    with pytest.raises(DpselError, match="got an address"):
        function(tea, as_path(f"{scheme}://bucket/file.{end}"))
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv"}


READS = {
    "select": lambda _, at: dpsel.select_partitions(
        at, user="user", item="item", privacy=PRIVACY, max_items_per_user=1
    ),
    "filter": lambda tea, at: tea.filter_file(at, "out.csv", item="item"),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("read", READS)
def test_data_at_an_address_is_read_or_refused_in_our_words(read, scheme, tea) -> None:
    with pytest.raises(DpselError, match="address"):
        READS[read](tea, f"{scheme}://bucket/file.csv")


@pytest.mark.parametrize("read", READS)
def test_a_path_object_of_an_address_says_so(read, tea) -> None:
    with pytest.raises(DpselError, match="got an address"):
        READS[read](tea, Path("s3://bucket/file.parquet"))


@pytest.mark.parametrize("scheme", ["hdfs", "dbfs", "ftp", "wasbs"])
def test_an_address_that_nobody_fetches_says_so(scheme, tea) -> None:
    with pytest.raises(DpselError, match=f"{scheme}://' is not fetched here"):
        READS["select"](tea, f"{scheme}://bucket/file.parquet")


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_the_command_refuses_an_address_before_payment(option, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("user,item\n" + "".join(f"{user},tea\n" for user in range(300)))
    ledger = dpsel.Ledger("spent.jsonl", dpsel.ApproxDP(epsilon=100.0, delta=1e-3))
    end = "csv" if option == "-o" else "json"
    given = ["select", "rows.csv", *SELECT, "--ledger", "spent.jsonl", option, f"s3://bucket/items.{end}"]
    assert main(given) != 0
    assert "must be a path of this machine, got an address" in capsys.readouterr().err
    assert len(ledger.spent) == 0


def test_a_folder_whose_name_has_a_colon_is_one_of_this_machine(tea, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s3:").mkdir()
    tea.to_table().write("s3:/items.csv")
    assert Path("s3:/items.csv").read_text().split() == ["item", "tea"]
