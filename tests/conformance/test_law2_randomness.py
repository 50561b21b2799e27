"""Law 2: all randomness is a keyed PRF with a fresh key per release, and the key stays inside."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given

import dpsel
from mechanisms import MECHANISMS
from strategies import keys, rows
from support import KEY, items_of, released, report_of, select, table, units_of
from weak import WEAK

pytestmark = WEAK

CASE = next(case for case in MECHANISMS if case.name == "sips")
#: Nearly everything is released, so the noise of every item can be seen.
LOOSE = dpsel.ApproxDP(epsilon=2.0, delta=0.9)
ROWS = [(u, i) for u in range(30) for i in range(20)]
#: Curves show their randomness in which items are released: so many that are neither rare nor frequent.
EVEN = dpsel.ApproxDP(epsilon=1.0, delta=0.01)
SPREAD = [(20 * i + n, i) for i in range(400) for n in range(i % 20)]


def _release(case, *, key=None, data=None):
    return select(
        data if data is not None else table(ROWS if case.has_weights else SPREAD),
        privacy=LOOSE if case.has_weights else EVEN,
        max_items_per_user=case.bound(20),
        mechanism=case.mechanism,
        with_weights=case.has_weights,
        key=key,
    )


def _drawn(release) -> dict:
    """What shows the noise: the noisy weights, or else which items were released."""
    has_weights = "weight" in released(release).column_names
    return units_of(release) if has_weights else dict.fromkeys(items_of(release))


def test_two_releases_have_different_noise_and_commitments(case) -> None:
    first, second = _release(case), _release(case)
    assert released(first).num_rows
    assert _drawn(first) != _drawn(second)
    assert report_of(first)["key"]["commitment"] != report_of(second)["key"]["commitment"]
    assert not report_of(first)["key"]["insecure_test_key"]


def test_the_same_key_gives_the_same_bits_and_is_stamped(case) -> None:
    first, second = _release(case, key=KEY), _release(case, key=KEY)
    assert released(first).equals(released(second))
    assert report_of(first) == report_of(second)
    assert report_of(first)["key"]["insecure_test_key"]
    assert _drawn(_release(case, key=bytes(32))) != _drawn(first)


def _child(case, queue) -> None:
    queue.put((report_of(_release(case))["key"]["commitment"], sorted(_drawn(_release(case)).items())))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes_draw_different_keys() -> None:
    case = CASE
    _release(case)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=_child, args=(case, queue)) for _ in range(3)]
    for child in children:
        child.start()
    results = [queue.get() for _ in children]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    results.append((report_of(_release(case))["key"]["commitment"], sorted(_drawn(_release(case)).items())))
    commitments, noises = zip(*results, strict=True)
    assert len(set(commitments)) == 4
    assert len(set(map(str, noises))) == 4


def test_threads_draw_different_keys() -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: _release(CASE), range(16)))
    assert len({report_of(release)["key"]["commitment"] for release in found}) == 16
    assert len({str(sorted(_drawn(release).items())) for release in found}) == 16


def _traces(key: bytes) -> list[bytes]:
    words = [key.hex(), key.hex().upper(), repr(key)[2:-1], str(list(key))[1:-1], repr(list(key))]
    return [key, *(word.encode() for word in words)]


def test_the_key_is_in_no_text_and_no_pickle(case, caplog, capfd) -> None:
    key = b"\x91\xe2" * 16
    with caplog.at_level(logging.DEBUG):
        release = _release(case, key=key)
    out, err = capfd.readouterr()
    texts = [repr(release), str(release), release.report.to_json(), repr(release.report), str(release.report)]
    texts += [caplog.text, out, err, getattr(release, "_repr_html_", str)() or ""]
    blobs = [text.encode() for text in texts] + [pickle.dumps(release)]
    for trace in _traces(key):
        assert not any(trace in blob for blob in blobs)


def test_a_bad_key_is_refused_without_being_shown() -> None:
    for key in (b"", b"\x91" * 31, b"\x91" * 33, "\x91" * 32):
        with pytest.raises((dpsel.DpselError, ValueError, TypeError)) as caught:
            _release(CASE, key=key)
        assert "32" in str(caught.value)
        assert "\\x91" not in str(caught.value)
        assert "\x91" not in str(caught.value)


@given(rows=rows(), key=keys)
def test_an_items_noise_depends_on_the_key_and_the_item_alone(case, rows, key) -> None:
    """A user who holds none of the other items leaves their noisy weights alone, in every round."""
    base = _release(case, key=key, data=table(rows))
    more = _release(case, key=key, data=table(rows + [(999, 500 + i) for i in range(9)]))
    after = _drawn(more)
    assert {item: w for item, w in after.items() if item < 500} == _drawn(base)


def test_no_global_generator_is_touched() -> None:
    import random

    before = random.getstate()
    _release(CASE)
    assert random.getstate() == before
    if "numpy" in sys.modules:
        import numpy as np

        state = np.random.get_state()[1].tolist()  # noqa: NPY002
        _release(CASE)
        assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
