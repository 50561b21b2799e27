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
    from collections.abc import Iterator

#: Lines that name persons or other commits.
TRAILER = re.compile(
    r"(?im)^\s*(?:[a-z]+-)*(?:by|id|cc|see|refs?|fixe[sd]|closes):.*$|^\s*\(cherry picked.*$"
)
ADDRESS = re.compile(r"https?://\S+|\S+@\S+")
RECORD, FIELD = "\x1e", "\x1f"


def commits(repository: Path, *options: str) -> Iterator[tuple[str, str]]:
    """The author and the rest of each record of the log."""
    log = ["git", "-C", str(repository), "-c", "core.quotePath=off", "log", "--no-merges", *options]
    text = subprocess.run(log, check=True, capture_output=True).stdout.decode(errors="replace")
    for record in text.split(RECORD)[1:]:
        author, _, rest = record.partition(FIELD)
        if "bot" not in author.lower():
            yield author.strip().lower(), rest


def messages(repository: Path) -> Iterator[tuple[str, str]]:
    """The message of each commit."""
    for author, text in commits(repository, f"--format={RECORD}%ae{FIELD}%B"):
        yield author, ADDRESS.sub(" ", TRAILER.sub(" ", text))


def paths(repository: Path) -> Iterator[tuple[str, str]]:
    """Each file of each commit, behind the name of the repository."""
    name = repository.name.removesuffix(".git")
    for author, text in commits(repository, f"--format={RECORD}%ae{FIELD}", "--name-only", "--no-renames"):
        for line in filter(None, text.split("\n")):
            yield author, f"{name}/{line}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("repositories", type=Path, nargs="+")
    args = parser.parse_args()
    texts = [row for each in args.repositories for row in messages(each)]
    files = [row for each in args.repositories for row in dict.fromkeys(paths(each))]
    authors = sorted({author for author, _ in texts + files})
    random.Random(1).shuffle(authors)  # noqa: S311 - an order that says nothing
    number = {author: user for user, author in enumerate(authors)}
    for kind, column, rows in (("messages", "text", texts), ("paths", "path", files)):
        table = pl.DataFrame(
            [(number[author], value) for author, value in rows],
            schema={"user": pl.UInt32, column: pl.String},
            orient="row",
        )
        table.sort("user", maintain_order=True).write_parquet(args.folder / f"{args.name}_{kind}.parquet")


if __name__ == "__main__":
    main()
