"""Reports that somebody changed: found out, or refused with an error of ours, whatever the change."""

from __future__ import annotations

import copy
import json
import struct

import blake3
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from mechanisms import CURVES, MECHANISMS

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-5)
ROWS = [(1, 2)]


def _reports() -> list[dict]:
    """Honest reports of every mechanism, chosen and named, with weights, counts, n-grams and a test key."""
    zcdp = dpsel.ZCDP(rho=0.1, delta=1e-5)
    several = [PRIVACY, zcdp]
    releases: list = [
        dpsel.select_partitions(
            ROWS,
            privacy=PRIVACY,
            max_items_per_user=1 if case.name == "one_item" else 4,
            mechanism=case.mechanism,
        )
        for case in [*MECHANISMS, *CURVES]
    ]
    releases += [
        dpsel.select_partitions(ROWS, privacy=privacy, max_items_per_user=limit, with_weights=privacy is zcdp)
        for privacy in several
        for limit in (1, 5, 300)
    ]
    texts = [(1, "to be or not")]
    releases.append(dpsel.select_partitions(texts, privacy=PRIVACY, max_items_per_user=4, ngrams=(1, 2)))
    releases += [
        dpsel.select_top_k(ROWS, k=2, privacy=PRIVACY, max_items_per_user=4, **arguments)
        for arguments in (
            {"domain": [1, 2, 3]},
            {"domain": [1, 2, 3], "ordered": False, "counts": dpsel.PureDP(epsilon=0.5)},
            {"mechanism": dpsel.Discover()},
            {"mechanism": dpsel.LimitDomain()},
            {"domain": [1, 2, 3], "neighbours": "swap"},
            {"domain": [1, 2, 3], "mechanism": dpsel.Gamma(), "counts": "free"},
            {},
        )
    ]
    releases.append(dpsel.select_top_k(ROWS, k=2, privacy=PRIVACY))
    pure = dpsel.PureDP(epsilon=1.0)
    releases.append(dpsel.top_k_from_counts([5, 3], k=1, domain=9, privacy=pure))
    return [json.loads(release.report.to_json()) for release in releases]


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
        shown = (
            str(outcome),
            repr(report),
            str(report),
            report._repr_html_(),
            report.rounds,
            report.is_insecure,
        )
    except dpsel.exceptions.InternalError:
        raise  # a panic of the core, which is a finding
    except dpsel.DpselError:
        return None
    assert shown
    return outcome


def test_honest_reports_hold() -> None:
    outcomes = [look(json.dumps(report)) for report in REPORTS]
    assert all(outcome is not None and outcome.ok for outcome in outcomes)


def test_reports_of_other_formats_are_refused_by_name() -> None:
    for report in (REPORTS[0], REPORTS[-1]):
        first = {name: value for name, value in report.items() if name not in {"format", "task"}}
        with pytest.raises(
            dpsel.exceptions.ReportError, match=r"format 1, which only builds before the first release"
        ):
            dpsel.release.Report(json.dumps(first))
        with pytest.raises(dpsel.exceptions.ReportError, match="it is of format 3"):
            dpsel.release.Report(json.dumps(report | {"format": 3}))
        # The task is never guessed from the fields of the request.
        with pytest.raises(dpsel.exceptions.ReportError, match="task"):
            dpsel.release.Report(json.dumps({name: report[name] for name in report if name != "task"}))
        other = {"select": "top_k", "top_k": "select"}[report["task"]]
        with pytest.raises(dpsel.exceptions.ReportError):
            dpsel.release.Report(json.dumps(report | {"task": other}))


def leaves(report: dict) -> list[tuple]:
    """The paths of everything that is not made of other things."""
    return [path for path in places(report) if path and not isinstance(at(report, path), dict | list)]


def others(value: object) -> list[object]:
    """Values that somebody may write instead."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, str):
        return [f"{value}x", value[1:], f"no {value}", None]
    if isinstance(value, int | float):
        return [each for each in (value + 1, value / 2) if each != value] or [-value]
    return [1, "x", True]


@pytest.mark.long("hundreds of changes of each report")
@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_every_leaf_that_is_tampered_with_is_refused_or_found_out(number) -> None:
    """Numbers, words and flags, of every kind of report: what the guarantee says, whom it is for, the key."""
    report = REPORTS[number]
    assert ("key", "insecure_test_key") in leaves(report)
    assert ("guarantee", "neighbours") in leaves(report)
    for path in leaves(report):
        for value in others(at(report, path)):
            outcome = look(json.dumps(put(report, path, value)))
            assert outcome is None or not outcome.ok, (path, value)


@given(st.sampled_from(REPORTS), st.data())
def test_any_tampered_report_is_refused_or_found_out(report, data) -> None:
    """A change of anything, be it what was asked for, what came of it, or what is said about it."""
    path = data.draw(st.sampled_from(places(report)[1:]))
    value = data.draw(VALUES)
    # A number is the same with and without a point.
    if value == at(report, path) and isinstance(value, bool) == isinstance(at(report, path), bool):
        return
    outcome = look(json.dumps(put(report, path, value)))
    assert outcome is None or not outcome.ok, path


@pytest.mark.parametrize("field", ["statement", "neighbours", "source", "proof"])
def test_words_are_derived_and_not_only_covered(field) -> None:
    """A fingerprint can be made anew by anybody; what follows from the request is found out all the same."""
    for report in REPORTS:
        outcome = look(json.dumps(put(report, ("guarantee", field), "no attack is known")))
        assert outcome is not None
        assert f"guarantee.{field} is not what the request calls for" in outcome.reason


def test_reasons_and_costs_are_derived() -> None:
    chosen = [report for report in REPORTS if "chosen" in report]
    assert len({report["chosen"] for report in chosen}) > 6
    for report in chosen:
        text = refingerprinted(put(report, ("chosen",), "auto: it is the best there is"))
        assert look(text).reason == "the mechanism is not chosen for the reason that is given"
    for report in REPORTS:
        outcome = look(refingerprinted(put(report, ("cost", "total"), {"kind": "pure_dp", "epsilon": 1e-3})))
        assert "cost.total" in outcome.reason


def refingerprinted(report: dict) -> str:
    """What anybody can do: the fingerprint written anew, as the check itself would have it."""
    return json.dumps(
        report | {"fingerprint": fingerprint({k: v for k, v in report.items() if k != "fingerprint"})}
    )


def fingerprint(report: dict) -> str:
    """The definition in docs/guide/reports.md, in Python."""
    return blake3.blake3(canonical(report), derive_key_context="dpsel.v1.report.fingerprint").hexdigest()


def number_text(number: float) -> str:
    """The digits of a whole number, the bits of another one."""
    if isinstance(number, int) or (number.is_integer() and abs(number) < 2**53):
        return str(int(number))
    return struct.pack(">d", number).hex()


def canonical(value: object) -> bytes:
    """A letter for the kind, the length, the content; names sorted, numbers without a needless point."""

    def text(kind: str, content: str) -> bytes:
        return f"{kind}{len(content.encode())}:{content}".encode()

    if value is None:
        return text("n", "")
    if isinstance(value, bool):
        return text("b", "1" if value else "0")
    if isinstance(value, int | float):
        return text("d", number_text(value))
    if isinstance(value, str):
        return text("s", value)
    if isinstance(value, list):
        return text("a", str(len(value))) + b"".join(map(canonical, value))
    fields = (f"{len(name.encode())}:{name}".encode() + canonical(value[name]) for name in sorted(value))
    return text("o", str(len(value))) + b"".join(fields)


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
    with pytest.raises((dpsel.exceptions.FileError, dpsel.exceptions.InvalidParameterError)):
        dpsel.check(tmp_path / name)
