"""How long a newcomer waits: from a clone to the first release, and from a wheel to it.

    python tests/bare/first_release.py             clones, `run.py demo`, then builds a wheel
    python tests/bare/first_release.py --only-say  no error where it takes longer than promised

The clone is of the last commit. What pip and Cargo have fetched before is not fetched again: that is the
network's time. The wheel has the profile `dev`; `nox -s wheel` takes the time with a release wheel.
Processor time is printed as well: on a machine that does other things, the time on the clock says little.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from wheel import SECONDS, first_release

ROOT = Path(__file__).resolve().parents[2]
#: From a clone to the first release, the build of all dependencies included.
SECONDS_OF_CLONE = 150


def from_clone(clone: Path) -> tuple[float, float]:
    """Seconds on the clock and of processors from `git clone` to the end of README's first command."""
    start, spent = time.perf_counter(), processors()
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)  # noqa: S607 - git of the path
    done = subprocess.run(
        [sys.executable, "run.py", "demo"],
        cwd=clone,
        env=alone(),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds = time.perf_counter() - start, processors() - spent
    if len(done.stdout.splitlines()) < 10:
        raise SystemExit(f"run.py demo released too little:\n{done.stdout}")
    return seconds


def wheel_of(clone: Path) -> Path:
    """A wheel of the clone; our crates are optimised in it, as they are not for the demo."""
    tools = clone / ".venv" / ("Scripts" if os.name == "nt" else "bin")
    command = [tools / "python", "-m", "maturin", "build", "--profile", "dev", "--quiet", "--out", "dist"]
    subprocess.run(command, cwd=clone, env=alone(), check=True)
    return next((clone / "dist").glob("*.whl"))


def alone() -> dict[str, str]:
    """The variables without those that lead to this checkout or its builds."""
    hidden = {"CARGO_TARGET_DIR", "PYO3_BUILD_EXTENSION_MODULE", "PYO3_PYTHON", "PYTHONPATH", "VIRTUAL_ENV"}
    return {name: value for name, value in os.environ.items() if name not in hidden}


def processors() -> float:
    """Seconds of processors that finished children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Measure both; 1 if one takes longer than promised."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only-say", action="store_true", help="no error if it takes longer")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clone-") as folder:
        clone = Path(folder) / "dpsel"
        clock, processor = from_clone(clone)
        print(f"clone to first release: {clock:.0f} s ({processor:.0f} s of {os.cpu_count()} processors)")
        wheel = wheel_of(clone)
        spent = processors()
        seconds, _ = first_release(sys.executable, wheel)
        print(f"wheel to first release: {seconds:.1f} s ({processors() - spent:.1f} s of processors)")
    late = clock > SECONDS_OF_CLONE or seconds > SECONDS
    return 1 if late and not arguments.only_say else 0


if __name__ == "__main__":
    sys.exit(main())
