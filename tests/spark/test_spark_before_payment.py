"""What needs no row is refused before a budget pays, in words of ours."""

from __future__ import annotations

import os

import pytest

import dpsel
import dpsel.spark
from dpsel.exceptions import DataError, DpselError, SchemaError
from dpsel.spark._errors import own_errors

pytestmark = pytest.mark.spark

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
CALLS = {
    "select": lambda frame, paid, **more: dpsel.spark.select_partitions(
        frame, user="user", item="item", privacy=paid, max_items_per_user=1, **more
    ),
    "top-k": lambda frame, paid, **more: dpsel.spark.select_top_k(
        frame, user="user", item="item", privacy=paid, k=1, domain=["tea"], **more
    ),
}


def short(folder):
    (folder / "short").write_bytes(b"x" * 31)
    return folder / "short"


def long(folder):
    (folder / "long").write_bytes(b"x" * (2**20 + 1))
    return folder / "long"


def pipe(folder):
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


SECRETS = {
    "missing": lambda folder: folder / "missing",
    "short": short,
    "long": long,
    "folder": lambda folder: folder,
    "pipe": pipe,
    "device": lambda _: "/dev/zero",
    "number": lambda _: 7,
    "zero byte": lambda _: "a\0b",
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_file_is_read_on_the_driver_first(spark, tmp_path, call, secret):
    frame = spark.createDataFrame([(1, "tea")], "user long, item string")
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=2.0, delta=1e-5))
    with pytest.raises(DpselError) as raised:
        CALLS[call](frame, budget.on_use(PRIVACY), secret_file=SECRETS[secret](tmp_path))
    assert "Spark failed" not in str(raised.value)
    assert budget.spent == ()


@pytest.mark.parametrize("call", CALLS)
def test_names_that_differ_only_in_case_are_refused(spark, call):
    frame = spark.createDataFrame([(1, "tea", "gin")], "user long, item string, ITEM string")
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=2.0, delta=1e-5))
    release = dpsel.select_partitions(
        [(user, "tea") for user in range(500)], item="item", privacy=PRIVACY, max_items_per_user=1
    )
    for use in (lambda: CALLS[call](frame, budget.on_use(PRIVACY)), lambda: release.filter(frame)):
        with pytest.raises(SchemaError, match="differ only in case, so Spark cannot tell them apart; rename"):
            use()
    assert budget.spent == ()


class _Stopped:
    """As PySpark leaves a context that was stopped."""

    _jsc = None


def test_a_stopped_session_is_refused():
    from dpsel.spark._frames import _refuse_stopped

    with pytest.raises(DataError, match="session of the table was stopped; make the table again"):
        _refuse_stopped(_Stopped())


@pytest.mark.parametrize("module", ["dpsel", "dpsel.spark._worker", "pyarrow"])
def test_a_package_that_workers_lack_is_named(module):
    @own_errors
    def fails():
        raise RuntimeError(
            f"Traceback\n  File x\nModuleNotFoundError: No module named '{module}'\n\n\tat org"
        )

    with pytest.raises(DataError, match=f"has no package '{module[:5]}.*'; install it .*PYSPARK_PYTHON"):
        fails()


def test_a_module_of_the_caller_is_not_named():
    @own_errors
    def fails():
        raise RuntimeError("ModuleNotFoundError: No module named 'their_secret'")

    with pytest.raises(DataError, match="it raised RuntimeError") as raised:
        fails()
    assert "their_secret" not in str(raised.value)
