"""How many nodes of a tree come out: with `levels=`, without lines of descent, with a call for each level.

    python -m benches.trees FOLDER                       # measures what is missing, prints all
    python -m benches.trees --markdown docs/accuracy.md  # puts the short table into the page

Trees of this machine: modules that each Python file imports, its chains of attributes such as
`path.parent.name`, and the parts of names such as `max_items_per_user`; paths in each Rust source of the
cargo registry; headers that each header of the system includes. Trees of the folder: each `*_paths.parquet`
(`benches.histories`), with the columns `user` and `path` or `item`; and `airports.dat` and `routes.dat` of
OpenFlights: for each airport the countries, cities and airports that one can fly to.

*Flat* is a call on lists with all nodes above. *Leaves* is a call on the paths alone. *By level* has a call
for each level, and the budget divided by the composition of Gaussian mechanisms: rho and delta in equal
parts. It is tuned at no cost: the number of levels with the most nodes counts, and deeper ones are left out.
All answers are closed: nodes above are added. All nodes count.
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
import statistics
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import dpsel
from benches import dpne, tables
from benches.kept import Kept
from benches.texts import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIGURES = Path(__file__).resolve().parent / "trees.csv"
MARK = "<!-- benches.trees -->"
DELTAS = {1.0: 1e-6, 1.765: 4.96e-5, 6.0: 1e-6}
RELEASES, LIMIT, DEEPEST = 3, 300, 32
METHODS = ("levels=", "flat", "leaves", "by level")
#: The budget that the page shows, what it leaves out, and how it names sets.
SHOWN = "1.765"
LEFT_OUT = ("design_paths",)
NAMES = {
    "held_out_paths": "files of five histories",
    "git_paths": "`git_paths`",
}
#: The numbers of levels that calls for each level are tuned over, as long as more nodes come out.
LEVELS = (2, 3, 4, 6, 8, 10, 12)


def imports(tree: ast.AST) -> Iterator[str]:
    """Modules that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")


def attributes(tree: ast.AST) -> Iterator[str]:
    """Chains of attributes."""
    for node in ast.walk(tree):
        parts: list[str] = []
        part: ast.AST = node
        while isinstance(part, ast.Attribute):
            parts.append(part.attr)
            part = part.value
        if parts and isinstance(part, ast.Name):
            yield ".".join([part.id, *reversed(parts)])


def names(tree: ast.AST) -> Iterator[str]:
    """The parts of names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield ".".join(filter(None, node.id.lower().split("_")))


OF_PYTHON: dict[str, Callable[[ast.AST], Iterator[str]]] = {
    "imports": imports,
    "attributes": attributes,
    "names": names,
}
#: Where other sources are, their ends, what a path is in them, and how its parts are separated.
OF_SOURCES = {
    "Rust paths": (Path.home() / ".cargo/registry/src", ".rs", r"\b[A-Za-z]\w*(?:::[A-Za-z]\w*)+", "::"),
    "includes": (Path("/usr/include"), ".h", r"#\s*include\s*[<\"]([\w/.+-]+\w)[>\"]", "/"),
}


@cache
def of_python() -> dict[str, pl.DataFrame]:
    """The trees of Python files; each file is read once for all of them."""
    found: dict[str, list[tuple[int, str]]] = {name: [] for name in OF_PYTHON}
    for user, tree in enumerate(parsed()):
        for name, take in OF_PYTHON.items():
            paths = {path.replace(".", "/") for path in take(tree) if path}
            found[name] += [(user, path) for path in paths]
    return {name: pl.DataFrame(pairs, ["user", "path"], orient="row") for name, pairs in found.items()}


def of_sources(folder: Path, ending: str, pattern: str, separator: str) -> pl.DataFrame:
    """The paths that other sources name, each file as a user."""
    rows = [
        (user, path.replace(separator, "/"))
        for user, file in enumerate(sorted(folder.rglob(f"*{ending}")))
        for path in set(re.findall(pattern, file.read_text(errors="replace")))
    ]
    clean = pl.col("path").str.contains(r"^/|/$|//|\.\./|^\./").not_()
    return pl.DataFrame(rows, ["user", "path"], orient="row").filter(clean)


def routes(folder: Path) -> pl.DataFrame:
    """Country, city and airport of the routes from each airport."""
    with (folder / "airports.dat").open(newline="", encoding="utf-8") as lines:
        places = {
            row[0]: "/".join(part.replace("/", " ") for part in (row[3], row[2], row[1]))
            for row in csv.reader(lines)
        }
    with (folder / "routes.dat").open(newline="", encoding="utf-8") as lines:
        rows = {(row[3], row[5]) for row in csv.reader(lines)}
    found = [(start, places[end]) for start, end in sorted(rows) if end in places and "//" not in places[end]]
    return pl.DataFrame(found, ["user", "path"], orient="row")


def trees(folder: Path) -> dict[str, Callable[[], pl.DataFrame]]:
    """What reads users and paths of each set."""
    found: dict[str, Callable[[], pl.DataFrame]] = {}
    if (folder / "routes.dat").exists():
        found["routes"] = partial(routes, folder)
    files = sorted(folder.glob("*_paths.parquet"), reverse=True)
    found |= {file.stem: partial(pl.read_parquet, file) for file in files}
    found |= {name: partial(of_sources, *where) for name, where in OF_SOURCES.items()}
    return found | {name: partial(lambda name: of_python()[name], name) for name in OF_PYTHON}


def clean(rows: pl.DataFrame) -> pl.DataFrame:
    """Each user and path once, and no path that is too deep."""
    paths = rows.rename({"item": "path"}, strict=False).select("user", "path")
    return paths.filter(pl.col("path").str.count_matches("/") < DEEPEST).unique().sort("user", "path")


def with_nodes_above(paths: pl.DataFrame) -> pl.DataFrame:
    """A row for each node of each path."""
    parts = pl.col("path").str.split("/")
    levels = paths.with_columns(parts.alias("parts"), pl.int_ranges(1, parts.list.len() + 1).alias("level"))
    nodes = pl.col("parts").list.head(pl.col("level")).list.join("/")
    return levels.explode("level").select("user", nodes.alias("path"), "level").unique().sort("user", "path")


def closed(found: set[str]) -> set[str]:
    """Nodes with all nodes above them."""
    parts = [path.split("/") for path in found]
    return {"/".join(each[:level]) for each in parts for level in range(1, len(each) + 1)}


def released(table: pl.DataFrame, privacy: Any, key: int, **options: Any) -> set[str]:
    """The nodes of one release, with all above them."""
    release = dpsel.select_partitions(
        table, user="user", item="path", privacy=privacy, max_items_per_user=LIMIT,
        mechanism=dpsel.Steered(), insecure_test_key=bytes([key]) * 32, **options,
    )  # fmt: skip
    return closed(set(release))


def by_level(nodes: pl.DataFrame, epsilon: float, levels: int, key: int) -> set[str]:
    """A call for each of the upper levels, with a part of the budget for each."""
    rho = 0.5 / dpne.gaussian_scale(epsilon, DELTAS[epsilon] / 2) ** 2
    part = dpsel.ZCDP(rho=rho / levels, delta=DELTAS[epsilon] / 2 / levels)
    calls = [released(nodes.filter(pl.col("level") == at + 1), part, key) for at in range(levels)]
    return set().union(*calls)


def sizes(release: Callable[[int], set[str]]) -> tuple[str]:
    """The number of nodes of each release."""
    return (" ".join(str(len(release(key))) for key in range(1, RELEASES + 1)),)


def measure(figures: Kept, name: str, paths: pl.DataFrame, epsilons: list[float]) -> None:
    """Run what is missing on one set."""
    nodes = with_nodes_above(paths)
    size = (name, nodes["user"].n_unique(), nodes["path"].n_unique())
    deepest = nodes["level"].max()
    for epsilon in epsilons:
        privacy = dpsel.ApproxDP(epsilon=epsilon, delta=DELTAS[epsilon])

        def keep(method: str, release: Callable[[int], set[str]], epsilon: float = epsilon) -> None:
            figures.once((*size, f"{epsilon:g}", method), partial(sizes, release))

        keep("levels=", partial(released, paths, privacy, levels="/"))
        keep("flat", partial(released, nodes, privacy))
        keep("leaves", partial(released, paths, privacy))
        keep("all levels", partial(by_level, nodes, epsilon, deepest))
        best = 0.0
        for levels in sorted({min(levels, deepest) for levels in LEVELS}):
            keep(f"by level, {levels}", partial(by_level, nodes, epsilon, levels))
            found = statistics.fmean(
                figures.values((*size, f"{epsilon:g}", f"by level, {levels}"), "released")
            )
            if found < best:
                break
            best = found


def kept() -> Kept:
    """The file: a line for each tree, budget and method, with the nodes of each release."""
    return Kept(FIGURES, ("tree", "users", "nodes", "epsilon", "method"), ("released",))


def of_all_levels(figures: Kept, case: tuple[str, ...]) -> float:
    """The nodes of `levels=` over those of a call for each level, however deep the tree is."""
    ours, apart = (
        statistics.fmean(figures.values((*case, at), "released")) for at in ("levels=", "all levels")
    )
    return ours / apart


def found_by(figures: Kept, case: tuple[str, ...], method: str) -> list[float]:
    """The nodes of each release; of calls for each level those of the best number of levels."""
    rows = [each for each in figures.found if each[:4] == case and each[4].startswith(method)]
    return max((figures.values(each, "released") for each in rows), key=statistics.fmean)


def cases(figures: Kept) -> list[tuple[str, ...]]:
    """Each tree and budget that was measured with every method."""
    found: dict[tuple[str, ...], set[str]] = {}
    for case in figures.found:
        found.setdefault(case[:4], set()).add(case[4].partition(",")[0])
    return [case for case, methods in found.items() if methods >= set(METHODS)]


def times(figures: Kept, case: tuple[str, ...]) -> float:
    """The nodes of `levels=` over those of calls for each level."""
    ours, apart = (statistics.fmean(found_by(figures, case, method)) for method in (METHODS[0], METHODS[-1]))
    return ours / apart


def every_row(figures: Kept) -> str:
    """Means and ranges of nodes, and how many times those of calls for each level."""
    rows = []
    for case in cases(figures):
        found = [found_by(figures, case, method) for method in METHODS]
        told = [f"{statistics.fmean(each):,.0f} [{min(each):,.0f}, {max(each):,.0f}]" for each in found]
        rows.append((*case, *told, f"{times(figures, case):.2f}"))
    return tables.markdown(("tree", "users", "nodes", "ε", *METHODS, "times by level"), rows)


def markdown(figures: Kept) -> str:
    """The table of the page: one budget, a line for each tree."""
    rows = []
    for case in cases(figures):
        if case[3] == SHOWN and case[0] not in LEFT_OUT:
            found = [statistics.fmean(found_by(figures, case, method)) for method in METHODS]
            name = f"{NAMES.get(case[0], case[0])} ({int(case[1]):,})"
            rows.append((name, *(f"{each:,.0f}" for each in found), f"{times(figures, case):.2f}"))
    return tables.markdown(("tree (users)", "`levels=`", *METHODS[1:], "times"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--epsilons", type=float, nargs="+", choices=DELTAS, default=list(DELTAS))
    parser.add_argument("--markdown", type=Path, help="put the short table after the mark of this page")
    args = parser.parse_args()
    figures, found = kept(), trees(args.folder) if args.folder else {}
    for name in found if args.sets is None else args.sets:
        measure(figures, name, clean(found[name]()), args.epsilons)
    print(every_row(figures))
    print(markdown(figures))
    if args.markdown:
        tables.fill(args.markdown, MARK, markdown(figures))


if __name__ == "__main__":
    main()
