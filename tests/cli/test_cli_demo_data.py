"""``dpsel demo-data`` and ``dpsel.demo_data``."""

from __future__ import annotations

import collections
import csv
import json

import pyarrow.parquet as pq
import pytest
from cli_support import names
from hypothesis import given
from hypothesis import strategies as st

from dpsel import demo_data


@pytest.mark.parametrize("kind", demo_data.KINDS)
def test_rows_are_distinct_skewed_and_repeatable(kind):
    rows = list(demo_data.generate(kind, users=300, seed=5))
    assert rows == list(demo_data.generate(kind, users=300, seed=5))
    assert rows != list(demo_data.generate(kind, users=300, seed=6))
    assert len(set(rows)) == len(rows)
    holders = collections.Counter(item for _, item in rows)
    assert holders.most_common(1)[0][1] > 100
    assert sum(count == 1 for count in holders.values()) > len(holders) / 2


@pytest.mark.parametrize("kind", demo_data.KINDS)
def test_more_users_add_rows_and_change_none(kind):
    few = list(demo_data.generate(kind, users=20))
    many = list(demo_data.generate(kind, users=40))
    assert many[: len(few)] == few


def test_shuffled_rows_are_the_same_rows():
    by_user = list(demo_data.generate("text", users=50))
    shuffled = list(demo_data.generate("text", users=50, order="random"))
    assert shuffled != by_user
    assert sorted(shuffled) == sorted(by_user)


def test_words_stand_for_the_integers():
    numbers = demo_data.generate("zeta", users=50)
    words = demo_data.generate("zeta", users=50, items="str")
    assert [(user, demo_data.word(item)) for user, item in numbers] == list(words)


@given(st.integers(1, 1 << 48), st.integers(1, 1 << 48))
def test_words_are_injective(first, second):
    assert (demo_data.word(first) == demo_data.word(second)) == (first == second)


def test_every_short_word_is_used_once():
    assert len({demo_data.word(number) for number in range(1, 20_000)}) == 19_999


def read(path):
    match path.suffix:
        case ".csv":
            with path.open(newline="") as file:
                return [(int(row["user"]), int(row["item"])) for row in csv.DictReader(file)]
        case ".parquet":
            return [(row["user"], row["item"]) for row in pq.read_table(path).to_pylist()]
    return [(row["user"], row["item"]) for row in map(json.loads, path.read_text().splitlines())]


@pytest.mark.parametrize("extension", demo_data.EXTENSIONS)
def test_every_format_holds_the_rows(dpsel_run, folder, extension):
    out = folder / f"rows{extension}"
    run = dpsel_run("demo-data", out, "--kind", "zeta", "--users", "30", "--seed", "9")
    assert (run.code, run.out) == (0, "")
    assert read(out) == list(demo_data.generate("zeta", users=30, seed=9))
    assert names(folder) == {out.name}


def test_the_corpus_is_the_shipped_file(dpsel_run, folder):
    assert dpsel_run("demo-data", "lines.csv", "--kind", "quotations").code == 0
    assert (folder / "lines.csv").read_bytes() == demo_data.quotations().read_bytes()
    with (folder / "lines.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len({row["line"] for row in lines}) == len(lines) == 594
    assert all(row["text"] for row in lines)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--kind", "text"), "--users"),
        (("--kind", "magic"), "magic"),
        (("--kind", "text", "--users", "0"), "--users"),
        (("--kind", "text", "--users", "2", "--order", "size"), "--order"),
        (("--kind", "text", "--users", "2", "--items", "float"), "--items"),
        (("--kind", "quotations", "--users", "2"), "--users"),
        (("--kind", "quotations", "--seed", "2"), "--seed"),
        ((), "--kind"),
    ],
)
def test_what_does_not_apply_is_refused(dpsel_run, folder, options, words):
    run = dpsel_run("demo-data", "out.csv", *options)
    assert run.code == 2
    assert words in run.error
    assert names(folder) == set()


@pytest.mark.parametrize("options", [("--kind", "text", "--users", "2"), ("--kind", "quotations")])
def test_other_extensions_are_refused(dpsel_run, folder, options):
    run = dpsel_run("demo-data", "out.xyz", *options)
    assert run.code == 2
    assert "must end in one of" in run.error or "is written as" in run.error
    assert names(folder) == set()


@pytest.mark.parametrize("argument", ["kind", "order", "items"])
def test_the_generator_refuses_unknown_words(argument):
    arguments = {"kind": "text", "users": 1} | {argument: "magic"}
    with pytest.raises(ValueError, match=argument):
        demo_data.generate(**arguments)


def test_the_generator_needs_a_user():
    with pytest.raises(ValueError, match="users"):
        demo_data.generate("text", users=0)
