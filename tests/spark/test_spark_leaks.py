"""The release key stays in functions, wrapped; until items are released, Spark has digests of them."""

from __future__ import annotations

import base64
import itertools
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from spark_support import all_digests, arguments, job_of, named_rows, rows, same, table, together

import dpsel
import dpsel.spark
from dpsel import _core
from dpsel.exceptions import InternalError, InvalidParameterError, MissingFileError
from dpsel.spark import _dataflow, _driver, _sharing, _tasks
from support import KEY

pytestmark = pytest.mark.spark


def spellings(secret: bytes) -> list[bytes]:
    """A secret as it is, in hexadecimal, and in base 64 at each of the three places where it may start."""
    coded = [base64.b64encode(b"\0" * lead + secret)[4 * (lead > 0) :][:36] for lead in range(3)]
    return [secret, secret.hex().encode(), repr(secret).encode(), *coded]


@pytest.mark.parametrize("most", [_dataflow.BROADCAST_ITEMS, 0], ids=["listed", "joined"])
def test_neither_key_nor_names_are_in_the_event_log(spark, events, monkeypatch, most) -> None:
    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", most)
    data = [(user, f"name of item {item}") for user, item in rows(300, 40)]
    found = dpsel.spark.select_partitions(spark.createDataFrame(table(data)), **arguments(dpsel.Sips()))
    assert len(found) > 0
    logged = b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())
    assert b"MapInArrow" in logged
    assert b"SparkListenerSQLExecutionStart" in logged
    assert not [spelling for spelling in spellings(KEY) if spelling in logged]
    assert b"name of item" not in logged


def test_functions_hold_and_show_no_key() -> None:
    local = table([(f"person {user}", f"name {item}") for user, item in rows(30, 20)])
    job = job_of(local)
    share = _core.ExchangeShare()
    sealed = _sharing.Sealed(share.seal(job))
    released = job.sealed(job.released_set(_core.ExchangePacked()))
    tasks = [
        _tasks.Encode(sealed, local.schema, 3, True),
        _tasks.PruneAndWeigh(sealed, 3, released),
        _tasks.Weigh(sealed, 0, released),
        _tasks.FilterCandidates(sealed, 3, released),
        _tasks.CountReleased(sealed, 3, released),
        _tasks.NoisyCounts(sealed),
        _tasks.Name(sealed, local.select(["item"]).schema, released),
        _tasks.BlockUsers(sealed, released),
        _tasks.WeighBlocks(sealed, 1, released),
        _tasks.OfValues(_tasks.WeighBlocks(sealed, 1, released)),
    ]
    for task in tasks:
        travels = cloudpickle.dumps(task)
        for secret in (KEY, share.text().encode(), bytes.fromhex(share.text())):
            hidden = spellings(secret)
            assert not [spelling for spelling in hidden if spelling in f"{task!r} {task}".encode()]
            assert not [spelling for spelling in hidden if spelling in travels]
    for shown in (job, share, sealed, share.seal(job), _core.ExchangePacked(), _core.ExchangeSteering(job)):
        assert not [spelling for spelling in spellings(KEY) if spelling in f"{shown!r} {shown}".encode()]
    again = pickle.loads(pickle.dumps(sealed)).job.open(share.text())
    assert again.rounds == job.rounds


def test_what_holds_a_key_or_counts_has_no_pickle() -> None:
    job = job_of(table([("person", "name")]))
    for secret in (job, _core.ExchangeShare(), _core.ExchangePacked(), _core.ExchangeSteering(job)):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(secret)


def test_a_task_without_its_share_does_nothing() -> None:
    """A job that was logged or stored is worth nothing; another share does not open it."""
    job = job_of(table([("person", "name")]))
    sealed = _sharing.Sealed(_core.ExchangeShare().seal(job))
    with pytest.raises(InternalError, match="did not get the property"):
        sealed.open()
    for share, error in [(_core.ExchangeShare().text(), InvalidParameterError), ("0", InternalError)]:
        with pytest.raises(error):
            sealed.job.open(share)


def test_a_secret_file_wraps_the_key_too(tmp_path) -> None:
    job, share = job_of(table([("person", "name")])), _core.ExchangeShare()
    path = tmp_path / "secret"
    with pytest.raises(MissingFileError):
        share.seal(job, path)
    path.write_bytes(bytes(31))
    with pytest.raises(InvalidParameterError, match="fewer than 32 bytes"):
        share.seal(job, path)
    path.write_bytes(bytes(range(40)))
    sealed = pickle.loads(pickle.dumps(share.seal(job, path)))
    assert sealed.open(share.text()).rounds == job.rounds
    path.write_bytes(bytes(40))
    with pytest.raises(InvalidParameterError, match="give all machines the same secret_file"):
        sealed.open(share.text())


def test_a_release_with_a_secret_file(spark, tmp_path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(os.urandom(32))
    local = table(rows(300, 40))
    same(spark.createDataFrame(local), local, dpsel.Sips())
    here = dpsel.select_partitions(local, **arguments(dpsel.Sips()))
    given = arguments(dpsel.Sips(), secret_file=path, unencrypted="refuse")
    there = dpsel.spark.select_partitions(spark.createDataFrame(local), **given)
    assert there.to_local().to_pylist() == here.to_pylist()
    assert spark.sparkContext.getLocalProperty(_sharing.SETTING) is None


def test_releases_at_the_same_time_do_not_disturb_each_other(spark) -> None:
    local = table(rows(300, 40))
    frame = spark.createDataFrame(local)
    with ThreadPoolExecutor(2) as pool:
        made = [pool.submit(dpsel.spark.select_partitions, frame, **arguments(dpsel.Sips())) for _ in "ab"]
    here = dpsel.select_partitions(local, **arguments(dpsel.Sips()))
    assert [one.result().to_local().to_pylist() for one in made] == [here.to_pylist()] * 2


@pytest.mark.parametrize("kind", ["partitions", "numbers", "steered", "top_k"])
def test_tracebacks_show_no_packed_value(spark, monkeypatch, kind) -> None:
    """Whatever stage fails, what was counted before is in no local variable, in no spelling."""
    local = named_rows()
    frame, digests = spark.createDataFrame(local), all_digests(local)

    def failing(*_given):
        raise InternalError

    monkeypatch.setattr(_dataflow.Dataflow, "names", failing)
    mechanism = dpsel.Steered(rounds=3) if kind == "steered" else dpsel.Sips()
    given = arguments(mechanism, counts=0.2 if kind == "numbers" else None)
    if kind == "top_k":
        given = {
            "user": "user",
            "item": "item",
            "k": 5,
            "privacy": given["privacy"],
            "insecure_test_key": KEY,
        }
    select = dpsel.spark.select_top_k if kind == "top_k" else dpsel.spark.select_partitions
    with pytest.raises(InternalError) as caught:
        select(frame, **given)
    shown = [repr(value).encode() for value in variables_of(caught.tb)]
    text = b" ".join(shown)
    assert (b"ExchangeDraw" if kind == "top_k" else b"ExchangePacked") in text
    assert not [digest for digest in digests if repr(digest).encode()[2:-1] in text]


@pytest.mark.parametrize(
    ("mechanism", "task", "way"),
    [(dpsel.Steered(rounds=3), "WeighBlocks", "_scored"), (dpsel.Sips(), "Weigh", "_plain")],
    ids=["steered", "sips"],
)
def test_a_failure_within_the_rounds_shows_no_exact_count(spark, monkeypatch, mechanism, task, way) -> None:
    """How the rounds run depends on how many users the items of several users have: no variable says it."""
    counted = []

    class Steering:
        """The real one; what it counts is noted."""

        def __new__(cls, job):
            return _core.ExchangeSteering(job)

        @staticmethod
        def most_sums(shared, tasks):
            counted.append(_core.ExchangeSteering.most_sums(shared, tasks))
            return counted[-1]

    def failing(*_given):
        raise InternalError

    steering = SimpleNamespace(**{name: getattr(_core, name) for name in dir(_core)})
    steering.ExchangeSteering = Steering
    monkeypatch.setattr(_dataflow, "_core", steering)
    monkeypatch.setattr(_driver, "_core", steering)
    monkeypatch.setattr(_tasks, task, failing)
    local = named_rows()
    with pytest.raises(InternalError) as caught:
        dpsel.spark.select_partitions(spark.createDataFrame(local), **arguments(mechanism))
    assert way in {entry.name for entry in caught.traceback}
    text = repr(variables_of(caught.tb)).encode()
    assert b"ExchangePacked" in text
    assert not [digest for digest in all_digests(local) if repr(digest).encode()[2:-1] in text]
    shown = [value for value in variables_of(caught.tb) if isinstance(value, int)]
    assert len(counted) > 2
    assert not set(counted) & set(shown)


def variables_of(trace) -> list[object]:
    """The values of all local variables of a traceback, but for those of this file."""
    found: list[object] = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename != __file__:
            found += trace.tb_frame.f_locals.values()
        trace = trace.tb_next
    return found


def test_what_stages_pass_on_holds_no_names() -> None:
    """What Spark shuffles, spills and keeps is what tasks return."""
    local = table([(f"person {user}", f"name {item}") for user, item in rows(300, 40)])
    share, made = _core.ExchangeShare(), job_of(local)
    job = pickle.loads(pickle.dumps(share.seal(made))).open(share.text())
    work = partial(_run, job)
    everything = together(work(_tasks.Encode(None, local.schema, 4, True), local.to_batches()))
    user_counts, encoded = (
        [batch.filter(pa.compute.less(batch["bucket"], 0)) for batch in everything],
        [batch.filter(pa.compute.greater_equal(batch["bucket"], 0)) for batch in everything],
    )
    few = job.frequent_above
    frequent = work(_tasks.FrequentItems(None, few), user_counts)
    frequent_set = job.sealed(_core.ExchangePacked(frequent))
    first = work(_tasks.PruneAndWeigh(None, few, frequent_set), encoded)
    pruned = [batch for batch in first if batch["bucket"][0].as_py() >= 0]
    weighed = work(_tasks.Weigh(None, 0, job.sealed(_core.ExchangePacked())), pruned)
    released = job.decided(0, _core.ExchangePacked(weighed))
    assert len(released) == len(job.decided(0, _core.ExchangePacked(first[len(pruned) :])))
    bloom = job.sealed(job.released_set(released, 1))
    passed = work(_tasks.FilterCandidates(None, 4, bloom), encoded)
    partitioned = list(map(pa.record_batch, job.bucket_decisions(4, released)))
    false_positives = work(_tasks.FalsePositives(None), together(passed + partitioned))
    listed = job.sealed(job.released_set(released))
    counted = work(_tasks.CountReleased(None, 4, listed), encoded)
    numbers = work(_tasks.NoisyCounts(None), together(counted))
    assert len(_core.ExchangePacked(numbers)) == len(released)
    stages = [everything, frequent, first, weighed, passed, partitioned, false_positives]
    stages += [counted, numbers]
    assert all(stages)
    packed = [value for batch in itertools.chain(*stages) for value in batch["packed"].to_pylist()]
    for value in [*packed, bloom]:
        assert b"name " not in value
        assert b"person " not in value
        assert not [spelling for spelling in spellings(KEY) if spelling in value]


def test_blocks_and_what_comes_from_them_hold_no_names() -> None:
    local = named_rows()
    job, digests = job_of(local, dpsel.Steered(rounds=3)), all_digests(local)
    work = partial(_run, job)
    everything = together(work(_tasks.Encode(None, local.schema, 4, True), local.to_batches()))
    user_counts, made = (
        [batch.filter(chosen(batch["bucket"], 0)) for batch in everything]
        for chosen in (pa.compute.less, pa.compute.greater_equal)
    )
    shared = job.sealed(_core.ExchangePacked(work(_tasks.FrequentItems(None, 1), user_counts)))
    steering, stages, sealed = _core.ExchangeSteering(job), [], [shared]
    for number in range(3):
        task = _tasks.WeighBlocks(None, number, sealed[-1]) if number else _tasks.BlockUsers(None, shared)
        made = work(task, made)
        stages += made
        sent = [batch for batch in made if batch["bucket"][0].as_py() < 0]
        made = [batch for batch in made if batch["bucket"][0].as_py() >= 0]
        steering.take(_core.ExchangePacked(sent))
        known = steering.end_round()
        sealed.append(job.sealed(known))
    assert len(known) > 24
    assert not made
    packed = [value for batch in stages for value in batch["packed"].to_pylist()]
    for value in [*packed, *sealed]:
        assert not [spelling for spelling in (b"name ", b"person ", *spellings(KEY)) if spelling in value]
    for value in sealed:
        assert not [digest for digest in digests if digest in value]
    assert [digest for digest in digests if digest in b"".join(packed)]


def test_what_is_sealed_shows_no_digest() -> None:
    """Broadcasts, and functions where there are none, hold what tasks know of items."""
    local = named_rows()
    job, digests = job_of(local), all_digests(local)
    plain = b"".join(digest + bytes(8) for digest in digests)
    packed = _core.ExchangePacked([pa.record_batch([pa.array([plain])], ["packed"])])
    assert len(packed) == len(plain)
    for value in (job.released_set(packed), packed):
        sealed = job.sealed(value)
        assert len(sealed) == len(value) + 32
        assert not [digest for digest in digests if digest in sealed]


def _run(job, task, batches) -> list:
    return list(task.work(job, batches))
