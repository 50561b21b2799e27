"""README, SECURITY and the page on trust: promises name tests that exist; README shows what was measured."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import median

import pytest

import dpsel
from dpsel import demo_data

ROOT = Path(__file__).resolve().parents[1]
README, SECURITY, TRUST = DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "docs/guide/trust.md"]
#: A link whose words are the name of a test: [`test_name`](path).
NAMED = re.compile(r"\[`(\w+)`\]\(([^)#\s]+\.(?:py|rs))\)")
#: The short form of README: ([test][test_name]), with the address and the name, as a tip, at its end.
SHORT = re.compile(r"\(\[test\]\[(\w+)\]\)")
#: Data sets in the picture of the page on accuracy that had no part in the development of any mechanism.
HELD_OUT = {"deps_recipes", "deps_authors"}


#: README is shown outside of the repository too, so its links have the whole address.
REPOSITORY = "https://github.com/dpsel/dpsel/blob/main/"


def place(document: Path, target: str) -> Path:
    """The file that a link leads to."""
    if target.startswith(REPOSITORY):
        return ROOT / target.removeprefix(REPOSITORY)
    return (document.parent / target).resolve()


def names_in(path: Path) -> set[str]:
    """The names of the tests in a Python or Rust file."""
    pattern = r"^def (test_\w+)\(" if path.suffix == ".py" else r"#\[test\]\n(?: *#\[.*\]\n)* *fn (\w+)\("
    return set(re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE))


def rows(document: Path, heading: str) -> list[str]:
    """The rows of the tables below a heading, without their heads."""
    tables = re.findall(r"^\|[-| ]+\|\n((?:\|.*\n)+)", section(document, heading), re.MULTILINE)
    return [row for table in tables for row in table.splitlines()]


def promises(document: Path, heading: str) -> list[str]:
    """The rows of the tables and the points of the lists below a heading."""
    points = re.findall(r"^- .*(?:\n  .*)*", section(document, heading), re.MULTILINE)
    return rows(document, heading) + points


def section(document: Path, heading: str) -> str:
    """What is below a heading."""
    text = document.read_text(encoding="utf-8")
    return re.split(r"^## ", text.split(f"## {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def named_in(text: str, document: Path) -> list[tuple[str, str]]:
    """The tests that a text of a document names, with the paths of their files."""
    defined = dict(re.findall(r'^\[(\w+)\]: (\S+) "\1"$', document.read_text(encoding="utf-8"), re.MULTILINE))
    return NAMED.findall(text) + [(name, defined[name]) for name in SHORT.findall(text)]


@pytest.mark.parametrize(("document", "least"), [(README, 8), (SECURITY, 80), (TRUST, 20)])
def test_every_named_test_exists(document, least) -> None:
    named = named_in(document.read_text(encoding="utf-8"), document)
    assert len(named) > least
    missing = [(name, target) for name, target in named if name not in names_in(place(document, target))]
    assert missing == []


@pytest.mark.parametrize(
    ("document", "heading", "least"), [(README, "Promises", 7), (SECURITY, "What is promised", 25)]
)
def test_every_promise_names_a_test(document, heading, least) -> None:
    made = promises(document, heading)
    assert len(made) > least
    assert [row for row in made if not named_in(row, document)] == []


def test_readme_promises_nothing_that_security_does_not() -> None:
    named = [name for name, _ in named_in("\n".join(promises(README, "Promises")), README)]
    assert len(named) > 7
    assert [name for name in named if name not in SECURITY.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("document", [README, SECURITY], ids=lambda path: path.name)
def test_promises_link_tests_by_name_and_not_whole_files(document) -> None:
    text = document.read_text(encoding="utf-8")
    assert re.findall(r"\[`[^`]*\.(?:py|rs)`\]\([^)]*\)", text) == []


def test_every_point_of_the_page_on_trust_has_a_command_and_a_test() -> None:
    points = rows(TRUST, "The points")
    assert len(points) >= 4
    for row in points:
        assert "nox -s" in row or "dpsel " in row, row
        assert re.search(r"\]\([^)]+\)", row), row


def test_readme_shows_what_its_example_prints() -> None:
    """All lines but the first, and the number of items, which depend on the noise, as the look does."""
    text = README.read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1].splitlines()
    release = dpsel.select_partitions(
        demo_data.quotations(),
        user="line",
        item="text",
        ngrams=(1, 2),
        privacy=dpsel.ApproxDP(epsilon=4.0, delta=1e-5),
        max_items_per_user=20,
        insecure_test_key=bytes(32),
    )
    printed = str(release).removeprefix("NOT PRIVATE (insecure_test_key): ").splitlines()
    assert shown[0].startswith("['")
    assert shown[2:] == printed[1:]
    assert shown[1].split(" ", 1)[1] == printed[0].split(" ", 1)[1]


def test_the_claim_of_readme_follows_from_the_figures() -> None:
    """Median, worst and best ratio of "auto" to the best published mechanism, on data that was held out."""
    with (ROOT / "docs/images/items_by_epsilon.csv").open(newline="", encoding="utf-8") as lines:
        figures = [row for row in csv.DictReader(lines) if row["data"] in HELD_OUT]
    cases: dict[tuple[str, str], dict[str, int]] = {}
    for row in figures:
        cases.setdefault((row["data"], row["epsilon"]), {})[row["mechanism"]] = int(row["items"])
    assert {data for data, _ in cases} == HELD_OUT
    ratios = sorted(items.pop("dpsel, auto") / max(items.values()) for items in cases.values())
    claim = f"{median(ratios):.2f} times as many items as the best published mechanism (median of "
    text = " ".join(README.read_text(encoding="utf-8").split())
    assert claim in text
    assert f"worst {ratios[0]:.2f}, best {ratios[-1]:.2f})" in text
    assert len(ratios) == 10
