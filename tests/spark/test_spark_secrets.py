"""No log, event log, page or disk of Spark tells the release key, or names of what is not released."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest
from spark_support import all_digests, named_rows

from support import KEY

pytestmark = pytest.mark.spark

JOB = Path(__file__).with_name("leak_job.py")
KINDS = {
    "classic": "plain",
    "connect": "encrypted",
}
LOGS = ["driver.log", "errors", "jvm.log", "events", "pages"]


def escaped(secret: bytes) -> bytes:
    """As the text of a protocol buffer has bytes."""
    named = {9: b"\\t", 10: b"\\n", 13: b"\\r", 34: b'\\"', 39: b"\\'", 92: b"\\\\"}
    each = (named.get(byte, bytes([byte]) if 32 <= byte < 127 else b"\\%03o" % byte) for byte in secret)
    return b"".join(each)


def spellings(secret: bytes) -> list[bytes]:
    """A secret as it is, in hexadecimal, escaped, and in base 64 at each of the three places to start."""
    coded = [
        base64.b64encode(bytes(lead) + secret)[4 * (lead > 0) :][: len(secret) * 4 // 3 - 6]
        for lead in range(3)
    ]
    return [secret, secret.hex().encode(), repr(secret).encode()[2:-1], escaped(secret), *coded]


def found(secret: bytes, place: bytes) -> bool:
    return any(spelling in place for spelling in spellings(secret))


@pytest.fixture(scope="module", params=KINDS)
def left(request, tmp_path_factory):
    """What releases in a session of each kind left behind: `results`, and the bytes of each place."""
    kind = request.param
    if kind == "connect" and find_spec("grpc") is None:
        pytest.skip("pyspark[connect] is not installed")
    folder = tmp_path_factory.mktemp(kind)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # The server is another Spark than that of the tests in this process, and must not take its settings.
    given = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, str(JOB), str(folder), kind, KINDS[kind], port],
        env=given | {"SPARK_CONNECT_LOG_LEVEL": "debug"},
        capture_output=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:].decode()
    places = {"errors": done.stderr, "kind": kind}
    for place in ("driver.log", "jvm.log", "pages"):
        places[place] = (folder / place).read_bytes()
    for place in ("events", "disks"):
        files = [path for path in (folder / place).rglob("*") if path.is_file()]
        places[place] = b"\n".join(path.read_bytes() for path in files)
    return places | {"results": json.loads(done.stdout.decode().rsplit("RESULTS", 1)[1])}


def unreleased(left) -> list[bytes]:
    released = left["results"]["released"]
    names = set(named_rows()["item"].to_pylist())
    assert len(released) > 3
    assert names > set(released)
    return [name.encode() for name in sorted(names - set(released))]


def test_it_would_be_seen(left) -> None:
    """The logs are those of releases, at level DEBUG, and functions of tasks were written to disk."""
    assert b"Command to send" in left["driver.log"]
    assert b"DEBUG org.apache.spark" in left["jvm.log"]
    assert b"MapInArrow" in left["events"]
    assert b"MapInArrow" in left["pages"]
    assert b"redacted" in left["pages"]
    assert len(left["disks"]) > 100_000
    if left["kind"] == "classic":
        assert b"dpsel.spark._tasks" in left["disks"]
    else:
        assert b"Schema for plan" in left["errors"]


@pytest.mark.parametrize("place", [*LOGS, "disks"])
def test_neither_key_nor_share_is_left(left, place) -> None:
    assert not found(KEY, left[place])
    shares = left["results"]["shares"]
    assert len(set(shares)) == len(shares) > 2
    for share in shares:
        assert not found(share.encode(), left[place])
        assert not found(bytes.fromhex(share), left[place])


@pytest.mark.parametrize("place", [*LOGS, "disks"])
def test_no_name_of_what_is_not_released_is_left(left, place) -> None:
    shown = [name for name in unreleased(left) if name in left[place]]
    assert not shown
    assert b"person number" not in left[place]


@pytest.mark.parametrize("place", LOGS)
def test_no_digest_is_in_a_log(left, place) -> None:
    shown = [digest for digest in all_digests(named_rows()) if found(digest, left[place])]
    assert not shown


def test_digests_are_on_disks_unless_spark_encrypts(left) -> None:
    """So the search of the logs would find some."""
    shown = [digest for digest in all_digests(named_rows()) if digest in left["disks"]]
    assert bool(shown) == (left["kind"] == "classic")


def test_what_is_unencrypted_is_told(left) -> None:
    warned = set(left["results"]["warned"])
    (text,) = warned
    assert ("local disks get digests" in text) == (left["kind"] == "classic")
    assert ("event log" in text) == (left["kind"] == "connect")
    assert "network" not in text


def test_the_share_is_taken_back(left) -> None:
    assert left["results"]["after"] is None


def test_digests_of_all_items_are_known() -> None:
    local = named_rows()
    digests = all_digests(local)
    assert len(digests) == len(set(digests)) == len(pa.compute.unique(local["item"]))
