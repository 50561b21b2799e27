"""Several processes and threads, forks, and processes that are killed: what is shown is one run."""

from __future__ import annotations

import os
import random
import threading
import time

import pytest

import dpsel
from children import finish, start
from dpsel.exceptions import SeriesError
from series_support import created, files, held, opened

HELD = """
    series = dpsel.Series.open("series", key=bytes(range(32)))
    def rows():
        print("reading", flush=True)
        sys.stdin.readline()
        yield from [(user, "tea") for user in range(300)]
    print(series.release(rows(), "one").to_pylist())
"""


def test_a_second_process_is_refused_with_the_reason(tmp_path) -> None:
    created(tmp_path)
    with start(HELD.replace("sys.stdin.readline()", "time.sleep(60)"), tmp_path) as child:
        try:
            assert child.stdout.readline() == "reading\n"
            for call in (
                lambda: opened(tmp_path),
                lambda: created(tmp_path),
            ):
                with pytest.raises(SeriesError, match="in use by another process or thread"):
                    call()
        finally:
            child.kill()
    assert opened(tmp_path).release(held("milk"), "one").to_pylist() == ["milk"]


def test_a_second_thread_is_refused_and_does_not_disturb_the_first(tmp_path) -> None:
    series = created(tmp_path)
    reading, refused, lists = threading.Event(), threading.Event(), []

    def rows():
        reading.set()
        assert refused.wait(60)
        yield from held("tea")

    thread = threading.Thread(target=lambda: lists.append(series.release(rows(), "one").to_pylist()))
    thread.start()
    assert reading.wait(60)
    for call in (lambda: series.release(held("milk"), "one"), lambda: series.forget(7), series.status):
        with pytest.raises(SeriesError, match="in use by another process or thread"):
            call()
    refused.set()
    thread.join()
    assert lists == [["tea"]]
    assert series.release(None, "one").to_pylist() == ["tea"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
def test_the_copy_that_a_fork_makes_in_a_release_shows_nothing(tmp_path) -> None:
    program = """
        import os
        series = dpsel.Series.open("series", key=bytes(range(32)))
        parent = os.getpid()
        def rows():
            yield from [(user, "tea") for user in range(300)]
            child = os.fork()
            if child:
                os.waitpid(child, 0)
        try:
            print(series.release(rows(), "one").to_pylist(), flush=True)
        except dpsel.exceptions.SeriesError as error:
            assert os.getpid() != parent
            print("refused", "by the copy that a fork made" in str(error), flush=True)
            os._exit(0)
    """
    created(tmp_path)
    assert finish(program, tmp_path).splitlines() == ["refused True", "['tea']"]
    assert opened(tmp_path).release(None, "one").to_pylist() == ["tea"]


def test_a_process_that_was_forked_goes_on_with_the_series(tmp_path) -> None:
    series = created(tmp_path)
    series.release(held("tea"), "one")
    child = os.fork()
    if not child:
        os._exit(0 if series.release(held("milk"), "two").number == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert series.status().names == ("one", "two")


def test_a_lock_that_does_not_work_shows_one_list(tmp_path, monkeypatch) -> None:
    series = created(tmp_path)
    monkeypatch.setattr("dpsel.series._files._try_lock", lambda _: None)

    def rows():
        # Another machine, whose lock is not seen here, is quicker.
        opened(tmp_path).release(held("tea"), "one")
        yield from held("milk")

    with pytest.raises(SeriesError, match="its lock does not work on this file system"):
        series.release(rows(), "one")
    assert series.release(None, "one").to_pylist() == ["tea"]
    assert len([name for name in files(tmp_path) if name.startswith("state-")]) == 1


YEAR = """
    series = dpsel.Series.create(
        "series", key=bytes(range(32)),
        privacy=dpsel.Ledger("spent").on_use(dpsel.ApproxDP(epsilon=8.0, delta=1e-6)),
        releases={weeks}, max_items_per_user=60, user="user", item="item",
    )
    shown = open("shown", "a", buffering=1)
    for week in range({weeks}):
        # Another table in every attempt.
        items = week, week - 1, 1_000_000 + time.time_ns() % 1_000
        rows = [(user, item) for user in range(60) for item in items]
        items = series.release(rows, f"week {{week}}").to_pylist()
        shown.write(f"{{week}} {{items}}\\n")
    print(series.items.to_pylist())
"""


def year(folder, weeks: int, kills: int, seed: int) -> None:
    """A year of weeks, by processes that are killed at any time; what they wrote down is one run."""
    dpsel.Ledger(folder / "spent", dpsel.ApproxDP(epsilon=8.0, delta=1e-6))
    draw, program = random.Random(seed), YEAR.format(weeks=weeks)
    for _ in range(kills):
        with start(program, folder) as child:
            # Until it has begun, and then until any moment of some weeks.
            deadline = time.monotonic() + 60
            before = size(folder)
            while size(folder) == before and child.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 0.15))
            child.kill()
    out = finish(program, folder, timeout=600)
    lines = (folder / "shown").read_text().splitlines()
    shown = {}
    for line in lines:
        week, _, items = line.partition(" ")
        # A line that was cut off was not shown.
        if items.endswith("]"):
            assert shown.setdefault(int(week), items) == items
    assert set(shown) == set(range(weeks))
    series = opened(folder, ledger=folder / "spent")
    assert [str(series.release(None, f"week {week}").to_pylist()) for week in range(weeks)] == [
        shown[week] for week in range(weeks)
    ]
    assert out.strip() == str(series.items.to_pylist())
    assert len(dpsel.Ledger(folder / "spent").spent) == 1
    names = [name.partition("-")[0] for name in files(folder)]
    assert (names.count("state"), names.count("draft"), names.count("commit")) == (1, 0, weeks)


def size(folder) -> int:
    """Bytes of what was shown so far."""
    return (folder / "shown").stat().st_size if (folder / "shown").exists() else -1


@pytest.mark.long("kills ten processes")
def test_ten_weeks_of_processes_that_are_killed(tmp_path) -> None:
    year(tmp_path, weeks=10, kills=10, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_year_of_processes_that_are_killed(tmp_path, seed) -> None:
    year(tmp_path, weeks=52, kills=60, seed=seed)
