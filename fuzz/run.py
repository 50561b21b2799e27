"""Build the search, and give each target its share of the time: ``nox -s fuzz -- --seconds 600``.

libFuzzer mutates the inputs of ``corpus/`` and keeps those that reach new code, under ``target/fuzz/``, so
that a later run goes on from there. An input that breaks a promise, takes more than ``TIMEOUT`` seconds or
more memory than the limits below is written to ``target/fuzz/findings/`` and fails the run; once mended it
moves to ``fuzz/findings/``, where ``tests/replay.rs`` runs it for ever.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KEPT = ROOT / "target" / "fuzz"
#: As in noxfile.py, so that PyO3 is not built again.
CARGO_ENV = {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_PYTHON": sys.executable}
#: Seconds that one input may take, and those of targets where it is more: a curve that is refused has two
#: million entries by then, which take minutes with counters.
TIMEOUT = 20
TIMEOUTS = {"curves": 300}
#: Megabytes that may be in use, and that may be reserved: a larger request fails, and the process ends.
IN_USE, RESERVED = 1024, 4096
#: Longest inputs in bytes; what is not here has the length of the corpus.
LENGTHS = {"keys": 1000, "curves": 64, "reports": 4000}


def build(*, everything: bool) -> Path:
    """Build the search; `everything` puts counters into all dependencies as well, which takes minutes."""
    target = ROOT / "target" / "fuzz-build" if everything else ROOT / "target"
    environment = os.environ | CARGO_ENV | {"CARGO_TARGET_DIR": str(target)}
    wrapper = HERE / "instrumented.sh"
    if everything:
        flags = [flag for flag in wrapper.read_text().split() if flag.startswith("-C")]
        environment["RUSTFLAGS"] = " ".join(flags)
    else:
        environment["RUSTC_WORKSPACE_WRAPPER"] = str(wrapper)
    # A target is named so that build scripts get no counters.
    host = next(
        line.removeprefix("host: ")
        for line in subprocess.check_output(["rustc", "-vV"], text=True).splitlines()
        if line.startswith("host: ")
    )
    named = ["--target", host] if everything else []
    # With the binding, dependencies have the features of every other build, and are not built again.
    packages = ["-p", "dpsel-python", "-p", "dpsel-fuzz"]
    wanted = ["--features", "dpsel-fuzz/search", "--bin", "search"]
    # Counters undo much of what optimisation does, and the build takes a third of the time without it.
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["default-members"]
    quick = [f"--config=profile.dev.package.dpsel-{Path(crate).name}.opt-level=1" for crate in crates]
    command = ["cargo", "build", "--locked", *quick, *packages, *wanted]
    subprocess.run([*command, *named], cwd=ROOT, env=environment, check=True)
    return target / (host if everything else "") / "debug" / "search"


def names() -> list[str]:
    """Return the targets: the folders of the corpus."""
    return sorted(folder.name for folder in (HERE / "corpus").iterdir() if folder.is_dir())


def limit() -> None:
    """Bound the memory of the search."""
    resource.setrlimit(resource.RLIMIT_AS, (RESERVED << 20, RESERVED << 20))


def search(program: Path, target: str, seconds: int, folder: str) -> bool:
    """Search one target; whether nothing was found."""
    kept, findings = KEPT / target, KEPT / "findings"
    for path in (kept, findings):
        path.mkdir(parents=True, exist_ok=True)
    arguments = [
        f"-max_total_time={seconds}",
        f"-timeout={TIMEOUTS.get(target, TIMEOUT)}",
        f"-rss_limit_mb={IN_USE}",
        f"-artifact_prefix={findings}/{target}-",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    if target in LENGTHS:
        arguments.append(f"-max_len={LENGTHS[target]}")
    done = subprocess.run(
        [program, *arguments, kept, HERE / "corpus" / target],
        env=os.environ | {"DPSEL_FUZZ_TARGET": target, "TMPDIR": folder},
        preexec_fn=limit,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    runs = next((line.split()[-1] for line in done.stderr.splitlines() if "executed_units" in line), "?")
    print(f"{target:10} {runs:>9} inputs  {'nothing found' if done.returncode == 0 else 'FOUND'}", flush=True)
    if done.returncode:
        print(done.stderr[-4000:])
    return done.returncode == 0


def main() -> int:
    """Run every target, or those named."""
    parser = argparse.ArgumentParser(prog="nox -s fuzz --", description=__doc__)
    parser.add_argument("--seconds", type=int, default=35, help="for all targets together")
    parser.add_argument("--target", action="append", choices=names(), help="only this one (repeatable)")
    parser.add_argument("--everything", action="store_true", help="follow the code of dependencies as well")
    options = parser.parse_args()
    program = build(everything=options.everything)
    targets = options.target or names()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        share = max(1, options.seconds // len(targets))
        good = [search(program, target, share, folder) for target in targets]
    print(f"{time.monotonic() - start:.0f} s")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
