"""Texts and sources of the machine that programs measure on: each file, package or author is a user."""

from __future__ import annotations

import ast
import gzip
import re
import sysconfig
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: What separates sentences; no n-gram crosses it.
SENTENCE = re.compile(r"[.!?](?:\s|$)|\n\s*\n")


#: Of more texts, so many are taken, evenly spread.
MOST_USERS = 6_000


def thinned(users: list[Any], most: int = MOST_USERS) -> list[Any]:
    """At most so many of the users: one in two, in three and so on."""
    return users[:: -(-len(users) // most) or 1]


def parsed(*, thin: bool = False) -> Iterator[ast.AST]:
    """The sources of the installed packages and of Python."""
    places = sysconfig.get_paths()
    files = sorted({file for name in ("stdlib", "purelib") for file in Path(places[name]).rglob("*.py")})
    for file in thinned(files) if thin else files:
        try:
            with warnings.catch_warnings(action="ignore"):
                yield ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            continue


def docstrings() -> Iterator[list[str]]:
    """The docstrings of each file."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for tree in parsed(thin=True):
        found = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds))
        yield list(filter(None, found))


def unpacked(folder: str, pattern: str) -> Iterator[str]:
    """The texts of compressed files of the system."""
    for file in sorted(Path("/usr/share", folder).glob(pattern)):
        yield gzip.decompress(file.read_bytes()).decode(errors="replace")


def changelogs() -> Iterator[list[str]]:
    """The different entries of the changelogs of Debian packages, each as a user."""
    texts = unpacked("doc", "*/changelog*.gz")
    yield from (
        [entry] for entry in dict.fromkeys(e for text in texts for e in re.split(r"(?m)^ -- .*$", text))
    )


def manual_pages() -> Iterator[list[str]]:
    """Manual pages of the system, without their marks."""
    for text in thinned(list(unpacked("man", "man*/*.gz"))):
        yield [re.sub(r"(?m)^\.\S*|\\f.", "", text)]


def comments() -> Iterator[list[str]]:
    """The comments of each Rust source of the cargo registry."""
    for file in sorted((Path.home() / ".cargo/registry/src").rglob("*.rs")):
        yield ["\n".join(re.findall(r"//[/!]?(.*)", file.read_text(errors="replace")))]


def messages(file: Path) -> Iterator[list[str]]:
    """The messages of each author, from a file that `benches.histories` made."""
    grouped = pl.read_parquet(file).group_by("user", maintain_order=True).agg("text")
    yield from thinned(grouped["text"].to_list())


def of_machine() -> dict[str, Callable[[], Iterator[list[str]]]]:
    """The texts of each set that any machine may have."""
    return {"docstrings": docstrings, "changelogs": changelogs, "manual pages": manual_pages}


def sentences(users: Iterable[list[str]], most_words: int) -> list[list[list[str]]]:
    """The words of each sentence of each user, up to so many words of a user, and the users that have any."""
    found = []
    for texts in users:
        left, kept = most_words, []
        for text in texts:
            for sentence in SENTENCE.split(text):
                words = re.findall(r"[a-z]+", sentence.lower())[:left]
                left -= len(words)
                kept += [words] if words else []
        if kept:
            found.append(kept)
    return found
