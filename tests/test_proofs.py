"""The index of proofs: every mechanism is in it, links resolve, and pages have what a reader needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpsel.mechanisms import selection_mechanisms, top_k_mechanisms

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "algorithms"
INDEX = PAGES / "README.md"
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)")
CODE = re.compile(r"`(rust/[^`]+\.rs|python/[^`]+\.py)`")

CLASSES = (*selection_mechanisms().values(), *top_k_mechanisms().values())
MECHANISMS = {cls.__name__: cls.name for cls in CLASSES}


def rows() -> dict[str, list[str]]:
    """Name of a mechanism -> the cells of its row."""
    lines = [line for line in INDEX.read_text(encoding="utf-8").splitlines() if line.startswith("| [")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {re.match(r"\[([^\]]+)\]", row[0])[1]: row for row in cells if len(row) == 6}


def links(text: str) -> list[Path]:
    return [PAGES / target for target in LINK.findall(text) if "://" not in target]


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_in_the_index(name) -> None:
    page, neighbours, guarantee, theorem, code, tests = rows()[name]
    assert links(page) == [PAGES / f"{MECHANISMS[name]}.md"]
    assert "one user" in neighbours
    assert "ε" in guarantee
    assert re.search(r"Theorem|Lemma|section|page", theorem)
    assert all(link.suffix == ".rs" for link in links(code))
    assert links(code)
    assert all(link.name.startswith("test_") for link in links(tests))
    assert links(tests)


def test_the_index_has_nothing_else() -> None:
    assert rows().keys() == MECHANISMS.keys()


def test_links_of_the_index_resolve_and_reach_every_page() -> None:
    reached = links(INDEX.read_text(encoding="utf-8"))
    assert [str(path) for path in reached if not path.exists()] == []
    assert {path.name for path in PAGES.glob("*.md")} - {"README.md"} <= {path.name for path in reached}


#: The sections that every page of a mechanism has, in this order; others may stand between them.
HEADINGS = ["Assumptions", "Notation", "Mechanism", "What finite precision changes", "Where in the code"]


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_page_says_what_a_reader_needs(name) -> None:
    """Guarantee, neighbours, assumptions, mechanism, theorem, proof, source, rounding, place in the code."""
    text = (PAGES / f"{MECHANISMS[name]}.md").read_text(encoding="utf-8")
    guarantee = re.search(r"\*\*Guarantee\.\*\*(.*?)\n\n", text, re.DOTALL)
    assert guarantee
    assert "adding or removing" in " ".join(guarantee[1].split())
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    found = [heading for heading in headings if heading in HEADINGS]
    assert found == HEADINGS, "each of them once, in this order"
    theorems = re.findall(r"^\*\*(?:Theorem|Lemma)(?: \d+)?(?: \([^)]+\))?\.\*\*", text, re.MULTILINE)
    assert theorems
    assert "*Proof.*" in text
    assert "$\\square$" in text or "\\square$$" in text or "\\square\n$$" in text, "a proof has an end"
    assert re.search(r"\b(19|20)\d\d\b", text) or "ours" in text, "a source with its year, or ours"
    assert CODE.findall(text.split("## Where in the code\n")[1])


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_files_that_a_page_names_are_there(page) -> None:
    named = CODE.findall(page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_tests_that_a_page_names_are_there(page) -> None:
    """Rust tests by function, Python tests by file."""
    text = page.read_text(encoding="utf-8")
    files = re.findall(r"`(tests/[^`]+\.py)`", text)
    assert [name for name in files if not (ROOT / name).is_file()] == []
