"""The documents: examples run, links lead somewhere, tables agree with the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dpsel import mechanisms
from dpsel.cli._app import every_command
from dpsel.cli._exit import ExitCode
from dpsel.cli._mechanisms import every_mechanism

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)]*)?\)")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def examples(path: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(path.read_text(encoding="utf-8"))]


#: `nox -s audited` and `nox -s hand_over` run these pages, with the libraries that they are about.
ELSEWHERE = {
    ROOT / "docs" / "guide" / "auditing-your-library.md",
    *(ROOT / "docs" / "hand-over").glob("*.md"),
}


#: Pages whose examples audit, or run every command.
LONG = ("audit.md", "command-line.md")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=named(path), marks=[pytest.mark.long("many commands")] if path.name in LONG else []
        )
        for path in DOCUMENTS
        if examples(path) and path not in ELSEWHERE
    ],
)
@pytest.mark.usefixtures("folder")
def test_examples_run_in_order(path, dpsel_run):
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


def anchors(path: Path) -> set[str]:
    """The anchors that code hosts make of the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    words = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in words}


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_anchors_are_headings(path):
    links = LINK.findall(path.read_text(encoding="utf-8"))
    pages = [(path.parent / target, anchor[1:]) for target, anchor in links if anchor and "://" not in target]
    lost = [(page.name, anchor) for page, anchor in pages if anchor not in anchors(page)]
    assert lost == []


def test_the_table_of_exit_codes_is_complete():
    text = (ROOT / "docs/guide/command-line.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(ExitCode)


@pytest.mark.parametrize("name", every_command())
def test_the_command_line_page_names_every_command_and_option(name):
    command = every_command()[name]
    text = (ROOT / "docs/guide/command-line.md").read_text(encoding="utf-8")
    assert f"dpsel {name}" in text
    options = {option for parameter in command.params for option in parameter.opts}
    assert {option for option in options if option.startswith("--")} - set(
        re.findall(r"--[a-z-]+", text)
    ) == set()


def test_the_command_line_page_names_every_mechanism():
    text = (ROOT / "docs/guide/command-line.md").read_text(encoding="utf-8")
    assert len(every_mechanism()) > 20
    assert {name for name in every_mechanism() if f"`{name}`" not in text} == set()


def test_every_mechanism_has_its_page():
    """`dpsel mechanisms` names it."""
    missing = [
        cls for cls in every_mechanism().values() if not (ROOT / f"docs/algorithms/{cls.name}.md").is_file()
    ]
    assert missing == []


def test_readme_names_every_mechanism():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    classes = mechanisms.selection_mechanisms().values()
    assert all(f"`{cls.__name__}`" in text for cls in classes)
