"""The site and its pages: lists, links, references, pictures and tables are what the programs make."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from statistics import median

import pytest
from benches import peers_counts, peers_keys

import dpsel

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.append(str(ROOT / "website"))

import figures  # noqa: E402
import links  # noqa: E402
import lists  # noqa: E402
import mended  # noqa: E402
import outputs  # noqa: E402

SOURCES = sorted((ROOT / "python").rglob("*.py"))
ROLE = re.compile(r":\w+:`")
REPOSITORY = "https://github.com/dpsel/dpsel"


def read(*parts: str) -> str:
    return DOCS.joinpath(*parts).read_text(encoding="utf-8")


def test_docstrings_have_no_roles_of_sphinx():
    assert [str(path) for path in SOURCES if ROLE.search(path.read_text(encoding="utf-8"))] == []


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    documented = set(re.findall(r"^::: dpsel\.([\w.]+)", pages, re.MULTILINE))
    made = {"__version__", "DpselError", "release", *dpsel.mechanisms.__all__}
    assert {name for name in dpsel.__all__ if name not in documented | made} == {"mechanisms"}


def test_links_of_readme_work_outside_of_the_repository():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)|^\[[^\]]+\]: (\S+)", text, re.MULTILINE)
    whole = [inline or defined for inline, defined in targets]
    assert len(whole) > 30
    assert [target for target in whole if not target.startswith("https://")] == []
    ours = [
        re.split(r"dpsel/dpsel/(?:blob/)?main/", target)[1:] for target in whole if "dpsel/dpsel/" in target
    ]
    paths = [path.split("#")[0] for (path,) in ours]
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_words_in_brackets_of_readme_are_defined():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    used = set(re.findall(r"(?<!\])\[([^\]\[]+)\](?![(\[])(?!: http)", prose)) - {"picture"}
    used |= set(re.findall(r"\]\[([^\]\[]+)\]", prose)) - {"picture"}
    assert used == set(re.findall(r"^\[([^\]]+)\]: ", text, re.MULTILINE)) - {"picture"}


def test_every_exception_is_in_the_catalogue():
    page = read("reference", "errors.md")
    listed = set(re.findall(r"`(\w+)`", page))
    assert set(dpsel.exceptions.__all__) - listed == {"DpselError", "DpselWarning"}


def test_every_decision_is_in_the_index():
    notes = {path.name for path in (DOCS / "decisions").glob("0*.md")}
    assert set(re.findall(r"\]\((\d+[^)]*)\)", read("decisions", "README.md"))) == notes


@pytest.mark.parametrize(
    ("markdown", "widened"),
    [
        ("- a\n  b\n", "- a\n    b\n"),
        ("1. a\n\n   b\n", "1. a\n\n    b\n"),
        ("- a\n  - b\n    c\n", "- a\n    - b\n        c\n"),
        ("2. a\n   ```sh\n   - x\n   ```\n", "2. a\n    ```sh\n    - x\n    ```\n"),
        ("```\n- a\n  b\n```\n", "```\n- a\n  b\n```\n"),
        ("a\n  b\n", "a\n  b\n"),
    ],
)
def test_lists_are_read_as_code_hosts_read_them(markdown, widened):
    assert lists.widened(markdown) == widened


@pytest.mark.parametrize(
    ("source", "uri", "target", "expected"),
    [
        ("docs/guide/trust.md", "guide/trust.md", "../../SECURITY.md#keys", "../project/security.md#keys"),
        ("docs/guide/trust.md", "guide/trust.md", "audit.md", "audit.md"),
        ("docs/index.md", "index.md", "decisions/", "decisions/README.md"),
        ("SECURITY.md", "project/security.md", "docs/guide/spark.md", "../guide/spark.md"),
        ("SECURITY.md", "project/security.md", "tests/", f"{REPOSITORY}/tree/main/tests"),
        ("docs/index.md", "index.md", "../noxfile.py", f"{REPOSITORY}/blob/main/noxfile.py"),
        ("docs/index.md", "index.md", f"{REPOSITORY}/blob/main/docs/compare.md", "compare.md"),
        ("docs/index.md", "index.md", "https://docs.opendp.org", "https://docs.opendp.org"),
    ],
)
def test_links_lead_to_pages_or_to_the_repository(source, uri, target, expected):
    made = links.relinked(f"see [x]({target})", ROOT / source, uri, REPOSITORY)
    assert made == f"see [x]({expected})"


def test_links_in_code_stay():
    text = "```\n[x](nowhere.md)\n```\n"
    assert links.relinked(text, DOCS / "index.md", "index.md", REPOSITORY) == text


def test_a_link_to_nowhere_is_refused():
    with pytest.raises(links.BrokenLinkError):
        links.relinked("[x](nowhere.md)", DOCS / "index.md", "index.md", REPOSITORY)


def test_a_star_stands_for_pages_that_are_not_named():
    nav = [{"Guides": ["guide/a.md", "guide/*.md"]}, "*.md"]
    uris = dict.fromkeys(["guide/a.md", "guide/c.md", "guide/b.md", "x.md"])
    assert links.expanded(nav, uris) == [{"Guides": ["guide/a.md", "guide/b.md", "guide/c.md"]}, "x.md"]


BIG = '<mo minsize="1.2em">{}</mo>'
BAR = '<mo stretchy="false"{}>|</mo>'
OPENS, CLOSES = (f' form="{form}" lspace="0" rspace="0"' for form in ("prefix", "postfix"))
INDEX = "<msub><mo>max</mo><mi>k</mi></msub>"


@pytest.mark.parametrize(
    ("formula", "display", "expected"),
    [
        (
            f"{BIG.format('(')}<mi>a</mi><msup>{BIG.format(')')}<mi>k</mi></msup>",
            "inline",
            f"<msup><mrow>{BIG.format('(')}<mi>a</mi>{BIG.format(')')}</mrow><mi>k</mi></msup>",
        ),
        (INDEX, "inline", INDEX),
        (INDEX, "block", INDEX.replace("msub", "munder")),
        (
            f"{BAR.format('')}<mi>a</mi><msub>{BAR.format('')}<mn>2</mn></msub>",
            "inline",
            f"{BAR.format(OPENS)}<mi>a</mi><msub>{BAR.format(CLOSES)}<mn>2</mn></msub>",
        ),
        (f"<mi>a</mi>{BAR.format('')}<mi>b</mi>", "inline", f"<mi>a</mi>{BAR.format('')}<mi>b</mi>"),
        ("<mi>a</mi><mi>&#x7E;</mi>", "inline", "<mi>a</mi><mo>\N{TILDE OPERATOR}</mo>"),
    ],
    ids=["power of a bracket", "index in a line", "limit below", "bars", "condition", "relation"],
)
def test_formulas_are_mended(formula, display, expected):
    shown = f'<math xmlns="{mended.SPACE}">{{}}</math>'
    assert mended.mended(shown.format(formula), display) == shown.format(expected)


def test_the_tutorial_shows_what_its_examples_print():
    text = read("learn", "tutorial.md")
    shown = outputs.shown(text, "learn/tutorial.md")
    assert re.search(r"to_pylist\(\)\[:10\]\)\n```\n\n```text\n\d+ items released by Steered", shown)
    assert "dpsel demo-data lines.csv --kind quotations\n```\n\n```text\nlines.csv: 594 rows\n```" in shown
    assert outputs.shown(text, "learn/limits.md") == text


def test_the_picture_of_keys_shows_the_figures():
    shown = read("images", "keys.svg")
    counts = [count for libraries in figures.keys().values() for each in libraries.values() for count in each]
    assert len(counts) == 24
    assert [count for count in counts if f">{count:,}</text>" not in shown] == []


def test_what_is_said_of_other_libraries_is_in_the_picture():
    (_, lines), (ours, users) = (
        (each["dpsel"], [counts for name, counts in each.items() if name != "dpsel"])
        for each in figures.keys().values()
    )
    (_, lines_best), (same, best) = (zip(*each, strict=True) for each in (lines, users))
    said = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (
        f"dpsel releases {ours[0]:,} keys where the others release {min(same)} to {max(same)}, "
        f"at their best limits {min(best)} to {max(best)}."
    ) in said
    said = " ".join(read("compare.md").split())
    assert f"release {min(lines_best)} to {max(lines_best)} and {min(best)} to {max(best)} keys" in said


def test_no_caption_says_left_or_right():
    """All panels of a picture are one above the other, so that a phone shows them."""
    caption = re.compile(r"!\[[^\]]*\]\([^)]*\)\n\n(\*[^*].*?\*)\n", re.DOTALL)
    found = {str(path): caption.findall(path.read_text(encoding="utf-8")) for path in DOCS.rglob("*.md")}
    assert sum(map(len, found.values())) > 8
    sides = re.compile(r"\*(?:Left|Right)\b|\b(?:Left|Right): ")
    assert [name for name, captions in found.items() if any(map(sides.search, captions))] == []


def test_the_best_limit_is_among_those_that_every_library_got():
    stored = json.loads(peers_keys.FIGURES.read_text(encoding="utf-8"))
    for library in stored.values():
        for case, chosen in peers_keys.CASES.items():
            swept = {int(limit) for limit in library[case]["keys_of_limit"]}
            assert swept == {*peers_keys.LIMITS, chosen.limit}
            assert library[case]["keys_of_limit"][str(chosen.limit)] == library[case]["keys"]


def test_the_picture_of_speed_shows_the_table():
    shown = read("images", "speed.svg")
    found = figures.speed()
    assert [list(seconds) for seconds in found.values()] == [["Sips", "Steered", "default", "polars"]] * 4
    assert [
        (kind, program)
        for kind, seconds in found.items()
        for program, each in seconds.items()
        if f">{each:.2f}</text>" not in shown
    ] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=lambda path: path.stem)
def test_the_first_screen_says_what_the_table_of_speed_has(page):
    """What it is for, the picture, one number for speed and one for memory, status, address, citation."""
    said = " ".join(page.read_text(encoding="utf-8").split())
    times = [each["Sips"] / each["polars"] for each in figures.speed().values()]
    peaks = re.findall(r"(\d+) / ([\d,]+) \|$", read("performance.md"), re.MULTILINE)
    memory = [int(ours) / int(theirs.replace(",", "")) for ours, theirs in peaks[:4]]
    assert 0.4 < median(times) < 0.6
    assert 0.2 < median(memory) < 0.3
    claim = "about half of the time of a distinct count in polars, and a quarter of its memory"
    for part in (claim, "or engineers and researchers", "git clone", "alpha", "generated", "Cite", "plus"):
        assert part in said


@pytest.mark.parametrize(
    "picture", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=lambda path: path.stem
)
def test_a_picture_can_be_read_on_a_phone(picture):
    """A phone shows about 360 points in a line, and shrinks what is wider."""
    (width,) = re.findall(r'<svg [^>]*width="([\d.]+)pt"', picture.read_text(encoding="utf-8"))
    assert float(width) <= 400


def test_the_pictures_show_what_plans_say():
    shown = json.loads(figures.FILE.read_text(encoding="utf-8"))
    assert shown["keep"] == figures.keep()
    assert shown["noise"] == figures.noise()
    assert shown["needed"] == json.loads(json.dumps(figures.needed()))


@pytest.mark.slow
def test_the_pictures_of_steered_show_the_release():
    shown = json.loads(figures.FILE.read_text(encoding="utf-8"))
    assert shown["steered"] == json.loads(json.dumps(figures.steered()))


@pytest.mark.parametrize(
    ("row", "limit", "items", "with_weights"),
    [
        ("limit 1, users of one item | `Steered(reach=3)`: {}", 1, 1, False),
        ("limit 1, users of one item | `Steered(reach=3)`: 40 | `CountLaplace`: {}", 1, 1, True),
        ("limit 1, users of three items | `Steered(reach=3)`: {}", 1, 3, False),
        ("limit 10, users of 30 items | `MatchingOr`: {}", 10, 30, False),
        ("limit 10, users of 30 items | `MatchingOr`: 238 | `Steered(reach=3)`: {}", 10, 30, True),
    ],
)
def test_the_table_of_weights_is_that_of_plans(row, limit, items, with_weights):
    found = dpsel.plan(
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-8),
        max_items_per_user=limit,
        items_per_user=items,
        with_weights=with_weights,
    ).rows[0]
    assert f"| {row.format(found['users_for_95'])} |" in read("guide", "choosing-parameters.md")


def test_the_table_of_other_libraries_is_that_of_the_figures():
    page = peers_keys.PAGE.read_text(encoding="utf-8")
    found = json.loads(peers_keys.FIGURES.read_text(encoding="utf-8"))
    assert {"dpsel", "opendp", "pipelinedp", "pydp"} <= set(found) <= set(peers_keys.PEERS)
    assert peers_keys.filled(page, found) == page


def test_the_tables_of_counts_beside_other_libraries_are_those_of_the_figures():
    page = peers_counts.PAGE.read_text(encoding="utf-8")
    found = json.loads(peers_counts.FIGURES.read_text(encoding="utf-8"))
    assert set(found) == set(peers_counts.SETS)
    assert peers_counts.filled(page, found) == page
    times = [one["keys"] / peers_counts.best_other(one)[1]["best"]["keys"] for one in found.values()]
    said = "dpsel has 2.5 to 3.7 times the keys of the best other library"
    assert said in " ".join(page.split())
    assert (round(min(times), 1), round(max(times), 1)) == (2.5, 3.7)


def test_the_rows_of_the_comparison_are_those_of_dpsel():
    """What the first data set is said to be: distinct words of 594 lines."""
    rows = peers_keys.rows_of("quotations")
    assert len({line for line, _ in rows}) == 594
    assert len(rows) == len(set(rows))


@pytest.mark.parametrize("path", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_have_outputs_and_no_errors(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert len(outputs) >= 3
    assert [output for output in outputs if output["output_type"] == "error"] == []


@pytest.mark.parametrize("name", ["tutorial:learn/tutorial.md", "choosing:guide/choosing-parameters.md"])
def test_notebooks_have_the_code_and_text_of_their_pages(name):
    notebook, page = name.split(":")
    blocks = re.findall(r"^```python\n(.*?)\n```$", read(page), re.MULTILINE | re.DOTALL)
    cells = json.loads(read("notebooks", f"{notebook}.ipynb"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert [block for block in blocks if block not in code] == []
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    prose = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
    # Links have the address of the site in a notebook.
    assert [line for line in prose.splitlines() if "](" not in line and line not in text.splitlines()] == []
