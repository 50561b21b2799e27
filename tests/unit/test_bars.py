"""The bars of "auto" at the documented limit are those of the decision; sets are read as they are kept."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from benches import bars, short_lists
from benches.releases import DELTAS, Figures

DECISION = Path(__file__).resolve().parents[2] / "docs/decisions/0008-auto.md"
#: Where the look is wrong, or too noisy for a small set.
BELOW = {
    ("papers", 3.0),
    ("papers", 6.0),
    ("gene_terms", 6.0),
    ("site", 0.5),
    ("categories", 0.5),
    ("documents", 0.5),
}


@pytest.fixture(scope="module")
def figures() -> Figures:
    return Figures(bars.FIGURES)


@pytest.fixture(scope="module")
def advised(figures) -> list[bars.Case]:
    return [case for case in bars.cases(figures) if case.advised]


def test_the_mechanisms_are_those_of_today(figures):
    assert not figures.stale((*bars.RIVALS, bars.taken(1.0, 10)))


def test_every_set_was_measured_at_each_epsilon(advised):
    sets = {case.data for case in advised}
    assert len(advised) == len(DELTAS) * len(sets)
    assert {name.split(",")[0] for name in sets} >= {*short_lists.SOURCES, "glosses", "imdb", "git_paths"}


def test_the_bars_are_those_of_the_decision(advised):
    below = [case for case in advised if case.of_best < bars.LEAST]
    assert {(case.data, case.epsilon) for case in below} == BELOW
    mean = bars.mean_of_best(advised)
    assert float(mean) >= bars.LEAST_MEAN
    text = " ".join(DECISION.read_text(encoding="utf-8").split())
    assert f"mean {mean}, six of {len(advised)} cells below {bars.LEAST}." in text
    assert f"on {len({case.data for case in advised})} sets, {len(short_lists.SOURCES) + 1} of them" in text


@pytest.mark.parametrize(
    ("read", "contents", "lists"),
    [
        (short_lists.after_number, ["7 1 2\n8 3\n"], [["1", "2"], ["3"]]),
        (short_lists.coloured, ["1,2 9\n3 8\n"], [["1", "2"], ["3"]]),
        (short_lists.attributes, ['{"a": [1, 2], "b": [3]}'], [["1", "2"], ["3"]]),
        (short_lists.herbs, ["5 6\t1 2\n", "7\t3\n"], [["1", "2"], ["3"]]),
        (short_lists.pairs, ["a;1\nb;3\na;2\n"], [["1", "2"], ["3"]]),
        (short_lists.genes, ["1\tno\ta\tb\n2\t\ta\n"], [["1", "2"], ["1"]]),
        (short_lists.terms, ["x, y,a\tb\nz,a\n"], [["x, y", "z"], ["x, y"]]),
        (short_lists.visits, ['I,4\nC,"1",1\nV,1,1\nV,2,1\nC,"2",2\nV,3,1\n'], [[], ["1", "2"], ["3"]]),
        (short_lists.parts, ["U+1\tA\t\u2ff0BC[G]\nU+2\tB\tB\n"], [["B", "C"]]),
        (short_lists.destinations, ["x,0,A,0,B\nx,0,A,0,C\nx,0,B,0,A\n"], [["B", "C"], ["A"]]),
    ],
)
def test_lists_are_read_as_they_are_kept(read, contents, lists):
    assert [list(one) for one in read(*(each.encode() for each in contents))] == lists


def test_simplices_are_read_by_their_sizes():
    sizes, items = (gzip.compress(text.encode()) for text in ("2\n1\n", "1\n2\n3\n"))
    assert list(short_lists.simplices(sizes, items)) == [["1", "2"], ["3"]]


def test_words_of_a_definition_without_its_examples(tmp_path):
    line = '1 03 n 01 tea 0 000 | a hot drink; "a cup of tea"  \n'
    (tmp_path / "data.noun").write_text("  1 licence\n" + line, encoding="utf-8")
    assert list(short_lists.glosses(tmp_path)) == [["a", "hot", "drink"]]
