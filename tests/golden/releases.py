"""Golden releases: what every mechanism releases from a fixed key, as digests.

A refactoring must not change them. After a change that is meant to, record them again and say so in the
changelog:

    python tests/golden/releases.py --write
    python tests/golden/releases.py --check [--threads N] [--only TEXT]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import pyarrow as pa  # noqa: E402

import dpsel  # noqa: E402
from dpsel.exceptions import DataError, InvalidParameterError  # noqa: E402
from golden import counted, tables  # noqa: E402
from mechanisms import EVERY  # noqa: E402
from top_k_cases import CASES  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from golden.tables import Data

GOLDEN = Path(__file__).parent / "releases.json"
KEY = bytes(range(64, 96))
APPROX = dpsel.ApproxDP(epsilon=3.0, delta=1e-5)
ZCDP = dpsel.ZCDP(rho=0.4, delta=1e-5)
PURE = dpsel.PureDP(epsilon=1.5)


@dataclass(frozen=True)
class Golden:
    """One release: a name, the label of its mechanism, and the call."""

    name: str
    mechanism: str
    call: Callable[[int | None], dpsel.Release | dpsel.TopKRelease]


# ---------------------------------------------------------------------------------------- selections

#: Without weights only, with weights only, or both.
WITHOUT, WITH, BOTH = (False,), (True,), (False, True)

#: Besides those of the lists: default parameters, and the choice of "auto".
MORE_SELECTIONS = {
    "auto": ("auto", BOTH),
    "sips-default": (dpsel.Sips(), BOTH),
    "sips-curve-default": (dpsel.Sips(release="curve"), WITHOUT),
    "steered-default": (dpsel.Steered(), BOTH),
    "steered-reach-default": (dpsel.Steered(reach=3), BOTH),
    "matching-or-default": (dpsel.MatchingOr(), WITHOUT),
    "mad-default": (dpsel.Mad(), WITHOUT),
    "mad2r-default": (dpsel.Mad2R(), WITHOUT),
    "policy_laplace-default": (dpsel.PolicyLaplace(), WITH),
    "policy_gaussian-default": (dpsel.PolicyGaussian(), WITH),
}


def published_greedy() -> dpsel.GreedyFrequency:
    """Return the mechanism without a guarantee, which warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dpsel.GreedyFrequency(calibration="published", alpha=2.5)


def selections() -> Iterator[tuple[str, object, tuple[bool, ...]]]:
    """Yield a label, a mechanism, and whether its releases have weights."""
    for case in EVERY:
        yield str(case), case.mechanism, WITH if case.has_weights else WITHOUT
    for label, (mechanism, weights) in MORE_SELECTIONS.items():
        yield label, mechanism, weights
    yield "greedy-frequency-published", published_greedy(), WITHOUT


def suited(mechanism: Any, data: Data) -> Any:
    """Return the mechanism; a public table becomes one of the items of the data."""
    return mechanism if getattr(mechanism, "prior", None) is None else replace(mechanism, prior=data.prior)


def selection_cases(data: Data) -> Iterator[Golden]:
    """Yield every selection mechanism under every guarantee and bound."""
    for label, listed, has_weights in selections():
        mechanism = suited(listed, data)
        for bound in (1,) if label == "one-item" else data.bounds:
            for guarantee, privacy in (("approx", APPROX), ("zcdp", ZCDP)):
                for weights in has_weights:
                    ending = "-weights" if weights else ""
                    name = f"select/{data.name}/{label}/{guarantee}-{bound}{ending}"
                    options = {"privacy": privacy, "max_items_per_user": bound, "with_weights": weights}
                    yield Golden(name, label, _selection(data, mechanism, options))


def _selection(data: Data, mechanism: object, options: dict) -> Callable[[int | None], dpsel.Release]:
    return lambda threads: dpsel.select_partitions(
        data.source(),
        **data.options,
        **options,
        mechanism=mechanism,
        threads=threads,
        insecure_test_key=KEY,
    )


def counted_cases(data: Data) -> Iterator[Golden]:
    """Yield selections with numbers of users and of rows."""
    for label, mechanism in counted.MECHANISMS.items():
        for guarantee, privacy in (("approx", APPROX), ("zcdp", ZCDP)):
            for wanted, counts in counted.COUNTS.items():
                for public in (None, list(data.public[-3:])):
                    ending = "-public" if public else ""
                    options = {"privacy": privacy, "max_items_per_user": data.bounds[0], "counts": counts}
                    name = f"counted/{data.name}/{label}/{guarantee}-{wanted}{ending}"
                    options |= {"public_items": public} if public else {}
                    yield Golden(name, label, _selection(data, mechanism, options))


# --------------------------------------------------------------------------------------------- top-k

MORE_TOP_K = {
    "auto": "auto",
    "gumbel_peel-paper": dpsel.GumbelPeel(conversion="paper"),
    "limit_domain-default": dpsel.LimitDomain(),
    "discover": dpsel.Discover(),
    "discover-set": dpsel.Discover(share=0.25, ordered=False),
    "select_and_count": dpsel.SelectAndCount(share=0.5, max_counted_items=2),
}

#: Arguments of a call on rows. Not all go with each mechanism; what is refused is no release.
ROW_OPTIONS: dict[str, dict[str, Any]] = {
    "approx": {"privacy": APPROX},
    "pure": {"privacy": PURE},
    "zcdp-swap": {"privacy": ZCDP, "neighbours": "swap"},
    "bounded-zcdp": {"privacy": ZCDP, "max_items_per_user": 3},
    "bounded-counts-pure": {"privacy": APPROX, "max_items_per_user": 4, "counts": PURE},
    "bounded-counts-zcdp": {"privacy": APPROX, "max_items_per_user": 2, "counts": ZCDP},
    "counts-approx": {"privacy": APPROX, "counts": APPROX},
    "swap-counts-zcdp": {"privacy": APPROX, "neighbours": "swap", "counts": ZCDP},
    "counts-free": {"privacy": PURE, "counts": "free"},
}

#: These are enough to see the types of a table.
TYPE_OPTIONS = ("approx", "bounded-counts-pure", "swap-counts-zcdp")

#: Arguments of a call on counts.
COUNT_OPTIONS: dict[str, dict[str, Any]] = {
    "approx": {"privacy": APPROX},
    "pure": {"privacy": PURE},
    "zcdp": {"privacy": ZCDP, "publish_counts": ZCDP},
    "swap": {"privacy": APPROX, "neighbours": "swap", "publish_counts": PURE},
    "any": {"privacy": APPROX, "neighbours": "any", "sensitivity": 3, "publish_counts": APPROX},
    "bounded-free": {"privacy": PURE, "max_items_per_user": 2, "publish_counts": "free"},
    "sized": {"privacy": APPROX, "domain": 1_000},
}


def top_ks() -> dict[str, object]:
    """Return the top-k mechanisms by their labels."""
    return {str(case): case.mechanism for case in CASES} | MORE_TOP_K


def top_k_cases(data: Data) -> Iterator[Golden]:
    """Yield every top-k mechanism with every set of options; without a domain where it finds one."""
    for label, mechanism in top_ks().items():
        for wanted in TYPE_OPTIONS if data.is_about_types else ROW_OPTIONS:
            for domain in _domains(label, mechanism, data):
                for ordered in (True, False) if label == "auto" else (getattr(mechanism, "ordered", True),):
                    k = min(5, getattr(mechanism, "candidates", None) or 5)
                    given = ROW_OPTIONS[wanted] | domain | {"ordered": ordered, "k": k}
                    parts = [wanted, *(["listed"] if domain else []), *([] if ordered else ["set"])]
                    name = f"top_k/{data.name}/{label}/{'-'.join(parts)}"
                    yield Golden(name, label, _top_k(data, mechanism, given))


def _domains(label: str, mechanism: object, data: Data) -> list[dict[str, Any]]:
    listed = {"domain": list(data.public)}
    if label == "auto":
        return [{}, listed]
    return [{}] if mechanism.finds_domain else [listed]


def _top_k(data: Data, mechanism: object, options: dict) -> Callable[[int | None], dpsel.TopKRelease]:
    columns = {name: value for name, value in data.options.items() if name != "ngrams"}
    return lambda threads: dpsel.select_top_k(
        data.source(), **columns, **options, mechanism=mechanism, threads=threads, insecure_test_key=KEY
    )


def count_cases() -> Iterator[Golden]:
    """Yield every top-k mechanism on vectors of counts."""
    for vector, (counts, labels) in tables.vectors().items():
        for label, mechanism in top_ks().items():
            for wanted, options in COUNT_OPTIONS.items():
                for k in (1, 3):
                    call = _from_counts(counts, mechanism, labels | options | {"k": k})
                    yield Golden(f"counts/{vector}/{label}/{wanted}-{k}", label, call)


def _from_counts(counts: object, mechanism: Any, options: dict) -> Callable[[int | None], dpsel.TopKRelease]:
    ordered = getattr(mechanism, "ordered", True)
    return lambda _threads: dpsel.top_k_from_counts(
        counts, **options, ordered=ordered, mechanism=mechanism, insecure_test_key=KEY
    )


# -------------------------------------------------------------------------------------------- digests


def digest(release: dpsel.Release | dpsel.TopKRelease) -> str:
    """Digest items in their order, weights or counts, and Arrow types; the report is left out."""
    try:
        table = release.to_table()
    except TypeError:  # counts came in, so the items are Python values
        form = [[canonical(item) for item in release.items], release.counts]
    else:
        form = canonical_table(table.to_arrow())
    return hashlib.blake2b(json.dumps(form).encode(), digest_size=16).hexdigest()


def canonical_table(table: pa.Table) -> list[list[Any]]:
    """Return name, type and values of each column, the same for any chunks."""
    return [
        [name, str(column.type), [canonical(value) for value in plain(column).to_pylist()]]
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates and times as whole numbers, which no time zone changes."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_temporal(column.type) else column


def canonical(value: object) -> object:
    """Return a value with its Python type as JSON; floats as exact hexadecimals."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    return [type(value).__name__, str(value)]


def made(case: Golden, threads: int | None = None) -> list[Any] | None:
    """Return number of items and digest of a release; nothing if the arguments do not go together."""
    with warnings.catch_warnings():
        # Mechanisms without a guarantee warn; the test is about what they release.
        warnings.simplefilter("ignore")
        try:
            release = case.call(threads)
        except (InvalidParameterError, DataError):
            return None
        return [len(release), digest(release)]


def cases() -> list[Golden]:
    """Return every case."""
    rows = [case for data in tables.every() for one in (selection_cases, top_k_cases) for case in one(data)]
    numbers = [case for data in tables.every() if data.name in counted.DATA for case in counted_cases(data)]
    return rows + list(count_cases()) + numbers


def computed(every: Iterable[Golden], threads: int | None = None) -> dict[str, list[Any]]:
    """Return the releases by name. What is refused has no entry, so a new refusal shows as a missing one."""
    found: dict[str, list[Any]] = {}
    for case in every:
        if case.name in found:
            raise ValueError(f"two golden releases have the name {case.name}")
        if (release := made(case, threads)) is not None:
            found[case.name] = release
    return found


def differences(golden: dict[str, list[Any]], found: dict[str, list[Any]]) -> list[str]:
    """Return a line for each release that is not as recorded."""
    names = sorted(golden.keys() | found.keys())
    return [
        f"{name}: recorded {golden.get(name)}, now {found.get(name)}"
        for name in names
        if golden.get(name) != found.get(name)
    ]


def written(found: dict[str, list[Any]]) -> str:
    """Return the releases as JSON, one a line."""
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def recorded(path: Path = GOLDEN, only: str = "") -> dict[str, list[Any]]:
    """Return the recorded releases with a text in their names."""
    every = json.loads(path.read_text(encoding="utf-8"))
    return {name: release for name, release in every.items() if only in name}


def main(every: Callable[[], Iterable[Golden]] = cases, path: Path = GOLDEN) -> int:
    """Write the releases, or compare them; anything that differs is printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", action="store_true", help="record what is released now")
    group.add_argument("--check", action="store_true", help="compare with what is recorded")
    parser.add_argument("--threads", type=int, help="threads of each call")
    parser.add_argument("--only", default="", help="with --check: the releases with this in their names")
    arguments = parser.parse_args()
    if arguments.write and arguments.only:
        parser.error("--only goes with --check; --write records all releases")
    found = computed((case for case in every() if arguments.only in case.name), arguments.threads)
    if arguments.write:
        path.write_text(written(found), encoding="utf-8")
        print(f"{len(found)} releases written to {path}")
        return 0
    different = differences(recorded(path, arguments.only), found)
    print("\n".join([*different, f"{len(found)} releases, {len(different)} differ"]))
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
