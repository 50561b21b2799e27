"""The same key and data give the same release as when the digests were recorded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache

import pyarrow as pa
import pytest

import dpsel
from golden import counted, releases, tables

#: The first two parts of the names: the function that is called, and the data.
GROUPS = [f"{call}/{data.name}/" for data in tables.every() for call in ("select", "top_k")]
GROUPS += [f"counts/{vector}/" for vector in tables.vectors()]
GROUPS += [f"counted/{data}/" for data in counted.DATA]

#: Of these data, one group takes seconds.
LARGE = re.compile("/(quotations|demo_zeta|demo_text|long_lists)/|counted/groups/")
LONG = pytest.mark.long("hundreds of releases")
BY_SIZE = [pytest.param(group, marks=[LONG] if LARGE.search(group) else []) for group in GROUPS]

#: Classes of mechanisms, by the names that they have in reports.
CLASSES = {
    each.name: each
    for each in (getattr(dpsel, name) for name in dpsel.__all__)
    if isinstance(each, type) and isinstance(getattr(each, "name", None), str)
}


@cache
def cases():
    return releases.cases()


@pytest.mark.parametrize("group", BY_SIZE)
def test_releases_are_as_recorded(group):
    found = releases.computed(case for case in cases() if case.name.startswith(group))
    assert releases.differences(releases.recorded(only=group), found) == []


def test_nothing_is_recorded_that_is_not_compared():
    assert [name for name in releases.recorded() if not name.startswith(tuple(GROUPS))] == []


@pytest.mark.parametrize("call", ["select", "top_k"])
def test_each_mechanism_of_the_lists_has_a_release_with_items(call):
    labels = {case.mechanism for case in cases() if case.name.startswith(f"{call}/")}
    filled = {name.split("/")[2] for name, (items, _) in releases.recorded(only=f"{call}/").items() if items}
    assert labels - filled == set()


def test_each_public_mechanism_is_in_the_lists():
    listed = [mechanism for _, mechanism, _ in releases.selections()] + list(releases.top_ks().values())
    assert len(CLASSES) >= 22
    assert set(CLASSES.values()) - {type(mechanism) for mechanism in listed} == set()


@pytest.mark.long("releases of every mechanism")
@pytest.mark.parametrize("threads", [1, 5])
def test_the_number_of_threads_changes_no_release(threads):
    for group in ("/groups/", "/demo_zeta/greedy-frequency/"):
        found = releases.computed((case for case in cases() if group in case.name), threads)
        assert releases.differences(releases.recorded(only=group), found) == []


@pytest.mark.long("a process that makes dozens of releases")
def test_time_zone_locale_and_hash_seed_change_no_release(tmp_path):
    surroundings = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"}
    only = "/timestamp_utc/"
    command = [sys.executable, releases.__file__, "--check", "--only", only]
    child = subprocess.run(
        command, cwd=tmp_path, env=os.environ | surroundings, capture_output=True, text=True, check=False
    )
    expected = len(releases.recorded(only=only))
    assert expected > 50
    assert (child.stdout, child.returncode) == (f"{expected} releases, 0 differ\n", 0), child.stderr


def test_a_changed_a_missing_and_a_new_release_are_differences():
    golden, found = (
        {"same": [1, "a"], "changed": [2, "b"], "missing": [3, "c"]},
        {
            "same": [1, "a"],
            "changed": [2, "x"],
            "new": [4, "d"],
        },
    )
    lines = releases.differences(golden, found)
    assert [line.split(":")[0] for line in lines] == ["changed", "missing", "new"]


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"item": ["b", "a"], "weight": [1.5, 2.0]}),
        pa.table({"item": ["a", "b"], "weight": [1.5, 2.0000000000000004]}),
        pa.table({"item": pa.array(["a", "b"], pa.large_string()), "weight": [1.5, 2.0]}),
        pa.table({"name": ["a", "b"], "weight": [1.5, 2.0]}),
        pa.table({"item": [b"a", b"b"], "weight": [1.5, 2.0]}),
    ],
    ids=["order", "last bit of a weight", "type", "name", "bytes"],
)
def test_the_canonical_form_tells_tables_apart(other):
    table = pa.table({"item": ["a", "b"], "weight": [1.5, 2.0]})
    assert releases.canonical_table(other) != releases.canonical_table(table)
    chunks = pa.concat_tables([table[:1], table[1:]])
    assert releases.canonical_table(chunks) == releases.canonical_table(table)
