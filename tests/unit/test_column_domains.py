"""``dpsel.domains``: values of several columns in one call, typed as the columns are."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError, SchemaError

#: A value of one user comes out by chance once in a million runs.
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-10)
DAY = dt.date(2026, 1, 1)
TABLE = pa.table(
    {
        "who": [f"u{row}" for row in range(2000)],
        "number": pa.array([1, -2] * 1000, pa.int16()),
        "text": ["1", "it's \\ ok"] * 1000,
        "flag": [True, False] * 1000,
        "day": [DAY, None] * 1000,
        "share": [0.5] * 2000,
        "rare": [f"secret{row}" for row in range(2000)],
    }
)
COLUMNS = ["number", "text", "flag", "day", "rare"]
VALUES = {"number": [-2, 1], "text": ["1", "it's \\ ok"], "flag": [False, True], "day": [DAY], "rare": []}


def found(data=TABLE, columns=COLUMNS, **options):
    return dpsel.domains(data, **{"columns": columns, "privacy": PRIVACY} | options)


FORMS = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "dictionaries": lambda table: pa.table(
        {
            name: table[name].dictionary_encode() if name in VALUES else table[name]
            for name in table.column_names
        }
    ),
    "categories of polars": lambda table: pl.from_arrow(table).with_columns(
        pl.col("who", "rare").cast(pl.Categorical), pl.col("text").cast(pl.Enum(sorted(VALUES["text"])))
    ),
    "categories of pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype).astype(
        {"text": pd.CategoricalDtype(pd.array(VALUES["text"], "string")), "who": "category"}
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("user", [None, "who"])
def test_every_column_has_its_values_in_its_type(form, user):
    made = found(FORMS[form](TABLE), user=user)
    assert {name: made[name] for name in made} == VALUES
    assert made.columns == COLUMNS
    for name in ("number", "flag", "day"):
        assert made.to_arrow(name).type == TABLE.schema.field(name).type
    assert dpsel.check(made.report).ok


@pytest.mark.parametrize("name", ["column", "value", "each row"])
def test_a_user_column_of_any_name(name):
    table = TABLE.rename_columns([name, *TABLE.column_names[1:]])
    made = found(table, user=name)
    assert made["number"] == VALUES["number"]
    assert "each row is a user" not in repr(made)


def test_options_of_a_selection(tmp_path):
    steps = []
    options = {"threads": 1, "memory_limit": "256MiB", "scratch": tmp_path, "scratch_limit": "1GiB"}
    made = found(progress=lambda *step: steps.append(step), **options)
    assert made["number"] == VALUES["number"]
    assert steps[-1][0] == steps[-1][1]
    with pytest.raises(InvalidParameterError, match="threads"):
        found(threads=0)


def test_types_do_not_depend_on_rows():
    empty = found(TABLE.slice(0, 1))
    assert [len(empty[name]) for name in COLUMNS] == [0] * 5
    assert [empty.to_arrow(name).type for name in COLUMNS] == [found().to_arrow(n).type for n in COLUMNS]


def test_the_report_says_that_each_row_is_a_user():
    assert found().report["request"]["columns"]["user"] == "each row"
    assert repr(found()).endswith("each row is a user>")
    assert "each row" not in repr(found(user="who"))


def test_the_answer_is_that_of_rows_of_column_and_value():
    key = bytes(32)
    made = found(columns=["number", "text"], insecure_test_key=key)
    rows = [
        (row, (at, str(value)))
        for at, name in enumerate(("number", "text"))
        for row, value in enumerate(TABLE[name].to_pylist())
    ]
    same = dpsel.select_partitions(
        rows,
        item=["column", "value"],
        privacy=PRIVACY,
        max_items_per_user=2,
        mechanism="steered",
        insecure_test_key=key,
    )
    assert sorted(same) == sorted(
        (at, str(value)) for at, name in enumerate(("number", "text")) for value in made[name]
    )


def test_the_domain_file_and_the_statement(tmp_path):
    made = found()
    made.write(tmp_path / "domain.json")
    read = json.loads((tmp_path / "domain.json").read_text())
    assert read["number"] == {"type": "CategoricalAttribute", "possible_values": [-2, 1]}
    assert read["day"]["possible_values"] == ["2026-01-01"]
    assert made.to_snowflake("db.t") == (
        "ALTER TABLE db.t ALTER (\n"
        "  COLUMN number SET PRIVACY DOMAIN BETWEEN (-2, 1),\n"
        "  COLUMN text SET PRIVACY DOMAIN IN ('1', 'it''s \\\\ ok')\n"
        ");"
    )
    renamed = found(TABLE.rename_columns(["who", 'a "b"', *TABLE.column_names[2:]]), columns=['a "b"'])
    assert 'COLUMN "a ""b""" SET' in renamed.to_snowflake("t")
    with pytest.raises(InvalidParameterError, match="there is no domain to set"):
        found(columns=["flag"]).to_snowflake("t")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"columns": []}, InvalidParameterError, "at least one column"),
        ({"columns": ["share"]}, SchemaError, "round floating-point numbers"),
        ({"columns": ["none"]}, SchemaError, "no single column named 'none'"),
        ({"user": "none"}, SchemaError, "no single column named 'none'"),
        ({"columns": ["text", "text"]}, InvalidParameterError, "twice"),
        ({"user": "text"}, InvalidParameterError, "as the user too"),
        ({"user": ["who"]}, InvalidParameterError, "user must name one column"),
        ({"data": TABLE.to_pandas().astype(object)}, SchemaError, "the type object of pandas"),
        ({"data": [(1, 2)]}, SchemaError, "declared types, got a list"),
        ({"data": pl.from_arrow(TABLE).lazy()}, SchemaError, "collect()"),
        (
            {"data": TABLE.append_column("b", pa.array([b"x"] * 2000)), "columns": ["b"]},
            SchemaError,
            "cast it",
        ),
    ],
)
def test_bad_input_is_refused_and_costs_nothing(arguments, error, text):
    budget = dpsel.Budget(PRIVACY)
    with pytest.raises(error) as info:
        found(**{"privacy": budget.spend(PRIVACY, "domains")} | arguments)
    assert text in str(info.value)
    assert "secret" not in str(info.value)


def counted(**options):
    people = {"job": ["cook", "nurse", "nurse"] * 500, "age": [40, 30, 30] * 500}
    made = {"privacy": PRIVACY, "counts": dpsel.Counts(share=0.5, max_counted_items=2)}
    return dpsel.domains(pa.table(people), columns=["job", "age"], **(made | options))


DAYS = [-(2**31), -1_000_000, -719_529, -719_163, -719_162, 0, 2_932_896, 2_932_897, 5_000_000, 2**31 - 1]


@pytest.mark.parametrize("form", ["pyarrow", "dictionaries", "public"])
def test_days_of_all_years_come_out(tmp_path, form):
    """A released day after the year 9999 broke the call off after it was paid, and the error quoted it."""
    days = pa.array(DAYS * 1000, pa.int32()).cast(pa.date32())
    more = {"public_values": {"day": [DAY]}} if form == "public" else {}
    made = found(
        pa.table({"day": days.dictionary_encode() if form == "dictionaries" else days}), ["day"], **more
    )
    numbers = made.to_arrow("day").cast(pa.int32()).to_pylist()
    assert numbers == sorted([*DAYS, *([(DAY - dt.date(1970, 1, 1)).days] if more else [])])
    assert made.to_arrow("day").type == pa.date32()
    with pytest.raises(
        SchemaError, match=r"column 'day' holds released values that .* use to_arrow\(\)$"
    ) as refused:
        made["day"]
    assert refused.value.__context__ is None
    made.write(tmp_path / "domain.json")
    texts = json.loads((tmp_path / "domain.json").read_text())["day"]["possible_values"]
    assert texts[:5] == ["-5877641-06-23", "-0768-02-04", "-0001-12-31", "0000-12-31", "0001-01-01"]
    assert texts[-4:] == ["9999-12-31", "+10000-01-01", "+15659-07-15", "+5881580-07-11"]
    assert "+15659-07-15" in str(made)
    with pytest.raises(InvalidParameterError, match="there is no domain to set"):
        made.to_snowflake("t")


def test_values_have_their_noisy_numbers_in_their_order():
    found = counted()
    assert (found["job"], found["age"]) == (["cook", "nurse"], [30, 40])
    for numbers, true in ((found.counts["job"], [500, 1000]), (found.counts["age"], [1000, 500])):
        assert all(abs(number - users) < 100 for number, users in zip(numbers, true, strict=True))
    assert found.report.counts["max_counted_items"] == 2
    assert counted(counts=None).counts is None


def test_integers_with_numbers_are_sorted_as_integers():
    ages = pa.table({"age": [9] * 900 + [10] * 400})
    options = {"counts": dpsel.Counts(share=0.5, max_counted_items=1), "privacy": PRIVACY}
    found = dpsel.domains(ages, columns=["age"], **options)
    assert found["age"] == [9, 10]
    assert found.counts["age"][0] > found.counts["age"][1]


def test_public_values_come_out_with_their_type_and_numbers():
    found = counted(public_values={"age": [7, 30], "job": []})
    assert found["age"] == [7, 30, 40]
    assert abs(found.counts["age"][0]) < 100
    assert "public_items" in found.report["request"]
    day = dt.date(2026, 1, 2)
    table = pa.table({"day": [day] * 900, "is": [True] * 900})
    known = {"day": [dt.date(2025, 1, 1)], "is": np.array([False])}
    found = dpsel.domains(table, columns=["day", "is"], privacy=PRIVACY, public_values=known)
    assert (found["day"], found["is"]) == ([dt.date(2025, 1, 1), day], [False, True])


def test_public_values_take_nothing_of_the_limit():
    rows = {"user": [user for user in range(900) for _ in range(2)], "x": ["known", "new"] * 900}
    options = {"user": "user", "columns": ["x"], "privacy": PRIVACY, "max_items_per_user": 1}
    keys = [bytes([number] * 32) for number in range(4)]
    known = [
        dpsel.domains(pa.table(rows), insecure_test_key=key, public_values={"x": ["known"]}, **options)
        for key in keys
    ]
    assert all(found["x"] == ["known", "new"] for found in known)


@pytest.mark.parametrize(
    ("known", "error", "text"),
    [
        ({"city": ["x"]}, InvalidParameterError, "'city', which is none of columns="),
        ({"age": ["SECRET"]}, SchemaError, "'age' must be of its type int64"),
        ({"age": [1.0]}, SchemaError, "'age' must be of its type int64"),
        ({"age": [True]}, SchemaError, "'age' must be of its type int64"),
        ({"age": [1 << 70]}, SchemaError, "'age' must be of its type int64"),
        ({"job": [1]}, SchemaError, "'job' must be of its type string"),
        ({"job": [None]}, InvalidParameterError, "no missing value"),
        ({"job": "SECRET"}, InvalidParameterError, "a list for each column, got one text"),
        ({"job": 5}, InvalidParameterError, "public_values must be a list, got int"),
        (["SECRET"], InvalidParameterError, "values by column, got list"),
    ],
)
def test_bad_public_values_are_refused_and_cost_nothing(known, error, text):
    budget = dpsel.Budget(PRIVACY)
    with pytest.raises(error, match=text) as raised:
        counted(privacy=budget.on_use(PRIVACY, "domains"), public_values=known)
    assert "SECRET" not in str(raised.value)
    assert not budget.spent


def test_bad_counts_are_refused_as_in_a_selection():
    with pytest.raises(InvalidParameterError, match="share"):
        counted(counts=1.5)
