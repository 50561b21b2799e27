"""Makes data of git histories: what each author wrote, and which files each author changed.

    python -m benches.histories FOLDER NAME REPOSITORIES...

writes `NAME_messages.parquet` with the columns `user` and `text`, a row for each commit without merges, and
`NAME_paths.parquet` with `user` and `path`, a row for each author and file. Paths begin with the name of the
repository. An author is an address, over all the repositories; addresses with *bot* are left out. Users are
numbers in no order of the addresses, which are not kept. Of messages the trailers, addresses of persons and
pages are left out.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Lines that name persons or other commits.
TRAILER = re.compile(
    r"(?im)^\s*(?:[a-z]+-)*(?:by|id|cc|see|refs?|fixe[sd]|closes):.*$|^\s*\(cherry picked.*$"
)
ADDRESS = re.compile(r"https?://\S+|\S+@\S+")
WORD = re.compile(r"[a-z]+")
RECORD, FIELD = "\x1e", "\x1f"


#: The spans that stand for weeks, and how long all of them are together, in seconds.
WEEKS, STREAM = 52, 13 * 365 * 86_400


def commits(repository: Path, *options: str) -> Iterator[tuple[str, int, str]]:
    """The author, the time in seconds and the rest of each record of the log."""
    log = ["git", "-C", str(repository), "-c", "core.quotePath=off", "log", "--no-merges", *options]
    text = subprocess.run(log, check=True, capture_output=True).stdout.decode(errors="replace")
    for record in text.split(RECORD)[1:]:
        author, moment, rest = record.split(FIELD, 2)
        if "bot" not in author.lower():
            yield author.strip().lower(), int(moment), rest


def messages(repository: Path) -> Iterator[tuple[str, int, str]]:
    """The message of each commit."""
    for author, moment, text in commits(repository, f"--format={RECORD}%ae{FIELD}%ct{FIELD}%B"):
        yield author, moment, ADDRESS.sub(" ", TRAILER.sub(" ", text))


def paths(repository: Path) -> Iterator[tuple[str, int, str]]:
    """Each file of each commit, behind the name of the repository."""
    name, record = repository.name.removesuffix(".git"), f"--format={RECORD}%ae{FIELD}%ct{FIELD}"
    for author, moment, text in commits(repository, record, "--name-only", "--no-renames"):
        for line in filter(None, text.split("\n")):
            yield author, moment, f"{name}/{line}"


def weekly(rows: Iterable[tuple[int, int, str]], end: int) -> pl.DataFrame:
    """A stream of users, times and items, of which the first time counts."""
    table = pl.DataFrame(rows, schema={"user": pl.UInt32, "time": pl.Int64, "item": pl.String}, orient="row")
    begin = end - STREAM
    first = table.group_by("user", "item").agg(pl.col("time").min()).filter(pl.col("time") >= begin)
    week = ((pl.col("time") - begin) * WEEKS // (STREAM + 1)).alias("week")
    return first.select("user", "item", week).sort("user", "week", "item")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("repositories", type=Path, nargs="+")
    args = parser.parse_args()
    texts = [row for each in args.repositories for row in messages(each)]
    files = [row for each in args.repositories for row in paths(each)]
    authors = sorted({author for author, _, _ in texts + files})
    random.Random(1).shuffle(authors)  # noqa: S311 - an order that says nothing
    number = {author: user for user, author in enumerate(authors)}
    by_author = {
        "messages": ("text", [(number[author], text) for author, _, text in texts]),
        "paths": ("path", list(dict.fromkeys((number[author], path) for author, _, path in files))),
    }
    for kind, (column, rows) in by_author.items():
        table = pl.DataFrame(rows, schema={"user": pl.UInt32, column: pl.String}, orient="row")
        table.sort("user", maintain_order=True).write_parquet(args.folder / f"{args.name}_{kind}.parquet")
    end = max(moment for _, moment, _ in texts)
    words = [
        (number[author], moment, word)
        for author, moment, text in texts
        for word in set(WORD.findall(text.lower()))
    ]
    streams = {"words": words, "paths": [(number[author], moment, path) for author, moment, path in files]}
    for kind, stream in streams.items():
        weekly(stream, end).write_parquet(args.folder / f"{args.name}_weekly_{kind}.parquet")


if __name__ == "__main__":
    main()
