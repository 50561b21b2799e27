"""Public data sets of short lists that had no part in the development, built from where they are published.

    python -m benches.short_lists CLONES OUT --wordnet /usr/share/wordnet

`CLONES` has clones of the repositories named below, which are made if they are missing. `OUT` gets one
Parquet file for each set, with the columns `user` and `item` and one row for each user and item. The glosses
are of the Debian package `wordnet-base`; without its folder there are none.

They are a check: nothing was chosen by them. `python -m benches.auto OUT --bars` measures them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Lists = Iterable[Iterable[str]]

#: Of words in glosses, and of the parts of a character.
WORD, PART = re.compile(r"[a-z][a-z'-]*"), re.compile(r"\[[^]]*\]|[\u2ff0-\u2fff]")


@dataclass(frozen=True)
class Source:
    """A repository at a commit, the files that are read there, and what makes lists of their contents."""

    repository: str
    commit: str
    paths: tuple[str, ...]
    lists: Callable[..., Lists]

    def read(self, clones: Path) -> Lists:
        clone = clones / self.repository.rsplit("/", 1)[1]
        if not clone.exists():
            git("clone", "--no-checkout", f"https://github.com/{self.repository}", str(clone))
        shown = [git("-C", str(clone), "show", f"{self.commit}:{path}") for path in self.paths]
        return self.lists(*shown)


def git(*arguments: str) -> bytes:
    program = shutil.which("git") or "git"
    return subprocess.run([program, *arguments], check=True, capture_output=True).stdout


def text(content: bytes) -> list[str]:
    return content.decode(errors="replace").splitlines()


def after_number(content: bytes) -> Lists:
    """Lines of a user's number and its items."""
    return (line.split()[1:] for line in text(content))


def coloured(content: bytes) -> Lists:
    """Lines of items with commas, and a class after a blank."""
    return (line.split()[0].split(",") for line in text(content))


def attributes(content: bytes) -> Lists:
    return ([str(each) for each in one] for one in json.loads(content).values())


def herbs(*contents: bytes) -> Lists:
    """Symptoms, a tab and herbs: the herbs of each prescription."""
    return (line.split("\t")[1].split() for content in contents for line in text(content))


def simplices(sizes: bytes, items: bytes) -> Iterator[list[str]]:
    """One file of the lengths of all lists, and one of all items."""
    rest = iter(gzip.decompress(items).decode().split())
    return ([*islice(rest, int(size))] for size in gzip.decompress(sizes).split())


def parts(content: bytes) -> Lists:
    """The parts of each character that is not its own only part."""
    for line in text(content):
        fields = line.split("\t")
        if line.startswith("U+") and (found := [*PART.sub("", fields[2])]) != [fields[1]]:
            yield found


def destinations(content: bytes) -> Lists:
    return turned((row[2], row[4]) for row in csv.reader(text(content)))


def genes(content: bytes) -> Lists:
    """Lines of a name, a number or nothing, and genes: the names of each gene."""
    lines = (re.split(r"[\t,]", line) for line in text(content))
    return turned((gene, line[0]) for line in lines for gene in line[2:] if gene)


def terms(content: bytes) -> Lists:
    """Lines of a term in which a comma stands before the genes, which tabs part."""
    lines = (line.rsplit(",", 1) for line in text(content) if "," in line)
    return turned((gene, term) for term, found in lines for gene in found.split("\t") if gene)


def visits(content: bytes) -> Iterator[list[str]]:
    """A line of C for each visitor, and then one of V for each page."""
    pages: list[str] = []
    for line in text(content):
        kind, _, rest = line.partition(",")
        if kind == "C":
            yield pages
            pages = []
        elif kind == "V":
            pages.append(rest.split(",")[0])
    yield pages


def turned(pairs: Iterable[tuple[str, str]]) -> Lists:
    found: dict[str, list[str]] = {}
    for user, item in pairs:
        found.setdefault(user, []).append(item)
    return found.values()


def glosses(folder: Path) -> Iterator[list[str]]:
    """The words of the definition of each sense."""
    for file in sorted(folder.glob("data.*")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if not line.startswith("  "):
                yield WORD.findall(line.partition(" | ")[2].split(';  "')[0].split('; "')[0].lower())


COLOURED = ("nveldt/CategoricalEdgeClustering", "e7363d884070ffedf540ebaa4077843b25929a93")
REVIEWS = ("RUCAIBox/CIKM2020-S3Rec", "2a81540ae18615d88ef88227b0c066e5b74781e5")
SIMPLICES = ("arbenson/ScHoLP-Data", "c830836d89870e41c665bfbac60adac42c766970")
SOURCES = {
    # Airports, and where one can fly from there.
    "airports": Source(
        "jpatokal/openflights",
        "5a0360255a5a2ff2b9f1e9cb199716da68a8a33f",
        ("data/routes.dat",),
        destinations,
    ),
    # Buyers and the cosmetics that they reviewed.
    "beauty": Source(*REVIEWS, ("data/Beauty.txt",), after_number),
    # Bills, and who sponsors them.
    "bills": Source(
        *SIMPLICES,
        (
            "congress-bills/congress-bills-nverts.txt.gz",
            "congress-bills/congress-bills-simplices.txt.gz",
        ),
        simplices,
    ),
    # Places and the categories they are in.
    "categories": Source(*REVIEWS, ("data/Yelp_item2attributes.json",), attributes),
    # Characters and their parts.
    "characters": Source("cjkvi/cjkvi-ids", "86b4d16159f0079437870408f0ca186e529015db", ("ids.txt",), parts),
    # Visits of an emergency room, and the drugs that a patient took.
    "drugs": Source(*COLOURED, ("data/DAWN/colored-DAWN.txt",), coloured),
    # Genes and the biological processes they are part of.
    "gene_terms": Source(
        "cakcora/IntegratedPTMOmics",
        "0f7c34186c2522fbf79365576ca7398ce6800cba",
        ("data/GO_Biological_Process_2018.txt",),
        terms,
    ),
    # Prescriptions and their herbs.
    "herbs": Source(
        "yuanyuansiyuan/ICDE-2020-SMGCN",
        "43f13083f8e38fbb6d169dc23de5f09af4de05f3",
        ("Data/Set2Set/train.txt", "Data/Set2Set/test.txt"),
        herbs,
    ),
    # Papers and their authors.
    "papers": Source(*COLOURED, ("data/MAG-10/colored-MAG.txt",), coloured),
    # Genes and the pathways they are part of.
    "pathways": Source(
        "ilwookkim/cgNetwork",
        "22a4e290859b2c9a3cbb84c559db1212aa258fad",
        ("inst/extdata/ReactomePathways.gmt",),
        genes,
    ),
    # Questions and their tags.
    "questions": Source(
        *SIMPLICES,
        (
            "tags-ask-ubuntu/tags-ask-ubuntu-nverts.txt.gz",
            "tags-ask-ubuntu/tags-ask-ubuntu-simplices.txt.gz",
        ),
        simplices,
    ),
    # Visitors of a web site, and the areas that they saw.
    "site": Source(
        "mhahsler/arules",
        "814537d4da5dcca48c58212b6b397624d8bdd537",
        ("data_src/MSweb/anonymous-msweb.data",),
        visits,
    ),
    # Shopping trips and what was bought.
    "trips": Source(*COLOURED, ("data/Walmart-Trips/colored-walmart.txt",), coloured),
    # Guests and the places that they reviewed.
    "reviews": Source(*REVIEWS, ("data/Yelp.txt",), after_number),
}


def write(lists: Lists, path: Path) -> None:
    """One row for each user and item; users are numbered as they come, and those of no item are left out."""
    distinct = (list(dict.fromkeys(one)) for one in lists)
    users, items = [], []
    for user, one in enumerate(one for one in distinct if one):
        users += [user] * len(one)
        items += one
    pq.write_table(pa.table({"user": pa.array(users, pa.uint32()), "item": items}), path, compression="zstd")
    print(f"{path.stem}: {len(set(users)):,} users, {len(items):,} rows, {len(set(items)):,} items")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wordnet", type=Path, help="the folder of data.noun and its like")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, source in SOURCES.items():
        write(source.read(args.clones), args.out / f"{name}.parquet")
    if args.wordnet:
        write(glosses(args.wordnet), args.out / "glosses.parquet")


if __name__ == "__main__":
    main()
