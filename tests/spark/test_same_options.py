"""Every option gives the same release on Spark as on one machine, bit for bit, and the same report."""

from __future__ import annotations

import importlib.util
import re
import sys
from inspect import signature

import pytest
from spark_support import PRIVACY, arguments, rows, same, same_top_k, table

import dpsel
import dpsel.spark
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError
from dpsel.spark import _dataflow

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def local():
    return table(rows(600, 900))


@pytest.fixture(scope="module")
def frame(spark, local):
    return spark.createDataFrame(local).repartition(3).persist()


def tokens(text: str) -> list[str]:
    return re.split(r"[ .]+", text)


# The workers cannot import this file. What is in it goes along with the function.
tokens.__module__ = "__main__"

LISTS = {"exclude": [0, 3, 5, 10**12], "public_items": [1, 4, 700, -7]}
#: For each keyword that the tests of `test_same_release.py` leave as it is, some values.
OPTIONS = {
    "exclude": [{"exclude": LISTS["exclude"]}, {"exclude": []}],
    "public_items": [LISTS, {"public_items": LISTS["public_items"], "counts": 0.3}],
    "min_users": [{"min_users": 12, "mechanism": dpsel.CountGaussian()}],
    "users_per_group": [{"users_per_group": 3}],
    "max_items_per_user": [
        {"max_items_per_user": dpsel.Quantile(0.8, most=40)},
        {"max_items_per_user": dpsel.Quantile(0.5, most=9), "counts": 0.2, **LISTS},
    ],
    "mechanism": [
        {"mechanism": "auto"},
        {"mechanism": dpsel.ByLength(dpsel.Sips(), dpsel.Steered(rounds=4), size=4, percent=20)},
        {"mechanism": dpsel.ByLength(dpsel.Steered(rounds=3), dpsel.Sips(), size=4, percent=99), **LISTS},
    ],
}
#: Keywords that have their own tests, here or in `test_same_release.py`.
ELSEWHERE = {
    *("user", "item", "privacy", "with_weights", "counts", "ngrams", "tokenizer", "progress"),
    *("num_partitions", "unencrypted", "secret_file", "insecure_test_key"),
}


def test_every_keyword_has_a_case() -> None:
    keywords = set(signature(dpsel.spark.select_partitions).parameters) - {"data"}
    assert keywords == set(OPTIONS) | ELSEWHERE


@pytest.mark.parametrize("given", [given for cases in OPTIONS.values() for given in cases], ids=repr)
def test_options(frame, local, given) -> None:
    given = {"mechanism": dpsel.Steered(rounds=4)} | given
    assert same(frame, local, **given).num_rows > 4
