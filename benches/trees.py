"""How many nodes of a tree come out: with lines of descent, without them, and with a call for each level.

    python -m benches.trees             trees
    python -m benches.trees 3 300       n-grams of up to three words, at most 300 of a user

The trees are in the sources of the installed packages and of Python itself, where each file is a user: the
modules that it imports, its chains of attributes such as `path.parent.name`, and the parts of names such as
`max_items_per_user`. *Flat* is a call on lists with all nodes above, closed afterwards. *A call per level*
divides the budget by the composition of zCDP. Medians of five releases; all nodes of the released tree count.

The texts are docstrings by file, and entries of changelogs and manual pages of the system, where it has some.
*Flat* is a call on lists of n-grams, as it releases them.
"""

from __future__ import annotations

import ast
import gzip
import re
import statistics
import sys
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


def parsed() -> Iterator[ast.AST]:
    """The sources of the installed packages and of Python."""
    places = sysconfig.get_paths()
    for file in sorted({file for name in ("stdlib", "purelib") for file in Path(places[name]).rglob("*.py")}):
        try:
            with warnings.catch_warnings(action="ignore"):
                yield ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            continue


def rows() -> dict[str, pl.DataFrame]:
    """The distinct paths of each file, for each set."""
    found: dict[str, list[tuple[int, str]]] = {name: [] for name in SETS}
    for user, tree in enumerate(parsed()):
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


def docstrings() -> Iterator[list[str]]:
    """The docstrings of each file."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for tree in parsed():
        found = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds))
        yield list(filter(None, found))


def unpacked(folder: str, pattern: str) -> Iterator[str]:
    """The texts of compressed files of the system."""
    for file in sorted(Path("/usr/share", folder).glob(pattern)):
        yield gzip.decompress(file.read_bytes()).decode(errors="replace")


TEXTS: dict[str, Callable[[], Iterator[list[str]]]] = {
    "docstrings": docstrings,
    "changelogs": lambda: (
        [entry] for text in unpacked("doc", "*/changelog*.gz") for entry in re.split(r"(?m)^ -- .*$", text)
    ),
    "manual pages": lambda: (
        [re.sub(r"(?m)^\.\S*|\\\\f.", "", text)] for text in unpacked("man", "man*/*.gz")
    ),
}


def of_texts(most: int, limit: int) -> None:
    """Print a table of n-grams."""
    print("| texts (users) | budget | flat | lines of descent |\n|---|---|---|---|")
    options: dict[str, Any] = {"user": "user", "max_items_per_user": limit, "mechanism": dpsel.Steered()}
    for name, take in TEXTS.items():
        words = [[re.findall(r"[a-z]+", text.lower()) for text in texts] for texts in take()]
        texts = [(user, " ".join(each)) for user, of_user in enumerate(words) for each in of_user]
        grams = {
            (user, " ".join(each[at : at + size]))
            for user, of_user in enumerate(words)
            for each in of_user
            for size in range(1, most + 1)
            for at in range(len(each) - size + 1)
        }
        rows, lists = (
            pl.DataFrame(list(each), schema=["user", "text"], orient="row") for each in (texts, grams)
        )
        for budget, privacy in BUDGETS.items():
            given = {"item": "text", "privacy": privacy, **options}
            flat = median(lambda lists=lists, given=given: set(dpsel.select_partitions(lists, **given)))
            given = {**given, "ngrams": (1, most)}
            descent = median(lambda rows=rows, given=given: set(dpsel.select_partitions(rows, **given)))
            print(f"| {name} ({len(words):,}) | {budget} | {flat} | {descent} |", flush=True)


def main() -> None:
    """Print a table."""
    if sys.argv[1:]:
        of_texts(*map(int, sys.argv[1:]))
        return
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
