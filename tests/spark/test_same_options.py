"""Every option gives the same release on Spark as on one machine, bit for bit, and the same report."""

from __future__ import annotations

import re
import threading
from inspect import signature

import pytest
from spark_support import arguments, rows, same, same_top_k, table

import dpsel
import dpsel.spark
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def local():
    return table(rows(600, 900))


@pytest.fixture(scope="module")
def frame(spark, local):
    return spark.createDataFrame(local).repartition(3).persist()


def tokenizer():
    """A function with a variable of its own, which workers cannot import."""
    between = re.compile(r"[ .]+")

    def tokens(text: str) -> list[str]:
        return between.split(text)

    return tokens


LISTS = {"exclude": [0, 3, 5, 10**12], "public_items": [1, 4, 700, -7]}
#: For each keyword that the tests of `test_same_release.py` leave as it is, some values.
OPTIONS = {
    "exclude": [{"exclude": LISTS["exclude"]}, {"exclude": []}],
    "public_items": [LISTS, {"public_items": LISTS["public_items"], "counts": 0.3}],
    "min_users": [{"min_users": 12, "mechanism": dpsel.CountGaussian()}],
    "max_items_per_user": [
        {"max_items_per_user": dpsel.Quantile(0.8, most=40)},
        {"max_items_per_user": dpsel.Quantile(0.5, most=9), "counts": 0.2, **LISTS},
    ],
    "rest": [
        {"rest": 0.1, "mechanism": dpsel.Steered(rounds=4)},
        {"rest": dpsel.Rest(0.1, max_rows_per_user=3), "counts": 0.2, **LISTS},
        {"rest": dpsel.Rest(0.1, 1), "exclude": LISTS["exclude"], "max_items_per_user": dpsel.Quantile(0.5)},
    ],
    "mechanism": [
        {"mechanism": "auto", "max_items_per_user": 3},  # from 4 on a look, in memory alone
    ],
}
#: Keywords that have their own tests, here, in `test_same_release.py` or in `test_spark_levels.py`.
ELSEWHERE = {
    "levels",
    *("user", "item", "privacy", "with_weights", "counts", "ngrams", "tokenizer", "progress"),
    *("num_partitions", "unencrypted", "secret_file", "insecure_test_key"),
}


def test_every_keyword_has_a_case() -> None:
    keywords = set(signature(dpsel.spark.select_partitions).parameters) - {"data"}
    assert keywords == set(OPTIONS) | ELSEWHERE


@pytest.mark.parametrize("given", [given for cases in OPTIONS.values() for given in cases], ids=repr)
def test_options(frame, local, given) -> None:
    given = {"mechanism": dpsel.Steered(rounds=4)} | given
    assert same(frame, local, **given).num_rows > 4


def test_a_list_of_nothing_covers_nothing(frame, local) -> None:
    given = {"rest": dpsel.Rest(0.5, 50), "privacy": dpsel.ApproxDP(epsilon=1e-3, delta=1e-9)}
    assert same(frame, local, dpsel.Sips(), **given).num_rows == 0


def test_the_least_number_of_users_holds(frame, local) -> None:
    given = arguments(dpsel.CountGaussian(), min_users=40)
    found = dpsel.spark.select_partitions(frame, **given).to_local().to_pylist()
    counts = local.group_by("item").aggregate([("user", "count_distinct")]).to_pylist()
    users = {each["item"]: each["user_count_distinct"] for each in counts}
    assert found
    assert all(users[item] >= 40 for item in found)


def test_lists_of_texts_and_of_several_columns(spark) -> None:
    """Names are looked up for released items alone, whatever is counted beside them."""
    data = [(user, f"city {item % 9}", item % 7) for user, item in rows(400, 60)]
    local = table(data, names=("user", "a.city`", "number"))
    frame = spark.createDataFrame(local).repartition(4)
    given = {"item": ["a.city`", "number"], "max_items_per_user": 20, "counts": 0.3}
    given |= {"exclude": [("city 0", 0)], "public_items": [("city 1", 1), ("city 2", 5)]}
    found = same(frame, local, dpsel.Sips(), **given)
    assert found["public"].to_pylist().count(True) == 2
    assert found.num_rows > 5


def test_lists_are_joined_like_released_items(frame, local, monkeypatch) -> None:
    from dpsel.spark import _dataflow

    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", 2)
    monkeypatch.setattr(_dataflow, "FILTER_BITS", 2)
    same(frame, local, dpsel.Sips(), counts=0.3, **LISTS)


@pytest.mark.parametrize("item", ["item", ["item", "more"]])
def test_public_lists_may_be_spark_dataframes(spark, local, item) -> None:
    local = local.append_column("more", local["item"])
    frame = spark.createDataFrame(local).repartition(3)
    lists = {name: [(each, each) for each in items] for name, items in LISTS.items()}
    if item == "item":
        lists = LISTS
    given = arguments(dpsel.Steered(rounds=3), item=item)
    here = dpsel.select_partitions(local, **given, **lists)
    data = {"exclude": LISTS["exclude"], "public_items": LISTS["public_items"]}
    made = {
        name: spark.createDataFrame([(0, each, each) for each in items], "other int, more long, item long")
        for name, items in data.items()
    }
    there = dpsel.spark.select_partitions(frame, **given, **made)
    assert there.to_local().to_pylist() == here.to_pylist()
    assert there.report.to_json() == here.report.to_json()
    one = spark.createDataFrame([(each,) for each in LISTS["public_items"]], "any_name long")
    top = {
        "user": "user",
        "item": "item",
        "k": 2,
        "privacy": dpsel.PureDP(epsilon=1.0),
        "insecure_test_key": bytes(32),
    }
    listed = dpsel.select_top_k(local, domain=LISTS["public_items"], **top)
    assert dpsel.spark.select_top_k(frame, domain=one, **top).to_local().to_pylist() == listed.to_pylist()


def test_a_spark_dataframe_without_the_item_columns_is_no_list(spark, frame) -> None:
    other = spark.createDataFrame([(1, 2)], "a int, b int")
    with pytest.raises(SchemaError, match="exclude must have each item column once, got .* columns 'item'"):
        dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips(), exclude=other))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"exclude": ["tea"]}, "exclude= has an item at position 0 that column"),
        ({"public_items": [1], "exclude": [1]}, "must have no item in common"),
        ({"min_users": 0}, "min_users must be at least 1"),
        ({"min_users": 3, "mechanism": dpsel.Steered()}, "min_users"),
        ({"max_items_per_user": dpsel.Quantile(0.5), "mechanism": dpsel.MatchingOr()}, "both look"),
    ],
    ids=str,
)
def test_what_one_machine_refuses(frame, local, wrong, message) -> None:
    given = arguments(dpsel.Sips()) | wrong
    with pytest.raises(dpsel.DpselError) as here:
        dpsel.select_partitions(local, **given)
    with pytest.raises(dpsel.DpselError, match=message) as there:
        dpsel.spark.select_partitions(frame, **given)
    assert (type(there.value), str(there.value)) == (type(here.value), str(here.value))


@pytest.fixture(scope="module")
def texts():
    words = ["the", "quick", "brown.fox", "jumps", "over", "the", "lazy", "dog"]
    return table(
        [(user, None if item == 9 else " ".join(words[item % 7 :][:4])) for user, item in rows(300, 30)]
    )


@pytest.mark.parametrize("ngrams", [None, (1, 3)])
def test_tokens_of_a_function(spark, texts, ngrams) -> None:
    frame = spark.createDataFrame(texts).repartition(4)
    given = {"tokenizer": tokenizer(), "ngrams": ngrams, "max_items_per_user": 30, "exclude": ["the"]}
    found = same(frame, texts, dpsel.Sips(), **given)
    assert {"fox", "lazy"} <= set(found["item"].to_pylist())
    given = {"tokenizer": tokenizer(), "ngrams": ngrams, "privacy": dpsel.PureDP(epsilon=2.0)}
    same_top_k(frame, texts, domain=["the", "fox", "cat", "lazy dog"], k=2, **given)
    given |= {"privacy": dpsel.ApproxDP(epsilon=4.0, delta=1e-4), "max_items_per_user": 9}
    same_top_k(frame, texts, k=2, **given)


SECRET = "brown"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda text: [][len(text)], "tokenizer= raised IndexError on a text; its message"),
        (lambda text: int(text), "tokenizer= raised ValueError on a text; its message"),
        (lambda text: text, "tokenizer= must return a list of tokens, got str"),
        (lambda text: [text, 3], "tokenizer= must return a list of texts"),
    ],
    ids=["error", "quoting", "text", "mixed"],
)
def test_what_goes_wrong_in_a_function_quotes_nothing(spark, texts, capfd, wrong, message) -> None:
    frame = spark.createDataFrame(texts)
    with pytest.raises((DataError, SchemaError), match=message) as caught:
        dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips(), tokenizer=wrong))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert SECRET not in str(caught.value)
    # Not even in the log of Java, which has what a worker says.
    assert SECRET not in capfd.readouterr().err


def test_a_function_that_cannot_travel_is_refused_before_payment(spark, texts) -> None:
    lock = threading.Lock()

    def tokens(text: str) -> list[str]:
        with lock:
            return text.split()

    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=9.0, delta=1e-3))
    frame, numbers = spark.createDataFrame(texts), spark.createDataFrame(table(rows(9, 9)))
    several = frame.selectExpr("user", "item", "item as more")
    for data, given, error in (
        (frame, {"tokenizer": tokens}, InvalidParameterError),
        (numbers, {"tokenizer": str.split}, SchemaError),
        (several, {"tokenizer": str.split, "item": ["item", "more"]}, SchemaError),
    ):
        paid = {"privacy": budget.spend(dpsel.ApproxDP(epsilon=1.0, delta=1e-6)), "insecure_test_key": None}
        with pytest.raises(error, match="tokenizer") as caught:
            dpsel.spark.select_partitions(data, **arguments(dpsel.Sips()) | paid | given)
        assert not getattr(caught.value, "__notes__", [])


PROGRESS = [
    {"mechanism": dpsel.Sips()},
    {"mechanism": dpsel.Steered(rounds=4), "counts": 0.2},
    {"mechanism": dpsel.Steered(rounds=9), "max_items_per_user": dpsel.Quantile(0.5)},
]


@pytest.mark.parametrize("given", PROGRESS, ids=repr)
@pytest.mark.parametrize("most", [0, 10**9])
def test_progress_never_falls_and_is_complete_once(frame, monkeypatch, given, most) -> None:
    """Its steps are those of public parameters, whatever the rows are."""
    from dpsel.spark import _driver

    monkeypatch.setattr(_driver, "DRIVER_SUMS", most)
    calls = []
    few = frame.where("user < 9")
    for data in (frame, few):
        calls.append([])
        dpsel.spark.select_partitions(
            data, **arguments(**given), progress=lambda *call: calls[-1].append(call)
        )
    for made in calls:
        done, totals = zip(*made, strict=True)
        assert done == tuple(sorted(done))
        assert len(set(totals)) == 1
        assert done[-1] == totals[-1]
        assert done.count(totals[-1]) == 1
    assert calls[0][0] == calls[1][0]
    assert len(calls[0]) > 3
    if "max_items_per_user" not in given:
        assert calls[0] == calls[1]


def test_a_bar_and_a_top_k(frame, capfd) -> None:
    given = {"user": "user", "item": "item", "k": 2, "privacy": dpsel.ApproxDP(epsilon=4.0, delta=1e-4)}
    dpsel.spark.select_top_k(frame, **given, max_items_per_user=9, progress=True)
    assert "names" in capfd.readouterr().err
    calls = []
    dpsel.spark.select_top_k(frame, **given, max_items_per_user=9, progress=lambda *call: calls.append(call))
    assert calls[-1][0] == calls[-1][1] > calls[-2][0]


def test_what_goes_wrong_in_a_progress_function_comes_back(frame) -> None:
    class StopError(Exception):
        pass

    def stop(_done: int, _total: int) -> None:
        raise StopError

    with pytest.raises(StopError):
        dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()), progress=stop)
    with pytest.raises(
        InvalidParameterError, match=r"progress must be True or a function of \(done, total\)"
    ):
        dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()), progress="bar")
