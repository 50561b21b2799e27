"""What people see of results: short, the same each time, and nothing of a stranger is markup or a command."""

from __future__ import annotations

import datetime as dt
import pickle
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel.auditing import Finding
from dpsel.release import CheckResult, ItemSet, ItemTable

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
ROOT = Path(__file__).resolve().parents[2]
#: Markup, formulas, commands of terminals, and what turns text around.
HOSTILE = "<script>alert(1)</script>&lt;$x$\x1b[2J\r\n\u202e"
ALLOWED = {"div", "p", "br", "table", "tr", "th", "td"}
ROWS = [(user, item) for user in range(300) for item in ("a", "b")]


def public(items: list[Any], **options: Any) -> dpsel.Release[Any]:
    """A release of these items, whatever they are."""
    given = {"privacy": PRIVACY, "max_items_per_user": 3} | options
    return dpsel.select_partitions([(1, "nobody else")], public_items=items, **given)


def budget(entries: int = 1) -> dpsel.Budget:
    made = dpsel.Budget(dpsel.PureDP(epsilon=1.0))
    for number in range(entries):
        made.spend(dpsel.PureDP(epsilon=0.01), f"entry {number}, <b>bold</b>")
    return made


def ledger(folder: Path) -> dpsel.Ledger:
    made = dpsel.Ledger(folder / "spent.jsonl", dpsel.PureDP(epsilon=1.0))
    made.spend(dpsel.PureDP(epsilon=0.01), "<b>bold</b>")
    return made


def series(folder: Path) -> dpsel.Series:
    return dpsel.Series.create(
        folder / "series",
        key=bytes(32),
        privacy=PRIVACY,
        releases=3,
        max_items_per_user=2,
        user="<b>",
        item=HOSTILE,
    )


def numbers(folder: Path) -> dpsel.CountSeries:
    return dpsel.CountSeries.create(
        folder / "series",
        key=bytes(32),
        privacy=PRIVACY,
        releases=3,
        max_items_per_user=2,
        max_releases_per_item=1,
        window=2,
        user="<b>",
        item=HOSTILE,
    )


def accounted() -> Any:
    pytest.importorskip("dp_accounting", reason="an accountant of others")
    return budget().to_dp_accounting()


FINDING = Finding("<b>", "exact", HOSTILE, 1.0, 0.0, epsilon=1.0, delta=0.0, refuted=False)
#: Each kind of result, made with the folder of the test.
RESULTS = {
    "Release": lambda _: public([HOSTILE, "tea"], counts=0.2),
    "TopKRelease": lambda _: dpsel.select_top_k(
        ROWS, k=2, domain=["a", HOSTILE], privacy=dpsel.PureDP(epsilon=1.0), counts=dpsel.PureDP(epsilon=1.0)
    ),
    "Report": lambda _: public(["tea"], user="<b>", item=HOSTILE).report,
    "ItemSet": lambda _: public([HOSTILE]) | public(["tea"]),
    "Card": lambda _: public(["tea"], user=HOSTILE, item="<b>").card(),
    "CheckResult": lambda _: CheckResult(ok=False, reason=HOSTILE, differences=(HOSTILE,)),
    "ItemTable": lambda _: public([HOSTILE], item=["<b>"]).to_table(),
    "Plan": lambda _: dpsel.plan(privacy=PRIVACY, max_items_per_user=[1, dpsel.Quantile(0.5, most=9)]),
    "TopKPlan": lambda _: dpsel.plan_top_k(privacy=PRIVACY, k=10, items=100),
    "SizePlan": lambda _: dpsel.plan_size(10**9),
    "Explanation": lambda _: dpsel.explain(public(["tea"])),
    "Comparison": lambda _: dpsel.compare(
        ROWS, privacy=PRIVACY, max_items_per_user=1, mechanisms=dpsel.CountGaussian(), public_data=True
    ),
    "AuditReport": lambda _: dpsel.AuditReport((FINDING,), 1e-6),
    "Domains": lambda _: dpsel.domains(
        pa.table({"<b>": [HOSTILE] * 900, "b": [1] * 900}), columns=["<b>", "b"], privacy=PRIVACY
    ),
    "Budget": lambda _: budget(),
    "Ledger": ledger,
    "Accounted": lambda _: accounted(),
    "CountRelease": lambda folder: numbers(folder).release([(1, HOSTILE)], "<b>", items=[HOSTILE]),
    "SeriesRelease": lambda folder: series(folder).release([(1, HOSTILE)], "<b>"),
    "SeriesCard": lambda folder: series(folder).card(),
    "SeriesStatus": lambda folder: series(folder).status(),
}
#: Of a table the first rows are what people ask for.
WITH_ROWS = {"ItemTable"}


@pytest.fixture(params=RESULTS)
def result(request, tmp_path) -> Any:
    return RESULTS[request.param](tmp_path)


class Seen(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def is_plain(text: str) -> bool:
    """Whether nothing but line ends steers a terminal, or turns the text around."""
    return not any(
        unicodedata.category(one) in {"Cc", "Cs"} or one == "\u202e" for one in text if one != "\n"
    )


def test_every_result_of_the_reference_has_a_case() -> None:
    page = (ROOT / "docs/reference/results.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^::: dpsel\.(?:\w+\.)*(\w+)$", page, re.MULTILINE)) - {"EXTENSIONS"}
    assert documented <= set(RESULTS)


def test_a_result_is_one_line_and_a_page(result) -> None:
    name = type(result).__name__
    line = repr(result)
    assert len(line) < (2_000 if name in WITH_ROWS else 300)
    assert "\n" not in line or name in WITH_ROWS
    seen = Seen(page := result._repr_html_())
    assert seen.text.strip()
    if not name.endswith("Card"):
        assert set(seen.tags) <= ALLOWED
        # A table that is wider than a phone scrolls by itself, and the page does not.
        assert page.count('<div style="overflow-x:auto;overflow-wrap:normal"><table') == page.count("<table")
    assert page.startswith("<div ")
    assert "overflow-wrap:anywhere" in page.partition(">")[0]
    assert page.count("<svg") == page.count("max-width:100%")
    assert "script" not in seen.tags
    assert "b" not in set(seen.tags) - ({"b"} if name.endswith("Card") else set())
    for text in (line, str(result), seen.text):
        assert is_plain(text)
    assert (line, str(result)) == (repr(result), str(result))
    assert result._repr_html_() == result._repr_html_()


ITEMS = st.lists(
    st.text(st.characters(codec="utf-8") | st.sampled_from("<>&\"'$\\\x1b\n\r\u2028\u202e"), max_size=12),
    min_size=1,
    max_size=12,
    unique=True,
)


@given(ITEMS)
def test_no_item_is_markup_or_a_command(items) -> None:
    release = public(items)
    for shown in (release, release.to_table(), ItemSet(items, (release.report,))):
        seen = Seen(shown._repr_html_())
        assert set(seen.tags) <= ALLOWED
        assert is_plain(seen.text)
        assert is_plain(repr(shown) + str(shown))
    again = pickle.loads(pickle.dumps(release))
    assert again._repr_html_() == release._repr_html_()
    assert repr(again.to_table()) == repr(release.to_table())


def test_a_long_release_shows_a_bounded_part() -> None:
    release = public([f"{number:04}" + "x" * 10_000 for number in range(500)])
    for page in (release._repr_html_(), release.to_table()._repr_html_(), ItemSet(release, ())._repr_html_()):
        assert Seen(page).tags.count("td") in {10, 20}
        assert "and 490 more" in page
        assert len(page) < 5_000
    assert len(repr(release.to_table()).splitlines()) == 14
    assert release.to_table().head(3) == release.to_pylist()[:3]
    assert len(release.to_table().head()) == 10
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="most must be at least 1"):
        release.to_table().head(0)


def test_a_long_budget_shows_its_last_entries() -> None:
    long = budget(25)
    page = long._repr_html_()
    assert "entry 24," in page
    assert "entry 14," not in page
    assert "and 15 earlier" in page
    assert "<b>" not in page
    assert str(long).count("entry ") == 25
    assert str(long).splitlines()[-1] == "remaining: PureDP(epsilon=0.75)"


def test_the_largest_numbers_are_shown_first_and_only_shown() -> None:
    rows = [(user, item) for item in range(30) for user in range(200 + 50 * item)]
    release = dpsel.select_partitions(rows, privacy=PRIVACY, max_items_per_user=30, counts=0.5)
    numbers = [users for _, users in release.to_pylist()]
    shown = re.findall(r"<td>(\d+)</td><td>(-?\d+)</td>", release._repr_html_())
    assert [int(users) for _, users in shown] == sorted(numbers, reverse=True)[:10]
    lines = repr(release.to_table()).splitlines()
    assert lines[3].split() == list(shown[0])
    assert lines[-1] == f"and {len(numbers) - 10} more, below these in users"
    assert [item for item, _ in release.to_pylist()] == sorted(item for item, _ in release.to_pylist())


def test_an_item_with_the_name_of_a_number_is_no_number() -> None:
    rows = [(user, item) for user in range(300) for item in (1, 2, 3)]
    release = dpsel.select_partitions(rows, item="users", privacy=PRIVACY, max_items_per_user=3)
    assert re.findall(r"<td>(\d)</td>", release._repr_html_()) == ["1", "2", "3"]


def test_items_that_have_ranks_keep_them() -> None:
    top = dpsel.select_top_k(
        [(user, item) for item in range(5) for user in range(100 * item)],
        k=3,
        domain=range(5),
        privacy=dpsel.PureDP(epsilon=1.0),
        counts=dpsel.PureDP(epsilon=0.001),
    )
    assert top.to_table().columns[1] == "rank"
    assert re.findall(r"<td>\d+</td><td>(\d+)</td><td>", top._repr_html_()) == ["1", "2", "3"]


def test_times_that_python_cannot_hold_are_no_error() -> None:
    pa = pytest.importorskip("pyarrow", reason="a library of tables")
    times = pa.array([1, 2, 3] * 300, pa.int64()).cast(pa.timestamp("ns"))
    table = pa.table({"user": list(range(900)), "item": times})
    release = dpsel.select_partitions(table, user="user", item="item", privacy=PRIVACY, max_items_per_user=3)
    for text in (repr(release.to_table()), release._repr_html_()):
        assert "nanoseconds" in text


def test_missing_numbers_and_values_of_all_kinds_are_shown() -> None:
    days = [dt.date(2026, 1, day) for day in (1, 2)]
    rows = [(user, (day, b"\x1b")) for user in range(300) for day in days]
    release = dpsel.select_partitions(
        rows,
        item=["day", "bytes"],
        privacy=PRIVACY,
        max_items_per_user=2,
        with_weights=True,
        mechanism=dpsel.WeightedGaussian(),
        public_items=[(days[0], b"<")],
    )
    assert "2026-01-02" in repr(release.to_table())
    assert is_plain(repr(release.to_table()))


@pytest.mark.parametrize(
    "release",
    [
        lambda: public(["tea"], user="person", counts=0.2),
        lambda: dpsel.select_top_k(ROWS, k=1, user="person", domain=["a"], privacy=dpsel.PureDP(epsilon=1.0)),
        lambda: dpsel.top_k_from_counts([5, 3], k=1, privacy=dpsel.PureDP(epsilon=1.0)),
        lambda: public(["tea"], insecure_test_key=bytes(32), user="person"),
    ],
    ids=["selection", "top-k", "counts", "test key"],
)
def test_a_report_prints_as_a_summary(release) -> None:
    report = (released := release()).report
    lines = str(report).splitlines()
    assert 4 <= len(lines) <= 9
    assert "{" not in str(report)
    assert "guarantee: (epsilon = 1" in str(report)
    assert any(line.startswith("cost: ") for line in lines)
    assert any("dpsel.check(report)" in line and "to_json()" in line for line in lines)
    assert report["fingerprint"] in str(report)
    for shown in (report, released):
        assert ("protected: the user in person; released: " in str(shown)) == ("columns" in report["request"])
    assert lines[0].startswith("NOT PRIVATE") == report.is_insecure


def test_a_report_that_a_budget_paid_shows_the_numbers_that_were_asked_for() -> None:
    """The decimal 1e-5 is below the float of that name, so the call takes the float below it."""
    paid = dpsel.Budget(dpsel.ApproxDP(epsilon=2.0, delta=1e-4)).spend(
        dpsel.ApproxDP(epsilon=1.0, delta=1e-5)
    )
    report = public(["tea"], privacy=paid).report
    assert (
        "cost: (epsilon = 1, delta = 1e-05)-DP, for adding or removing one user" in str(report).splitlines()
    )


def test_an_empty_release_says_how_to_ask_why() -> None:
    empty = dpsel.select_partitions(
        [(1, "tea")], user="person", item="drink", privacy=PRIVACY, max_items_per_user=3
    )
    said = str(empty)
    assert "dpsel.explain(release)" in said
    assert str(dpsel.explain(empty)).endswith("since users keep fewer")
    assert "swapped? user=person is who is protected, and item=drink is what comes out" in said
    assert "print it for reasons" in repr(empty)
    top = dpsel.select_top_k([(1, "tea")], k=1, user="person", item="drink", privacy=PRIVACY)
    assert len(top) == 0
    assert "swapped? user=person" in str(top)


def test_a_table_is_one_of_arrow_and_of_people() -> None:
    table = public(["tea"]).to_table()
    assert isinstance(table, ItemTable)
    assert (
        repr(table)
        == "<dpsel.ItemTable: 1 item, columns item, public>\nitem  public\n----  ------\ntea     True"
    )
