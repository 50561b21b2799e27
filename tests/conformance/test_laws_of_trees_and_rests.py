"""Laws 1, 2, 4, 5 and 6 for trees and rests, with every mechanism.

Law 3 is in `test_descent.py` (closed lists, Lemma 1' by replay) and in `test_rest.py` (one user moves one
number).
"""

from __future__ import annotations

import dataclasses
import logging
import pickle
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from reference import descent
from strategies import keys, max_items
from support import released, report_of, select, table
from weak import WEAK

pytestmark = WEAK

#: So much budget that nodes of few users come out.
PRIVACY = dpsel.ApproxDP(epsilon=5.0, delta=0.05)
#: And so little that those of one user do not.
STRONG = dpsel.ApproxDP(epsilon=5.0, delta=1e-6)
PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)
ROWS = st.lists(st.tuples(st.integers(0, 30), PATHS), min_size=1, max_size=60)
SECRETS = [f"unselected {i}/secret number {i:04}" for i in range(200)]
HELD = ["published", "published/node one", "published/node two"]


def asked(case, privacy: dpsel.ApproxDP = PRIVACY, bound: int = 4, **more) -> dict:
    """The arguments of a call; public tables of preferences hold texts, and only a look refuses trees."""
    mechanism = case.mechanism
    if case.prior is not None:
        mechanism = dataclasses.replace(mechanism, prior=dict.fromkeys(HELD, 1))
    tree = {} if isinstance(mechanism, dpsel.MatchingOr) else {"levels": "/"}
    limit = {"max_items_per_user": case.bound(bound), "mechanism": mechanism}
    return {"privacy": privacy, "rest": 0.1, "counts": 0.2} | limit | tree | more


def rows_of(rows) -> pa.Table:
    return table(rows, item_type=pa.string())


def all_of(release) -> tuple:
    """What leaves with a release, in a form that can be compared."""
    return released(release).to_pydict(), report_of(release), str(release), str(release.with_rest())


def many() -> pa.Table:
    """All users hold the published nodes, and half of them a secret one."""
    return rows_of([*((user, node) for user in range(400) for node in HELD[1:]), *enumerate(SECRETS)])


@pytest.mark.long("many tables for every mechanism")
@given(rows=ROWS, key=keys, bound=max_items, seed=st.integers(0, 99))
def test_law_1_order_chunks_and_threads_do_not_matter(case, rows, key, bound, seed) -> None:
    arguments = asked(case, bound=bound, key=key)
    expected = all_of(select(rows_of(rows), **arguments))
    shuffled = random.Random(seed).sample(rows, len(rows))
    parts = pa.concat_tables([rows_of(shuffled[:7]), rows_of(shuffled[7:])])
    assert all_of(select(parts, threads=3, **arguments)) == expected


def test_law_2_fresh_keys_that_no_form_shows(case, caplog, capfd) -> None:
    arguments, key = asked(case), b"\x91\xe2" * 16
    found = [select(many(), **arguments, key=None) for _ in range(4)]
    assert len({report_of(release)["key"]["commitment"] for release in found}) == 4
    assert len({release.rest.users for release in found}) > 1
    with caplog.at_level(logging.DEBUG):
        release, again = (select(many(), **arguments, key=key) for _ in range(2))
    assert all_of(release) == all_of(again)
    ends = [release, release.with_rest(), release.rest, release.report, release.report.to_json()]
    forms = [text.encode() for text in (*map(str, ends), caplog.text, *capfd.readouterr())]
    forms.append(pickle.dumps(release))
    for trace in (key, key.hex().encode(), repr(key)[2:-1].encode()):
        assert not any(trace in form for form in forms)


@pytest.mark.long("many tables for every mechanism")
@given(rows=ROWS, bound=max_items)
def test_laws_4_and_5_closed_sorted_and_only_what_is_held(case, rows, bound) -> None:
    arguments = asked(case, bound=bound)
    found = list(select(rows_of(rows), **arguments))
    assert found == sorted(set(found))
    if "levels" in arguments:
        nodes = {node for _, path in rows for _, node in descent.Tree().of_row(path)}
        assert set(found) <= nodes
        assert all(node.rpartition("/")[0] in {"", *found} for node in found)


def test_law_4_the_decisions_are_those_of_flat_items(case) -> None:
    """Nodes that stand above others change neither noise nor thresholds."""
    arguments = asked(case)
    tree = report_of(select(rows_of([]), **arguments))
    arguments.pop("levels", None)
    flat = report_of(select(rows_of([]), **arguments))
    for report in (tree, flat):
        report["calibration"].pop("descent", None)
    assert all(tree[name] == flat[name] for name in ("calibration", "guarantee", "cost"))


def test_law_5_no_unselected_node_in_any_form(case) -> None:
    release = select(many(), **asked(case, STRONG))
    assert list(release)
    assert set(release) <= set(HELD)
    ends = [release.with_rest(), release.items, release.rest, release.report.to_json(), release.coverage]
    forms = [*(str(end).encode() for end in ends), pickle.dumps(release), release._repr_html_().encode()]
    chunks = [chunk for column in released(release).columns for chunk in column.chunks]
    forms += [buffer.to_pybytes() for chunk in chunks for buffer in chunk.buffers() if buffer]
    assert not any(b"secret number" in form or b"unselected" in form for form in forms)


@pytest.mark.long("many tables for every mechanism")
@given(rows=ROWS)
def test_law_5_the_report_does_not_depend_on_the_data(case, rows) -> None:
    """But for the noisy numbers of the rest, and those of a look."""
    full, empty = (report_of(select(rows_of(data), **asked(case))) for data in (rows, []))
    for report in (full, empty):
        del report["rest"], report["fingerprint"]
        if report.pop("look", None):
            report.pop("calibration")
    assert full == empty


def test_law_6_the_guarantee_is_that_of_the_call_and_is_derived_again(case) -> None:
    release = select(many(), **asked(case), key=None)
    assert report_of(release)["cost"]["total"] == PRIVACY.to_json()
    assert dpsel.check(release.report).ok
