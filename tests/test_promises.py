"""SECURITY.md and the page on trust: each promise names tests, and these exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "SECURITY.md", ROOT / "docs" / "guide" / "trust.md"]
#: A link whose words are the name of a test: [`test_name`](path).
NAMED = re.compile(r"\[`(\w+)`\]\(([^)#\s]+\.(?:py|rs))\)")


def names_in(path: Path) -> set[str]:
    """The names of the tests in a Python or Rust file."""
    pattern = r"^def (test_\w+)\(" if path.suffix == ".py" else r"#\[test\]\n(?: *#\[.*\]\n)* *fn (\w+)\("
    return set(re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE))


def rows(document: Path, heading: str) -> list[str]:
    """The rows of the tables below a heading, without their heads."""
    text = document.read_text(encoding="utf-8")
    section = re.split(r"^## ", text.split(f"## {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    tables = re.findall(r"^\|[-| ]+\|\n((?:\|.*\n)+)", section, re.MULTILINE)
    return [row for table in tables for row in table.splitlines()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_named_test_exists(document) -> None:
    named = NAMED.findall(document.read_text(encoding="utf-8"))
    assert len(named) > 20
    missing = [
        (name, target) for name, target in named if name not in names_in((document.parent / target).resolve())
    ]
    assert missing == []


def test_every_promise_names_a_test() -> None:
    promises = rows(DOCUMENTS[0], "What is promised")
    assert len(promises) > 20
    assert [row for row in promises if not NAMED.search(row)] == []


def test_every_point_of_the_page_on_trust_has_a_command_and_a_test() -> None:
    points = rows(DOCUMENTS[1], "The points")
    assert len(points) >= 4
    for row in points:
        assert "nox -s" in row or "dpsel " in row, row
        assert re.search(r"\]\([^)]+\)", row), row
