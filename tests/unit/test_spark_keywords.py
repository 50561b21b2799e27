"""Every keyword of one machine is there on Spark, in the same form. This needs no Spark."""

from __future__ import annotations

from inspect import signature

import pytest

import dpsel
import dpsel.spark

#: Keywords of one machine alone, and why.
NOT_ON_SPARK = {
    "threads": "Spark has its own cores",
    "memory_limit": "the memory of executors is a setting of Spark",
    "scratch": "Spark has its own disks",
    "scratch_limit": "as scratch",
    "file_format": "a DataFrame is no file",
}
#: Keywords of Spark alone.
ON_SPARK = {"num_partitions", "unencrypted", "secret_file"}
FUNCTIONS = ("select_partitions", "select_top_k")


def keywords(module: object, name: str) -> dict:
    return {key: each for key, each in signature(getattr(module, name)).parameters.items() if key != "data"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_spark_has_every_keyword(name) -> None:
    here, there = keywords(dpsel, name), keywords(dpsel.spark, name)
    assert set(here) - set(there) == set(NOT_ON_SPARK)
    assert set(there) - set(here) == ON_SPARK


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_keyword_has_the_same_types_the_same_default_and_the_same_place(name) -> None:
    here, there = keywords(dpsel, name), keywords(dpsel.spark, name)
    shared = [key for key in here if key in there]
    assert shared == [key for key in there if key in here]
    for key in shared:
        assert there[key] == here[key]
