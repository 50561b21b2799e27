"""Checks of a wheel: its size, what is inside, how long the first release takes with each Python.

    python tests/bare/wheel.py FOLDER       the wheel that is there; `--contents`: one of another platform
    python tests/bare/wheel.py --build      builds one first (with link-time optimisation: minutes)
    python tests/bare/wheel.py --twice      builds two in folders of their own, which must agree byte for byte

Exit code 1 if something is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The wheel for Linux on x86-64 has 9.7 million bytes.
BUDGET = 10_000_000
#: From a wheel to the first release: an environment, the installation, the command.
SECONDS = 10
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
#: Interpreters that a version manager keeps beside the path.
VERSIONS = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
SELECT = (
    "select lines.csv --user line --item text --ngrams 1 --epsilon 4 --delta 1e-5 --max-items-per-user 20 "
    "--report report.json -o words.csv"
)


def built(folder: Path, target: Path | None = None) -> Path:
    """A release wheel of the tree. Times inside are those of the commit, so that it can be built again."""
    git = ("git", "log", "-1", "--format=%H %ct")
    commit, seconds = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    variables = os.environ | {"DPSEL_COMMIT": commit, "SOURCE_DATE_EPOCH": seconds}
    if target is not None:
        variables["CARGO_TARGET_DIR"] = str(target)
    command = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--quiet", "--out", folder]
    subprocess.run(command, cwd=ROOT, env=variables, check=True)
    return next(folder.glob("*.whl"))


def faults(wheel: Path) -> list[str]:
    """What is wrong with the size and the contents."""
    names = zipfile.ZipFile(wheel).namelist()
    found = []
    if wheel.stat().st_size > BUDGET:
        found.append(f"has {wheel.stat().st_size:,} bytes; the budget is {BUDGET:,}")
    parts = ("dpsel/py.typed", "dpsel/data/quotations.csv", "/licenses/LICENSE", "/sboms/")
    found += [f"lacks {part}" for part in parts if not any(part in name for name in names)]
    if foreign := [name for name in names if not name.startswith(("dpsel/", "dpsel-"))]:
        found.append(f"has {foreign[:3]}")
    components = [
        json.loads(zipfile.ZipFile(wheel).read(name)) for name in names if name.endswith(".cyclonedx.json")
    ]
    if not any(len(each.get("components", [])) > 10 for each in components):
        found.append("has no list of components")
    return found


def first_release(python: str, wheel: Path) -> tuple[float, str]:
    """Seconds from nothing to a release in a clean environment, and what `--version` says."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        start = time.perf_counter()
        subprocess.run([python, "-m", "venv", "clean"], cwd=folder, check=True)
        bin_ = Path(folder) / "clean" / ("Scripts" if os.name == "nt" else "bin")
        pip = [bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
        subprocess.run(pip, cwd=folder, check=True)
        for words in ("demo-data lines.csv --kind quotations", SELECT, "check report.json"):
            subprocess.run([bin_ / "dpsel", *words.split()], cwd=folder, check=True, capture_output=True)
        said = subprocess.run(
            [bin_ / "dpsel", "--version"], check=True, capture_output=True, text=True
        ).stdout
        return time.perf_counter() - start, said.strip()


def interpreter(name: str) -> str | None:
    """A Python of that name that starts: one on the path, or one of a version manager."""
    there = [shutil.which(name), *map(str, sorted(VERSIONS.glob(f"*/bin/{name}")))]
    return next((path for path in there if path and starts(path)), None)


def starts(python: str) -> bool:
    """Whether it is more than the name that a version manager keeps for it."""
    return subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0


def twice(folder: Path) -> list[Path]:
    """Two builds in target folders of their own.

    Both are of this checkout by this user: the list of components names the path of the one, and the module
    that of Cargo's sources. A wheel of another path has other bytes.
    """
    return [built(folder / name, folder / f"target-{name}") for name in ("one", "two")]


def differ(wheels: list[Path]) -> list[str]:
    """A fault if they have other bytes."""
    digests = [hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels]
    print("\n".join(f"sha256 {digest}" for digest in digests))
    return [] if len(set(digests)) == 1 else [f"two builds differ: {digests}"]


def main() -> int:
    """Build if asked, and check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where the wheel is")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--contents", action="store_true", help="do not install it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wheels-") as temporary:
        scratch = Path(temporary)
        if arguments.folder:
            wheels = [next(arguments.folder.glob("*.whl")).resolve()]
        else:
            wheels = twice(scratch) if arguments.twice else [built(scratch / "dist")]
        wheel = wheels[0]
        wrong = differ(wheels) if arguments.twice else []
        wrong += faults(wheel)
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
        for python in () if arguments.contents else PYTHONS:
            if (path := interpreter(python)) is None:
                print(f"{python}: not here")
                continue
            seconds, said = first_release(path, wheel)
            print(f"{python}: first release after {seconds:.1f} s; {said}")
            if "not recorded" in said:
                wrong.append(f"does not know its commit: {said}")
            if seconds > SECONDS:
                wrong.append(f"takes {seconds:.1f} s to the first release with {python}")
    for fault in wrong:
        print(f"{wheel.name} {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
