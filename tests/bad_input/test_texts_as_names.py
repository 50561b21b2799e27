"""Texts in place of names: no error quotes what may be a file's text, a record or a sentence."""

from __future__ import annotations

import traceback
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpsel
from dpsel.cli import main
from dpsel.exceptions import DpselError, InvalidParameterError, MissingFileError, SchemaError

TEXTS = {
    "csv": "user,item\nalice,hunter2 diagnosis\n",
    "one line of csv": "alice,hunter2",
    "json": '{"user": "alice", "item": "hunter2"}',
    "list": '[["alice", "hunter2"]]',
    "tsv": "alice\thunter2",
    "sentence": "alice has the diagnosis hunter2",
    "long": "hunter2 " * 2700,
    "word": "hunter2" * 3000,
    "file name": "hunter2 " * 40 + ".csv",
    "separator": "alice\u2028hunter2",
    "surrogate": "alice has the \ud800 hunter2",
    "null": "alice\0hunter2",
}
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
FRAME = pl.DataFrame({"u": range(400), "i": ["tea"] * 400})
DEFAULTS = {"user": "u", "item": "i", "privacy": PRIVACY, "max_items_per_user": 1}


def select(data=FRAME, **arguments):
    return dpsel.select_partitions(data, **(DEFAULTS | arguments))


def top_k(data=FRAME, **arguments):
    return dpsel.select_top_k(data, k=1, **(DEFAULTS | arguments))


def compare(data=FRAME, **arguments):
    return dpsel.compare(data, public_data=True, **(DEFAULTS | arguments))


@pytest.fixture(scope="module")
def release():
    return select(insecure_test_key=bytes(32))


#: What takes a text, and never works with one of these.
CALLS = {
    "data": lambda text, _: select(text),
    "data as csv": lambda text, _: select(text, file_format="csv"),
    "data as parquet": lambda text, _: top_k(text, file_format="parquet"),
    "data of a form": lambda text, _: compare(text, file_format=dpsel.Csv()),
    "data as a path": lambda text, _: select(Path(text)),
    "data in a list": lambda text, _: select([text, text]),
    "user": lambda text, _: select(user=text),
    "item": lambda text, _: select(item=text),
    "items": lambda text, _: top_k(item=["i", text]),
    "users": lambda text, _: compare(user=["u", text]),
    "key of a mapping": lambda text, _: select({"u": [1], "i": ["a"]}, user=text),
    "key of records": lambda text, _: select([{"u": 1, "i": "a"}], user=text),
    "column of pandas": lambda text, _: select(FRAME.to_pandas(), item=text),
    "column of arrow": lambda text, _: select(FRAME.to_arrow(), item=text),
    "column of a query": lambda text, _: select(FRAME.lazy(), item=text),
    "file_format": lambda text, _: select("a.csv", file_format=text),
    "delimiter": lambda text, _: dpsel.Csv(delimiter=text),
    "header": lambda text, _: dpsel.Csv(header=text),
    "mechanism": lambda text, _: select(mechanism=text),
    "mechanisms": lambda text, _: compare(mechanisms=[text]),
    "parameter of a mechanism": lambda text, _: select(mechanism=f"sips(rounds={text})"),
    "name of a parameter": lambda text, _: select(mechanism=f"sips({text}=3)"),
    "tokenizer": lambda text, _: select(tokenizer=text),
    "ngrams": lambda text, _: select(ngrams=text),
    "counts": lambda text, _: select(counts=text),
    "count": lambda text, _: dpsel.Counts(count=text),
    "neighbours": lambda text, _: dpsel.Cost(items=PRIVACY, neighbours=text),
    "neighbours of a budget": lambda text, _: dpsel.Budget(PRIVACY, neighbours=text),
    "privacy": lambda text, _: select(privacy=text),
    "epsilon": lambda text, _: dpsel.ApproxDP(epsilon=text, delta=1e-6),
    "max_items_per_user": lambda text, _: select(max_items_per_user=text),
    "exclude": lambda text, _: select(exclude=text),
    "public_items": lambda text, _: select(public_items=text),
    "domain": lambda text, _: top_k(domain=text),
    "prior": lambda text, _: select(mechanism=dpsel.GreedyFrequency(prior=text)),
    "release of a mechanism": lambda text, _: dpsel.Sips(release=text),
    "calibration": lambda text, _: dpsel.GreedyFrequency(calibration=text),
    "memory_limit": lambda text, _: select(memory_limit=text),
    "scratch": lambda text, _: select(scratch=text),
    "threads": lambda text, _: select(threads=text),
    "test key": lambda text, _: select(insecure_test_key=text),
    "plan": lambda text, _: dpsel.plan(privacy=PRIVACY, max_items_per_user=text),
    "mechanism of a plan": lambda text, _: dpsel.plan(privacy=PRIVACY, max_items_per_user=1, mechanisms=text),
    "report": lambda text, _: dpsel.Report(text),
    "path of a report": lambda text, _: dpsel.Report.load(text),
    "check": lambda text, _: dpsel.check(text),
    "release from a file": lambda text, _: dpsel.Release.load(text),
    "ledger": lambda text, _: dpsel.Ledger(text),
    "total of a ledger": lambda text, _: dpsel.Ledger("ledger.jsonl", total=text),
    "release with a report": lambda text, _: dpsel.Release.load("rows.csv", report=text),
    "written": lambda text, release: release.write(text),
    "report to a folder": lambda text, release: release.report.save(f"absent/{text}"),
    "filtered file": lambda text, release: release.filter_file(text, "rows.csv"),
    "target of a filtered file": lambda text, release: release.filter_file("rows.csv", text),
    "filtered": lambda text, release: release.filter(text),
    "column of a filter": lambda text, release: release.filter(FRAME, item=text),
    "key of filtered records": lambda text, release: release.filter([{"i": "tea"}], item=text),
    "top-k of counts": lambda text, _: dpsel.top_k_from_counts(text, k=1, privacy=dpsel.PureDP(epsilon=1.0)),
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("call", CALLS)
def test_no_argument_that_may_be_data_is_quoted(tmp_path, monkeypatch, release, call, text) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DpselError) as caught:
        CALLS[call](TEXTS[text], release)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert not any(part in told for part in ("hunter2", "alice", "diagnosis"))


PARTS = st.sampled_from(["hunter2", *' \n,\t{";/.*[=~\r'])
CALLED = st.sampled_from(["data", "data as csv", "user", "mechanism"])


@pytest.mark.long("many texts in every place of a call")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(PARTS, min_size=1, max_size=40), call=CALLED)
def test_what_is_quoted_is_short_and_in_one_line(tmp_path, monkeypatch, release, parts, call) -> None:
    monkeypatch.chdir(tmp_path)
    text = "".join(parts)
    try:
        CALLS[call](text, release)
    except DpselError as error:
        if "hunter2" in str(error):
            assert len(text) <= 255
            assert not set(text.strip()) & set('\n\r\t,;{"')
            assert len(text.split()) <= 3 or "data" in call


ABSENT = {
    "absent.csv": MissingFileError,
    "absent folder/part.parquet": MissingFileError,
    "absent-*.ndjson": MissingFileError,
}


@pytest.mark.parametrize("path", ABSENT)
def test_what_is_plainly_a_path_or_a_name_is_quoted(path) -> None:
    """So that a slip of the keyboard is seen."""
    with pytest.raises(ABSENT[path]) as caught:
        select(path)
    assert path in str(caught.value)
    with pytest.raises(SchemaError, match="no column 'user_id'"):
        select(user="user_id")
    with pytest.raises(InvalidParameterError, match="no mechanism 'sipz'"):
        select(mechanism="sipz")


def test_a_path_below_a_folder_that_exists_is_quoted(tmp_path) -> None:
    with pytest.raises(MissingFileError, match="rows of may"):
        select(tmp_path / "rows of may")
    odd = tmp_path / "user,item; of may"
    odd.write_text("")
    with pytest.raises(DpselError, match="user,item; of may"):
        select(odd)


PARAMETERS = ["--user", "u", "--item", "i", "--epsilon", "1", "--delta", "1e-6", "--max-items-per-user", "1"]
COMMANDS = {
    "a command": lambda text: [text],
    "paths": lambda text: ["select", text, *PARAMETERS],
    "paths of a format": lambda text: ["select", text, "--format", "csv", *PARAMETERS],
    "top-k": lambda text: ["top-k", text, "--k", "1", *PARAMETERS],
    "compare": lambda text: ["compare", text, "--public-data", *PARAMETERS],
    "column": lambda text: ["select", "rows.csv", *PARAMETERS, "--item", text],
    "number": lambda text: ["select", "rows.csv", *PARAMETERS, "--epsilon", text],
    "limit": lambda text: ["select", "rows.csv", *PARAMETERS, "--max-items-per-user", text],
    "choice": lambda text: ["select", "rows.csv", *PARAMETERS, "--format", text],
    "mechanism": lambda text: ["select", "rows.csv", *PARAMETERS, "--mechanism", text],
    "delimiter": lambda text: ["select", "rows.csv", *PARAMETERS, "--format", f"csv(delimiter={text!r})"],
    "output": lambda text: ["select", "rows.csv", *PARAMETERS, "--output", text],
    "query": lambda text: ["select", *PARAMETERS, "--sql", "@" + text],
    "list": lambda text: ["select", "rows.csv", *PARAMETERS, "--exclude", text],
    "domain": lambda text: ["top-k", "rows.csv", "--k", "1", *PARAMETERS, "--domain", text],
    "report": lambda text: ["check", text],
    "card": lambda text: ["card", text],
    "ledger": lambda text: ["ledger", text],
    "filter": lambda text: ["filter", text, "--items", text, "--output", "out.csv"],
    "plan": lambda text: ["plan", *PARAMETERS[4:], text],
    "audit": lambda text: ["audit", "--callable", text],
}


@pytest.mark.parametrize("text", ["csv", "json", "sentence", "word"])
def test_no_command_quotes_what_may_be_data(tmp_path, monkeypatch, capsys, text) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.write_csv("rows.csv")
    for make in COMMANDS.values():
        code = main(make(TEXTS[text]))
        told = capsys.readouterr()
        assert not any(part in told.out + told.err for part in ("hunter2", "alice", "diagnosis")), told.err
        assert code in (2, 3), (make, told.err)


VALUES = [
    "ann@x.org",
    "www.hiv-clinic.org",
    "192.168.0.1",
    "B20.1",
    "aspirin 5.5mg",
    "ann.smith",
    "hiv positive",
]
NAMED = (
    "data",
    "data as csv",
    "data as a path",
    "user",
    "item",
    "key of a mapping",
    "scratch",
    "report",
    "ledger",
)


@pytest.mark.parametrize("call", NAMED)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_that_is_no_word_and_no_file_of_ours_is_not_quoted(
    tmp_path, monkeypatch, call, value
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DpselError) as caught:
        CALLS[call](value, None)
    assert value not in "".join(traceback.format_exception(caught.value))


def test_labels_of_columns_are_listed_only_beside_a_name_that_is_one_of_them() -> None:
    row_one = pl.DataFrame({"ann": ["bob"], "hiv": ["flu"]})
    for names in ({"user": "user", "item": "item"}, {"user": "u", "item": "ann@x.org"}):
        with pytest.raises(DpselError) as caught:
            select(row_one, **names)
        assert not any(label in str(caught.value) for label in ("'ann'", "'hiv'"))
    with pytest.raises(DpselError, match="set item= to one of its columns: 'ann', 'hiv'"):
        select(row_one, user="ann", item="absent")
    with pytest.raises(DpselError, match="one of its columns$"):
        select(row_one.with_columns(pl.lit(1).alias("ann@x.org")), user="ann", item="absent")
