"""Errors, interruption and full pipes: one line, the right code, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import warnings

import pytest
from cli_support import BUDGET, COLUMNS, names

import dpsel
from dpsel import exceptions
from dpsel.cli._exit import ExitCode, exit_code

pytestmark = pytest.mark.usefixtures("rows")

RESULTS = ("-o", "items.csv", "--report", "report.json")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals and pipes")

BROKEN_FILES = {
    "nothing.csv": None,
    "empty.csv": b"",
    "truncated.parquet": b"PAR1 and then nothing",
    "ragged.csv": b"user,item\na,b\nsecret,secret,secret\n",
    "not.ndjson": b'{"user": "a", "item": "b"}\n{"user": secret\n',
    "no-user.csv": b"item\na\n",
    "null-user.csv": b"user,item\n,secret\n",
    "rows.unknown": b"user,item\na,b\n",
    "bytes.csv": b"user,item\na,\xff\xfe\n",
}


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_bad_input_is_a_data_error_that_quotes_nothing(dpsel_run, folder, name):
    content = BROKEN_FILES[name]
    if content is not None:
        (folder / name).write_bytes(content)
    before = names(folder)
    run = dpsel_run("select", name, *COLUMNS, *BUDGET, *RESULTS)
    assert run.code == ExitCode.DATA
    assert "secret" not in run.error
    assert names(folder) == before


def test_an_item_column_that_the_weights_would_hide_is_refused_before_reading(dpsel_run, folder):
    columns = ("--user", "user", "--item", "weight", "--with-weights")
    run = dpsel_run("select", "absent.csv", *columns, *BUDGET, *RESULTS)
    assert run.code == ExitCode.USAGE
    assert "rename the item column" in run.error
    assert names(folder) == {"rows.csv"}


@pytest.mark.parametrize("target", ["missing/items.csv", "taken.csv", "locked/items.csv"])
@pytest.mark.parametrize("option", ["-o", "--report"])
def test_results_that_cannot_be_written_are_found_out_before_the_job(
    dpsel_run, folder, monkeypatch, target, option
):
    (folder / "taken.csv").mkdir()
    (folder / "locked").mkdir(mode=0o500)
    if target.startswith("locked") and os.access(folder / "locked", os.W_OK):
        pytest.skip("this user may write to read-only folders")
    monkeypatch.setattr(dpsel, "select_partitions", lambda *_, **__: pytest.fail("the job was started"))
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, option, target)
    assert run.code == ExitCode.DATA
    assert "cannot write" in run.error
    assert names(folder) == {"rows.csv", "taken.csv", "locked"}


@posix_only
def test_devices_are_refused_and_links_are_followed(dpsel_run, folder):
    os.mkfifo(folder / "pipe.csv")
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "-o", "pipe.csv")
    assert run.code == ExitCode.DATA
    assert (folder / "pipe.csv").is_fifo()
    (folder / "link.csv").symlink_to("real.csv")
    assert dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "-o", "link.csv").code == ExitCode.OK
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").is_file()


def test_results_appear_together_or_not_at_all(dpsel_run, folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(dpsel.release.ItemTable, "write", full)
    (folder / "report.json").write_text("old")
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, *RESULTS)
    assert run.code == ExitCode.DATA
    assert "No space left" in run.error
    assert names(folder) == {"rows.csv", "report.json"}
    assert (folder / "report.json").read_text() == "old"


def test_an_unforeseen_exception_does_not_speak(dpsel_run, monkeypatch):
    def fail(*_, **__):
        raise LookupError("secret value of the data")

    monkeypatch.setattr(dpsel, "select_partitions", fail)
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET)
    assert run.code == ExitCode.INTERNAL
    assert "LookupError" in run.error
    assert "secret" not in run.err


def test_tracebacks_on_demand(dpsel_run, monkeypatch):
    monkeypatch.setenv("DPSEL_DEBUG", "1")
    run = dpsel_run("select", "nothing.csv", *COLUMNS, *BUDGET)
    assert run.code == ExitCode.DATA
    assert "Traceback" in run.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (exceptions.InvalidParameterError(), 2),
        (exceptions.CalibrationError(), 2),
        (exceptions.BudgetExceededError(), 2),
        (exceptions.SchemaError(), 3),
        (exceptions.DataError(), 3),
        (exceptions.MissingFileError(), 3),
        (exceptions.MemoryLimitError(), 3),
        (exceptions.CapacityError(), 3),
        (exceptions.ReportError(), 3),
        (PermissionError(), 3),
        (ImportError(), 3),
        (exceptions.EntropyError(), 1),
        (exceptions.InternalError(), 1),
        (ZeroDivisionError(), 1),
    ],
)
def test_exit_codes(error, code):
    assert exit_code(error) == code


def test_warnings_are_one_line(dpsel_run, monkeypatch):
    def warn(*_, **__):
        warnings.warn("think\n  again", exceptions.DpselWarning, stacklevel=2)
        raise exceptions.DataError("stop here")

    monkeypatch.setattr(dpsel, "select_partitions", warn)
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET)
    assert run.err.splitlines() == ["warning: think again", "error: stop here"]


@posix_only
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_job_leaves_nothing(start, folder, number, code):
    big = folder / "big.csv"
    big.write_text("user,item\n" + "".join(f"u{n % 5000},i{n % 7919}\n" for n in range(300_000)))
    # Links are files of their own for the reader: hours of work from four megabytes.
    for n in range(3000):
        (folder / f"link{n}.csv").hardlink_to(big)
    before = names(folder)
    child = start("select", "link*.csv", *COLUMNS, *BUDGET, *RESULTS, "--progress")
    assert b"reading" in child.stderr.read(len("\rreading"))
    time.sleep(0.3)
    child.send_signal(number)
    _, err = child.communicate(timeout=30)
    assert child.returncode == code
    assert b"Traceback" not in err
    assert err.splitlines()[-1].startswith(b"error: ")
    assert names(folder) == before


@posix_only
@pytest.mark.parametrize("arguments", [("select", "rows.csv", *COLUMNS, *BUDGET), ("select", "--help")])
def test_a_closed_pipe_is_no_traceback(start, arguments):
    child = start(*arguments)
    child.stdout.close()
    err = child.stderr.read()
    assert child.wait(timeout=30) == ExitCode.BROKEN_PIPE
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err


def test_a_mechanism_that_the_disk_refuses_names_others_to_be_pasted(dpsel_run):
    call = (
        "select",
        "rows.csv",
        *COLUMNS,
        *BUDGET,
        "--scratch",
        ".",
        "--memory-limit",
        "64MiB",
        "--mechanism",
    )
    run = dpsel_run(*call, "mad")
    assert run.code == ExitCode.USAGE
    assert "--scratch does not work with Mad" in run.err
    named = re.findall(r"--mechanism '([^']*)'", run.err)
    assert named == ["steered(reach=3)", "sips()"]
    for other in named:
        assert dpsel_run(*call, other).code == 0
