"""A ledger: a budget in a file, which nobody overspends and nobody changes unnoticed."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys

import pytest

import dpsel
from dpsel.exceptions import BudgetExceededError, FileError, InvalidParameterError, LedgerError

TOTAL = dpsel.ApproxDP(epsilon=2.0, delta=1e-6)
PART = dpsel.ApproxDP(epsilon=0.5, delta=1e-7)
ROWS = [(user, "tea") for user in range(500)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "spent.jsonl"


def test_what_one_spends_another_one_cannot(path) -> None:
    first = dpsel.Ledger(path, TOTAL)
    second = dpsel.Ledger(path)
    first.spend(PART, "a")
    assert second.remaining.epsilon == 1.5
    second.spend(dpsel.ApproxDP(epsilon=1.5, delta=1e-7), "b")
    with pytest.raises(BudgetExceededError, match="no epsilon remains"):
        first.spend(PART)
    assert [entry.label for entry in first.spent] == ["a", "b"]
    assert first.remaining is None
    assert len(path.read_text().splitlines()) == 3


def test_the_cost_is_on_disk_before_the_call_and_the_report_after_it(path) -> None:
    ledger = dpsel.Ledger(path, TOTAL)
    release = dpsel.select_partitions(ROWS, privacy=ledger.spend(PART, "drinks"), max_items_per_user=1)
    kinds = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    assert kinds == ["total", "cost", "report"]
    again = dpsel.Ledger(path)
    assert again.spent[0].report == release.report
    assert again.spent[0].label == "drinks"
    for page in (str(again), again.to_html(), again._repr_html_()):
        assert "drinks" in page
        assert "tea" not in page


def test_a_call_that_fails_on_its_rows_is_paid_and_one_that_is_refused_is_not(path) -> None:
    ledger = dpsel.Ledger(path, TOTAL)
    privacy = ledger.on_use(PART, "x")
    with pytest.raises(InvalidParameterError):
        dpsel.select_partitions(ROWS, privacy=privacy, max_items_per_user=0)
    assert ledger.spent == ()
    with pytest.raises(dpsel.exceptions.DataError):
        dpsel.select_partitions([(None, "tea")], privacy=privacy, max_items_per_user=1)
    assert len(ledger.spent) == 1


def test_a_share_is_paid_by_each_call(path) -> None:
    for budget in (dpsel.Ledger(path, TOTAL), dpsel.Budget(TOTAL)):
        share = budget.share(2, "half")
        for _ in range(2):
            dpsel.select_partitions(ROWS, privacy=share, max_items_per_user=1)
        with pytest.raises(BudgetExceededError):
            dpsel.select_partitions(ROWS, privacy=share, max_items_per_user=1)
        assert [entry.label for entry in budget.spent] == ["half", "half"]
        assert budget.spent[1].report is not None


def test_a_share_is_spent_once_where_it_is_spent() -> None:
    budget = dpsel.Budget(TOTAL)
    dpsel.select_partitions(ROWS, privacy=budget.spend(budget.share(2)), max_items_per_user=1)
    assert len(budget.spent) == 1


def test_counts_and_neighbours_are_written_and_read(path) -> None:
    ledger = dpsel.Ledger(path, dpsel.ZCDP(rho=1.0, delta=1e-6), neighbours="swap")
    cost = dpsel.Cost(items=dpsel.PureDP(epsilon=0.5), counts=dpsel.PureDP(epsilon=0.25), neighbours="swap")
    ledger.spend(cost, "top")
    again = dpsel.Ledger(path)
    assert again.spent[0].cost == cost
    assert again.neighbours == "swap"
    assert again.remaining == ledger.remaining


CHANGES = {
    "a number": lambda lines: [lines[0], lines[1].replace("0.5", "0.1"), *lines[2:]],
    "a line removed": lambda lines: [lines[0], *lines[2:]],
    "a line twice": lambda lines: [*lines, lines[-1]],
    "another order": lambda lines: [lines[0], lines[2], lines[1]],
    "another total": lambda lines: [lines[0].replace("2.0", "9.0"), *lines[1:]],
    "no total": lambda lines: lines[1:],
    "text": lambda lines: [*lines, "secret"],
    "a list": lambda lines: [*lines, "[1]"],
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused(path, name) -> None:
    ledger = dpsel.Ledger(path, TOTAL)
    ledger.spend(PART, "a")
    ledger.spend(PART, "b")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(CHANGES[name](lines)) + "\n")
    for use in (lambda: dpsel.Ledger(path), lambda: ledger.spend(PART), lambda: ledger.remaining):
        with pytest.raises(LedgerError) as raised:
            use()
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize("cut", [1, 10])
def test_a_write_that_was_cut_off_is_refused_with_the_fix(path, cut) -> None:
    dpsel.Ledger(path, TOTAL).spend(PART)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(LedgerError, match="remove it by hand"):
        dpsel.Ledger(path)


def test_a_file_rebuilt_with_hashes_that_fit_has_another_head(path) -> None:
    ledger = dpsel.Ledger(path, TOTAL)
    before = ledger.head
    ledger.spend(PART)
    head = ledger.head
    assert head != before
    assert dpsel.Ledger(path).head == head


def test_another_total_and_no_file_are_refused(path, tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="give total="):
        dpsel.Ledger(path)
    dpsel.Ledger(path, TOTAL)
    assert dpsel.Ledger(path, TOTAL).total == TOTAL
    with pytest.raises(LedgerError, match="is a ledger of"):
        dpsel.Ledger(path, dpsel.ApproxDP(epsilon=3.0, delta=1e-6))
    with pytest.raises(LedgerError, match="is a ledger of"):
        dpsel.Ledger(path, TOTAL, neighbours="swap")
    with pytest.raises(FileError):
        dpsel.Ledger(tmp_path / "none" / "x.jsonl", TOTAL)
    with pytest.raises(FileError):
        dpsel.Ledger(tmp_path)


def test_many_processes_never_overspend(path) -> None:
    dpsel.Ledger(path, dpsel.PureDP(epsilon=1.0))
    code = (
        "import sys, dpsel\n"
        "ledger, paid = dpsel.Ledger(sys.argv[1]), 0\n"
        "for _ in range(10):\n"
        "    try:\n"
        "        ledger.spend(dpsel.PureDP(epsilon=0.0625), 'x')\n"
        "        paid += 1\n"
        "    except dpsel.exceptions.BudgetExceededError:\n"
        "        pass\n"
        "print(paid)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    paid = [int(process.communicate()[0]) for process in running]
    assert sum(paid) == 16
    assert len(dpsel.Ledger(path).spent) == 16


@pytest.mark.long("four processes and four hundred files")
def test_many_processes_that_make_one_file_all_open_it(tmp_path) -> None:
    """Those that find a file are faster than the one that makes it, so they catch up with it at once."""
    code = (
        "import sys, pathlib, dpsel\n"
        "paths = [pathlib.Path(sys.argv[1], str(name)) for name in range(400)]\n"
        "for ledger in [dpsel.Ledger(path, dpsel.PureDP(epsilon=1.0)) for path in paths]:\n"
        "    ledger.spend(dpsel.PureDP(epsilon=0.25))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate()[1] for process in running] == [""] * 4
    assert [len(dpsel.Ledger(path).spent) for path in tmp_path.iterdir()] == [4] * 400


def test_a_pickle_is_the_path(path) -> None:
    ledger = dpsel.Ledger(path, TOTAL)
    copy = pickle.loads(pickle.dumps(ledger))
    copy.spend(PART)
    assert ledger.remaining.epsilon == 1.5


def test_another_working_directory_is_the_same_file(tmp_path, monkeypatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = dpsel.Ledger("spent.jsonl", TOTAL)
    share = ledger.share(4)
    monkeypatch.chdir("other")
    dpsel.Ledger("spent.jsonl", TOTAL)
    for each in (ledger, pickle.loads(pickle.dumps(ledger))):
        each.spend(PART)
    dpsel.select_partitions(ROWS, privacy=pickle.loads(pickle.dumps(share)), max_items_per_user=1)
    assert len(dpsel.Ledger(tmp_path / "spent.jsonl").spent) == 3
    assert ledger.path == tmp_path / "spent.jsonl"


def test_the_page_of_a_ledger_has_margins_on_a_desk_and_on_a_phone(path) -> None:
    ledger = dpsel.Ledger(path, TOTAL)
    ledger.spend(PART)
    page = ledger.to_html()
    assert '<meta name="viewport" content="width=device-width">' in page
    body = page.partition("body{")[2].partition("}")[0]
    assert {"max-width:80em", "margin:2em auto", "padding:0 1em"} <= set(body.split(";"))
    # On a phone, which would cut the costs off, each value is a line with the name of its column.
    columns = re.findall(r"<th>(\w+)</th>", page)
    narrow = page.partition("@media(max-width:56em){")[2].partition("</style>")[0]
    assert "tr,td{display:block}" in narrow
    assert re.findall(r'td:nth-child\((\d)\)::before{content:"(\w+): "}', narrow) == [
        (str(number), name) for number, name in enumerate(columns, 1)
    ]
    # Labels have a width that can be read.
    assert columns[2] == "for"
    assert "td:nth-child(3){min-width:10em;" in page


READS = {
    "spent": lambda ledger: len(ledger.spent),
    "remaining": lambda ledger: 4 - ledger.remaining.epsilon / 0.5,
    "str": lambda ledger: str(ledger).count("kept"),
    "html": lambda ledger: ledger.to_html().count("kept"),
    "notebook": lambda ledger: ledger._repr_html_().count("kept"),
    "repr": lambda ledger: {"1.5": 1, "1.0": 2}[repr(ledger).split("epsilon=")[2].split(",")[0]],
}


@pytest.mark.parametrize("read", READS)
def test_every_read_knows_what_other_handles_spent(path, read) -> None:
    ledger, other = dpsel.Ledger(path, TOTAL), dpsel.Ledger(path)
    for number in (1, 2):
        other.spend(PART, "kept")
        assert READS[read](ledger) == number


@pytest.mark.parametrize(
    "use", ["spend", "remaining", "spent", "head", "str", "repr", "share", "pickle", "events"]
)
def test_an_older_copy_in_its_place_is_found(path, use) -> None:
    uses = {
        "spend": lambda: ledger.spend(PART),
        "remaining": lambda: ledger.remaining,
        "spent": lambda: ledger.spent,
        "head": lambda: ledger.head,
        "str": lambda: str(ledger),
        "repr": lambda: repr(ledger),
        "share": lambda: dpsel.select_partitions(ROWS, privacy=share, max_items_per_user=1),
        "pickle": lambda: sent.remaining,
        "events": lambda: ledger.to_dp_accounting(),
    }
    ledger = dpsel.Ledger(path, TOTAL)
    ledger.spend(PART)
    older = path.read_bytes()
    ledger.spend(PART)
    share, sent = ledger.share(4), pickle.loads(pickle.dumps(ledger))
    path.write_bytes(older)
    for _ in range(2):
        with pytest.raises(
            LedgerError, match=r"it was replaced, maybe by an older copy.*dpsel.Ledger\(path\)"
        ):
            uses[use]()
    assert dpsel.Ledger(path).remaining.epsilon == 1.5


def test_a_file_that_is_not_for_writing_is_not_said_to_be_unreadable(path, monkeypatch) -> None:
    ledger = dpsel.Ledger(path, TOTAL)

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refused)
    with pytest.raises(FileError, match="cannot open .* to read and write it: Permission denied"):
        ledger.spend(PART)


def test_another_file_in_its_place_is_found(path) -> None:
    ledger = dpsel.Ledger(path, TOTAL)
    ledger.spend(PART)
    sent = pickle.loads(pickle.dumps(ledger))
    path.unlink()
    for each in (ledger, sent):
        with pytest.raises(FileNotFoundError, match="cannot read"):
            each.spend(PART)
    dpsel.Ledger(path, TOTAL).spend(PART, "other")
    with pytest.raises(LedgerError, match="it was replaced"):
        ledger.spend(PART)


def test_the_file_is_for_its_owner(path) -> None:
    dpsel.Ledger(path, TOTAL)
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o077 == 0
