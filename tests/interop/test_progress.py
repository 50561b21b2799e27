"""Progress: every phase counts, it never falls, and it is complete once, at the end."""

from __future__ import annotations

import itertools
import time

import pytest

import dpsel
from named_pipes import fed

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
KEY = bytes(range(32))
SHARED = 10


def rows(users):
    return [(user, item) for user in range(users) for item in (*range(SHARED), SHARED + user)]


def csv(path, users):
    path.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in rows(users)))
    return path


def watched(data, mechanism, **arguments):
    """Every call with the time at which it came."""
    calls = []

    def note(done, total):
        calls.append((time.monotonic(), done, total))

    dpsel.select_partitions(
        data,
        user="user",
        item="item",
        privacy=PRIVACY,
        max_items_per_user=20,
        mechanism=mechanism,
        progress=note,
        insecure_test_key=KEY,
        **arguments,
    )
    return calls


def check(calls):
    """Never falling, one total once it is known, and that total reached by the last call alone."""
    done = [done for _, done, _ in calls]
    assert done == sorted(done)
    totals = [total for *_, total in calls]
    assert len(set(totals) - {0}) == 1
    assert totals == sorted(totals)
    assert done[-1] == totals[-1]
    assert all(done < totals[-1] for done in done[:-1])


MECHANISMS = [
    dpsel.WeightedGaussian(),
    dpsel.CountGaussian(),
    dpsel.Steered(),
    dpsel.Sips(),
    dpsel.PolicyGaussian(),
    dpsel.Mad(),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_it_never_falls_and_is_complete_once(tmp_path, mechanism):
    path = csv(tmp_path / "rows.csv", 30_000)
    check(watched(path, mechanism))
    check(watched(iter(rows(30_000)), mechanism, threads=1))
    check(watched(fed(tmp_path / "pipe.csv", path), mechanism))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_time_after_the_reading_counts(tmp_path, threads):
    calls = watched(csv(tmp_path / "rows.csv", 60_000), dpsel.Steered(), threads=threads)
    check(calls)
    phases = calls[-1][2] / (tmp_path / "rows.csv").stat().st_size
    assert phases > 5, "the reading is a small part of the whole"
    # The longest time for which one number stood, over all.
    times = [(start, done) for start, done, _ in calls]
    standing = [list(group) for _, group in itertools.groupby(times, key=lambda call: call[1])]
    starts = [group[0][0] for group in standing]
    longest = max(end - start for start, end in itertools.pairwise(starts))
    assert longest < max(2, 0.5 * (times[-1][0] - times[0][0]))


def test_an_empty_table_is_complete_too(tmp_path):
    (tmp_path / "rows.csv").write_text("user,item\n")
    check(watched(tmp_path / "rows.csv", dpsel.CountGaussian()))
    check(watched(iter([]), dpsel.CountGaussian()))


def test_a_job_that_fails_is_never_complete(tmp_path):
    path = csv(tmp_path / "rows.csv", 30_000)
    with path.open("a") as file:
        file.write(",nobody\n")
    calls = []
    with pytest.raises(dpsel.exceptions.DataError):
        dpsel.select_partitions(
            path,
            user="user",
            item="item",
            privacy=PRIVACY,
            max_items_per_user=20,
            progress=lambda done, total: calls.append((done, total)),
        )
    assert all(done < total for done, total in calls if total)


def test_the_number_of_phases_depends_on_the_request_alone(tmp_path):
    shares = set()
    for users in (10, 30_000):
        path = csv(tmp_path / f"{users}.csv", users)
        shares.add(watched(path, dpsel.Steered())[-1][2] / path.stat().st_size)
    assert len(shares) == 1


def test_a_top_k_counts_its_phases_as_well(tmp_path):
    path = csv(tmp_path / "rows.csv", 30_000)
    for arguments in ({"domain": [str(item) for item in range(SHARED)]}, {"domain": None}):
        calls = []
        dpsel.select_top_k(
            path,
            user="user",
            item="item",
            k=3,
            privacy=PRIVACY,
            max_items_per_user=20,
            progress=lambda done, total, calls=calls: calls.append((0, done, total)),
            **arguments,
        )
        check(calls)
        assert calls[-1][2] >= 3 * path.stat().st_size
