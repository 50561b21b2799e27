"""Every planted bug still fits the sources, so that the mutation run can not rot unseen."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


def _load(name: str):
    spec = importlib.util.spec_from_file_location(f"planted_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MUTANTS = _load("mutants").MUTANTS


@pytest.fixture
def choosing():
    """The module that chooses, as the program imports it."""
    _load("run")
    return sys.modules["choosing"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_patch_applies_once(mutant) -> None:
    assert (ROOT / mutant.file).read_text().count(mutant.find) == 1
    assert mutant.find != mutant.replace
    for test in mutant.tests:
        assert test.startswith("cargo:") or (ROOT / test.split("::")[0]).is_file(), test


def unit_tests(crate: str) -> list[str]:
    """The unit tests of a crate, by module and name."""
    found, root = [], ROOT / "rust" / crate / "src"
    for path in root.rglob("*.rs"):
        module = "::".join(path.relative_to(root).with_suffix("").parts).removesuffix("::mod")
        text = path.read_text()
        inner = "::tests" if "\nmod tests {" in text else ""
        names = re.findall(r"#\[test\]\s+(?:#\[[^\]]*\]\s+)*fn (\w+)", text)
        found += [f"{module}{inner}::{name}" for name in names]
    return found


def test_every_filter_finds_unit_tests_of_its_crate() -> None:
    runner = _load("run")
    tests = {test for mutant in MUTANTS for test in runner.located(mutant) if test.startswith("cargo:")}
    filters = [test.split(":", 2)[1:] for test in sorted(tests)]
    every = {crate: unit_tests(crate) for crate, _ in filters}
    assert [pair for pair in filters if not any(pair[1] in test for test in every[pair[0]])] == []


def test_there_are_enough_of_them() -> None:
    assert len(MUTANTS) >= 90
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def _files(folder: str) -> set[str]:
    """Files of mechanisms: those that calibrate something."""
    found = (ROOT / folder).glob("**/mod.rs")
    return {str(path.relative_to(ROOT)) for path in found if "fn calibrate(" in path.read_text()}


def test_every_mechanism_has_one() -> None:
    planted = {mutant.file for mutant in MUTANTS}
    mechanisms = _files("rust/core/src/mechanisms") | _files("rust/core/src/top_k")
    assert len(mechanisms) == 25
    assert mechanisms <= planted


#: All but those that are one file, such as `error`.
ROOMS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "rust").glob("[!p]*/src/*/"))


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_one(room) -> None:
    assert any(mutant.file.startswith(f"{room}/") for mutant in MUTANTS)


def test_a_sample_is_the_same_for_everybody_and_mostly_cheap(monkeypatch, choosing) -> None:
    seen = set()
    for commit in map(str, range(1200)):
        monkeypatch.setattr(choosing, "seed", lambda commit=commit: commit)
        sample = choosing.sampled(MUTANTS, 4)
        assert sample == choosing.sampled(MUTANTS, 4)
        assert [mutant.in_python for mutant in sample] == [False, True, True, True]
        seen |= {mutant.name for mutant in sample}
    assert len(seen) > 0.9 * len(MUTANTS)


def test_the_seed_is_the_commit(choosing) -> None:
    assert len(choosing.seed()) >= len("2026-11-22")


def test_a_sample_runs_without_a_bug_on_the_build_of_the_repository(monkeypatch) -> None:
    """Unit tests of the core were run by another session; with the bug they run in any case."""
    runner, calls = _load("run"), []
    core = next(mutant for mutant in MUTANTS if any(test.startswith("cargo:") for test in mutant.tests))
    python = next(mutant for mutant in MUTANTS if mutant.in_python)
    monkeypatch.setattr(runner, "copy_repository", lambda: ROOT)
    monkeypatch.setattr(runner, "take_built", lambda _copy: calls.append("taken"))
    monkeypatch.setattr(runner, "plant", lambda _copy, mutant: mutant.tests[0])
    monkeypatch.setattr(
        runner, "tests_fail", lambda _copy, tests, build_first: calls.append((tests, build_first))
    )
    assert runner.run([python, core], from_repository=True) == 0
    every = {*runner.located(core), *runner.located(python)}
    of_pytest = {test for test in every if not test.startswith("cargo:")}
    assert calls == ["taken", (tuple(sorted(of_pytest)), False)]
    calls.clear()
    assert runner.run([python, core], from_repository=False) == 0
    assert calls == [(tuple(sorted(every)), True)]


@pytest.mark.parametrize(("minutes", "planted"), [(None, 2), (10, 2), (0, 0)])
def test_what_does_not_fit_into_the_minutes_is_named(monkeypatch, capsys, minutes, planted) -> None:
    runner = _load("run")
    monkeypatch.setattr(runner, "copy_repository", lambda: ROOT)
    monkeypatch.setattr(runner, "take_built", lambda _copy: None)
    monkeypatch.setattr(runner, "tests_fail", lambda _copy, _tests, **_: None)
    monkeypatch.setattr(runner, "plant", lambda _copy, mutant: mutant.tests[0])
    assert runner.run(MUTANTS[:2], from_repository=True, minutes=minutes) == 0
    said = capsys.readouterr().out
    assert f"{planted} of {planted} caught" in said
    assert (f"left out after 0 minutes: {MUTANTS[0].name}, {MUTANTS[1].name}" in said) == (planted == 0)


def test_shards_are_all_bugs(choosing) -> None:
    parts = [
        choosing.chosen(SimpleNamespace(name="", since="", changed=False, sample=0, shard=f"{part}/7"))
        for part in range(1, 8)
    ]
    assert sorted(mutant.name for part in parts for mutant in part) == sorted(
        mutant.name for mutant in MUTANTS
    )


CRASH = "import os, signal\ndef test_it(): os.kill(os.getpid(), signal.SIGSEGV)\n"
CRASH_AT_THE_END = (
    "import atexit, os, signal\n"
    "def test_it(): atexit.register(lambda: os.kill(os.getpid(), signal.SIGSEGV))\n"
)


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """The program, with a folder that is taken for the copied package."""
    (tmp_path / "python" / "dpsel").mkdir(parents=True)
    (tmp_path / "python" / "dpsel" / "__init__.py").touch()
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    return _load("run")


def _mutant(file: str):
    return _load("mutants").Mutant("a bug", "python/dpsel/__init__.py", "", "x = 1", (file,))


@pytest.mark.long("starts pytest eight times")
@pytest.mark.skipif(sys.platform == "win32", reason="a process ends by no signal there")
def test_a_bug_that_crashes_a_test_every_time_is_caught(runner, tmp_path) -> None:
    (tmp_path / "test_crash.py").write_text(CRASH)
    assert "a crash within test_crash.py" in runner.plant(tmp_path, _mutant("test_crash.py"))
    with pytest.raises(runner.BrokenRunError, match="pytest ended with -11"):
        runner.tests_fail(tmp_path, ("test_crash.py",), build_first=False)


@pytest.mark.long("starts pytest four times")
@pytest.mark.skipif(sys.platform == "win32", reason="a process ends by no signal there")
def test_a_crash_after_the_tests_says_nothing_about_a_bug(runner, tmp_path) -> None:
    (tmp_path / "test_end.py").write_text(CRASH_AT_THE_END)
    with pytest.raises(runner.BrokenRunError, match="pytest ended with -11") as raised:
        runner.plant(tmp_path, _mutant("test_end.py"))
    assert not isinstance(raised.value, runner.CrashedTestError)


@pytest.mark.long("starts pytest once")
def test_a_bug_that_fails_a_fixture_is_caught(runner, tmp_path) -> None:
    (tmp_path / "test_fixture.py").write_text(
        "import pytest\n@pytest.fixture\ndef it(): raise ValueError\ndef test_it(it): pass\n"
    )
    assert runner.plant(tmp_path, _mutant("test_fixture.py")) == "test_fixture.py::test_it"


@pytest.mark.long("starts pytest once")
def test_a_file_that_cannot_be_imported_says_nothing_about_a_bug(runner, tmp_path) -> None:
    (tmp_path / "test_import.py").write_text("import no_such_module\ndef test_it(): pass\n")
    with pytest.raises(runner.BrokenRunError, match="pytest ended with 2"):
        runner.plant(tmp_path, _mutant("test_import.py"))


def test_what_is_older_than_the_bug_is_not_tested(runner, tmp_path) -> None:
    built, source = tmp_path / "built", tmp_path / "rust" / "core" / "lib.rs"
    source.parent.mkdir(parents=True)
    source.touch()
    built.touch()
    runner.demand_newer(built, tmp_path)
    os.utime(built, (0, 0))
    with pytest.raises(runner.BrokenRunError, match="older than the sources"):
        runner.demand_newer(built, tmp_path)
