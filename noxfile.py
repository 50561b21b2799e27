"""The one list of checks: people, `run.py test`, `.ci/run` and the workflows all call these sessions.

All sessions share the virtual environment that nox itself runs in (`run.py` makes it), because each would
otherwise build the extension module again. Each session has one tag, its tier:

    nox              the tier `commit`: before a commit, and first in CI
    nox -t change    what CI runs for a change after that
    nox -t night     what workflows run each night; `-s NAME` runs one of them
    nox -t hand      what people call
    nox --list       all of them, each with a line and its tier
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.10.16"  # says how long a session took
nox.options.default_venv_backend = "none"
nox.options.tags = ["commit"]
nox.options.stop_on_first_error = False

# clippy and maturin look at the same interpreter and build PyO3 in the same way, so that it is built once.
CARGO_ENV = {
    "PYO3_BUILD_EXTENSION_MODULE": "1",
    "PYO3_PYTHON": sys.executable,
}
#: The environment that nox itself runs in, also for sessions that have one of their own.
OURS = {"VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV", sys.prefix)}
#: Which profile this run of nox has built and installed, if any.
BUILT: list[str] = []
#: A process for each core. One that has nothing left takes over from the other.
PARALLEL = ("--numprocesses", "auto", "--dist", "worksteal")
#: Markers of the tests that later tiers run.
LATER = ("long", "slow", "statistical", "spark", "dp_accounting", "libraries")
#: The same, with the tests of a file in one of them: they share a Spark session.
BY_FILE = (*PARALLEL, "--dist", "loadfile")
#: Tests and the module then share one build of all dependencies: their features would differ otherwise.
SHARED = ("--features", "dpsel-engines/as-in-tests")
RUST = ("--workspace", *SHARED)


def build(session: nox.Session) -> None:
    """Build the extension module with the dev profile, once in a run: the same artifacts as `cargo test`."""
    if not BUILT:
        session.run(sys.executable, "-m", "maturin", "develop", "--quiet", *SHARED, env=OURS, external=True)
        BUILT.append("dev")


@nox.session(tags=["commit"])
def format(session: nox.Session) -> None:  # noqa: A001 - the name of the command people type
    """Both formatters, checking only."""
    session.run("cargo", "fmt", "--all", "--check", external=True)
    session.run("ruff", "format", "--check", ".")


@nox.session(tags=["hand"])
def fix(session: nox.Session) -> None:
    """Both formatters and the safe fixes of the linter, writing."""
    session.run("cargo", "fmt", "--all", external=True)
    session.run("ruff", "check", "--fix", ".")
    session.run("ruff", "format", ".")


@nox.session(tags=["commit"])
def ruff(session: nox.Session) -> None:
    """Lint the Python code."""
    session.run("ruff", "check", ".")


@nox.session(tags=["commit"])
def clippy(session: nox.Session) -> None:
    """Lint the Rust code; a warning is an error."""
    session.run(
        "cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings",
        env=CARGO_ENV, external=True,
    )  # fmt: skip


@nox.session(tags=["commit"])
def rust(session: nox.Session) -> None:
    """Unit, property and documentation tests of the Rust crates."""
    session.run("cargo", "test", *RUST, "--locked", *session.posargs, env=CARGO_ENV, external=True)


@nox.session(tags=["commit"])
def types(session: nox.Session) -> None:
    """Check types, and the stub of the extension module against the built module."""
    build(session)
    session.run("mypy")
    session.run("python", "-m", "mypy.stubtest", "dpsel._core")


@nox.session(tags=["commit"])
def pytest(session: nox.Session) -> None:
    """Run the Python tests that take seconds, and every example in code and documents."""
    build(session)
    left_out = (
        "not long and not slow and not statistical and not spark and not dp_accounting and not libraries"
    )
    session.run("pytest", *PARALLEL, "-m", left_out, *session.posargs)


def in_own_environment(session: nox.Session, group: str) -> dict[str, str]:
    """Install a group of dependencies, build, and return the variables with which the build is found."""
    groups = nox.project.load_toml("pyproject.toml")
    session.install("--quiet", *nox.project.dependency_groups(groups, group))
    # The module that the other sessions built; its Python files are beside it.
    build(session)
    return {"PYTHONPATH": str(Path("python").resolve())}


@nox.session(venv_backend="venv", tags=["change"])
def dp_accounting(session: nox.Session) -> None:
    """Hand budgets to dp_accounting, which wants an older attrs than nox: hence its own environment."""
    here = in_own_environment(session, "dp-accounting")
    session.run("pytest", "-m", "dp_accounting", *(session.posargs or ["tests/accountants"]), env=here)


@nox.session(venv_backend="venv", tags=["night"])
def libraries(session: nox.Session) -> None:
    """Read data of libraries that are too large for those who do not test them."""
    here = in_own_environment(session, "libraries")
    session.run("pytest", "-m", "libraries", *(session.posargs or ["tests/libraries"]), env=here)


@nox.session(venv_backend="venv", tags=["night"])
def audited(session: nox.Session) -> None:
    """Audit other libraries as the guide does; they want other versions than our tests do."""
    here = in_own_environment(session, "audited")
    session.run("python", "tests/audited/run.py", *session.posargs, env=here)


@nox.session(tags=["night"])
def thorough(session: nox.Session) -> None:
    """Audit everything that ships, with as many samples as the command line has: half an hour."""
    build(session)
    session.run("python", "-m", "dpsel.cli", "audit", "--thorough", *session.posargs)


@nox.session(tags=["change"])
def long(session: nox.Session) -> None:
    """Run the tests that take more than two seconds of processor time."""
    build(session)
    session.run("pytest", *PARALLEL, "-m", "long and not slow", *session.posargs)


@nox.session(tags=["night"])
def slow(session: nox.Session) -> None:
    """Run the tests marked slow."""
    build(session)
    session.run("pytest", *PARALLEL, "-m", "slow and not spark", *session.posargs)


def with_spark(session: nox.Session) -> None:
    """Install PySpark, which is too large for those who do not test it, and build."""
    if sys.platform == "win32":
        session.skip("on Windows, Spark needs Hadoop's tools, which no package installs")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        session.skip("Spark needs Java 17 or newer, and there is none")
    session.run("python", "-m", "pip", "install", "--quiet", "pyspark[connect]>=4.0")
    build(session)


@nox.session(tags=["night"])
def spark(session: nox.Session) -> None:
    """Run the tests on a local Spark session."""
    with_spark(session)
    session.run("pytest", *BY_FILE, "-m", "spark and not slow", *(session.posargs or ["tests/spark"]))


@nox.session(tags=["change"])
def spark_sample(session: nox.Session) -> None:
    """Run what a minute or two allow: every mechanism, a join, what may leak, executors that die."""
    with_spark(session)
    here = "tests/spark"
    session.run(
        "pytest", *BY_FILE,
        "-m", "spark",
        f"{here}/test_same_release.py::test_every_parallel_mechanism",
        f"{here}/test_spark_join.py::test_every_round_is_joined",
        f"{here}/test_spark_leaks.py",
        f"{here}/test_spark_secrets.py::test_neither_key_nor_share_is_left[classic-driver.log]",
        f"{here}/test_spark_secrets.py::test_neither_key_nor_share_is_left[classic-disks]",
        f"{here}/test_failures.py::test_the_release_is_the_local_one",
        f"{here}/test_failures.py::test_it_did_happen",
    )  # fmt: skip


@nox.session(tags=["night"])
def spark_slow(session: nox.Session) -> None:
    """Run the longer tests on Spark: clusters of processes, Spark Connect, large and real data."""
    with_spark(session)
    session.run("pytest", "-m", "spark and slow", *(session.posargs or ["tests/spark"]))


@nox.session(tags=["change"])
def statistical(session: nox.Session) -> None:
    """Run goodness-of-fit tests of Python; the false-alarm rate is named once. `rust` has those of Rust."""
    build(session)
    session.run("pytest", *PARALLEL, "-m", "statistical and not slow", *session.posargs)


@nox.session(tags=["commit"])
def docs(session: nox.Session) -> None:
    """Build the site; a warning is an error, and so is a link or an anchor that leads nowhere."""
    install_group(session, "docs")
    build(session)
    offline = {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": "python"}
    session.run("python", "-m", "mkdocs", "build", "--strict", "--quiet", *session.posargs, env=offline)


@nox.session(tags=["night"])
def screenshots(session: nox.Session) -> None:
    """Look at pages of the built site: desk and phone, light and dark; nothing may be asked of a network."""
    session.run("python", "website/screenshots.py", *session.posargs)


@nox.session(tags=["night"])
def notebooks(session: nox.Session) -> None:
    """Execute the notebooks, and compare their cells with the pages that they are made from."""
    install_group(session, "notebooks")
    build(session)
    session.run("python", "website/notebooks.py", *session.posargs)


def install_group(session: nox.Session, name: str) -> None:
    """Install a dependency group into the shared environment; most people never need it."""
    session.run("python", "-m", "pip", "install", "--quiet", "--group", name)


@nox.session(tags=["change"])
def bare(session: nox.Session) -> None:
    """Install the source distribution in a clean environment; run every example of README and guide."""
    session.run("python", "tests/bare/run.py", *session.posargs)


@nox.session(tags=["night"])
def hand_over(session: nox.Session) -> None:
    """Install the source distribution and the tools that keys are handed to; follow their pages."""
    session.run("python", "tests/bare/run.py", *(session.posargs or ["docs/hand-over/"]))


@nox.session(tags=["night"])
def wheel(session: nox.Session) -> None:
    """Build a release wheel; its size, contents and first release; `-- --twice` builds it twice."""
    session.run("python", "tests/bare/wheel.py", "--build", *session.posargs)


@nox.session(tags=["night"])
def first_release(session: nox.Session) -> None:
    """Time a newcomer: clone, build, first release; and the same from a wheel. Needs a quiet machine."""
    session.run("python", "tests/bare/first_release.py", *session.posargs)


@nox.session(tags=["night"])
def mutants(session: nox.Session) -> None:
    """Plant each known bug and demand that the tests fail (builds the core once for each)."""
    session.run("python", "tests/mutants/run.py", *session.posargs)


@nox.session(tags=["change"])
def mutants_sample(session: nox.Session) -> None:
    """Plant some bugs of the files that changed, or a sample where none of these has one."""
    build(session)
    session.run("python", "tests/mutants/run.py", "--changed", *session.posargs)


@nox.session(tags=["night"])
def fuzz(session: nox.Session) -> None:
    """Search for inputs that break a promise; needs Linux and a C++ compiler. `rust` has a short one."""
    session.run("python", "fuzz/run.py", *session.posargs)


@nox.session(tags=["night"])
def soak(session: nox.Session) -> None:
    """Random small jobs for six minutes, or as long as asked, without growth of memory."""
    build(session)
    session.run("python", "tests/robustness/soak.py", *session.posargs)


@nox.session(tags=["night"])
def supply(session: nox.Session) -> None:
    """Licences, sources and known weaknesses of dependencies; `-- --offline` leaves the last out."""
    offline = "--offline" in session.posargs
    checks = ["bans", "licenses", "sources"] + ([] if offline else ["advisories"])
    session.run("cargo", "deny", "--locked", "--all-features", "check", *checks, external=True)
    if not offline:
        session.run("python", "-m", "pip", "install", "--quiet", "pip-audit")
        frozen = session.run("python", "-m", "pip", "freeze", "--exclude-editable", silent=True) or ""
        path = Path(session.create_tmp()) / "frozen.txt"
        path.write_text("\n".join(line for line in frozen.splitlines() if "==" in line) + "\n")
        session.run("pip-audit", "--requirement", str(path), "--no-deps", "--disable-pip", "--strict")


@nox.session(venv_backend="venv", tags=["change"])
def workflows(session: nox.Session) -> None:
    """Compare the workflows with the schema of their host, and look for openings; `.github/zizmor.yml`."""
    session.install("--quiet", "check-jsonschema>=0.33", "zizmor>=1.32")
    files = sorted(map(str, Path(".github/workflows").glob("*.yml")))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)
    session.run("zizmor", "--offline", "--quiet", "--min-severity", "medium", ".github")


@nox.session(tags=["hand"])
def bench(session: nox.Session) -> None:
    """Compare with what a user would otherwise run; see benches/README.md."""
    session.run("maturin", "develop", "--release", "--quiet")
    BUILT.clear()
    session.run("python", "-m", "benches.compare", *session.posargs)
