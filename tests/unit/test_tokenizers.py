"""What n-grams are made of: characters, and the tokens of a function."""

from __future__ import annotations

import re

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel._ingest import Tokens
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError
from weak import WEAK

pytestmark = WEAK

#: Every item of two users comes out, and each user keeps all items.
PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=1e-6)
SURE = {"privacy": dpsel.ApproxDP(epsilon=60.0, delta=0.4), "max_items_per_user": 2_000}
SURE |= {"mechanism": dpsel.CountGaussian(), "insecure_test_key": bytes(32)}


def items_of(text: str, **options) -> list[str]:
    release = dpsel.select_partitions([(user, text) for user in range(40)], **SURE, **options)
    return release.items


def analysed(text: str, fewest: int, most: int) -> set[str]:
    """The n-grams of `CountVectorizer(analyzer="char")`, whose texts are written like this."""
    text = re.sub(r"\s\s+", " ", text.lower())
    return {text[at : at + n] for n in range(fewest, most + 1) for at in range(len(text) - n + 1)}


@given(text=st.text(st.sampled_from("aB éÜß\t\n\x1c\xa0\u2003日İΣ"), max_size=30), most=st.integers(1, 4))
def test_characters_are_those_of_scikit_learn(text, most) -> None:
    assert items_of(text, ngrams=(1, most), tokenizer="chars") == sorted(
        analysed(text, 1, most), key=lambda item: item.encode()
    )


def pieces(text: str, fewest: int, most: int) -> set[str]:
    """The n-grams of `CountVectorizer(analyzer="char_wb")`: a short word, with its spaces, once."""
    words = [f" {word} " for word in text.lower().split()]
    lengths = range(fewest, most + 1)
    return {word[at : at + n] for word in words for n in lengths for at in range(max(len(word) - n, 0) + 1)}


@given(
    text=st.text(st.sampled_from("aB éÜß,\t\n\x1c\x85\xa0\u2003日İΣ"), max_size=30), most=st.integers(1, 6)
)
def test_subwords_are_those_of_scikit_learn(text, most) -> None:
    for fewest in {1, most}:
        assert items_of(text, ngrams=(fewest, most), tokenizer="subwords") == sorted(
            pieces(text, fewest, most), key=lambda item: item.encode()
        )


def test_subwords_of_every_kind_of_source_and_in_a_top_k(tmp_path) -> None:
    rows = [(user, "Tea for Two") for user in range(40)]
    frame = pl.DataFrame(rows, schema=["u", "t"], orient="row")
    frame.write_csv(tmp_path / "rows.csv")
    options = {"user": "u", "item": "t", "ngrams": (4, 4), "tokenizer": "subwords"}
    expected = [" for", " tea", " two", "for ", "tea ", "two "]
    for data in (rows, frame, frame.lazy(), tmp_path / "rows.csv"):
        assert dpsel.select_partitions(data, **options, **SURE).to_pylist() == expected
    top = dpsel.select_top_k(
        frame, k=1, privacy=dpsel.PureDP(epsilon=10.0), domain=["tea", " tea", "tea for"], **options
    )
    assert top.to_pylist() == [" tea"]


def test_a_comparison_has_the_same_tokenizers() -> None:
    rows = [(user, "Tea for Two") for user in range(400)]
    grid = {"privacy": PRIVACY, "max_items_per_user": 20, "mechanisms": dpsel.CountGaussian(), "seed": 1}
    for tokenizer, items in (("words", 3), ("chars", 8), ("subwords", 8), (str.split, 3)):
        compared = dpsel.compare(rows, tokenizer=tokenizer, public_data=True, **grid)
        assert [row["items"] for row in compared.rows] == [items], tokenizer


def test_characters_alone_and_words() -> None:
    assert items_of("Tea Tea", tokenizer="chars") == [" ", "a", "e", "t"]
    assert items_of("Tea for two", ngrams=(2, 2), tokenizer="words") == ["for two", "tea for"]
    assert items_of("Tea for", tokenizer="words") == items_of("Tea for", ngrams=(1, 1)) == ["for", "tea"]


def test_a_function_makes_tokens_and_their_ngrams() -> None:
    assert items_of("Tea for Two", tokenizer=str.split) == ["Tea", "Two", "for"]
    assert items_of("Tea for Two", tokenizer=str.split, ngrams=(2, 3)) == [
        "Tea for",
        "Tea for Two",
        "for Two",
    ]
    assert items_of("", tokenizer=str.split) == []


SOURCES = {
    "pairs": lambda rows: rows,
    "groups": lambda rows: [(user, [text]) for user, text in rows],
    "records": lambda rows: [{"u": user, "t": text} for user, text in rows],
    "columns": lambda rows: {"u": [user for user, _ in rows], "t": [text for _, text in rows]},
    "polars": lambda rows: pl.DataFrame(rows, schema=["u", "t"], orient="row"),
    "lazy": lambda rows: pl.LazyFrame(rows, schema=["u", "t"], orient="row"),
    "categories": lambda rows: pl.DataFrame(rows, schema={"u": pl.Int64, "t": pl.Categorical}, orient="row"),
    "pandas": lambda rows: pd.DataFrame(rows, columns=["u", "t"]),
    "pyarrow": lambda rows: pa.table({"t": [text for _, text in rows], "u": [user for user, _ in rows]}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_items(name) -> None:
    rows = [(user, text) for user in range(40) for text in ("Tea for Two", "two", None)]
    data = SOURCES[name](rows)
    release = dpsel.select_partitions(data, user="u", item="t", tokenizer=str.split, ngrams=(1, 2), **SURE)
    assert release.to_pylist() == ["Tea", "Tea for", "Two", "for", "for Two", "two"]


def test_a_list_that_the_function_uses_again_is_copied() -> None:
    again: list[str] = []

    def tokens(text: str) -> list[str]:
        again[:] = text.split()
        return again

    texts = [(user, text) for user in range(40) for text in ("one two", "three")]
    for data in (texts, pl.DataFrame(texts, schema=["u", "t"], orient="row")):
        release = dpsel.select_partitions(data, user="u", item="t", tokenizer=tokens, **SURE)
        assert release.to_pylist() == ["one", "three", "two"]


def test_a_top_k_of_ngrams() -> None:
    texts = [(user, "Tea for two" if user % 4 else "two") for user in range(400)]
    frame = pl.DataFrame(texts, schema=["u", "t"], orient="row")
    arguments = {"user": "u", "item": "t", "k": 1, "privacy": dpsel.PureDP(epsilon=10.0)}
    top = dpsel.select_top_k(frame, ngrams=(1, 1), domain=["two", "tea", "gin"], **arguments)
    assert top.items["t"].to_list() == ["two"]
    top = dpsel.select_top_k(frame, tokenizer=str.split, domain=["Tea", "gin", "tea"], **arguments)
    assert top.items["t"].to_list() == ["Tea"]
    top = dpsel.select_top_k(
        frame, tokenizer="chars", ngrams=(3, 3), domain=["two", "for", "gin"], **arguments
    )
    assert top.items["t"].to_list() == ["two"]
    arguments |= {"privacy": dpsel.ApproxDP(epsilon=10.0, delta=1e-6), "max_items_per_user": 4}
    top = dpsel.select_top_k(frame, ngrams=(2, 2), **arguments)
    assert top.items["t"].to_list()[0] in {"tea for", "for two"}


def test_an_interrupt_in_a_function_interrupts_whatever_its_words_are() -> None:
    def interrupted(_text: str) -> list[str]:
        raise KeyboardInterrupt(SECRET)

    rows = [(user, "tea") for user in range(3)]
    frame = pl.DataFrame(rows, schema=["u", "t"], orient="row")
    for data in (rows, frame, frame.lazy(), frame.to_pandas(), frame.to_arrow()):
        with pytest.raises(KeyboardInterrupt) as caught:
            dpsel.select_partitions(data, user="u", item="t", tokenizer=interrupted, **SURE)
        assert SECRET not in str(caught.value)


SECRET = "hunter2"


@pytest.mark.parametrize(
    "function",
    [lambda _: 3, lambda text: text, lambda text: [text, 3], lambda text: [][len(text)], None.__class__],
    ids=["number", "text", "mixed", "error", "arguments"],
)
def test_what_goes_wrong_in_a_function_quotes_nothing(function) -> None:
    rows = [(user, SECRET) for user in range(3)]
    for data in (rows, pl.DataFrame(rows, schema=["u", "t"], orient="row")):
        with pytest.raises((DataError, SchemaError)) as caught:
            dpsel.select_partitions(data, user="u", item="t", tokenizer=function, **SURE)
        assert SECRET not in str(caught.value)
        assert caught.value.__cause__ is None or SECRET not in str(caught.value.__cause__)


def test_where_it_does_not_apply(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("u,t\n1,tea\n")
    with pytest.raises(InvalidParameterError, match="for files, got a function"):
        dpsel.select_partitions(path, user="u", item="t", tokenizer=str.split, **SURE)
    with pytest.raises(
        InvalidParameterError, match='tokenizer must be "words", "chars", "subwords" or a function'
    ):
        dpsel.select_partitions([(1, "tea")], tokenizer="letters", **SURE)
    with pytest.raises(InvalidParameterError, match="1 <= min <= max <= 8"):
        dpsel.select_partitions([(1, "tea")], tokenizer=str.split, ngrams=(3, 2), **SURE)
    frame = pl.DataFrame({"u": [1], "a": ["x"], "t": ["tea"], "n": [1]})
    for item, message in (
        (["a", "t"], "exactly one item column"),
        ("n", "^tokenizer= needs text, but the item column 'n' has type int64$"),
    ):
        with pytest.raises((DataError, SchemaError), match=message):
            dpsel.select_partitions(frame, user="u", item=item, tokenizer=str.split, **SURE)


def test_what_is_no_text_is_named_by_its_type() -> None:
    tokens = Tokens.of(str.split, None)
    assert tokens is not None
    for value, kind in ((5, "an int"), (2.5, "a float")):
        with pytest.raises(SchemaError, match=f"needs text, but the item column holds {kind}$"):
            tokens.of_text(value)


RETURNED = {
    "str": (lambda text: text, "got str"),
    "bytes": (lambda text: text.encode(), "got bytes"),
    "None": (lambda _: None, "got NoneType"),
    "generator": (lambda text: (word for word in text.split()), "got generator"),
    "dict": (lambda text: dict.fromkeys(text.split(), 1), "got dict"),
    "set": (lambda text: set(text.split()), "got set"),
    "map": (lambda text: map(str, text.split()), "got map"),
    "array": (lambda text: pd.array(text.split()).to_numpy(), "got numpy.ndarray"),
    "column": (lambda text: pl.Series(text.split()), "got polars"),
    "number": (len, "got int"),
    "numbers": (lambda text: [len(text)], "something else"),
    "bytes in it": (lambda text: [text.encode()], "something else"),
    "lists in it": (lambda text: [text.split()], "something else"),
    "None in it": (lambda text: [*text.split(), None], "something else"),
    "half a pair": (lambda text: [text, "\ud800 hunter2"], "half of a surrogate pair"),
}


@pytest.mark.parametrize("source", ["pairs", "polars", "lazy", "pandas", "arrow"])
@pytest.mark.parametrize("returned", RETURNED)
def test_what_is_no_list_of_texts_is_refused_by_its_cause(returned, source) -> None:
    function, cause = RETURNED[returned]
    frame = pl.DataFrame({"u": [1, 2], "i": ["hunter2 and more", "hunter2"]})
    tables = {"polars": frame, "lazy": frame.lazy(), "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}
    data = frame.rows() if source == "pairs" else tables[source]
    columns = {} if source == "pairs" else {"user": "u", "item": "i"}
    with pytest.raises(SchemaError, match=f"tokenizer= must return.*{cause}") as caught:
        dpsel.select_partitions(data, **SURE, **columns, tokenizer=function)
    assert "hunter2" not in str(caught.value)


def test_lists_and_tuples_of_any_texts_are_tokens() -> None:
    class Word(str):
        __slots__ = ()

    for function in (str.split, lambda text: tuple(text.split()), lambda text: list(map(Word, text.split()))):
        assert items_of("b a", tokenizer=function) == ["a", "b"]
