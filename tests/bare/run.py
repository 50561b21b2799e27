"""What a newcomer does: install the source distribution in a clean environment, follow the documents.

    python tests/bare/run.py                  builds, installs, runs README and the pages of guide and learn
    python tests/bare/run.py --package FILE   the same with a wheel or source distribution that is there
    python tests/bare/run.py README.md        only the documents whose path contains the text
    python tests/bare/run.py docs/hand-over   the pages on other tools, which are left out otherwise

A document is run from top to bottom in an empty folder (`follow.py`), in an environment that holds `dpsel`,
what it depends on, and what the document itself has installed. Nothing of the repository is on the path.
As many documents run at a time as there are processors.

Exit code 1 if a document fails.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: `nox -s audited` runs this page with the libraries that it is about.
ELSEWHERE = {"auditing-your-library.md"}
PAGES = [page for folder in ("guide", "learn") for page in sorted((ROOT / "docs" / folder).glob("*.md"))]
DOCUMENTS = [ROOT / "README.md", *(page for page in PAGES if page.name not in ELSEWHERE)]
#: They install the tools that they are about, which are large.
HAND_OVER = sorted((ROOT / "docs" / "hand-over").glob("*.md"))
CRATES = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["default-members"]
#: Built like the tests: dependencies are there already, and our own crates get artifacts of their own, which
#: no later build of the repository can take for its own.
BUILD_ARGUMENTS = " ".join(
    ["--profile=dev"]
    + [f"--config=profile.dev.package.dpsel-{Path(crate).name}.opt-level=1" for crate in CRATES]
)
#: What would bring in the repository, or other rules of building.
HIDDEN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "MATURIN_PEP517_ARGS")


class FailedStepError(Exception):
    """A step of a newcomer that did not work."""


class Environment:
    """A virtual environment of its own, on top of another one's packages if asked."""

    def __init__(self, folder: Path, below: Environment | None = None) -> None:
        venv.create(folder, with_pip=True)
        windows = os.name == "nt"
        self.bin = folder / ("Scripts" if windows else "bin")
        self.packages = next(folder.glob("Lib/site-packages" if windows else "lib/*/site-packages"))
        if below is not None:
            (self.packages / "below.pth").write_text(f"{below.packages}\n", encoding="utf-8")
        self.variables = {name: value for name, value in os.environ.items() if name not in HIDDEN}
        self.variables |= {
            "VIRTUAL_ENV": str(folder),
            "PATH": os.pathsep.join((str(self.bin), os.environ["PATH"])),
            "MPLBACKEND": "agg",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def python(self, *words: object, folder: Path, **more: str) -> str:
        """Run its interpreter there; what it printed, or an error that shows it."""
        command = [str(self.bin / "python"), *map(str, words)]
        done = subprocess.run(
            command, cwd=folder, env=self.variables | more, capture_output=True, text=True, check=False
        )
        if done.returncode:
            shown = "\n".join((done.stdout[-2000:], done.stderr[-4000:]))
            raise FailedStepError(f"{shlex.join(command)} exits with {done.returncode}\n{shown}")
        return done.stdout


def built(folder: Path) -> Path:
    """The source distribution of what git tracks."""
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedStepError(f"maturin sdist fails:\n{done.stderr[-4000:]}")
    return next(folder.glob("dpsel-*.tar.gz"))


def install(environment: Environment, package: Path, folder: Path) -> None:
    """Install a wheel or a source distribution; the latter is built in the repository's target folder."""
    options: list[str] = []
    target: dict[str, str] = {}
    if package.name.endswith(".tar.gz"):
        target["CARGO_TARGET_DIR"] = str(ROOT / "target")
        options = ["--no-cache-dir", f"--config-settings=build-args={BUILD_ARGUMENTS}"]
    environment.python("-m", "pip", "install", "--quiet", package, *options, folder=folder, **target)
    where = environment.python("-c", "import dpsel; print(dpsel.__file__)", folder=folder).strip()
    if not Path(where).is_relative_to(environment.packages):
        raise FailedStepError(f"dpsel is imported from {where}, which is not the clean environment")


def follow(document: Path, clean: Environment, scratch: Path) -> None:
    """Run the examples of a document; what it installs stays in an environment of its own."""
    folder = scratch / "folder"
    folder.mkdir(parents=True)
    installs = "\npip install " in document.read_text(encoding="utf-8")
    environment = Environment(scratch / "environment", clean) if installs else clean
    script = shutil.copy(HERE / "follow.py", scratch)
    # On a page about another tool, warnings are of that tool or of what it imports.
    warnings = "default" if document in HAND_OVER else "error"
    environment.python(script, document, folder=folder, PYTHONWARNINGS=warnings)


def main() -> int:
    """Build, install, follow."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("documents", nargs="*", help="parts of the paths of documents")
    parser.add_argument("--package", type=Path, help="what to install instead of building")
    arguments = parser.parse_args()
    wanted = arguments.documents
    known = {str(each.relative_to(ROOT)): each for each in (*DOCUMENTS, *HAND_OVER)}
    named = [each for name, each in known.items() if any(part in name for part in wanted)]
    chosen = named if wanted else DOCUMENTS
    with tempfile.TemporaryDirectory(prefix="bare-") as temporary:
        scratch = Path(temporary)
        package = arguments.package.resolve() if arguments.package else built(scratch)
        clean = Environment(scratch / "clean")
        install(clean, package, scratch)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            steps = [pool.submit(follow, page, clean, scratch / str(n)) for n, page in enumerate(chosen)]
        failed = 0
        for document, step in zip(chosen, steps, strict=True):
            try:
                step.result()
            except FailedStepError as error:
                failed += 1
                print(f"{document.relative_to(ROOT)}: {error}")
    print(f"{package.name}: {len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
