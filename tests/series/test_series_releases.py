"""`dpsel.Series`: releases, repeated names, deletions, the end of a series, and its refusals."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
import re
import stat
import traceback
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import (
    CalibrationError,
    DataError,
    DpselError,
    FileError,
    InvalidParameterError,
    MemoryLimitError,
    MissingFileError,
    SchemaError,
    SeriesError,
)
from series_support import GIVEN, KEY, PRIVACY, created, files, held, opened


class Unread:
    """Rows that nobody may read."""

    def __iter__(self):
        raise AssertionError("read")


def test_each_list_has_the_new_items_alone(tmp_path) -> None:
    series = created(tmp_path)
    assert series.release(held("tea"), "one").to_pylist() == ["tea"]
    # Arrivals wait for the next block, which begins with the third release.
    assert series.release(held("tea", "milk"), "two").to_pylist() == []
    assert opened(tmp_path).release(held("milk"), "three").to_pylist() == ["milk"]
    assert series.items.to_pylist() == ["milk", "tea"]
    assert series.status().names == ("one", "two", "three")


@pytest.mark.parametrize(
    "item", [7, True, b"\xff", "tea", dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)]
)
def test_a_release_without_new_items_leaves_the_others_as_they_are(tmp_path, item) -> None:
    """Without items an untyped list is text."""
    series = created(tmp_path)
    for name, rows in (("one", held(item)), ("two", []), ("three", held(item))):
        series.release(rows, name)
        assert series.items.to_pylist() == [item]
    numbers = dpsel.CountSeries.create(tmp_path / "numbers", key=KEY, max_releases_per_item=1, **GIVEN)
    assert [each for each, _ in numbers.release(held(item), "one", items=series.items).to_pylist()] == [item]


def test_without_waiting_the_plan_and_the_report_say_so(tmp_path) -> None:
    series = created(tmp_path, prompt=True)
    assert series.release(held("tea"), "one").to_pylist() == ["tea"]
    assert "assumes that no user's own rows react to lists" in str(series.status())
    assert b'\\"waits\\":false' in files(tmp_path)["header.json"]
    assert series.check().ok


@pytest.mark.parametrize(
    "again",
    [held("other"), [], Unread(), None, 3],
    ids=["other rows", "no rows", "unread", "nothing", "a number"],
)
def test_a_name_that_is_committed_shows_its_list_and_reads_no_row(tmp_path, again) -> None:
    series = created(tmp_path)
    first = series.release(held("tea"), "one")
    before = files(tmp_path)
    for each in (series, opened(tmp_path)):
        shown = each.release(again, "one")
        assert (shown.to_pylist(), shown.number, shown.name) == (["tea"], 1, "one")
        assert str(shown) == str(first)
    assert files(tmp_path) == before


def test_a_release_without_rows_is_a_release(tmp_path) -> None:
    series = created(tmp_path)
    nothing = pl.DataFrame(schema={"user": pl.Int64, "item": pl.String})
    assert len(series.release(nothing, "one")) == 0
    assert series.items.to_pylist() == []
    assert series.status().made == 1


def test_a_full_series_is_refused_and_shows_its_lists(tmp_path) -> None:
    series = created(tmp_path, releases=1)
    series.release(held("tea"), "one")
    with pytest.raises(SeriesError, match="is full: it was made for 1 releases"):
        series.release(Unread(), "two")
    with pytest.raises(SeriesError, match="no release will apply a deletion; close it"):
        series.forget(7)
    assert series.release(None, "one").to_pylist() == ["tea"]


#: Ten users are enough for an item.
FEW = dpsel.ApproxDP(epsilon=19.0, delta=1e-3)
ANNS = [(f"ann {number}", "a rare thing") for number in range(10)]


@pytest.mark.parametrize("when", ["never", "before", "between", "after own rows"])
def test_a_forgotten_user_gives_nothing_any_more(tmp_path, when) -> None:
    series = created(tmp_path, privacy=FEW)

    def forget(now: str) -> None:
        for user, _ in ANNS if now == when else ():
            opened(tmp_path).forget(user)

    forget("before")
    series.release([(f"bob {number}", "tea") for number in range(20)], "one")
    forget("between")
    series.release(ANNS, "two")
    forget("after own rows")
    series.release(ANNS, "three")
    assert series.items.to_pylist() == (["a rare thing", "tea"] if when == "never" else ["tea"])


@pytest.mark.parametrize("user", [["a", "b"], "user"])
@pytest.mark.parametrize("item", [["i", "j"], "item"])
def test_keys_of_several_columns(tmp_path, user, item) -> None:
    series = created(tmp_path, privacy=FEW, user=user, item=item)
    who = [(number, "x") if isinstance(user, list) else number for number in range(20)]
    what = ("tea", 1) if isinstance(item, list) else "tea"
    series.forget(who[0])
    assert series.release([(each, what) for each in who], "one").to_pylist() == [what]
    for each in who:
        series.forget(each)
    assert len(series.release([(each, what) for each in who], "two")) == 0
    assert series.items.columns == ([*item] if isinstance(item, list) else [item])


def test_the_tuple_of_a_user_has_a_value_for_each_column(tmp_path) -> None:
    series = created(tmp_path, user=["a", "b"])
    for user in ("ax", 7, (1, 2, 3)):
        with pytest.raises(InvalidParameterError, match="a value for each of the 2 user columns"):
            series.forget(user)


def test_a_closed_series_keeps_its_lists_alone(tmp_path) -> None:
    series = created(tmp_path)
    series.release(held("tea"), "one")
    series.forget(7)
    for wrong in (False, None, "yes"):
        with pytest.raises(InvalidParameterError, match="forever must be True"):
            series.close(forever=wrong)
    with pytest.raises(InvalidParameterError, match="forever must be True"):
        series.close()
    series.close(forever=True)
    assert set(files(tmp_path)) == {"closed", "commit-000001.json", "header.json", "lock", "log.jsonl"}
    for each in (series, opened(tmp_path)):
        each.close(forever=True)
        each.forget(8)
        assert each.items.to_pylist() == each.release(None, "one").to_pylist() == ["tea"]
        assert each.status().is_closed
        with pytest.raises(SeriesError, match="is closed, and its state is gone"):
            each.release(Unread(), "two")


def test_all_sources_and_all_types_of_one_kind_agree(tmp_path) -> None:
    series = created(tmp_path)
    rows = pa.table({"item": [5] * 300, "user": pa.array(range(300), pa.int16()), "more": ["x"] * 300})
    series.release(rows.set_column(0, "item", pa.array([5] * 300, pa.int8())), "one")
    rows.to_pandas().assign(item=1 << 40).to_parquet(tmp_path / "rows.parquet")
    series.release(tmp_path / "rows.parquet", "two")
    assert series.release(pl.from_arrow(rows), "three").to_pylist() == [1 << 40]
    assert series.items.to_arrow().schema.field("item").type == pa.int64()
    assert series.items.to_pylist() == [5, 1 << 40]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            pa.table({"user": [1], "thing": ["a"]}),
            r"rename the columns of the data \('user', 'thing'\), since",
        ),
        (pa.table({"user": ["1"], "item": ["a"]}), "column 'user'"),
        (pa.table({"user": [1], "item": [1.5]}), "item"),
        (pa.table({"user": [1], "item": [7]}), "column 'item'"),
        (pl.LazyFrame({"user": [1], "item": [7]}), "column 'item'"),
        ([(1, 7)], "column 'item'"),
        ([("secret", "a")], "column 'user'"),
    ],
    ids=["no column", "user text", "float", "item number", "lazy", "pairs", "pairs of other users"],
)
def test_other_columns_and_types_are_refused(tmp_path, rows, message) -> None:
    series = created(tmp_path)
    series.release(pa.table({"user": [1, 2], "item": ["a", "b"]}), "one")
    before = files(tmp_path)
    with pytest.raises(SchemaError, match=message) as caught:
        series.release(rows, "two")
    assert "secret" not in str(caught.value)
    assert files(tmp_path) == before
    assert series.status().made == 1


def test_a_spark_data_frame_is_refused_with_what_works(tmp_path) -> None:
    class DataFrame:
        __module__ = "pyspark.sql.classic.dataframe"

    with pytest.raises(SchemaError, match=r"one machine, got a Spark DataFrame; pass its distinct pairs"):
        created(tmp_path).release(DataFrame(), "one")


def test_rows_that_break_a_rule_cost_nothing(tmp_path) -> None:
    series = created(tmp_path)
    with pytest.raises(DataError, match="the user is None") as caught:
        series.release([(1, "tea"), (None, "milk")], "one")
    assert not getattr(caught.value, "__notes__", [])
    with pytest.raises(MissingFileError):
        series.release("nowhere.parquet", "one")
    assert series.release(held("tea"), "one").to_pylist() == ["tea"]


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, "\ud800", "\u202e", 7, None, ["a"]], ids=ascii)
def test_a_name_is_one_line_of_text(tmp_path, name) -> None:
    series = created(tmp_path)
    with pytest.raises(InvalidParameterError, match="name must be"):
        series.release(Unread(), name)


WRONG = [
    ({"privacy": dpsel.PureDP(epsilon=1.0)}, InvalidParameterError, "privacy of a series needs a delta"),
    ({"privacy": 1.0}, InvalidParameterError, "privacy"),
    ({"releases": 0}, InvalidParameterError, "releases"),
    ({"releases": 1 << 40}, InvalidParameterError, "releases"),
    ({"releases": 1.5}, InvalidParameterError, "releases must be a whole number"),
    ({"max_items_per_user": 0}, InvalidParameterError, "max_items_per_user"),
    ({"max_items_per_user": dpsel.Quantile(0.5)}, InvalidParameterError, "max_items_per_user"),
    ({"user": None}, InvalidParameterError, "user must name a column"),
    ({"item": None}, InvalidParameterError, "item must name a column"),
    ({"item": []}, InvalidParameterError, "item"),
    ({"prompt": "no"}, InvalidParameterError, "prompt must be True or False"),
    ({"key": b"short"}, InvalidParameterError, "key must be 32 bytes, got 5"),
    ({"key": 7}, InvalidParameterError, "key must be 32 bytes or the path of a key file, got int"),
    ({"privacy": dpsel.ZCDP(rho=1e-12, delta=0.4)}, CalibrationError, "."),
]


@pytest.mark.parametrize(("options", "kind", "message"), WRONG)
def test_a_series_that_cannot_be_is_not_begun(tmp_path, options, kind, message) -> None:
    with pytest.raises(kind, match=message):
        created(tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_zcdp(tmp_path) -> None:
    series = created(tmp_path, privacy=dpsel.ZCDP(rho=2.0, delta=1e-6))
    assert series.release(held("tea"), "one").to_pylist() == ["tea"]
    assert "-zCDP" in str(series.status())
    assert series.check().ok


def test_a_key_file_is_made_once_and_is_for_its_owner(tmp_path) -> None:
    path = tmp_path / "series.key"
    created(tmp_path, key=path).release(held("tea"), "one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
    assert opened(tmp_path, key=str(path)).items.to_pylist() == ["tea"]
    assert opened(tmp_path, key=bytes.fromhex(path.read_text())).items.to_pylist() == ["tea"]
    path.rename(tmp_path / "lost")
    for again in (opened, created):
        with pytest.raises(MissingFileError, match="without the key nobody can go on"):
            again(tmp_path, key=path)
    assert not path.exists()
    path.write_text("a password that somebody thought of\n")
    with pytest.raises(FileError, match="does not hold 64 hexadecimal digits"):
        opened(tmp_path, key=path)


def test_another_key_opens_nothing(tmp_path) -> None:
    created(tmp_path).release(held("tea"), "one")
    before = files(tmp_path)
    for again in (opened, created):
        with pytest.raises(SeriesError, match="key does not open the series"):
            again(tmp_path, key=bytes(32))
    assert files(tmp_path) == before


def test_no_file_is_for_others(tmp_path) -> None:
    series = created(tmp_path)
    series.release(held("tea"), "one")
    series.forget(7)
    folder = tmp_path / "series"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_no_file_shows_an_item_a_user_or_a_time(tmp_path) -> None:
    series = created(tmp_path)
    series.release(held("a published item", "another"), "one")
    series.forget(7)
    content = b"".join(files(tmp_path).values())
    assert b"published" not in content
    commit = files(tmp_path)["commit-000001.json"]
    assert not re.search(rb"20\d\d-\d\d|time|date", commit)


def test_the_size_of_a_commit_hardly_tells_the_length_of_its_list(tmp_path) -> None:
    sizes = set()
    for number, items in enumerate([(), ("tea",), ("tea", "milk")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        created(folder).release(held(*items) or [(1, "nothing")], "one")
        sizes.add(len(files(folder)["commit-000001.json"]))
    assert len(sizes) <= 2


def test_create_again_opens_what_is_there(tmp_path) -> None:
    created(tmp_path).release(held("tea"), "one")
    assert created(tmp_path).items.to_pylist() == ["tea"]
    for other in ({"releases": 5}, {"item": "other"}, {"privacy": dpsel.ApproxDP(epsilon=1, delta=1e-6)}):
        with pytest.raises(
            SeriesError, match=r"a series with other parameters .* open it with dpsel\.Series\.open"
        ):
            created(tmp_path, **other)


def test_a_folder_of_others_stays_as_it_is(tmp_path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(SeriesError, match="holds other files"):
        dpsel.Series.create(tmp_path, key=KEY, **GIVEN)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_series_that_has_lost_its_header_is_not_begun_anew(tmp_path) -> None:
    created(tmp_path).release(held("tea"), "one")
    (tmp_path / "series" / "header.json").rename(tmp_path / "header.json")
    before = files(tmp_path)
    with pytest.raises(SeriesError, match="a series that has lost its header"):
        created(tmp_path)
    assert files(tmp_path) == before
    (tmp_path / "header.json").rename(tmp_path / "series" / "header.json")
    assert opened(tmp_path).items.to_pylist() == ["tea"]


def test_where_warnings_are_errors_nothing_is_begun(tmp_path) -> None:
    weak = dpsel.ApproxDP(epsilon=21.0, delta=1e-6)
    with pytest.raises(dpsel.WeakGuaranteeWarning):
        created(tmp_path, privacy=weak)
    assert created(tmp_path).status().made == 0


def test_a_folder_without_a_series(tmp_path) -> None:
    with pytest.raises(MissingFileError, match="there is no folder"):
        opened(tmp_path)
    (tmp_path / "series").mkdir()
    with pytest.raises(SeriesError, match="is the folder of no series"):
        opened(tmp_path)
    (tmp_path / "file").write_text("")
    for path in ("file", "no/such/folder"):
        with pytest.raises(FileError):
            dpsel.Series.create(tmp_path / path, key=KEY, **GIVEN)


def test_nothing_shows_or_pickles_the_key(tmp_path) -> None:
    series = created(tmp_path)
    shown = [series.release(held("tea"), "one"), series.status(), series.items]
    for each in shown:
        assert repr(pickle.loads(pickle.dumps(each))) == repr(each)
    with pytest.raises(SeriesError, match="a series is not pickled"):
        pickle.dumps(series)
    assert repr(series).startswith("<dpsel.Series in ")
    assert copy.copy(shown[0]).to_pylist() == ["tea"]


SECRET = "a row that nobody may see"


def rows_that_fail():
    yield from held("tea")
    yield 7, SECRET
    raise LookupError(SECRET)


def test_no_variable_of_ours_shows_a_key_a_state_or_a_row(tmp_path, monkeypatch) -> None:
    key = b"the very secret key of a series."
    series = created(tmp_path, key=key)
    series.release(held("tea"), "one")

    def broken(*_):
        raise OSError(5, "Input/output error")

    failures = []
    for prepare in (lambda: None, lambda: monkeypatch.setattr("os.link", broken)):
        prepare()
        rows = rows_that_fail() if not failures else held(SECRET)
        with pytest.raises(DpselError) as caught:
            series.release(rows, "two")
        failures.append(caught.value)
    with pytest.raises(FileError) as caught:
        dpsel.Series.create(tmp_path / "other", key=key, **GIVEN)
    failures.append(caught.value)
    for error in failures:
        for frame, line in traceback.walk_tb(error.__traceback__):
            if "dpsel/series" not in frame.f_code.co_filename:
                continue
            for name, value in frame.f_locals.items():
                where = f"{frame.f_code.co_filename}:{line} {name}"
                assert SECRET not in repr(value) or isinstance(value, list), where
                assert repr(key) not in repr(value), where
                assert not isinstance(value, bytes) or value.startswith((b"{", b"\x01")), where


def test_a_check_finds_a_plan_that_does_not_hold(tmp_path, monkeypatch) -> None:
    series = created(tmp_path)
    assert str(series.check()) == "ok: everything in it follows from what it promises"
    monkeypatch.setattr(
        "dpsel._core_calls.series_plan", lambda **_: PLAN.replace('"releases":4', '"releases":5')
    )
    other = dpsel.Series.create(tmp_path / "other", key=KEY, **GIVEN)
    assert not other.check().ok


PLAN = dpsel._core_calls.series_plan(
    epsilon=PRIVACY.epsilon, delta=PRIVACY.delta, rho=None, releases=4, max_items_per_user=4, waits=True
)


DAY = dt.date(2026, 1, 2)
TIME = dt.datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as tables have it


@pytest.mark.parametrize(
    ("users", "named"),
    [
        (pa.array([5], pa.int32()), "5"),
        (pa.array([5], pa.uint64()), 5),
        (pa.array(["5"]), 5),
        (pa.array(["5"]), np.int64(5)),
        (pa.array(["05"]), "05"),
        (pa.array(["ada"], pa.large_string()), b"ada"),
        (pa.array([b"ada"]), "ada"),
        (pa.array([True]), "true"),
        (pa.array(["True"]), True),
        (pa.array([DAY]), "2026-01-02"),
        (pa.array(["2026-01-02"]), DAY),
        (pa.array([TIME], pa.timestamp("us")), "2026-01-02 03:04:05"),
        (pa.array([TIME], pa.timestamp("ms")), TIME),
        (pa.array([TIME], pa.timestamp("us", tz="UTC")), "2026-01-02 03:04:05"),
        (pa.array([TIME], pa.timestamp("us", tz="UTC")), "2026-01-02T04:04:05+01:00"),
        (pa.array([TIME], pa.timestamp("us")), "2026-01-02T03:04:05+00:00"),
        (pa.array(["2026-01-02T03:04:05"]), TIME),
    ],
)
def test_a_user_is_forgotten_whatever_type_names_it(users, named) -> None:
    """The digest that `forget` notes is the one that the user has in the table."""
    from dpsel import _core_calls
    from dpsel._request import columns_of
    from dpsel.series import _mechanism
    from dpsel.series._keys import Key

    secret, header = Key(bytes(32)), SimpleNamespace(user=["user"], item=["item"])
    table = pa.table({"user": users, "item": ["tea"]})
    asked = json.dumps(columns_of(header.user, header.item).to_json())
    source = _core_calls.Source.stream(table, [], None)
    (digest,) = _core_calls.series_user_digests(secret.raw, source, asked)
    assert digest in _mechanism._digests([_mechanism.request_of(header, secret, named)])


def test_a_list_without_pairs_is_an_empty_table(tmp_path) -> None:
    """Whether there are rows must not decide whether there is a release."""
    series = created(tmp_path)
    assert series.release([], "one").to_pylist() == []
    assert series.release(held("tea"), "two").to_pylist() in ([], ["tea"])


def test_too_little_memory_is_an_error_that_names_what_a_series_has(tmp_path) -> None:
    series = created(tmp_path)
    rows = [(user, f"item {item}") for user in range(2000) for item in range(20)]
    with pytest.raises(
        MemoryLimitError,
        match="give a larger memory_limit=, or pass distinct pairs of user and item, or the rows that are",
    ) as failed:
        series.release(rows, "one", memory_limit="64KiB")
    assert "Spark" not in str(failed.value)
    assert series.status().made == 0
