"""Files of an object store, on a local server that speaks S3."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

import dpsel
from dpsel.exceptions import DataError, SchemaError

boto3 = pytest.importorskip("boto3", reason="in the group `libraries`; run `nox -s libraries`")
moto = pytest.importorskip("moto.server", reason="in the group `libraries`; run `nox -s libraries`")
pl = pytest.importorskip("polars")
pytestmark = pytest.mark.libraries

PAIRS = [(user, f"item {(user * user + at) % 40}") for user in range(600) for at in range(3)]
ARGUMENTS = {
    "privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
    "max_items_per_user": 3,
    "mechanism": "sips",
    "insecure_test_key": bytes(32),
}
COLUMNS = {"user": "u", "item": "i"}
NAMES = ("a/1.parquet", "unnamed")


@pytest.fixture(scope="module", autouse=True)
def store():
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }
    frame = pl.DataFrame(PAIRS, schema=["u", "i"], orient="row")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="rows")
        for name in NAMES:
            body = io.BytesIO()
            frame.write_parquet(body)
            client.put_object(Bucket="rows", Key=name, Body=body.getvalue())
        yield
    server.stop()


def select(data, **columns):
    return dpsel.select_partitions(data, **ARGUMENTS, **columns)


@pytest.mark.parametrize("name", ["a/1.parquet", "a/*.parquet", "unnamed"])
def test_files_far_away_give_the_release_of_local_rows(name):
    named = {"file_format": "parquet"} if name == "unnamed" else {}
    found = select(f"s3://rows/{name}", **COLUMNS, **named)
    assert list(found) == list(select(PAIRS))
    assert len(found) > 3
    assert isinstance(found.items, dpsel.release.ItemTable)


def test_no_copy_of_a_file_is_kept_on_this_disk(tmp_path):
    """polars takes the folder when it starts: so in a process of its own."""
    code = (
        "import dpsel\n"
        "privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)\n"
        "print(len(dpsel.select_partitions('s3://rows/a/1.parquet', user='u', item='i', "
        "privacy=privacy, max_items_per_user=3)))"
    )
    variables = os.environ | {"POLARS_TEMP_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, check=True)
    assert int(done.stdout) > 3
    assert list(tmp_path.rglob("*")) == []


def test_a_file_that_is_not_there_is_an_error_of_ours():
    with pytest.raises(DataError):
        select("s3://rows/absent.parquet", **COLUMNS)


def test_a_list_of_texts_is_not_sent_anywhere():
    """It may be data: an address in it would go to a server."""
    with pytest.raises(SchemaError, match="are not fetched"):
        select(["s3://rows/a/1.parquet"], **COLUMNS)


def test_without_polars_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(SchemaError, match=r"dpsel\[remote\]"):
        select("s3://rows/a/1.parquet", **COLUMNS)
