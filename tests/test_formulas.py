"""Formulas of the documentation parse, Markdown leaves them alone, and references reach what they name.

The parser is matplotlib's mathtext. It does not know `\\le` and some others: `SYNONYMS` replaces them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ALGORITHMS = ROOT / "docs" / "algorithms"
PROOFS = sorted(ALGORITHMS.glob("*.md"))
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SOURCES = [*PAGES, *sorted((ROOT / "rust").rglob("*.rs")), *sorted((ROOT / "python").rglob("*.py"))]

#: Commands that MathJax and KaTeX know and mathtext does not, with one of the same shape that it knows.
SYNONYMS = {
    "le": r"\leq ", "ge": r"\geq ", "ne": r"\neq ", "gets": r"\leftarrow ", "iff": r"\Leftrightarrow ",
    "implies": r"\Rightarrow ", "lvert": "|", "rvert": "|", "lVert": r"\Vert ", "rVert": r"\Vert ",
    "tfrac": r"\frac", "dfrac": r"\frac", "square": r"\circ ", "land": r"\wedge ", "lor": r"\vee ",
    "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "bigm": "", "Bigm": "",
}  # fmt: skip
#: Every command that a formula may have. All of them are known to MathJax and to KaTeX.
WORDS = """
alpha beta gamma delta varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau varphi phi
chi psi omega Gamma Delta Theta Lambda Phi Psi Omega ell ast cdot cdots dots ldots circ times oplus
infty partial emptyset in notin subseteq subset cap cup setminus mid sim approx propto equiv to
mapsto leq geq neq Leftrightarrow Rightarrow wedge vee lfloor rfloor lceil rceil lbrace rbrace
langle rangle Vert prime frac sqrt binom sum prod int sup inf max min arg ln log exp arctan Pr left
right hat bar tilde overline mathrm mathcal mathbb mathbf text quad qquad thinspace
"""
KNOWN = set(SYNONYMS) | set(WORDS.split())
#: Formulas in plain text, outside of code and of `$...$`.
REMNANT = re.compile(
    r"\w\^|\^[({\d-]|[<>]=|\b(?:sqrt|floor|ceil|exp|dG|tail)\(|\bsum over\b|\bD0\b"
    r"|\b(?:epsilon|delta|sigma|rho|lambda|alpha|kappa|tau)\b|\b[A-Za-z]_[A-Za-z0-9(]"
    r"|[α-ωΔΣΠΦ≤≥≠∑∏∫√·−∈∞∖∩∪⌈⌉⌊⌋₀-₉ᵢⱼₙₖ⁰-⁹]"  # noqa: RUF001
)
FENCE = re.compile(r"^( *)(```+)[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)[^\n]+?(?<!`)\1(?!`)")
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"\$([^$\n]+)\$")
LABEL = re.compile(r"^(?:- )?\*\*(Lemma|Theorem)(?: (\d+))?[ .(,]", re.MULTILINE)
NAMED = re.compile(r"\b(Lemma|Theorem)s? (\d+(?!\.?\d)(?:(?:, | and | to )\d+(?!\.?\d))*)( there)?")
#: `Lemma 1 of [a page](page.md)`.
OF_PAGE = re.compile(NAMED.pattern.removesuffix("( there)?") + r" of \[[^\]]*\]\(([^)\s]*)\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]*)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
#: A paper stands by: its year, or the words with which a page comes back to it.
CITED = re.compile(
    r"\b(?:19|20)\d\d\b|\bof (?:the|that) paper\b|\b[A-Z]\w+ and [A-Z]\w+, (?:Theorem|Lemma)\b"
)


def blanked(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


@cache
def prose(page: Path) -> str:
    """A page without code; what is left stands where it stood."""
    text = FENCE.sub(blanked, page.read_text(encoding="utf-8"))
    return CODE.sub(lambda found: "`" * len(found[0]), text)


def formulas(page: Path) -> list[str]:
    shown = DISPLAY.findall(prose(page))
    return shown + INLINE.findall(DISPLAY.sub(blanked, prose(page)))


def translated(formula: str) -> str:
    words = " ".join(formula.split())
    return re.sub(r"\\([A-Za-z]+)", lambda found: SYNONYMS.get(found[1], found[0]), words)


def faults(formula: str) -> list[str]:
    """What is wrong with a formula; nothing is, if the list is empty."""
    from matplotlib.mathtext import MathTextParser

    found = []
    unknown = sorted(set(re.findall(r"\\([A-Za-z]+)", formula)) - KNOWN)
    if unknown:
        found.append(f"commands that are not in KNOWN: {unknown}")
    if re.search(r"\\[^A-Za-z]", formula):
        found.append("a backslash before a sign: Markdown takes it away")
    if re.search(r"<[A-Za-z/!]", formula):
        found.append("a letter right after <: Markdown may take it for a tag")
    opened, closed = (re.findall(rf"\\([bB]ig){side}\b", formula) for side in "lr")
    if sorted(opened) != sorted(closed):
        found.append("\\bigl without \\bigr, or the other way round")
    try:
        MathTextParser("path").parse(f"${translated(formula)}$")
    except ValueError as error:
        found.append(str(error).splitlines()[-1])
    return found


def shape_faults(text: str) -> list[str]:
    """Lines whose dollars do not pair, and formulas that a code host does not see. The text has no code."""
    rest = DISPLAY.sub(blanked, text)
    found = [line for line in rest.splitlines() if line.count("$") % 2]
    for line in rest.splitlines():
        for formula in INLINE.finditer(line):
            before, after = line[: formula.start()][-1:], line[formula.end() :][:1]
            in_row = line.lstrip().startswith("|") and "|" in formula[1]
            if in_row or formula[1] != formula[1].strip() or before.isalnum() or after.isalnum():
                found.append(formula[0])
    return found


def display_faults(text: str) -> list[str]:
    """Displayed formulas with a blank line, or with a line that Markdown takes for a list or heading."""
    broken = re.compile(r"^\s*$|^\s*(?:[-+*#>]|\d+[.)])\s|^[=-]+$", re.MULTILINE)
    inner = [shown.strip("\n") for shown in DISPLAY.findall(text)]
    return [shown for shown in inner if broken.search(shown)]


def labels(page: Path) -> list[tuple[str, int]]:
    """Lemmas and theorems that a page states, in their order. An unnumbered one has the number 1."""
    return [(kind, int(number or 1)) for kind, number in LABEL.findall(prose(page))]


def numbers(listed: str) -> set[int]:
    """`1, 2 and 4` and `1 to 3`, as numbers."""
    found = {int(number) for number in re.findall(r"\d+", listed)}
    for low, high in re.findall(r"(\d+) to (\d+)", listed):
        found |= set(range(int(low), int(high) + 1))
    return found


def missing(text: str, page: Path) -> list[str]:
    """Lemmas and theorems that a paragraph refers to and that are not where it says."""
    own, found, linked = set(labels(page)), [], set()
    of_pages = [(f"{kind} {listed}", target) for kind, listed, target in OF_PAGE.findall(text)]
    text = OF_PAGE.sub(" ", text)
    for words, target in [*of_pages, *LINK.findall(text)]:
        path = (page.parent / target.split("#")[0]).resolve()
        if path.suffix == ".md" and path.parent == ALGORITHMS:
            there = set(labels(path))
            linked |= there
            named = [(kind, n) for kind, listed, _ in NAMED.findall(words) for n in numbers(listed)]
            found += [f"{kind} {n} in {path.name}" for kind, n in named if (kind, n) not in there]
    for kind, listed, there in NAMED.findall(LINK.sub(" ", text)):
        reached = own | (linked if there or page.name == "README.md" else set())
        lost = [n for n in numbers(listed) if (kind, n) not in reached]
        if lost and not CITED.search(text):
            found.append(f"{kind} {lost}")
    return found


def slug(heading: str) -> str:
    """The anchor that code hosts give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    text = FENCE.sub(blanked, page.read_text(encoding="utf-8"))
    return {slug(heading) for heading in HEADING.findall(text)}


#: The longest page.
LONG = {"release_curves": [pytest.mark.long("hundreds of formulas")]}


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=LONG.get(page.stem, [])) for page in PAGES]
)
def test_every_formula_parses(page) -> None:
    found = {formula: faults(formula) for formula in dict.fromkeys(formulas(page))}
    assert {formula: wrong for formula, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_markdown_sees_every_formula(page) -> None:
    assert shape_faults(prose(page)) == []
    assert display_faults(prose(page)) == []


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_proofs_have_no_formulas_in_plain_text(page) -> None:
    text = INLINE.sub(blanked, DISPLAY.sub(blanked, prose(page)))
    text = LINK.sub(lambda found: found[1], text)
    if page.name == "README.md":  # its cells are read by other tests
        text = re.sub(r"\([εδ, ]+\)|\| ε|ε,", " ", text)
    assert [line for line in text.splitlines() if REMNANT.search(line)] == []


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_lines_of_proofs_are_short(page) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_lemmas_and_theorems_have_numbers_of_their_own(page) -> None:
    named = labels(page)
    assert sorted(named) == sorted(set(named))


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_references_to_lemmas_and_theorems_reach_them(page) -> None:
    paragraphs = re.split(r"\n\s*\n|\n(?=\|)", prose(page))
    lost = {text: missing(" ".join(text.split()), page) for text in paragraphs}
    assert {text: names for text, names in lost.items() if names} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_anchors_of_links_are_headings(page) -> None:
    wanted = [
        target.split("#", 1)
        for _, target in LINK.findall(prose(page))
        if "#" in target and "://" not in target
    ]
    lost = [
        (path, anchor)
        for path, anchor in wanted
        if anchor not in anchors((page.parent / path) if path else page)
    ]
    assert lost == []


def sections(source: Path) -> list[tuple[str, str]]:
    """Pages and numbers of the sections that a file names, in words or in the text of a link."""
    text = source.read_text(encoding="utf-8")
    plain = re.findall(r"algorithms/(\w+)\.md`*,? section (\d+)", text)
    for words, target in LINK.findall(text):
        path = Path(target.split("#")[0])
        if path.suffix == ".md":
            plain += [(path.stem, number) for number in re.findall(r"\bsection (\d+)", words)]
    return [(name, number) for name, number in plain if (ALGORITHMS / f"{name}.md").is_file()]


def test_sections_that_are_named_by_number_exist() -> None:
    wanted = {(source, *named) for source in SOURCES for named in sections(source)}
    assert wanted
    lost = [
        (str(source.relative_to(ROOT)), name, number)
        for source, name, number in wanted
        if not any(anchor.startswith(f"{number}-") for anchor in anchors(ALGORITHMS / f"{name}.md"))
    ]
    assert lost == []


@pytest.mark.parametrize(
    "formula",
    [
        r"a^2^3", r"\frac{a}{b", r"\left(a", r"\bigl(a)", r"\nosuchcommand", r"\begin{cases}a\end{cases}",
        r"a\,b", r"\{a\}", r"\sqrt{", r"a_", r"i<j", r"\delta_\mathrm T",
    ],
)  # fmt: skip
def test_broken_formulas_are_found(formula) -> None:
    assert faults(formula)


@pytest.mark.parametrize("line", ["a $x and b", "$x $ b", "a$x$", "$x$b", "| $a$ | $b |", "| $a|b$ |"])
def test_broken_dollars_are_found(line) -> None:
    assert shape_faults(line)


@pytest.mark.parametrize("shown", ["$$\na\n\nb\n$$", "$$\na\n- b\n$$", "$$\na\n=\nb\n$$"])
def test_broken_displays_are_found(shown) -> None:
    assert display_faults(shown)


@pytest.mark.parametrize(
    "line",
    ["e^eps", "x >= y", "sqrt(2)", "the sum over j", "at most D0", "w_k units", "2^30", "sigma is", "k ≤ n"],
)
def test_plain_formulas_are_found(line) -> None:
    assert REMNANT.search(line)


@pytest.mark.parametrize(
    "text",
    [
        "By Lemma 99.",
        "[noise, Lemma 99](noise.md)",
        "[noise](noise.md), Theorem 99 there.",
        "Lemmas 98 to 99",
    ],
)
def test_lost_references_are_found(text) -> None:
    assert missing(text, ALGORITHMS / "accounting.md")
