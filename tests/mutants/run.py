"""Plant each bug in a copy of the repository, build it, and demand that a test fails.

    python tests/mutants/run.py                 all mutants, a table at the end
    python tests/mutants/run.py --sample 4      a few of them, other ones for every commit
    python tests/mutants/run.py --changed       some of the files that changed, or else a sample
    python tests/mutants/run.py --shard 3/8     the third of eight parts
    python tests/mutants/run.py "bound off"     those whose name contains the text
    python tests/mutants/run.py --since REV     those that are not in that commit
    python tests/mutants/run.py --check         only that every patch still applies; builds nothing

The copy lives in `target/mutants`; dependencies are built once and shared between mutants. Mutants of the
Python package need no build, so a sample has one that does and is filled up with others.
Exit code 1 if a mutant survives, 2 if a patch no longer applies or the unpatched copy fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))

from choosing import chosen

if TYPE_CHECKING:
    from mutants import Mutant

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "target"
SCRATCH = TARGET / "mutants"
COPIED = [
    "Cargo.toml",
    "Cargo.lock",
    "pyproject.toml",
    "rust-toolchain.toml",
    "clippy.toml",
    "rust",
    "python",
    "tests",
    "benches",
    "fuzz",
    "docs",
]

#: When the last bug of a change may start: together they have a quarter of an hour on two cores.
MINUTES = 12
#: Runs of pytest until one does not end by a signal.
ATTEMPTS = 4
#: Our own crates are built for every mutant and therefore quickly.
CRATES = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["default-members"]
QUICKLY = [f"--config=profile.dev.package.dpsel-{Path(crate).name}.opt-level=1" for crate in CRATES]
#: Whatever is built, the dependencies are those of the repository: a crate without the binding has other
#: features of Arrow, and everything would be built again.
BINDING = ("-p", "dpsel-python", "--features", "dpsel-engines/as-in-tests", *QUICKLY)


class BrokenRunError(Exception):
    """The mutation run itself does not work."""


class CrashedTestError(BrokenRunError):
    """Pytest ended by a signal within a test, in every attempt."""


def copy_repository() -> Path:
    """A copy to be patched, without build results.

    Files get the time of copying: Cargo would take what a killed run built from a mutant for up to date.
    """
    copy = SCRATCH / "repository"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
            shutil.copytree(source, copy / name, ignore=ignored, copy_function=shutil.copy)
        elif source.exists():
            shutil.copy(source, copy / name)
    # Only unit tests are named by bugs; others would make Cargo build each crate a second time for them.
    for folder in (copy / "rust").glob("*/tests"):
        shutil.rmtree(folder)
    rename_version(copy)
    return copy


def rename_version(copy: Path) -> None:
    """Give the packages of the copy a version of their own.

    Cargo tells packages in one target folder apart by name and version, not by path: without this it would
    take what was built from a mutant for the build of the repository.
    """
    manifest, lock = copy / "Cargo.toml", copy / "Cargo.lock"
    version = tomllib.loads(manifest.read_text())["workspace"]["package"]["version"]
    own = f'version = "{version}+planted"'
    manifest.write_text(manifest.read_text().replace(f'version = "{version}"', own, 1))
    ours = re.compile(rf'(name = "dpsel-[a-z]+"\n)version = "{re.escape(version)}"')
    lock.write_text(ours.sub(rf"\g<1>{own}", lock.read_text()))


def patched(folder: Path, mutant: Mutant) -> str:
    """The mutated text of the file."""
    text = (folder / mutant.file).read_text()
    if text.count(mutant.find) != 1:
        raise BrokenRunError(
            f"{mutant.name}: its anchor occurs {text.count(mutant.find)} times in {mutant.file}"
        )
    return text.replace(mutant.find, mutant.replace)


def cargo_environment() -> dict[str, str]:
    """Build into the target folder of the repository itself, where the dependencies are already."""
    return os.environ | {
        "CARGO_TARGET_DIR": str(TARGET),
        "PYO3_BUILD_EXTENSION_MODULE": "1",
        "PYO3_PYTHON": sys.executable,
    }


def built_module(folder: Path) -> Path:
    """Where the extension lies beside the Python package."""
    return folder / "python" / "dpsel" / ("_core.pyd" if os.name == "nt" else "_core.abi3.so")


def take_built(copy: Path) -> None:
    """Use the extension of the repository, which is unpatched."""
    if not built_module(ROOT).exists():
        raise BrokenRunError("the extension module is not built; run maturin develop first")
    shutil.copy2(built_module(ROOT), built_module(copy))


def build(copy: Path) -> None:
    """Build the extension and put it beside the copied Python package."""
    command = ["cargo", "build", "--quiet", "--locked", *BINDING]
    done = subprocess.run(
        command, cwd=copy, env=cargo_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BrokenRunError(f"the copy does not compile: {done.stderr[-2000:]}")
    built = next(
        p
        for p in (TARGET / "debug" / n for n in ("lib_core.so", "lib_core.dylib", "_core.dll"))
        if p.exists()
    )
    demand_newer(built, copy)
    shutil.copy2(built, built_module(copy))


def demand_newer(built: Path, copy: Path) -> None:
    """What is older than a source does not have the bug, and its tests would say nothing."""
    if built.stat().st_mtime < max(path.stat().st_mtime for path in (copy / "rust").rglob("*.rs")):
        raise BrokenRunError(f"{built} is older than the sources of the copy")


def located(mutant: Mutant) -> tuple[str, ...]:
    """Its tests, with the crate of each filter: that of the room by which it begins, or of the bug."""
    inner = [path for path in (ROOT / "rust").glob("*/src/*") if path.parts[-3] != "python"]
    homes = {path.stem: path.parts[-3] for path in inner if path.stem != "lib"}
    found = []
    for test in mutant.tests:
        kind, _, test_filter = test.partition("cargo:")
        crate = homes.get(test_filter.split("::")[0], Path(mutant.file).parts[1])
        found.append(test if kind else f"cargo:{crate}:{test_filter}")
    return tuple(found)


def unit_tests_fail(copy: Path, crate: str, test_filter: str) -> bool:
    """Whether a unit test of the crate fails. With `--tests`, and not `--lib`, no crate above it is built."""
    command = ["cargo", "test", "-p", f"dpsel-{crate}", *BINDING, "--tests", test_filter]
    said = []
    options = {"cwd": copy, "env": cargo_environment(), "text": True, "start_new_session": True}
    with subprocess.Popen(command, stdout=PIPE, stderr=STDOUT, **options) as running:
        for line in running.stdout or ():
            said.append(line)
            if binary := re.match(r"     Running unittests \S+ \((.*)\)$", line):
                demand_newer(copy / binary[1], copy)
            # The others may take minutes, or never end with the bug.
            if re.fullmatch(r"test .* FAILED\n", line):
                os.killpg(running.pid, signal.SIGKILL)
                return True
    if running.returncode:
        raise BrokenRunError(f"the unit tests do not run: {''.join(said)[-2000:]}")
    if not re.search(r"running [1-9]", "".join(said)):
        raise BrokenRunError(f"no unit test of dpsel-{crate} is named like {test_filter}")
    return False


def tests_fail(copy: Path, tests: tuple[str, ...], *, build_first: bool) -> str | None:
    """The first test that fails, or None; the extension is built when a test of Python is next."""
    for test in tests:
        if test.startswith("cargo:") and unit_tests_fail(copy, *test.split(":", 2)[1:]):
            return test
    files = [test for test in tests if not test.startswith("cargo:")]
    if files and build_first:
        build(copy)
    return pytest_fails(copy, files) if files else None


def pytest_fails(copy: Path, files: list[str]) -> str | None:
    """The first pytest test that fails, or None."""
    environment = os.environ | {
        "PYTHONPATH": str(copy / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_PROFILE": "planted",
    }
    probe = [sys.executable, "-c", "import dpsel; print(dpsel.__file__)"]
    where = subprocess.run(probe, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if not where.stdout.startswith(str(copy)):
        raise BrokenRunError(f"the patched package is not what is imported: {where.stdout}{where.stderr}")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *files]
    # Those of the unpatched copy are many, and all run.
    command += ["--numprocesses", "auto"] * (len(files) > 2)
    for _attempt in range(ATTEMPTS):
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        # A library beneath that crashes as the interpreter ends says nothing about the bug: again.
        if done.returncode >= 0:
            break
    # Also those whose fixture fails. A file that cannot be imported has no test that fails.
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    # Several processes that stop at the first failure end with 2.
    if done.returncode not in ((0, 1, 2) if failed else (0,)):
        ended = f"pytest ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[:2000]}"
        within = done.returncode < 0 and not re.search(r"^\d+ (passed|failed)", done.stdout, re.MULTILINE)
        raise (CrashedTestError if within else BrokenRunError)(ended)
    return failed[0] if failed else None


def plant(copy: Path, mutant: Mutant) -> str | None:
    """Run one mutant; the test that caught it, or None."""
    path = copy / mutant.file
    original = path.read_text()
    path.write_text(patched(copy, mutant))
    try:
        return tests_fail(copy, located(mutant), build_first=not mutant.in_python)
    except CrashedTestError:
        # The same tests pass without the bug, so the crash is what the bug does.
        return f"a crash within {' or '.join(mutant.tests)}, {ATTEMPTS} times"
    finally:
        path.write_text(original)


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant bugs and demand that the tests notice.")
    parser.add_argument("name", nargs="?", default="", help="only mutants whose name contains this")
    parser.add_argument("--sample", type=int, default=0, help="only so many, chosen by the commit")
    parser.add_argument("--since", default="", metavar="REV", help="only those that are not in that commit")
    parser.add_argument("--changed", action="store_true", help="some of the files that changed")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="only the Ith of N parts")
    parser.add_argument("--check", action="store_true", help="only check that the patches apply")
    arguments = parser.parse_args()
    mutants = chosen(arguments)
    try:
        for mutant in mutants:
            patched(ROOT, mutant)
        from_repository = bool(arguments.sample) or arguments.changed
        minutes = MINUTES if arguments.changed else None
        return 0 if arguments.check else run(mutants, from_repository=from_repository, minutes=minutes)
    except BrokenRunError as problem:
        print(problem, file=sys.stderr)
        return 2


def run(mutants: list[Mutant], *, from_repository: bool, minutes: float | None = None) -> int:
    """Run the tests without a bug, which must pass, then with each mutant that can start within the minutes.

    A sample takes the extension of the repository for the former: other sessions have just built it, and have
    run the unit tests of the core.
    """
    copy, begun = copy_repository(), time.monotonic()
    from_repository = from_repository or all(mutant.in_python for mutant in mutants)
    if from_repository:
        take_built(copy)
    tests = sorted({test for mutant in mutants for test in located(mutant)})
    shown_to_pass = tuple(test for test in tests if not (from_repository and test.startswith("cargo:")))
    test = tests_fail(copy, shown_to_pass, build_first=not from_repository)
    if test:
        raise BrokenRunError(f"the unpatched copy fails {test}: a caught mutant would mean nothing")
    survivors = []
    for place, mutant in enumerate(mutants):
        start = time.monotonic()
        if minutes is not None and start - begun > 60 * minutes:
            print(f"left out after {minutes} minutes: {', '.join(m.name for m in mutants[place:])}")
            mutants = mutants[:place]
            break
        test = plant(copy, mutant)
        if test is None:
            survivors.append(mutant.name)
        verdict = f"caught by {test}" if test is not None else "SURVIVED"
        print(f"{mutant.name:45} {time.monotonic() - start:5.0f} s  {verdict}", flush=True)
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
