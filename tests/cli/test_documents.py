"""The documents: examples run, links lead somewhere, tables agree with the code."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from dpsel import demo_data, mechanisms
from dpsel.cli._app import COMMANDS
from dpsel.cli._exit import ExitCode
from dpsel.cli.select import command as select_command

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)]*)?\)")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def examples(path: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if examples(path)], ids=named)
def test_examples_run_in_order(path, folder, dpsel_run):
    shutil.copyfile(demo_data.quotations(), folder / "lines.csv")
    namespace: dict[str, object] = {}
    for language, text in examples(path):
        if language == "python":
            exec(compile(text, str(path), "exec"), namespace)  # noqa: S102 - our own examples
            continue
        for line in text.replace("\\\n", " ").splitlines():
            if line.startswith("dpsel "):
                run = dpsel_run(*shlex.split(line, comments=True)[1:])
                assert (run.code, line) == (0, line), run.err


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links_lead_somewhere(path):
    targets = [match[1] for match in LINK.finditer(path.read_text(encoding="utf-8"))]
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    missing = [target for target in local if not (path.parent / target).exists()]
    assert missing == []


def test_the_table_of_exit_codes_is_complete():
    text = (ROOT / "docs/guide/command-line.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(ExitCode)


def test_the_command_line_page_names_every_command_and_option():
    text = (ROOT / "docs/guide/command-line.md").read_text(encoding="utf-8")
    assert all(f"dpsel {command.name}" in text for command in COMMANDS)
    options = [option for parameter in select_command.params for option in parameter.opts]
    named_options = set(re.findall(r"--[a-z-]+", text))
    assert {option for option in options if option.startswith("--")} <= named_options


def test_readme_names_every_mechanism():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    classes = [name for name in mechanisms.__all__ if hasattr(getattr(mechanisms, name), "name")]
    assert all(f"`{name}`" in text for name in classes)
