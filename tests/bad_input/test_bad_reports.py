"""Reports that somebody changed: found out, or refused with an error of ours, whatever the change."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from mechanisms import CURVES, MECHANISMS

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-5)
ROWS = [(1, 2)]


def _reports() -> list[dict]:
    """Honest reports of every mechanism."""
    found = []
    for case in [*MECHANISMS, *CURVES]:
        bound = 1 if case.name == "one_item" else 4
        release = dpsel.select_partitions(
            ROWS, privacy=PRIVACY, max_items_per_user=bound, mechanism=case.mechanism
        )
        found.append(json.loads(release.report.to_json()))
    for arguments in ({"domain": [1, 2, 3]}, {"mechanism": dpsel.Discover()}):
        release = dpsel.select_top_k(ROWS, k=2, privacy=PRIVACY, max_items_per_user=4, **arguments)
        found.append(json.loads(release.report.to_json()))
    return found


REPORTS = _reports()


def places(value: object, path: tuple = ()) -> list[tuple]:
    """The paths of everything inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def put(report: dict, path: tuple, value: object) -> dict:
    changed = copy.deepcopy(report)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def at(report: dict, path: tuple) -> object:
    for key in path:
        report = report[key]
    return report


NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20), st.floats(allow_nan=False), st.sampled_from([0, -1, 1e-308, 1e308, 2**63])
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.sampled_from(["noise", "curve", "zcdp"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def look(text: str) -> dpsel.release.CheckResult | None:
    """Everything that reads a report; `None` if it is refused."""
    try:
        report = dpsel.release.Report(text)
        outcome = dpsel.check(report)
        shown = (str(outcome), repr(report), report.rounds, report.is_insecure)
    except dpsel.exceptions.InternalError:
        raise  # a panic of the core, which is a finding
    except dpsel.DpselError:
        return None
    assert shown
    return outcome


def test_honest_reports_hold() -> None:
    outcomes = [look(json.dumps(report)) for report in REPORTS]
    assert all(outcome is not None and outcome.ok for outcome in outcomes)


@given(st.sampled_from(REPORTS), st.data())
def test_any_tampered_report_is_refused_or_found_out(report, data) -> None:
    """A change of anything that was enforced, be it what was asked for or what came of it."""
    calibration = [("calibration", *path) for path in places(report["calibration"]) if path]
    path = data.draw(st.sampled_from([path for path in calibration if is_number(at(report, path))]))
    value = data.draw(NUMBERS)
    if value == at(report, path):
        return
    outcome = look(json.dumps(put(report, path, value)))
    assert outcome is None or not outcome.ok, path


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@given(st.sampled_from(REPORTS), st.data())
def test_any_change_ends_with_an_answer(report, data) -> None:
    """Nonsense in any place."""
    path = data.draw(st.sampled_from(places(report)[1:]))
    look(json.dumps(put(report, path, data.draw(VALUES))))


@given(st.sampled_from(REPORTS), st.data())
def test_any_missing_field_ends_with_an_answer(report, data) -> None:
    path = data.draw(st.sampled_from([path for path in places(report) if path and isinstance(path[-1], str)]))
    changed = copy.deepcopy(report)
    del at(changed, path[:-1])[path[-1]]
    look(json.dumps(changed))


def written_twice(value: object, path: tuple, other: object) -> str:
    """The JSON of a value in which the field at a path stands twice, the other value first."""
    if not path:
        return json.dumps(value)
    if isinstance(value, list):
        inner = [written_twice(each, path[1:] if i == path[0] else (), other) for i, each in enumerate(value)]
        return f"[{', '.join(inner)}]"
    fields = []
    for name, each in value.items():
        if path == (name,):
            fields.append(f"{json.dumps(name)}: {json.dumps(other)}")
        fields.append(
            f"{json.dumps(name)}: {written_twice(each, path[1:] if name == path[0] else (), other)}"
        )
    return "{" + ", ".join(fields) + "}"


@given(st.sampled_from(REPORTS), st.data())
def test_a_field_that_stands_twice_cannot_show_another_number(report, data) -> None:
    """Readers of JSON disagree about which of two counts: what is shown has to be what is checked."""
    numbers = [path for path in places(report) if is_number(at(report, path)) and isinstance(path[-1], str)]
    path = data.draw(st.sampled_from(numbers))
    text = written_twice(report, path, data.draw(NUMBERS))
    assert json.loads(text) == report
    assert look(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        "[" * 100_000,
        '{"a":' * 100_000,
        "9" * 10_000,
        '"\\ud800"',
        "NaN",
        "{}" + " " * 10_000,
    ],
    ids=[
        "empty",
        "list",
        "null",
        "open",
        "deep lists",
        "deep objects",
        "digits",
        "surrogate",
        "nan",
        "spaces",
    ],
)
def test_texts_that_are_no_reports(text, tmp_path) -> None:
    assert look(text) is None
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(dpsel.exceptions.ReportError):
        dpsel.check(path)


def test_a_lone_surrogate_inside_a_report() -> None:
    """JSON can name characters that no text can hold."""
    text = json.dumps(put(REPORTS[0], ("request", "columns", "user"), "MARK")).replace("MARK", "\\ud800")
    assert look(text) is None


@pytest.mark.parametrize("name", ["absent.json", "a\0b.json"])
def test_paths_that_cannot_be_read(name, tmp_path) -> None:
    with pytest.raises(dpsel.exceptions.FileError):
        dpsel.check(tmp_path / name)
