"""Folders that were changed, restored, or are behind a ledger: refused, and nothing is removed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

import dpsel
from dpsel.exceptions import (
    BudgetExceededError,
    FileError,
    InvalidParameterError,
    LedgerError,
    MissingFileError,
    SeriesError,
)
from series_support import FEW_USERS, KEY, PRIVACY, created, files, held, opened, put

if TYPE_CHECKING:
    from pathlib import Path


def two_releases(folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files after the first and the second release."""
    series = created(folder)
    series.release(held("tea", users=FEW_USERS), "one")
    series.forget(7)
    before = files(folder)
    series.release(held("milk", users=FEW_USERS), "two")
    return before, files(folder)


def refused(folder: Path, match: str, **options) -> None:
    """Every call is refused, and removes nothing."""
    before = files(folder)
    with pytest.raises(SeriesError, match=match) as caught:
        opened(folder, **options)
    assert not re.search("tea|milk", str(caught.value))
    assert files(folder) == before


@pytest.mark.parametrize("name", ["commit-000001.json", "commit-000002.json", "key", "state-000002"])
def test_a_missing_file_is_refused(tmp_path, name) -> None:
    _, after = two_releases(tmp_path)
    kept = {each: content for each, content in after.items() if not each.startswith(name)}
    assert len(kept) == len(after) - 1
    put(tmp_path, kept)
    refused(tmp_path, "lacks (a commit|its file)")


@pytest.mark.parametrize(
    "name", ["header.json", "commit-000001.json", "commit-000002.json", "key", "state-000002"]
)
@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 1.0])
def test_a_changed_file_is_refused(tmp_path, name, at) -> None:
    _, after = two_releases(tmp_path)
    whole = next(each for each in after if each.startswith(name))
    content = bytearray(after[whole])
    content[int(at * (len(content) - 2))] ^= 1
    for changed in (bytes(content), after[whole][:-1], after[whole] + b" ", b"", b"\xff" * 300):
        put(tmp_path, after | {whole: changed})
        refused(tmp_path, "was changed|header|another key")


def test_the_last_commit_keeps_its_name(tmp_path) -> None:
    _, after = two_releases(tmp_path)
    renamed = after["commit-000002.json"].replace(b'"name":"two"', b'"name":"new"')
    assert renamed != after["commit-000002.json"]
    put(tmp_path, {name: each for name, each in after.items() if name != "log.jsonl"})
    opened(tmp_path)
    put(tmp_path, after | {"commit-000002.json": renamed, "log.jsonl": b""})
    refused(tmp_path, "'commit-000002.json' of the series in .* was changed")


def test_commits_do_not_change_places(tmp_path) -> None:
    _, after = two_releases(tmp_path)
    first, second = after["commit-000001.json"], after["commit-000002.json"]
    put(tmp_path, after | {"commit-000001.json": second, "commit-000002.json": first})
    refused(tmp_path, "'commit-000001.json' of the series in .* was changed")
    put(tmp_path, after | {"commit-000003.json": second})
    refused(tmp_path, "'commit-000003.json' of the series in .* was changed")


def test_a_commit_of_another_series_is_refused(tmp_path) -> None:
    _, after = two_releases(tmp_path)
    (tmp_path / "other").mkdir()
    _, others = two_releases(tmp_path / "other")
    put(tmp_path, after | {"commit-000002.json": others["commit-000002.json"]})
    refused(tmp_path, "was changed")


def test_commits_behind_the_log_are_refused(tmp_path) -> None:
    before, after = two_releases(tmp_path)
    put(tmp_path, before | {"log.jsonl": after["log.jsonl"]})
    refused(tmp_path, "is older than its 'log.jsonl', or the log was changed")


def test_a_log_that_is_behind_or_gone_is_made_again(tmp_path) -> None:
    before, after = two_releases(tmp_path)
    for log in ({"log.jsonl": before["log.jsonl"]}, {"log.jsonl": b""}, {}):
        put(tmp_path, {name: each for name, each in after.items() if name != "log.jsonl"} | log)
        opened(tmp_path)
        assert files(tmp_path) == after


def test_what_no_commit_names_is_removed(tmp_path) -> None:
    before, after = two_releases(tmp_path)
    left = {name: each for name, each in before.items() if name.startswith("state-")}
    left |= {"draft-0123": b"x", "state-000003-of-an-attempt": b"x"}
    put(tmp_path, after | left)
    assert opened(tmp_path).items.to_pylist() == ["tea"]
    assert files(tmp_path) == after


def test_a_deletion_that_was_changed_is_refused(tmp_path) -> None:
    series = created(tmp_path)
    series.forget(7)
    before = files(tmp_path)
    name = next(each for each in before if each.startswith("forget-"))
    put(tmp_path, before | {name: before[name][:-1] + b"x"})
    with pytest.raises(SeriesError, match="was changed"):
        series.release(held("tea"), "one")
    assert opened(tmp_path).status().made == 0


def booked(folder: Path, **options) -> tuple[dpsel.Series, dpsel.Ledger]:
    """A series that a ledger has booked."""
    ledger = dpsel.Ledger(folder / "spent.jsonl", dpsel.ApproxDP(epsilon=10.0, delta=1e-5))
    return created(folder, privacy=ledger.on_use(PRIVACY, "drinks"), **options), ledger


def kinds(ledger: dpsel.Ledger) -> list[str]:
    return [json.loads(line)["kind"] for line in ledger.path.read_text().splitlines()]


def test_a_ledger_books_a_series_once_and_knows_each_release(tmp_path) -> None:
    series, ledger = booked(tmp_path)
    assert booked(tmp_path)[0].status() == series.status()
    series.release(held("tea"), "one")
    series.release(held("tea"), "one")
    opened(tmp_path, ledger=str(ledger.path)).release(held("tea"), "two")
    opened(tmp_path, ledger=ledger).forget(7)
    assert kinds(ledger) == ["total", "cost", "series", "series"]
    assert [entry.label for entry in ledger.spent] == ["drinks"]
    assert ledger.remaining.epsilon == 2.0
    series.close(forever=True)
    assert opened(tmp_path, ledger=ledger.path).items.to_pylist() == ["tea"]


def test_a_folder_that_is_older_than_its_ledger_is_refused(tmp_path) -> None:
    series, ledger = booked(tmp_path)
    empty = files(tmp_path)
    series.release(held("tea"), "one")
    first = files(tmp_path)
    series.release(held("milk"), "two")
    second = files(tmp_path)
    for older in (empty, first):
        put(tmp_path, older)
        refused(tmp_path, "older than the ledger .* which knows of release 2", ledger=ledger)
        with pytest.raises(SeriesError, match="older than the ledger"):
            series.release(held("milk"), "two")
    put(tmp_path, second)
    assert series.release(None, "two").number == 2


def test_of_two_copies_only_the_first_to_go_on_shows_a_list(tmp_path) -> None:
    series, ledger = booked(tmp_path)
    start = files(tmp_path)
    series.release(held("tea"), "one")
    put(tmp_path, start)
    with pytest.raises(SeriesError, match="older than the ledger"):
        series.release(held("milk"), "one")
    assert kinds(ledger).count("series") == 1


def test_a_list_is_not_shown_if_another_copy_goes_on_meanwhile(tmp_path) -> None:
    series, ledger = booked(tmp_path)
    copy = tmp_path / "copy"
    (copy / "series").mkdir(parents=True)
    put(copy, files(tmp_path))

    def rows():
        opened(copy, ledger=ledger).release(held("tea"), "one")
        yield from held("milk")

    with pytest.raises(SeriesError, match="older than the ledger"):
        series.release(rows(), "one")
    with pytest.raises(SeriesError, match="older than the ledger"):
        series.release(None, "one")
    assert opened(copy, ledger=ledger).release(None, "one").to_pylist() == ["tea"]


def test_a_booked_series_needs_its_ledger_and_no_other_one_has_any(tmp_path) -> None:
    _, ledger = booked(tmp_path)
    refused(tmp_path, "is booked in a ledger, which tells whether the folder is an older copy; pass ledger=")
    other = dpsel.Ledger(tmp_path / "other.jsonl", dpsel.PureDP(epsilon=1.0))
    refused(tmp_path, "has not booked this series", ledger=other)
    plain = tmp_path / "plain"
    plain.mkdir()
    created(plain)
    refused(plain, "no ledger has booked the series", ledger=ledger)
    with pytest.raises(InvalidParameterError, match=r"ledger must be a dpsel.Ledger or the path"):
        opened(tmp_path, ledger=7)
    with pytest.raises(MissingFileError):
        opened(tmp_path, ledger=tmp_path / "nowhere")
    ledger.path.write_text("nothing\n")
    with pytest.raises(LedgerError):
        opened(tmp_path, ledger=ledger.path)


def test_a_series_that_is_too_dear_is_not_begun(tmp_path) -> None:
    ledger = dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=1.0, delta=1e-5))
    with pytest.raises(BudgetExceededError):
        created(tmp_path, privacy=ledger.on_use(PRIVACY))
    assert not (tmp_path / "series").exists()
    assert ledger.spent == ()
    assert created(tmp_path, privacy=ledger.on_use(dpsel.ApproxDP(epsilon=1.0, delta=1e-6)), key=KEY)


def test_a_budget_of_the_process_pays_once(tmp_path) -> None:
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=10.0, delta=1e-5))
    for _ in range(2):
        created(tmp_path, privacy=budget.on_use(PRIVACY, "drinks")).release(held("tea"), "one")
    assert [entry.label for entry in budget.spent] == ["drinks"]
    assert opened(tmp_path).items.to_pylist() == ["tea"]
    with pytest.raises(InvalidParameterError, match=r"give what on_use\(\) returns"):
        dpsel.Series.create(
            tmp_path / "other",
            key=KEY,
            privacy=budget.spend(dpsel.ApproxDP(epsilon=1.0, delta=1e-6)),
            releases=2,
            max_items_per_user=1,
            user="u",
            item="i",
        )


def test_what_was_booked_before_a_crash_is_not_booked_again(tmp_path, monkeypatch) -> None:
    ledger = dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=10.0, delta=1e-5))
    from dpsel.series._files import Files

    link = Files.link

    def broken(files, name, free):
        if free == "header.json":
            raise FileError("the power went")
        return link(files, name, free)

    monkeypatch.setattr(Files, "link", broken)
    with pytest.raises(FileError, match="the power went"):
        created(tmp_path, privacy=ledger.on_use(PRIVACY))
    assert len(ledger.spent) == 1
    with pytest.raises(SeriesError, match="with other parameters in .* did not end, and may be paid for"):
        created(tmp_path, privacy=ledger.on_use(PRIVACY), releases=5)
    monkeypatch.undo()
    created(tmp_path, privacy=ledger.on_use(PRIVACY)).release(held("tea"), "one")
    assert kinds(ledger) == ["total", "cost", "series"]


def test_a_ledger_is_read_by_programs_that_know_no_series(tmp_path) -> None:
    series, ledger = booked(tmp_path)
    series.release(held("tea"), "one")
    assert "drinks" in str(dpsel.Ledger(ledger.path))
    assert "drinks" in ledger.to_html()
    changed = ledger.path.read_text().replace('"release":1', '"release":0')
    ledger.path.write_text(changed)
    with pytest.raises(LedgerError, match="was changed"):
        opened(tmp_path, ledger=ledger.path)
