"""What happens to a ledger beside spending: full disks, odd files, odd labels, files that go away."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import dpsel
from dpsel.exceptions import FileError, InvalidParameterError, LedgerError, MissingFileError

TOTAL = dpsel.PureDP(epsilon=1.0)
PART = dpsel.PureDP(epsilon=0.25)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "spent.jsonl"


def release(privacy):
    return dpsel.top_k_from_counts([900, 20], k=1, privacy=privacy)


def test_a_full_disk_leaves_whole_lines(path):
    """At every length of the file that the system allows: our error, and a ledger that goes on."""
    dpsel.Ledger(path, TOTAL).spend(PART, "first")
    code = (
        "import resource, sys, dpsel\n"
        "ledger = dpsel.Ledger(sys.argv[1])\n"
        "before = len(open(sys.argv[1], 'rb').read())\n"
        "part = dpsel.PureDP(epsilon=0.001)\n"
        "for more in (0, 1, 30, 150):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (before + more, resource.RLIM_INFINITY))\n"
        "    call = lambda cost: dpsel.top_k_from_counts([9, 2], k=1, privacy=ledger.on_use(cost))\n"
        "    for pay in (ledger.spend, call):\n"
        "        try:\n"
        "            pay(part)\n"
        "        except dpsel.exceptions.FileError as error:\n"
        "            print(error, getattr(error, '__notes__', None))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 8
    assert all("cannot write" in line and line.endswith(" None") for line in lines)
    assert [entry.label for entry in dpsel.Ledger(path).spent] == ["first"]
    dpsel.Ledger(path).spend(PART, "second")


def test_a_disk_that_fails_to_sync_says_that_the_cost_stays_spent(path, monkeypatch):
    ledger = dpsel.Ledger(path, TOTAL)

    def fails(_file):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(FileError, match="Input/output error") as raised:
        ledger.spend(PART)
    monkeypatch.undo()
    assert raised.value.__notes__ == [dpsel.exceptions.STAYS_SPENT]
    assert len(ledger.spent) == 1


def test_an_empty_file_is_a_new_ledger_if_its_total_is_given(path):
    path.touch()
    with pytest.raises(LedgerError, match=r"is empty; give total= to make it a new ledger"):
        dpsel.Ledger(path)
    ledger = dpsel.Ledger(path, TOTAL)
    ledger.spend(PART)
    assert dpsel.Ledger(path, TOTAL).remaining.epsilon == 0.75
    path.write_bytes(b"")
    for use in (lambda: ledger.spend(PART), lambda: ledger.remaining):
        with pytest.raises(LedgerError, match="lacks a line that it had"):
            use()


def test_a_ledger_that_is_gone_is_not_made_again(path):
    ledger = dpsel.Ledger(path, TOTAL)
    paid = ledger.spend(PART)
    path.unlink()
    for use in (lambda: ledger.spend(PART), lambda: ledger.remaining, lambda: release(paid)):
        with pytest.raises(
            MissingFileError, match="is gone, and with it what was spent; restore it"
        ) as raised:
            use()
        assert "total=" not in str(raised.value)
    assert not path.exists()


def test_a_ledger_that_goes_while_it_is_waited_for_gets_no_entry(path, monkeypatch):
    """The lock was of a file that has no name any more, or another one has its name."""
    from dpsel.budget import _file

    ledger, lock = dpsel.Ledger(path, TOTAL), _file.lock

    def locked(file):
        path.unlink(missing_ok=True)
        lock(file)

    monkeypatch.setattr(_file, "lock", locked)
    with pytest.raises(MissingFileError, match="is gone"):
        ledger.spend(PART)


def test_a_link_to_nothing_is_refused(path, tmp_path):
    path.symlink_to(tmp_path / "other.jsonl")
    for total in (None, TOTAL):
        with pytest.raises(
            MissingFileError, match="is a link to a file that is not there; restore that file"
        ):
            dpsel.Ledger(path, total)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 10_000, "null", "[]", "\0", '""'])
def test_what_is_no_ledger_is_refused(path, text):
    path.write_text(text + "\n")
    with pytest.raises(LedgerError, match="is no ledger"):
        dpsel.Ledger(path)


def test_a_ledger_is_a_regular_file(path):
    os.mkfifo(path)
    for file in (path, "/dev/zero", "/dev/null", path.parent):
        with pytest.raises(FileError, match="it is no regular file; name another one"):
            dpsel.Ledger(file)
        with pytest.raises(FileError, match="it is no regular file; name another one"):
            dpsel.Ledger(file, TOTAL)


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(FileError, match="the working directory is gone; name the whole path"):
        dpsel.Ledger("spent.jsonl", TOTAL)
    monkeypatch.chdir(tmp_path)


BAD_LABELS = {
    "bytes": b"x",
    "object": object(),
    "none": None,
    "half of a pair": "a\udcff",
    "line": "tea\n2 forged",
    "return": "tea\rforged",
    "escape": "\x1b[2Kforged",
    "separator": "a\u2028b",
    "backwards": "a\u202eb",
    "delete": "a\x7f",
}


@pytest.mark.parametrize("label", BAD_LABELS)
@pytest.mark.parametrize("kind", ["budget", "ledger"])
def test_a_label_is_one_line_of_text(path, kind, label):
    budget = dpsel.Budget(TOTAL) if kind == "budget" else dpsel.Ledger(path, TOTAL)
    for use in (
        lambda: budget.spend(PART, BAD_LABELS[label]),
        lambda: budget.on_use(PART, BAD_LABELS[label]),
        lambda: budget.share(4, BAD_LABELS[label]),
    ):
        with pytest.raises(InvalidParameterError, match=r"^label must be (a text|one line)"):
            use()
    assert budget.spent == ()
    release(budget.share(4, "Thé, 茶\u3000و\u200c😀"))


def test_labels_that_a_file_has_forge_no_line(path):
    """Older versions wrote any text."""
    ledger = dpsel.Ledger(path, TOTAL)
    ledger.spend(PART, "REPLACED")
    from dpsel.budget._lines import canonical, hash_of

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["label"] = "tea\n9  forged\x1b[2K\udcff\u202e"
    lines[1]["hash"] = hash_of({name: value for name, value in lines[1].items() if name != "hash"})
    path.write_text("".join(canonical(line) + "\n" for line in lines))
    shown = dpsel.Ledger(path)
    for text in (str(shown), shown.to_html(), shown._repr_html_()):
        text.encode()
        assert r"tea\n9  forged\x1b[2K\udcff\u202e" in text


@pytest.mark.parametrize("number", [1, 3])
def test_a_file_of_another_format_is_refused_and_left_alone(path, number):
    from dpsel.budget._lines import canonical, hash_of

    dpsel.Ledger(path, TOTAL)
    entry = json.loads(path.read_text()) | {"format": number}
    entry["hash"] = hash_of({name: value for name, value in entry.items() if name != "hash"})
    path.write_text(written := canonical(entry) + "\n")
    for total in (None, TOTAL):
        with pytest.raises(LedgerError, match="is no ledger of this version of dpsel; name another file"):
            dpsel.Ledger(path, total)
    assert path.read_text() == written
