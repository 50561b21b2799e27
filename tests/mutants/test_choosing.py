"""Which planted bugs are run for a change, in clones with much, little and no history."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import choosing


@dataclass(frozen=True)
class Bug:
    """As much of a planted bug as is needed to choose it."""

    name: str
    file: str
    tests: tuple[str, ...] = ("tests/test_all.py",)


BUGS = [Bug(f"{file} {number}", file) for file in ("a.py", "b.py") for number in range(10)]
TEXT = "MUTANTS = [\n{}]\n"


class Repository:
    """A small repository of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")
        self.bugs(BUGS)
        self.commit("a.py", "b.py", "tests/test_all.py", "README.md")

    def git(self, *words: str) -> str:
        named = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
        command = ["git", "-C", str(self.folder), *named, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def bugs(self, bugs: list[Bug]) -> None:
        path = self.folder / "tests" / "mutants" / "mutants.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT.format("".join(f'    Mutant(\n        "{bug.name}",\n    ),\n' for bug in bugs)))

    def commit(self, *changed: str) -> str:
        for name in changed:
            path = self.folder / name
            path.write_text((path.read_text() if path.exists() else "") + "x\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.delenv(choosing.CHECKED, raising=False)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    made = Repository(tmp_path / "repository")
    monkeypatch.setattr(choosing, "ROOT", made.folder)
    return made


def files(bugs: list[Bug]) -> list[str]:
    return sorted({bug.file for bug in bugs})


def test_a_branch_is_seen_against_the_place_where_it_left_main(repository) -> None:
    repository.git("switch", "--quiet", "--create", "branch")
    repository.commit("a.py")
    repository.commit("README.md")
    repository.git("switch", "--quiet", "main")
    repository.commit("b.py")
    repository.git("switch", "--quiet", "branch")
    assert files(choosing.changed(BUGS, "")) == ["a.py"]


def test_main_is_seen_against_the_last_commit_that_was_checked(repository, monkeypatch) -> None:
    checked = repository.commit("README.md")
    repository.commit("a.py")
    repository.commit("b.py")
    assert files(choosing.changed(BUGS, "")) == ["b.py"]
    monkeypatch.setenv(choosing.CHECKED, checked)
    assert files(choosing.changed(BUGS, "")) == ["a.py", "b.py"]
    # A new branch has a row of zeros there.
    monkeypatch.setenv(choosing.CHECKED, "0" * 40)
    assert files(choosing.changed(BUGS, "")) == ["b.py"]


def test_a_merge_is_what_it_brings(repository) -> None:
    repository.git("switch", "--quiet", "--create", "branch")
    repository.commit("a.py")
    repository.git("switch", "--quiet", "main")
    repository.commit("b.py")
    repository.git("merge", "--quiet", "--no-ff", "--no-edit", "branch")
    repository.git("branch", "--quiet", "--delete", "branch")
    assert files(choosing.changed(BUGS, "")) == ["a.py"]


def test_what_is_not_committed_counts(repository) -> None:
    repository.commit("README.md")
    (repository.folder / "a.py").write_text("y\n")
    assert files(choosing.changed(BUGS, "")) == ["a.py"]


@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_and_detached_clone_has_the_last_commit_at_most(repository, tmp_path, monkeypatch, depth):
    commit = repository.commit("a.py")
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", f"--depth={depth}", f"file://{repository.folder}", str(clone))
    repository.git("-C", str(clone), "checkout", "--quiet", "--detach", commit)
    monkeypatch.setattr(choosing, "ROOT", clone)
    assert files(choosing.changed(BUGS, "")) == ([] if depth == 1 else ["a.py"])


def test_without_a_repository_nothing_is_known_to_have_changed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(choosing, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert choosing.base() is None
    assert choosing.changed(BUGS, "") == []


def test_new_bugs_come_first_and_those_whose_tests_changed_last(repository) -> None:
    new = Bug("a new one", "b.py", ("tests/test_other.py",))
    tested = Bug("of a changed test", "b.py", ("tests/test_new.py::test_it",))
    repository.bugs([*BUGS, tested])
    repository.commit("README.md")
    repository.bugs([*BUGS, tested, new])
    repository.commit("a.py", "tests/test_new.py")
    found = choosing.changed([*BUGS, tested, new], "")
    assert found[0] == new
    assert found[-1] == tested
    assert set(found[1:-1]) == set(BUGS[:10])


def test_a_change_has_some_bugs_the_same_for_everybody(repository) -> None:
    repository.commit("a.py")
    chosen = choosing.of_change(BUGS)
    assert len(chosen) == choosing.MOST < 10
    assert chosen == choosing.of_change(BUGS)
    repository.git("commit", "--quiet", "--amend", "--message", "the same change")
    others = [choosing.changed(BUGS, str(seed))[: choosing.MOST] for seed in range(5)]
    assert len(set(map(tuple, others))) > 1


def test_where_nothing_has_a_bug_a_sample_is_run(repository, monkeypatch, capsys) -> None:
    repository.commit("README.md")
    monkeypatch.setattr(choosing, "sampled", lambda bugs, number: bugs[:number])
    assert choosing.of_change(BUGS) == BUGS[: choosing.SAMPLE]
    assert "a sample" in capsys.readouterr().out
