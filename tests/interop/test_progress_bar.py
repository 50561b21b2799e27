"""The bar of ``progress=True`` and of the command line: phases, time left, and one line about the disk."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from functools import partial

import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsel
from dpsel.progress import Bar, TimeLeft, disk_line

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
SECRET = "unreleased"
PHASE = r"reading|settling|round [1-9] of 4|names|writing"
#: What a drawn bar looks like: a phase, a share and times.
DRAWN = re.compile(
    rf"(?:{PHASE}): +\d+%\|[^|]*\| \[\d\d:\d\d(?:<\d\d:\d\d|, \d\d:\d\d in this phase)?\]"
    # While the end is unknown: the time, or on the command line the bytes of a pipe.
    r"|reading: \d\d:\d\d|reading: [\d.]+[kMG]?B \[.*\]"
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Rows of long texts, which take more than half of 64 MiB, and few such rows."""
    folder, paths = tmp_path_factory.mktemp("texts"), []
    for name, number in (("many", 300_000), ("few", 3_000)):
        users = [n * 7919 % 9_000 for n in range(number)]
        items = [f"shared {n % 97}" if n % 3 == 0 else f"{SECRET} {n:0200}" for n in range(number)]
        paths.append(folder / f"{name}.parquet")
        pyarrow.parquet.write_table(pa.table({"user": users, "item": items}), paths[-1])
    return dict(zip(("many", "few"), paths, strict=True))


def shown(err: str) -> tuple[list[str], list[str]]:
    """What stands on a terminal after each other: drawn bars, and all other lines."""
    words = [word.strip().removeprefix("\x1b[A") for word in re.split(r"[\r\n]", err)]
    words = [word for word in words if word]
    drawn = [word for word in words if DRAWN.fullmatch(word)]
    return drawn, [word for word in words if not DRAWN.fullmatch(word)]


def phases(drawn: list[str]) -> list[str]:
    return list(dict.fromkeys(word.partition(":")[0] for word in drawn))


@pytest.mark.parametrize("name", ["many", "few"])
def test_the_command_says_that_it_works_from_disk_and_nothing_else(texts, tmp_path, name):
    command = [sys.executable, "-m", "dpsel.cli", "select", texts[name], "--user", "user", "--item", "item"]
    command += ["--epsilon", "1", "--delta", "1e-6", "--max-items-per-user", "20"]
    command += ["--mechanism", "steered(rounds=4)", "--memory-limit", "64MiB", "--scratch", tmp_path]
    command += ["-o", tmp_path / "items.csv", "--progress"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    drawn, others = shown(done.stderr)
    summary = others.index(next(line for line in others if "released by" in line))
    line = ["working from disk: the job needs more than the memory limit of 64 MiB"]
    assert others[:summary] == (line if name == "many" else [])
    assert set(phases(drawn)) <= {
        "reading",
        "settling",
        *(f"round {n} of 4" for n in range(1, 5)),
        "names",
        "writing",
    }
    assert SECRET not in done.stderr
    if name == "many":
        assert phases(drawn)[0] == "reading"
        # Which of the others are drawn is a matter of time.
        assert len(phases(drawn)) > 1


@pytest.mark.long("three jobs that outgrow memory")
def test_progress_true_says_so_too_and_a_quiet_job_says_nothing(texts, tmp_path, capfd):
    options = {"user": "user", "item": "item", "privacy": PRIVACY, "max_items_per_user": 20}
    options |= {"mechanism": dpsel.Sips(rounds=4), "memory_limit": "64MiB", "scratch": tmp_path}
    dpsel.select_partitions(texts["many"], progress=True, **options)
    drawn, others = shown(capfd.readouterr().err)
    assert others == [disk_line("64 MiB")]
    assert phases(drawn)[0] == "reading"
    dpsel.select_partitions(texts["many"], **options)
    calls = []
    dpsel.select_partitions(texts["many"], progress=lambda *given: calls.append(given), **options)
    assert {len(given) for given in calls} == {2}, "a function of the caller's gets two numbers"
    assert capfd.readouterr().err == ""


def test_the_line_about_the_disk_comes_once(capfd):
    bar = Bar(file=sys.stderr)
    for done, exceeded in ((1, None), (2, "64 MiB"), (3, "64 MiB"), (6, "64 MiB")):
        bar(done, 6, "reading", 2, exceeded)
    assert capfd.readouterr().err.count("working from disk") == 1


def test_the_time_left_is_that_of_the_phase_until_the_rounds_begin():
    left = TimeLeft()
    early, late = partial(left.text, phases=6, is_early=True), partial(left.text, phases=6, is_early=False)
    assert early(0, 0.0) == ""
    assert early(10, 0.25) == ", 00:30 in this phase"
    assert early(40, 1.0) == ""
    assert early(50, 1.5) == ", 00:10 in this phase"
    # Settling has a second phase.
    assert early(60, 2.0) == ""
    assert early(70, 2.5) == ", 00:10 in this phase"
    # It took 20 s, so each of the three phases after this one may.
    assert late(80, 3.0) == "<01:20"
    # The first round is as fast as it is; the others may take what the last phase took.
    assert late(84, 3.5) == "<01:04"
    # A round took 8 s.
    assert late(88, 4.0) == "<00:24"
    # Phases that were skipped share their time.
    assert late(98, 6.0) == "<00:05"
    assert late(3698, 6.5) == "<1:00:00"


def test_a_bar_says_of_settling_only_what_is_left_of_it(capfd):
    """Settling is two phases, after which nothing is known of the rounds."""
    bar = Bar(file=sys.stderr, mininterval=0)
    for done, phase in (
        (2, "reading"),
        (10, "settling"),
        (15, "settling"),
        (25, "settling"),
        (35, "round 1 of 2"),
    ):
        time.sleep(0.02)
        bar(done, 60, phase, 5)
    bar.close()
    drawn = [
        word for word in re.split(r"[\r\n]", capfd.readouterr().err) if "settling" in word or "round" in word
    ]
    assert not [word for word in drawn if "settling" in word and "<" in word]
    assert [word for word in drawn if "round" in word and "<" in word]


def test_what_has_not_begun_to_tell_is_taken_from_the_last_phase():
    left = TimeLeft()
    for now, done in ((0, 0.0), (10, 1.0), (20, 2.0)):
        left.text(now, done, 3, is_early=done < 2)
    assert left.text(20.1, 2.01, 3, is_early=False) == "<00:20"
    assert left.text(60, 2.01, 3, is_early=False) == "<00:10"
