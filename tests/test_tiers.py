"""Each session of noxfile.py is in one tier, which CONTRIBUTING names, and something runs it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from time_limit import LATER

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml"))
NOXFILE = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))


def tags(function: ast.FunctionDef) -> list[str] | None:
    """The tags of a session; None for a function that is none."""
    for decorator in function.decorator_list:
        if ast.unparse(decorator).startswith("nox.session"):
            words = decorator.keywords if isinstance(decorator, ast.Call) else []
            return next((ast.literal_eval(word.value) for word in words if word.arg == "tags"), [])
    return None


def constant(name: str):
    """What noxfile.py assigns to a name."""
    lines = [each for each in NOXFILE.body if isinstance(each, ast.Assign)]
    return next(ast.literal_eval(each.value) for each in lines if ast.unparse(each.targets[0]) == name)


SESSIONS = {
    each.name: tags(each)
    for each in NOXFILE.body
    if isinstance(each, ast.FunctionDef) and tags(each) is not None
}
TIERS = ("commit", "change", "night", "hand")


def of(tier: str) -> set[str]:
    return {name for name, tiers in SESSIONS.items() if tiers == [tier]}


def in_workflows() -> set[str]:
    """The sessions that workflows name."""
    return {name for names in re.findall(r'[ "]-s ([a-z_ ]+)', WORKFLOWS) for name in names.split()}


def test_each_session_is_in_one_tier() -> None:
    assert {name: tiers for name, tiers in SESSIONS.items() if tiers not in [[tier] for tier in TIERS]} == {}
    assert all(of(tier) for tier in TIERS)


def test_workflows_name_sessions_that_exist() -> None:
    assert in_workflows() - set(SESSIONS) == set()


def test_documents_name_sessions_that_exist() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.py")]
    named = {name for page in pages for name in re.findall(r"nox -s (\w+)", page.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert named - set(SESSIONS) == set()


def test_workflows_run_each_session_of_the_night() -> None:
    assert of("night") - in_workflows() == set()


@pytest.mark.parametrize("words", ["python3 run.py test", "python3 run.py test -t change"])
def test_ci_runs_both_tiers_of_a_change(words) -> None:
    assert words in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    checks = (ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8")
    assert f"run: {words.replace('python3', 'python')}\n" in checks
    assert constant("nox.options.tags") == ["commit"]


def test_readme_has_the_two_commands_on_lines_of_their_own() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line.split("#")[0].strip() for line in lines if line.startswith("python3 ")]
    assert commands == ["python3 run.py demo", "python3 run.py test"]


def test_all_planted_bugs_are_in_the_shards_of_a_night() -> None:
    shards = re.findall(r"-s mutants -- --shard (\d+)/(\d+)", WORKFLOWS)
    assert shards == [(str(place + 1), str(len(shards))) for place in range(len(shards))]
    assert shards


def test_the_table_of_contributing_has_each_session_in_its_tier() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))
    assert {tier: set(re.findall(r"`(\w+)`", cell)) for tier, cell in table.items()} == {
        tier: of(tier) for tier in TIERS
    }


def test_what_a_commit_leaves_out_may_take_longer() -> None:
    """And nothing else may: `pytest` leaves out what `time_limit` does not look at, and a session runs it."""
    assert constant("LATER") == LATER
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert all(re.search(rf'"-m", "{marker}\b', text) for marker in LATER)


def test_what_takes_long_says_why() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert re.findall(r"^.*pytest\.mark\.long\b(?!\(\").*$", tests, re.MULTILINE) == []
    assert "pytest.mark.long(" in tests
