"""What a refused `create` leaves behind, which is nothing; and what variables of `create` and `open` show."""

from __future__ import annotations

import os
import stat
import traceback
from typing import TYPE_CHECKING, Any

import pytest

import dpsel
from dpsel.cli import main
from dpsel.exceptions import (
    BudgetExceededError,
    DpselError,
    FileError,
    InvalidParameterError,
    MissingFileError,
    SeriesError,
)
from dpsel.series._files import Files
from series_support import GIVEN, PRIVACY, held

if TYPE_CHECKING:
    from pathlib import Path

KINDS: list[tuple[Any, dict[str, Any]]] = [
    (dpsel.Series, GIVEN),
    (dpsel.CountSeries, GIVEN | {"max_releases_per_item": 1}),
]
every_kind = pytest.mark.parametrize(("kind", "given"), KINDS, ids=["Series", "CountSeries"])


def tree(folder: Path) -> dict[str, Any]:
    """All that is in a folder, and for whom it is."""
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.stat().st_mode),
            path.is_file() and path.read_bytes(),
        )
        for path in sorted(folder.rglob("*"))
    }


def too_dear(folder: Path) -> dict[str, Any]:
    ledger = dpsel.Ledger(folder / "spent.jsonl", dpsel.ApproxDP(epsilon=1.0, delta=1e-5))
    return {"privacy": ledger.on_use(PRIVACY)}


def of_another_kind(folder: Path) -> dict[str, Any]:
    ledger = dpsel.Ledger(folder / "spent.jsonl", dpsel.ZCDP(rho=9.0, delta=1e-5))
    return {"privacy": ledger.on_use(PRIVACY)}


def of_a_lost_ledger(folder: Path) -> dict[str, Any]:
    ledger = dpsel.Ledger(folder / "spent.jsonl", dpsel.ApproxDP(epsilon=10.0, delta=1e-5))
    privacy = ledger.on_use(PRIVACY)
    ledger.path.unlink()
    return {"privacy": privacy}


def weak(_: Path) -> dict[str, Any]:
    return {"privacy": dpsel.ApproxDP(epsilon=21.0, delta=1e-6)}


def a_file(folder: Path) -> dict[str, Any]:
    (folder / "series").write_text("dear")
    return {}


def of_others(folder: Path) -> dict[str, Any]:
    (folder / "series").mkdir(mode=0o755)
    (folder / "series" / "letter.txt").write_text("dear")
    return {}


def nowhere(folder: Path) -> dict[str, Any]:
    return {"folder": folder / "no" / "series"}


def key_nowhere(folder: Path) -> dict[str, Any]:
    return {"key": folder / "no" / "series.key"}


def key_inside(folder: Path) -> dict[str, Any]:
    return {"key": folder / "series" / "series.key"}


def key_inside_by_a_link(folder: Path) -> dict[str, Any]:
    (folder / "series").mkdir(mode=0o700)
    (folder / "link").symlink_to(folder / "series")
    return {"key": folder / "link" / "series.key"}


def key_is_the_folder(folder: Path) -> dict[str, Any]:
    return {"key": folder / "." / "series"}


APART = "key must be a file outside of the folder: .*; keep it apart$"
REFUSED = [
    (too_dear, BudgetExceededError, "nothing was spent"),
    (of_another_kind, DpselError, "."),
    (of_a_lost_ledger, MissingFileError, "."),
    (weak, dpsel.WeakGuaranteeWarning, "."),
    (a_file, FileError, "Not a directory"),
    (of_others, SeriesError, "holds other files"),
    (nowhere, MissingFileError, "the folder around it is not there; make that first$"),
    (key_nowhere, FileError, "as the key: the folder of it is not there; make that first$"),
    (key_inside, InvalidParameterError, APART),
    (key_inside_by_a_link, InvalidParameterError, APART),
    (key_is_the_folder, InvalidParameterError, APART),
]


@every_kind
@pytest.mark.parametrize("has_key", [False, True], ids=["new key", "old key"])
@pytest.mark.parametrize(
    ("prepared", "error", "message"), REFUSED, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_refused_creation_leaves_nothing(tmp_path, kind, given, prepared, error, message, has_key) -> None:
    options = {"folder": tmp_path / "series", "key": tmp_path / "series.key"} | given | prepared(tmp_path)
    if has_key:
        (tmp_path / "series.key").write_text("5" * 64)
    before = tree(tmp_path)
    with pytest.raises(error, match=message):
        kind.create(options.pop("folder"), **options)
    assert tree(tmp_path) == before


@every_kind
@pytest.mark.parametrize("call", ["mkdir", "open", "fsync", "link", "replace"])
def test_a_disk_that_refuses_leaves_nothing(tmp_path, monkeypatch, kind, given, call) -> None:
    """Each call fails with an error of the system, as of a disk that cannot be written."""

    def broken(*_, **__):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, broken)
        with pytest.raises(FileError, match="Read-only file system"):
            kind.create(tmp_path / "series", key=tmp_path / "key", **given)
    assert tree(tmp_path) == {}
    assert kind.create(tmp_path / "series", key=tmp_path / "key", **given).status().made == 0


def test_an_empty_folder_stays_empty(tmp_path) -> None:
    (tmp_path / "series").mkdir(mode=0o700)
    options = GIVEN | too_dear(tmp_path)
    with pytest.raises(BudgetExceededError):
        dpsel.Series.create(tmp_path / "series", key=tmp_path / "key", **options)
    assert list((tmp_path / "series").iterdir()) == []
    assert not (tmp_path / "key").exists()


@every_kind
def test_what_was_paid_is_kept_though_the_key_file_cannot_be_made(tmp_path, monkeypatch, kind, given) -> None:
    """A repeated call takes the key that is there then, and pays nothing again."""
    ledger = dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=9.0, delta=1e-5))
    options = given | {"privacy": ledger.on_use(PRIVACY), "key": tmp_path / "key"}

    def broken(*_):
        (tmp_path / "key").write_text("7" * 64)
        raise FileExistsError(17, "File exists")

    with monkeypatch.context() as patched:
        patched.setattr("dpsel.series._keys.sync_names", broken)
        (tmp_path / "key").unlink(missing_ok=True)
        with pytest.raises(FileError, match="call create again, which takes it as the key and pays nothing"):
            kind.create(tmp_path / "series", **options)
    assert len(ledger.spent) == 1

    def unreadable(*_, **__):
        raise FileError("the ledger cannot be read now")

    with monkeypatch.context() as patched:
        patched.setattr("dpsel.series._shared.begin_call", unreadable)
        with pytest.raises(FileError, match="cannot be read now"):
            kind.create(tmp_path / "series", **options)
    assert kind.create(tmp_path / "series", **options).status().made == 0
    assert len(ledger.spent) == 1
    assert (tmp_path / "key").read_text() == "7" * 64


def test_a_lock_that_was_removed_meanwhile_keeps_nobody_out(tmp_path, monkeypatch) -> None:
    series = dpsel.Series.create(tmp_path / "series", key=tmp_path / "key", **GIVEN)
    lock = Files._lock

    def late(files, descriptor):
        (tmp_path / "series" / "lock").unlink()
        lock(files, descriptor)

    monkeypatch.setattr(Files, "_lock", late)
    with pytest.raises(SeriesError, match="is in use by another process"):
        series.status()


def test_a_refusal_from_the_shell_leaves_nothing(tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.chdir(tmp_path)
    dpsel.Ledger("spent.jsonl", dpsel.ApproxDP(epsilon=1.0, delta=1e-5))
    before = tree(tmp_path)
    given = ["--user=u", "--item=i", "--epsilon=8", "--delta=1e-6", "--releases=3", "--max-items-per-user=2"]
    for more, said in (
        (["s", "--key", "k", "--ledger", "spent.jsonl"], "nothing was spent"),
        (["s", "--key", "s/k"], "--key must be a file outside of the folder"),
        (["no/s", "--key", "k"], "the folder around it is not there; make that first"),
    ):
        assert main(["series", "create", *more, *given]) != 0
        assert said in capfd.readouterr().err
        assert tree(tmp_path) == before


def shown_by(error: BaseException) -> list[str]:
    """All variables of ours in a traceback."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame for frame in frames if "dpsel/series" in frame.f_code.co_filename]
    assert ours
    return [repr(value) for frame in ours for value in frame.f_locals.values()]


@every_kind
@pytest.mark.parametrize("damaged", ["log.jsonl", "header.json", "key"])
def test_no_variable_of_open_shows_the_key(tmp_path, kind, given, damaged) -> None:
    key = b"the very secret key of a series."
    series = kind.create(tmp_path / "series", key=key, **given)
    series.release(held("tea"), "one", **({"items": ["tea"]} if kind is dpsel.CountSeries else {}))
    (tmp_path / "series" / damaged).write_bytes(b"damaged")
    calls = [lambda: kind.open(tmp_path / "series", key=key)]
    calls.append(lambda: kind.open(tmp_path / "series", key=key, ledger=7))
    calls.append(lambda: kind.open(7, key=key))
    if damaged != "log.jsonl":
        calls.append(lambda: kind.create(tmp_path / "series", key=key, **given))
    for call in calls:
        with pytest.raises(DpselError) as caught:
            call()
        for each in shown_by(caught.value):
            assert repr(key) not in each
            assert key.hex() not in each
