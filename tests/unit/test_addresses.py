"""What `help()` and the command line show leads somewhere for those who have the package alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import dpsel
from dpsel.cli._app import cli, every_command

PACKAGE = Path(dpsel.__file__).parent
DOCS = Path(__file__).resolve().parents[2] / "docs"
SITE = "https://dpsel.github.io/dpsel/"
#: A path of the repository, or a link that only a page of the site can follow.
PATH = re.compile(r"(?<![\w/.:-])(?:\.\./|docs/|[\w-]+\.md\b)[\w./#-]*")
#: What has a docstring.
OWNERS = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, OWNERS)]
    return [text for node in nodes if (text := ast.get_docstring(node))]


def shown() -> dict[str, str]:
    """Every text that people see, by where it is from."""
    texts = {
        f"{path.relative_to(PACKAGE)} {number}": text
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, text in enumerate(docstrings(path))
    }
    for name, command in every_command().items():
        texts[f"dpsel {name}"] = command.get_help(click.Context(command))
    texts["dpsel mechanisms"] = CliRunner().invoke(cli, ["mechanisms"]).output
    return texts


TEXTS = shown()


def test_no_text_names_a_path_of_the_repository() -> None:
    found = {where: PATH.findall(text) for where, text in TEXTS.items()}
    assert {where: paths for where, paths in found.items() if paths} == {}


def test_every_address_of_the_site_is_a_page_with_that_heading() -> None:
    addresses = {
        match.rstrip(".,;:)>")
        for text in TEXTS.values()
        # Help is wrapped for a terminal.
        for match in re.findall(re.escape(SITE) + r"[^\s\])>]*", text)
    }
    assert len(addresses) > 20
    for address in addresses:
        page, _, anchor = address.removeprefix(SITE).partition("#")
        files = [DOCS / f"{page.strip('/')}.md", DOCS / page / "README.md", DOCS / page / "index.md"]
        there = [file for file in files if file.is_file()]
        assert there, address
        headings = re.findall(r"^#+ +(.*)$", there[0].read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
        assert anchor in anchors | {""}, address


@pytest.mark.parametrize("mechanism", ["sips", "joint"])
def test_the_page_of_a_mechanism_is_an_address(mechanism) -> None:
    said = CliRunner().invoke(cli, ["mechanisms", mechanism]).output
    assert f"{SITE}algorithms/{mechanism}/" in said
