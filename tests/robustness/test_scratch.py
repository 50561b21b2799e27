"""Rows on the disk: the release of memory, within the memory limit, and nothing to be read or left behind."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsel
from children import finish, start

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at open files in /proc")
pytestmark = pytest.mark.long("jobs that outgrow memory")
KEY = bytes(range(32))
LIMIT = 64 << 20
OPTIONS = {
    "user": "user",
    "item": "item",
    "privacy": dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
    "max_items_per_user": 20,
    "mechanism": dpsel.Sips(),
    "insecure_test_key": KEY,
}

#: A stream of rows, each batch made when it is asked for. Half of the items are long and have one user.
STREAM = """
    from pathlib import Path
    import pyarrow.compute
    schema = pa.schema({"user": pa.int64(), "item": pa.string()})
    def batches(number, rows=20_000, wait=None):
        for n in range(number):
            draw = np.random.default_rng(n)
            item = np.where(draw.random(rows) < 0.5, draw.zipf(1.3, rows) % 100_000,
                            10**9 + n * rows + np.arange(rows))
            items = pa.compute.binary_join_element_wise(SECRET * 12, pa.array(item).cast(pa.string()), " ")
            yield pa.record_batch([pa.array(draw.integers(0, 40_000, rows)), items], schema=schema)
            if wait is not None and n == wait:
                print("ready", flush=True)
                time.sleep(600)
    def release(number, wait=None, **settings):
        reader = pa.RecordBatchReader.from_batches(schema, batches(number, wait=wait))
        return dpsel.select_partitions(
            reader, user="user", item="item", privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
            max_items_per_user=20, insecure_test_key=bytes(32), **{"mechanism": dpsel.Sips()} | settings)
"""


@pytest.fixture
def texts(tmp_path) -> Path:
    """Rows of long texts in a Parquet file, most of them of one user."""
    users = [n * 7919 % 9_000 for n in range(300_000)]
    items = [f"shared item {n % 97}" if n % 3 == 0 else f"own item {n:0200}" for n in range(300_000)]
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"user": users, "item": items}), path)
    return path


ONE_ITEM = {"max_items_per_user": 1, "mechanism": "auto"}


@pytest.mark.parametrize(
    ("threads", "more"),
    [
        (1, {}),
        (3, {}),
        # The default, and one that looks at the data first.
        (2, {"mechanism": "auto", "with_weights": True}),
        (2, ONE_ITEM),
        (2, {"min_users": 90, "exclude": ["shared item 3"], "public_items": ["shared item 6", "a new item"]}),
        (2, {"counts": 0.3, "exclude": ["shared item 3"], "public_items": ["shared item 6", "a new item"]}),
    ],
)
def test_a_file_makes_the_release_of_memory(threads, more, texts, tmp_path):
    options = OPTIONS | more
    here = dpsel.select_partitions(texts, **options)
    assert len(here) > 50
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    there = dpsel.select_partitions(texts, **options, memory_limit=LIMIT, scratch=scratch, threads=threads)
    assert pa.table(there.items).equals(pa.table(here.items))
    assert there.report == here.report
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    "more", [{"max_items_per_user": 4}, {"domain": [f"shared item {n}" for n in range(40)]}]
)
def test_a_top_k_draws_as_in_memory(more, texts, tmp_path):
    options = {name: OPTIONS[name] for name in ("user", "item", "privacy", "insecure_test_key")} | more
    here = dpsel.select_top_k(texts, k=9, **options)
    assert len(here) == 9
    places = {"memory_limit": LIMIT, "scratch": tmp_path, "scratch_limit": "1GiB"}
    there = dpsel.select_top_k(texts, k=9, **options, **places)
    assert pa.table(there.items).equals(pa.table(here.items))
    assert there.report == here.report
    # The rows went to the disk, so a small one is an error.
    with pytest.raises(dpsel.exceptions.FileError, match="that scratch_limit allows"):
        dpsel.select_top_k(texts, k=9, **options, **places | {"scratch_limit": 10_000})


def test_a_comparison_is_that_of_memory(texts, tmp_path):
    grid = {name: OPTIONS[name] for name in ("user", "item", "privacy")}
    grid |= {
        # From a limit of 4 on "auto" takes another mechanism with a folder.
        "max_items_per_user": 3,
        "mechanisms": [dpsel.Sips(), dpsel.WeightedGaussian(), "auto"],
        "public_data": True,
        "seed": 3,
    }
    here = dpsel.compare(texts, **grid)
    there = dpsel.compare(texts, memory_limit=LIMIT, scratch=tmp_path, **grid)
    assert there.rows == here.rows
    assert all(row["items"] > 0 for row in here.rows)


def test_a_comparison_leaves_out_what_needs_all_rows_in_memory(tmp_path):
    rows = [(user, item) for user in range(50) for item in range(3)]
    grid = {"privacy": OPTIONS["privacy"], "max_items_per_user": 20, "public_data": True, "seed": 3}
    here = dpsel.compare(rows, **grid)
    there = dpsel.compare(rows, memory_limit=LIMIT, scratch=tmp_path, **grid)
    left_out = {row["mechanism"] for row in here.rows if row not in there.rows}
    # The look of the last one may choose the first.
    react = [dpsel.Matching, dpsel.PolicyLaplace, dpsel.PolicyGaussian, dpsel.GreedyFrequency]
    react += [dpsel.UnitGreedy, dpsel.Mad, dpsel.Mad2R, dpsel.MatchingOr]
    assert left_out == {repr(mechanism()) for mechanism in react}


def test_a_full_disk_is_an_error_and_leaves_nothing(texts, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(dpsel.exceptions.FileError, match="that scratch_limit allows") as caught:
        dpsel.select_partitions(texts, **OPTIONS, memory_limit=LIMIT, scratch=scratch, scratch_limit=10_000)
    assert "item" not in str(caught.value)
    assert list(scratch.iterdir()) == []
    resource = pytest.importorskip("resource", reason="Windows has no limit of file sizes")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal = pytest.importorskip("signal")
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
        with pytest.raises(dpsel.exceptions.FileError, match="cannot write scratch to"):
            dpsel.select_partitions(texts, **OPTIONS, memory_limit=LIMIT, scratch=scratch)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@LINUX
@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=5)])
def test_memory_stays_within_the_limit(mechanism, tmp_path):
    """Measured from outside: the largest resident set, less that before and the batches that wait."""
    script = f"""
    release(1)
    before = begin()
    made = release(30, memory_limit={LIMIT}, scratch=".", mechanism=dpsel.{mechanism!r}, threads=2)
    grown = resident("VmHWM") - before
    print(grown, pa.default_memory_pool().max_memory(), len(made))
    """
    grown, waiting, found = map(int, finish(STREAM + script, tmp_path, timeout=500).split())
    assert found > 50
    # Four batches for each of two threads, of 5 MB each.
    assert waiting < 40 << 20
    assert 0 < grown - waiting < 1.1 * LIMIT, (grown - waiting) / LIMIT


@LINUX
def test_memory_stays_within_the_limit_on_many_cores(tmp_path):
    """Each reading thread has buffers: with a small limit few of them read."""
    number = np.arange(3_000_000)
    rows = pa.table({"user": number // 8, "item": number * number % 99_991})
    pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=50_000)
    script = f"""
    release(1)
    def release(**settings):
        return dpsel.select_partitions(
            "rows.parquet", user="user", item="item", privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
            max_items_per_user=20, insecure_test_key=bytes(32), mechanism=dpsel.Sips(), **settings)
    before = begin()
    there = release(memory_limit={LIMIT}, scratch=".", threads=64)
    grown = resident("VmHWM") - before
    here = release(threads=1)
    same = pa.table(there.items).equals(pa.table(here.items)) and there.report == here.report
    print(grown, len(here), same)
    """
    grown, found, same = finish(STREAM + script, tmp_path, timeout=500).split()
    assert int(found) > 50
    assert same == "True"
    assert int(grown) < 1.1 * LIMIT, int(grown) / LIMIT


@LINUX
def test_memory_stays_within_the_limit_beside_many_counts(tmp_path):
    """Released items and what counts them stay in memory, beside the stages that count."""
    number = np.arange(6_000_000)
    rows = pa.table({"user": number // 3, "item": number * 7919 % 200_003})
    pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=100_000)
    script = f"""
    release(1)
    def release(**settings):
        return dpsel.select_partitions(
            "rows.parquet", user="user", item="item", privacy=dpsel.ApproxDP(epsilon=5.0, delta=1e-4),
            max_items_per_user=3, mechanism=dpsel.CountGaussian(), counts=0.2, threads=2,
            insecure_test_key=bytes(32), **settings)
    before = begin()
    there = release(memory_limit={LIMIT}, scratch=".")
    grown = resident("VmHWM") - before
    print(grown, len(there), pa.table(there.items).equals(pa.table(release().items)))
    """
    grown, found, same = finish(STREAM + script, tmp_path, timeout=500).split()
    assert int(found) > 100_000
    assert same == "True"
    assert int(grown) < 1.1 * LIMIT, int(grown) / LIMIT


@LINUX
@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=5)])
def test_one_large_user_changes_nothing_and_takes_no_more_than_the_limit(mechanism, tmp_path):
    """One user has half of the rows, which come between those of others."""
    script = f"""
    import pyarrow.parquet
    def write(size):
        number = np.arange(size)
        user = np.where(number % 2 == 0, 0, 1 + number * 7919 % 8000)
        item = np.where(number % 2 == 0, number, number * number % 997)
        rows = pa.table(dict(user=user, item=item))
        pyarrow.parquet.write_table(rows, "rows.parquet", row_group_size=100_000)
    def release(**settings):
        return dpsel.select_partitions(
            "rows.parquet", user="user", item="item", privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
            max_items_per_user=20, insecure_test_key=bytes(32), mechanism=dpsel.{mechanism!r}, **settings)
    # A few rows first: what they load, most of it pages of programs, is no memory of the job.
    write(1000)
    release()
    write(1_000_000)
    before = begin()
    there = release(memory_limit={LIMIT}, scratch=".", threads=2)
    grown = resident("VmHWM") - before
    here = release()
    same = pa.table(there.items).equals(pa.table(here.items)) and there.report == here.report
    print(grown, len(here), same)
    """
    grown, found, same = finish(script, tmp_path, timeout=500).split()
    assert int(found) > 50
    assert same == "True"
    # This user alone fills the limit.
    assert int(grown) < 1.1 * LIMIT, int(grown) / LIMIT


@LINUX
def test_large_pages_are_off_while_a_job_works_from_a_disk(tmp_path):
    script = f"""
    def large_pages():
        rows = Path("/proc/self/status").read_text().splitlines()
        return next(row.split()[1] for row in rows if row.startswith("THP_enabled:"))
    seen = []
    def look(done, total):
        seen.append(large_pages())
    release(20, progress=look)
    in_memory = set(seen)
    seen.clear()
    release(20, memory_limit={LIMIT}, scratch=".", progress=look)
    print(*in_memory, seen[-1], large_pages())
    """
    assert finish(STREAM + script, tmp_path, timeout=500).split() == ["1", "0", "1"]


@LINUX
def test_nothing_can_be_read_and_nothing_is_left_after_a_kill(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = f"""
    release(40, wait=30, memory_limit={LIMIT}, scratch="scratch", threads=2)
    """
    with start(STREAM + script, tmp_path) as child:
        assert child.stdout.readline() == "ready\n"
        folder = Path(f"/proc/{child.pid}/fd")
        files = [file for file in folder.iterdir() if str(file.readlink()).startswith(str(scratch))]
        contents = [file.read_bytes() for file in files]
        child.kill()
    # Contributions, user counts and names, under no name.
    assert sum(map(len, contents)) > 10 << 20
    for content in contents:
        assert b"unselected" not in content
        # Encrypted bytes do not repeat, and no byte stands out.
        sample = content[: 1 << 20]
        times = [sample.count(byte) for byte in range(256)]
        assert max(times) < 1.2 * len(sample) / 256 + 50
    assert list(scratch.iterdir()) == []


def test_what_does_not_fit_together_is_refused_before_rows_are_read(tmp_path):
    plain = OPTIONS | {"mechanism": dpsel.Sips()}
    for changed, words in [
        ({"scratch": tmp_path, "memory_limit": LIMIT - 1}, "memory_limit must be at least 64 MiB"),
        ({"scratch": tmp_path / "gone", "memory_limit": LIMIT}, "scratch must be a folder that exists"),
        ({"scratch": 5, "memory_limit": LIMIT}, "scratch must be a path, got int"),
        ({"scratch": b"x", "memory_limit": LIMIT}, "scratch must be a path"),
        ({"scratch": None, "scratch_limit": 5}, "limits what goes to scratch=, which is None"),
        (
            {"scratch": tmp_path, "memory_limit": LIMIT, "scratch_limit": 0},
            "scratch_limit must be a whole number",
        ),
    ]:
        with pytest.raises(dpsel.exceptions.InvalidParameterError, match=words):
            dpsel.select_partitions("no such file", **(plain | changed))


def on_disk(monkeypatch, free: int, data: object, **options: object) -> tuple[list[tuple], bool]:
    """The items of a job on a machine with so much free memory, and whether rows went to a disk."""
    monkeypatch.setattr("dpsel._scratch.free_memory", lambda: free)
    lines: list[str] = []
    monkeypatch.setattr("dpsel.progress.disk_line", lambda limit: lines.append(limit) or "")
    release = dpsel.select_partitions(data, progress=True, **OPTIONS | options)
    return list(release.items), lines == [f"{max(free // 2, LIMIT) >> 20} MiB"]


@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(), "auto"], ids=repr)
def test_rows_beyond_half_of_the_free_memory_go_on_from_a_disk_by_themselves(mechanism, texts, monkeypatch):
    # From a limit of 4 on "auto" may take Matching, unless a folder is named.
    options = {"mechanism": mechanism, "max_items_per_user": 3}
    here, there = (
        on_disk(monkeypatch, 16 << 30, texts, **options),
        on_disk(monkeypatch, 1 << 20, texts, **options),
    )
    assert here == (there[0], False)
    assert there[1]
    assert on_disk(monkeypatch, 1 << 20, texts, scratch=None, **options) == here


def test_a_limit_that_is_given_sends_rows_to_a_disk_unless_told_not_to(texts, monkeypatch):
    asked = []
    monkeypatch.setattr("dpsel._scratch._is_disk", lambda folder: not asked.append(folder))
    small = dpsel.select_partitions(texts, memory_limit=LIMIT, **OPTIONS)
    assert len(asked) == 1
    assert list(small.items) == list(dpsel.select_partitions(texts, scratch=None, **OPTIONS).items)
    for options in ({"scratch": None, "memory_limit": 1 << 20}, {"memory_limit": 1 << 20}):
        with pytest.raises(dpsel.exceptions.MemoryLimitError, match=r"take mechanism=dpsel.Sips\(\)"):
            dpsel.select_partitions(texts, **OPTIONS | options)
    asked.clear()
    few = [(user, "tea") for user in range(1000)]
    dpsel.select_partitions(few, **OPTIONS | {"user": None, "item": None})
    assert asked == [], "a few rows look for nothing"


def test_a_mechanism_that_needs_all_rows_ends_before_the_memory_of_the_machine(texts, monkeypatch):
    monkeypatch.setattr("dpsel._scratch.free_memory", lambda: 32 << 20)
    with pytest.raises(dpsel.exceptions.MemoryLimitError, match=r"memory limit of 32 MiB .*dpsel.Sips\(\)"):
        dpsel.select_partitions(texts, **OPTIONS | {"mechanism": dpsel.Mad()})
    monkeypatch.setattr("dpsel._scratch.free_memory", lambda: None)
    assert len(dpsel.select_partitions(texts, **OPTIONS | {"mechanism": dpsel.Mad()})) > 50


def test_without_a_disk_rows_stay_in_memory(texts, monkeypatch):
    monkeypatch.setattr("dpsel._scratch._is_disk", lambda _: False)
    items, went = on_disk(monkeypatch, 16 << 30, texts)
    assert len(items) > 50
    assert not went
    with pytest.raises(dpsel.exceptions.MemoryLimitError):
        on_disk(monkeypatch, 1 << 20, texts)


def test_a_top_k_and_a_comparison_go_on_from_a_disk_by_themselves(texts, monkeypatch):
    asked = []
    monkeypatch.setattr("dpsel._scratch._is_disk", lambda folder: not asked.append(folder))
    monkeypatch.setattr("dpsel._scratch.free_memory", lambda: 1 << 20)
    columns = {"user": "user", "item": "item", "max_items_per_user": 20}
    top = {"k": 5, "privacy": OPTIONS["privacy"], "insecure_test_key": KEY} | columns
    there, here = dpsel.select_top_k(texts, **top), dpsel.select_top_k(texts, scratch=None, **top)
    assert list(there.items) == list(here.items)
    assert len(asked) == 1
    grid = {"privacy": OPTIONS["privacy"], "mechanisms": "sips", "public_data": True, "seed": 3} | columns
    assert dpsel.compare(texts, **grid).rows == dpsel.compare(texts, scratch=None, **grid).rows
    assert len(asked) == 3, "rows are counted, and then released"


#: Users whose weights depend on those of others.
REACTIVE = [
    dpsel.PolicyGaussian(release="noise"),
    dpsel.PolicyLaplace(passes=2),
    dpsel.UnitGreedy(),
    dpsel.UnitGreedy(prior={f"shared item {n}": n for n in range(50)}),
    dpsel.GreedyFrequency(),
    dpsel.Matching(),
    dpsel.Mad(),
    dpsel.Mad2R(),
    dpsel.MatchingOr(),
]


@pytest.mark.parametrize("mechanism", REACTIVE, ids=repr)
def test_users_who_react_need_all_rows_in_memory(mechanism, tmp_path):
    """Refused before a budget pays: how much memory it takes, and what runs instead, to be pasted."""
    privacy = dpsel.ApproxDP(epsilon=2.0, delta=1e-6)
    rows = [(user, item) for user in range(99) for item in range(3)]
    options = {
        "user": None,
        "item": None,
        "scratch": tmp_path,
        "memory_limit": LIMIT,
        "max_items_per_user": 9,
    }
    paid = dpsel.Budget(privacy).spend(privacy)
    with pytest.raises(dpsel.exceptions.InvalidParameterError) as caught:
        dpsel.select_partitions("no such file", privacy=paid, mechanism=mechanism, **options)
    words = r"needs all rows in memory: about \d+ bytes for each distinct pair of user and item, \d+ for each"
    assert re.search(words, str(caught.value))
    named = re.findall(r"mechanism=(dpsel\.\w+\([\w=]*\))", str(caught.value))
    assert named == ["dpsel.Steered(reach=3)", "dpsel.Sips()"]
    # A payment pays once.
    for payment, other in zip([paid, privacy], [dpsel.Steered(reach=3), dpsel.Sips()], strict=True):
        dpsel.select_partitions(rows, privacy=payment, mechanism=other, **options)


@pytest.mark.parametrize(
    ("mechanism", "what", "instead"),
    [
        (dpsel.Sips(), "the items that may be released", "run it with dpsel.spark"),
        (dpsel.Steered(), "the items of several users", "pass mechanism=dpsel.Sips()"),
    ],
    ids=repr,
)
def test_items_beyond_the_limit_are_an_error_that_names_one_that_does(mechanism, what, instead, tmp_path):
    """Items of six users each, whose hashes, codes and digests do not fit."""
    number = np.arange(16_000_000)
    rows = pa.table({"user": number // 16, "item": number * 7919 % 2_666_667})
    options = {"user": "user", "item": "item", "max_items_per_user": 16, "threads": 2, "scratch": tmp_path}
    options |= {"privacy": dpsel.ApproxDP(epsilon=8.0, delta=1e-4), "mechanism": mechanism}
    with pytest.raises(dpsel.exceptions.MemoryLimitError, match=f"holds {what} in memory") as caught:
        dpsel.select_partitions(rows, **options, memory_limit=LIMIT)
    assert instead in str(caught.value)
    enough = re.search(r"raise memory_limit to (\d+) MiB, or ", str(caught.value))
    assert int(enough[1]) << 20 in {LIMIT * 2, LIMIT * 4, LIMIT * 8}
    there = dpsel.select_partitions(rows, **options, memory_limit=f"{enough[1]}MiB", insecure_test_key=KEY)
    here = dpsel.select_partitions(
        rows, **{name: options[name] for name in options if name != "scratch"}, insecure_test_key=KEY
    )
    assert len(there) > 1000
    assert pa.table(there.items).equals(pa.table(here.items))
