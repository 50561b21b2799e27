"""dpsel itself, by its Python interface."""

from __future__ import annotations

from benches.parameters import DELTA, EPSILON, MAX_ITEMS_PER_USER, RATIO, RHO, ROUNDS
from benches.peers import _harness


def prepare(args):
    import dpsel

    # The import is not part of the job, and dpsel imports its parts when they are first named.
    _ = dpsel.select_partitions, dpsel.ZCDP
    zcdp, approximate = dpsel.ZCDP(rho=RHO, delta=DELTA), dpsel.ApproxDP(epsilon=EPSILON, delta=DELTA)
    mechanisms = {
        "sips": (zcdp, dpsel.Sips(rounds=ROUNDS, ratio=RATIO)),
        "steered": (zcdp, dpsel.Steered()),
        "auto": (zcdp, "auto"),
        "weighted": (zcdp, dpsel.WeightedGaussian()),
        "greedy": (approximate, dpsel.UnitGreedy()),
        "matching": (approximate, dpsel.Matching()),
        "screening": (approximate, dpsel.Matching(screening=True)),
    }
    return args.threads, *mechanisms[args.mechanism]


def job(path: str, prepared) -> int:
    import dpsel

    threads, privacy, mechanism = prepared
    release = dpsel.select_partitions(
        path,
        user="user",
        item="item",
        privacy=privacy,
        max_items_per_user=MAX_ITEMS_PER_USER,
        mechanism=mechanism,
        threads=threads,
    )
    return len(release)


def end() -> None:
    from dpsel import _core

    # A job frees its memory after it has answered.
    _core.await_ending()


if __name__ == "__main__":
    _harness.run(
        job,
        prepare,
        end,
        mechanism=("sips", "steered", "auto", "weighted", "greedy", "matching", "screening"),
    )
