"""Which planted bugs are run: those of a name, a part, a sample, or what a change may have freed."""

from __future__ import annotations

import ast
import datetime as dt
import os
import random
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from mutants import MUTANTS, Mutant

if TYPE_CHECKING:
    import argparse

ROOT = Path(__file__).resolve().parents[2]
#: The variable in which a workflow names the last commit that was checked, where it knows one.
CHECKED = "DPSEL_CHECKED"
#: How many bugs are planted for a change.
MOST = 6
#: How many where nothing that changed has one.
SAMPLE = 4


def chosen(arguments: argparse.Namespace) -> list[Mutant]:
    known = names_in(arguments.since) if arguments.since else set()
    mutants = [m for m in MUTANTS if arguments.name.lower() in m.name.lower() and m.name not in known]
    if arguments.changed:
        mutants = of_change(mutants)
    part, parts = map(int, arguments.shard.split("/"))
    # Those of Python come first, while the extension in the copy is the unpatched one. Those of a crate come
    # together, because each builds what stands above the crate.
    ordered = sorted(sampled(mutants, arguments.sample), key=lambda m: (not m.in_python, m.file))
    return ordered[part - 1 :: parts]


def of_change(mutants: list[Mutant]) -> list[Mutant]:
    """Some bugs of the files that changed, or a sample of all."""
    found = changed(mutants, seed())
    if not found:
        print("nothing that changed has a planted bug: a sample")
        return sampled(mutants, SAMPLE)
    print(f"{min(len(found), MOST)} of the {len(found)} bugs planted in what changed")
    return found[:MOST]


def sampled(mutants: list[Mutant], number: int) -> list[Mutant]:
    """So many, or all for 0: the same ones for everybody at one commit, and one of the core among them."""
    if not number:
        return mutants
    shuffled = random.Random(seed()).sample(mutants, len(mutants))
    core = [mutant for mutant in shuffled if not mutant.in_python][:1]
    cheap = [mutant for mutant in shuffled if mutant.in_python]
    return (core + cheap)[:number]


def seed() -> str:
    """The commit, or the date where there is none."""
    return git("rev-parse", "HEAD") or dt.datetime.now(tz=dt.UTC).date().isoformat()


def git(*words: str) -> str | None:
    """What git says, or None where it fails or there is no repository."""
    command = ["git", "-C", str(ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def base() -> str | None:
    """The commit that a change is seen against, or None in a clone that has no older one.

    It is the last one that was checked, or else the one at which a branch left `main`. Where neither is
    known, and on `main`, it is the commit before: the change is what the last commit brought.
    """
    last = git("rev-parse", "HEAD")
    for other in (os.environ.get(CHECKED), "origin/main", "main"):
        common = git("merge-base", "HEAD", other) if other else None
        if common and common != last:
            return common
    return git("rev-parse", "--verify", "--quiet", "HEAD~1")


def names_in(revision: str) -> set[str]:
    """The names of the bugs of a commit; a commit before the first bug has none."""
    if git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") is None:
        raise SystemExit(f"{revision} is no commit here")
    text = git("show", f"{revision}:tests/mutants/mutants.py") or ""
    names = re.findall(r"^    Mutant\(\n        (\"[^\n]*\"),\n", text, re.MULTILINE)
    return {ast.literal_eval(name) for name in names}


def changed(mutants: list[Mutant], seed: str) -> list[Mutant]:
    """New bugs, then those of the files that changed, then those whose tests did; none without a base.

    Within these three, they are shuffled by the seed.
    """
    revision = base()
    if revision is None:
        return []
    files = set((git("diff", "--name-only", revision) or "").split("\n"))
    known = names_in(revision)
    groups = (
        lambda mutant: mutant.name not in known,
        lambda mutant: mutant.file in files,
        lambda mutant: not files.isdisjoint(test.split("::")[0] for test in mutant.tests),
    )
    shuffled = random.Random(seed).sample(mutants, len(mutants))
    return list(dict.fromkeys(mutant for group in groups for mutant in filter(group, shuffled)))
