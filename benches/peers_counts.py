"""Keys and counts by other libraries and by dpsel, in one budget: the tables of docs/guide/counts.md.

    python -m benches.peers_counts path/to/folder                 all that is missing; needs a package index
    python -m benches.peers_counts path/to/folder --sets imdb     some sets
    python -m benches.peers_counts path/to/folder --without tumult
    python -m benches.peers_counts --page                         only the page, from the figures

Each run is a process of its own, in the environment of its library (`benches.peers_keys` makes them). Its
program is in `benches/key_counts/`. What a run released stays in `bench-data/counts/`, so an interrupted
program goes on where it was. Figures go to `docs/images/peers_counts.json`.

A number is compared with all users of its key: what a library loses by its limit counts as an error, for
every library. Where a file is too large for one of them, all get the same first users, who are in a random
order.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import statistics
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from benches.peers_keys import DATA, ROOT, between, interpreter

PAGE, FIGURES = ROOT / "docs" / "guide" / "counts.md", ROOT / "docs" / "images" / "peers_counts.json"
START, END = "<!-- peers_counts: start -->\n", "<!-- peers_counts: end -->\n"
EPSILON, DELTA, LIMIT = 1.0, 1e-6, 50
#: The limits over which every other mechanism is tuned for the most keys.
LIMITS = (3, 10, 30, 50, 150)
#: Seconds that the runs of one kind may take; limits after that have no figure.
PATIENCE = 1_800

#: Released key -> its number.
Numbers: TypeAlias = dict[str, float]


class Kind(NamedTuple):
    """One way to use a library, and the limits that it runs with."""

    library: str
    kind: str
    title: str
    limits: tuple[int, ...]


class Given(NamedTuple):
    """A data set: its name for people, and how many users everybody gets."""

    title: str
    users: int | None


SETS = {
    "git_paths": Given("files touched by commits", None),
    "git_messages": Given("words of commit messages", 6_000),
    "imdb": Given("words of film reviews", 3_000),
    "wiki_abstracts": Given("words of encyclopedia abstracts", 9_000),
    "deps_authors": Given("packages that recipes need, by author", None),
}
OURS = Kind("dpsel", "counts", "dpsel, `counts=0.2`", LIMITS)
KINDS = (
    OURS,
    Kind("dpsel", "weights", "dpsel, `CountGaussian`", LIMITS),
    Kind("opendp", "gaussian", "OpenDP, Gaussian", LIMITS),
    Kind("opendp", "laplace", "OpenDP, Laplace", (3, LIMIT)),
    Kind("pipelinedp", "gaussian-post", "PipelineDP, Gaussian", LIMITS),
    Kind("pipelinedp", "laplace-post", "PipelineDP, Laplace", (3, LIMIT)),
    Kind("pipelinedp", "laplace-geometric", "PipelineDP, truncated geometric", (3, LIMIT)),
    Kind("tumult", "halves", "Tumult Analytics", (10, LIMIT)),
)


def rows_of(folder: Path, name: str) -> Path:
    """The CSV file of a set, with the users that everybody gets."""
    path = DATA / "counts" / f"{name}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pl.read_parquet(folder / f"{name}.parquet", columns=["user", "item"])
        users = SETS[name].users
        (table if users is None else table.filter(pl.col("user") < users)).unique().write_csv(path)
    return path


def users_of(path: Path) -> Counter[str]:
    """Key -> its number of users."""
    with path.open(newline="", encoding="utf-8") as lines:
        return Counter(row["item"] for row in csv.DictReader(lines))


def runs_of(kind: Kind, name: str, path: Path) -> dict[int, dict[str, Any]]:
    """Limit -> what a library has released, unless it took too long. Runs what is not known."""
    kept = DATA / "counts" / f"{name}-{kind.library}-{kind.kind}.ndjson"
    if not kept.exists():
        program = Path(__file__).parent / "key_counts" / f"{kind.library}_counts.py"
        limits = ",".join(map(str, kind.limits))
        words = [interpreter(kind.library), program, path, EPSILON, DELTA, limits, kind.kind]
        print(name, kind.title, flush=True)
        try:
            done = subprocess.run(
                list(map(str, words)), capture_output=True, text=True, check=False, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired as late:
            written = (late.stdout or b"").decode("utf-8")
        else:
            if done.returncode:
                raise RuntimeError(f"{kind.title} on {name}: {done.stderr.strip().splitlines()[-1:]}")
            written = done.stdout
        kept.write_text("".join(line for line in written.splitlines(keepends=True) if line.startswith("{")))
    runs = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
    return {run["limit"]: run for run in runs}


def quantile(errors: list[tuple[float, float]], at: float) -> float:
    """The quantile of the errors, each with its weight."""
    total, below = sum(weight for _, weight in errors), 0.0
    for error, weight in sorted(errors):
        below += weight
        if below >= at * total:
            return error
    return float("nan")


def errors_of(numbers: Numbers, keys: list[str], true: Counter[str]) -> dict[str, float]:
    """Quantiles of the relative error over keys, plain and weighted by users; medians of parts of the keys.

    The head is the tenth of the keys with the most users, the tail the half with the fewest.
    """
    if not keys:
        return {}
    relative = {key: abs(numbers[key] - true[key]) / true[key] for key in keys}
    by_users = sorted(keys, key=lambda key: (-true[key], key))
    first, last = -(-len(keys) // 10), len(keys) // 2
    parts = {"head": by_users[:first], "middle": by_users[first : len(keys) - last], "tail": by_users[-last:]}
    plain = [(error, 1.0) for error in relative.values()]
    weighted = [(error, float(true[key])) for key, error in relative.items()]
    found = {
        "median": quantile(plain, 0.5),
        "q90": quantile(plain, 0.9),
        "weighted_median": quantile(weighted, 0.5),
        "weighted_q90": quantile(weighted, 0.9),
    } | {part: statistics.median([relative[key] for key in some]) for part, some in parts.items() if some}
    return {name: round(value, 3) for name, value in found.items()}


def beside(theirs: Numbers, ours: Numbers, true: Counter[str]) -> dict[str, Any]:
    """Keys of both, and the errors on those that both release."""
    common = sorted(theirs.keys() & ours.keys())
    return {
        "keys": len(theirs),
        "common": len(common),
        "errors": errors_of(theirs, common, true),
        "ours": errors_of(ours, common, true),
    }


def measured(folder: Path, name: str, without: list[str]) -> dict[str, Any]:
    """The figures of one set, but for some libraries."""
    path = rows_of(folder, name)
    true = users_of(path)
    kinds = [kind for kind in KINDS if kind.library not in without]
    runs = {kind: runs_of(kind, name, path) for kind in kinds}
    all_ours: dict[int, Numbers] = {limit: run["counts"] for limit, run in runs[OURS].items()}
    ours = all_ours[LIMIT]
    found: dict[str, Any] = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "rows": sum(true.values()),
        "keys": len(ours),
        "keys_of_limit": {str(limit): len(numbers) for limit, numbers in all_ours.items()},
        "errors": errors_of(ours, sorted(ours), true),
        "kinds": {},
    }
    for kind in kinds[1:]:
        numbers: dict[int, Numbers] = {limit: run["counts"] for limit, run in runs[kind].items()}
        best = max(numbers, key=lambda limit: len(numbers[limit]), default=LIMIT)
        found["kinds"][kind.title] = {
            "version": next((run["version"] for run in runs[kind].values()), ""),
            "equal": beside(numbers[LIMIT], ours, true) if LIMIT in numbers else None,
            "best_limit": best,
            "best": beside(numbers[best], ours, true) if numbers else None,
            "best_same": beside(numbers[best], all_ours[best], true) if numbers else None,
        }
    return found


def pair(beside: dict[str, Any], name: str) -> str:
    """A figure of both on the common keys: theirs, then ours."""
    if name not in beside["errors"]:
        return "none"
    return f"{beside['errors'][name]:.2f}, {beside['ours'][name]:.2f}"


def best_other(found: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The most keys that another library has at its best limit."""
    others = [
        (title, each) for title, each in found["kinds"].items() if "dpsel" not in title and each["best"]
    ]
    return max(others, key=lambda one: one[1]["best"]["keys"])


def table_of_parts(figures: dict[str, Any]) -> list[str]:
    """Keys beside the best other library, and the errors: with our fixed limit, and with its own."""
    lines = [
        "| set | best other library, its keys | dpsel's keys | times | error | head | middle | tail |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in figures.items():
        title, each = best_other(found)
        limit = each["best_limit"]
        for mine, key in ((LIMIT, "best"), (limit, "best_same"))[: 1 if limit == LIMIT else 2]:
            keys, theirs = found["keys_of_limit"][str(mine)], each[key]["keys"]
            cells = [
                SETS[name].title if mine == LIMIT else "",
                f"{title}, limit {limit}: {theirs:,}" if mine == LIMIT else "",
                f"limit {mine}: {keys:,}",
                f"{keys / max(theirs, 1):.1f}",
                *(pair(each[key], part) for part in ("median", "head", "middle", "tail")),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def tables(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = table_of_parts(figures)
    versions = {
        title.partition(",")[0]: each["version"]
        for found in figures.values()
        for title, each in found["kinds"].items()
        if each["version"]
    }
    named = ", ".join(f"{title} {version}" for title, version in versions.items())
    dates = sorted({found["date"] for found in figures.values()})
    said = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    return "\n".join(
        [*lines, f"*Measured on {said}, one release each: `python -m benches.peers_counts`; {named}.*"]
    )


def filled(page: str, figures: dict[str, Any]) -> str:
    """The page with the tables between its marks."""
    return between(page, (START, END), tables(figures) + "\n")


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where the Parquet files of the sets are")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument(
        "--without", nargs="*", default=[], help="libraries that are left out, such as tumult"
    )
    parser.add_argument("--page", action="store_true", help="only fill in the page, from the figures")
    chosen = parser.parse_args()
    if chosen.folder is None and not chosen.page:
        parser.error("name the folder of the sets, or give --page")
    figures: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for name in () if chosen.page else chosen.sets:
        figures[name] = measured(chosen.folder, name, chosen.without)
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
