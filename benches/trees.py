"""How many nodes of a tree come out: with lines of descent, without them, and with a call for each level.

    python -m benches.trees

The trees are in the sources of the installed packages and of Python itself, where each file is a user: the
modules that it imports, its chains of attributes such as `path.parent.name`, and the parts of names such as
`max_items_per_user`. *Flat* is a call on lists with all nodes above, closed afterwards. *A call per level*
divides the budget by the composition of zCDP. Medians of five releases; all nodes of the released tree count.
"""

from __future__ import annotations

import ast
import statistics
import sysconfig
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import dpsel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RELEASES, LIMIT = 5, 300
BUDGETS: dict[str, Any] = {
    "epsilon 1": dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
    "epsilon 1.765": dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5),
    "epsilon 6": dpsel.ApproxDP(epsilon=6.0, delta=1e-6),
    "rho 0.1": dpsel.ZCDP(rho=0.1, delta=1e-6),
}


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


SETS: dict[str, Callable[[ast.AST], Iterator[str]]] = {
    "imports": imports,
    "attributes": attributes,
    "names": names,
}


def rows() -> dict[str, pl.DataFrame]:
    """The distinct paths of each file, for each set."""
    found: dict[str, list[tuple[int, str]]] = {name: [] for name in SETS}
    places = sysconfig.get_paths()
    files = sorted({file for name in ("stdlib", "purelib") for file in Path(places[name]).rglob("*.py")})
    for user, file in enumerate(files):
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            continue
        for name, take in SETS.items():
            paths = {path for path in take(tree) if path and path.count(".") < 32}  # noqa: PLR2004 - the limit
            found[name] += [(user, path) for path in paths]
    return {
        name: pl.DataFrame(pairs, schema=["user", "path"], orient="row").sort("path")
        for name, pairs in found.items()
    }


def with_nodes_above(paths: pl.DataFrame) -> pl.DataFrame:
    """A row for each node of each path."""
    parts = pl.col("path").str.split(".")
    levels = paths.with_columns(parts.alias("parts"), pl.int_ranges(1, parts.list.len() + 1).alias("level"))
    nodes = pl.col("parts").list.head(pl.col("level")).list.join(".")
    return levels.explode("level").select("user", nodes.alias("path"), "level").unique()


def closed(found: set[str]) -> set[str]:
    """Nodes with all nodes above them."""
    parts = [path.split(".") for path in found]
    return {".".join(each[:level]) for each in parts for level in range(1, len(each) + 1)}


def released(table: pl.DataFrame, privacy: Any, **options: Any) -> set[str]:
    """The nodes of one release."""
    release = dpsel.select_partitions(
        table, user="user", item="path", privacy=privacy, max_items_per_user=LIMIT,
        mechanism=dpsel.Steered(), **options,
    )  # fmt: skip
    return set(release)


def by_levels(nodes: pl.DataFrame, privacy: dpsel.ZCDP) -> set[str]:
    """A call for each level, with a part of the budget for each."""
    levels = nodes["level"].max()
    part = dpsel.ZCDP(rho=privacy.rho / levels, delta=privacy.delta / levels)
    calls = [released(nodes.filter(pl.col("level") == level), part) for level in range(1, levels + 1)]
    return closed(set().union(*calls))


def median(count: Callable[[], set[str]]) -> str:
    """The median number of nodes, with the range."""
    found = [len(count()) for _ in range(RELEASES)]
    return f"{statistics.median(found):,.0f} [{min(found):,}, {max(found):,}]"


def main() -> None:
    """Print a table."""
    print(
        "| tree (users, nodes) | budget | flat | lines of descent | a call per level |\n|---|---|---|---|---|"
    )
    for name, paths in rows().items():
        nodes = with_nodes_above(paths)
        sizes = f"{nodes['user'].n_unique():,}, {nodes['path'].n_unique():,}"
        for budget, privacy in BUDGETS.items():
            flat = median(lambda nodes=nodes, privacy=privacy: closed(released(nodes, privacy)))
            descent = median(lambda paths=paths, privacy=privacy: released(paths, privacy, levels="."))
            is_zcdp = isinstance(privacy, dpsel.ZCDP)
            apart = median(lambda nodes=nodes, privacy=privacy: by_levels(nodes, privacy)) if is_zcdp else ""
            print(f"| {name} ({sizes}) | {budget} | {flat} | {descent} | {apart} |", flush=True)


if __name__ == "__main__":
    main()
