"""What comes in from outside: fixed versions of one registry, no `unsafe`, no build that forgets the lock."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())
MEMBERS = WORKSPACE["workspace"]["members"]
#: What a wheel is built from, the binding last.
CRATES = WORKSPACE["workspace"]["default-members"]
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def test_every_crate_forbids_unsafe() -> None:
    assert WORKSPACE["workspace"]["lints"]["rust"]["unsafe_code"] == "forbid"
    for member in MEMBERS:
        assert tomllib.loads((ROOT / member / "Cargo.toml").read_text())["lints"] == {"workspace": True}, (
            member
        )


def test_no_release_has_the_features_of_tests() -> None:
    """They are for one build of the dependencies in the checks; a wheel is built without features."""
    for crate in CRATES:
        manifest = tomllib.loads((ROOT / crate / "Cargo.toml").read_text())
        assert set(manifest.get("features", {})) <= {"as-in-tests", "testing"}
        for name, dependency in manifest["dependencies"].items():
            assert not name.startswith("dpsel-") or dependency == {"workspace": True}
    assert "features" not in manifest
    for name, dependency in WORKSPACE["workspace"]["dependencies"].items():
        assert not name.startswith("dpsel-") or dependency.keys() == {"path"}
    assert "features" not in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]


def test_no_unsafe_word_in_any_crate() -> None:
    """`forbid` already says so to the compiler; this also sees what a macro of ours would write."""
    sources = [
        path for member in MEMBERS for path in (ROOT / member).rglob("*.rs") if "target" not in path.parts
    ]
    assert len(sources) > 100
    for path in sources:
        assert not re.search(r"\bunsafe\b", re.sub(r"//[^\n]*", "", path.read_text())), path


def test_every_dependency_is_a_released_crate_with_a_checksum() -> None:
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    own = {tomllib.loads((ROOT / member / "Cargo.toml").read_text())["package"]["name"] for member in MEMBERS}
    assert {each["name"] for each in packages if "source" not in each} == own
    others = [each for each in packages if each["name"] not in own]
    assert {each["source"] for each in others} == {REGISTRY}
    assert all(re.fullmatch(r"[0-9a-f]{64}", each["checksum"]) for each in others)


def cargo_commands() -> list[str]:
    """Every place that builds: one string for each command."""
    texts = [path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    texts += [(ROOT / name).read_text() for name in ("noxfile.py", "fuzz/run.py")]
    joined = "\n".join(texts)
    calls = re.findall(r'"cargo",\s*"(?:test|build|clippy)".*?(?:\]|\n    \)|\)\n)', joined, re.DOTALL)
    return calls + re.findall(r"args: --release.*", joined)


def test_every_build_keeps_to_the_lock_file() -> None:
    commands = cargo_commands()
    assert len(commands) >= 4
    assert [command for command in commands if "--locked" not in command] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["maturin"]["locked"] is True


def test_the_base_install_is_two_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [re.split(r"[<>=]", each)[0] for each in project["dependencies"]] == ["click", "tqdm"]


@pytest.mark.parametrize("member", MEMBERS)
def test_no_crate_has_a_build_script(member) -> None:
    """Nothing of ours runs while it is built."""
    assert not (ROOT / member / "build.rs").exists()


def test_workflows_may_only_read_unless_they_publish() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        assert re.search(r"^permissions:\n  contents: read$", path.read_text(), re.MULTILINE), path


def licences() -> dict[tuple[str, str], str]:
    """The licence of each version of every dependency, those of other systems too."""
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    packages = json.loads(done.stdout)["packages"]
    return {(each["name"], each["version"]): each["license"] for each in packages if each["source"]}


def permits(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be met with these licences; old ones have `/` for OR."""
    words = re.findall(r"[()]|\bAND\b|\bOR\b|[\w.+-]+(?: WITH [\w.-]+)?", expression.replace("/", " OR "))
    values = {"AND": " and ", "OR": " or ", "(": "(", ")": ")"}
    return bool(eval("".join(values.get(word, str(word in allowed)) for word in words)))  # noqa: S307


def test_what_workflows_run_is_there() -> None:
    """Programs of the repository; `test_tiers.py` looks at sessions."""
    text = "\n".join(path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    programs = set(re.findall(r"python ((?:[\w-]+/)*\w+\.py)", text))
    assert programs >= {"run.py", "tests/bare/wheel.py", "tests/bare/run.py"}
    assert [program for program in programs if not (ROOT / program).is_file()] == []


def test_every_licence_is_allowed() -> None:
    """What `cargo deny check licenses` says, without it."""
    rules = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]
    more = {each["crate"]: set(each["allow"]) for each in rules["exceptions"]}
    found = licences()
    assert len(found) > 100
    refused = {
        (crate, version): licence
        for (crate, version), licence in found.items()
        if not permits(licence, set(rules["allow"]) | more.get(crate, set()))
    }
    assert refused == {}
    assert not permits("(MIT OR Apache-2.0) AND NCSA", set(rules["allow"]))
    assert permits("MIT/GPL-3.0", set(rules["allow"]))


def job(workflow: str, name: str) -> str:
    """The text of one job of a workflow."""
    text = (ROOT / ".github" / "workflows" / workflow).read_text()
    found = re.search(rf"^  {name}:\n((?:    .*\n|\n)*)", text, re.MULTILINE)
    assert found, name
    return found[1]


def test_nothing_is_published_unchecked() -> None:
    needed = re.search(r"^    needs: \[(.*)\]$", job("wheels.yml", "publish"), re.MULTILINE)
    assert needed
    assert set(needed[1].split(", ")) == {"checks", "version", "wheel", "sdist"}
    assert "uses: ./.github/workflows/checks.yml" in job("wheels.yml", "checks")
    assert 'tests/bare/tag.py "$GITHUB_REF_NAME"' in job("wheels.yml", "version")
    assert "tests/bare/run.py --package" in job("wheels.yml", "sdist")


@pytest.mark.parametrize(("tag", "code"), [("v{}", 0), ("v{}.1", 1), ("{}", 1), ("v0", 1)])
def test_a_tag_has_to_be_the_version(tag, code) -> None:
    version = WORKSPACE["workspace"]["package"]["version"]
    command = [sys.executable, str(ROOT / "tests" / "bare" / "tag.py"), tag.format(version)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == code


def test_the_source_distribution_is_what_git_tracks() -> None:
    """Otherwise the workspace in it is rewritten, disagrees with the lock file, and cannot be installed."""
    maturin = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]
    assert maturin["sdist-generator"] == "git"
    assert {"benches/rust/Cargo.toml", "fuzz/Cargo.toml"} <= {f"{member}/Cargo.toml" for member in MEMBERS}
