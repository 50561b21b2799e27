"""The schema of reports is closed: every kind of report has its form, and no other field has a place."""

from __future__ import annotations

import copy
import json
import re
import warnings
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import dpsel
from dpsel.exceptions import DataError, InvalidParameterError
from golden import releases

SCHEMA = Path(__file__).resolve().parents[1] / "docs" / "reference" / "report-2.schema.json"
#: Golden releases of small tables with every mechanism, guarantee and option; looks that found either length.
GOLDEN = (
    "select/groups/",
    "top_k/groups/",
    "counts/array/",
    "select/quotations/auto/",
    "select/long_lists/auto/",
)
ROWS = [(user, item) for user in range(40) for item in range(3)]
APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-5)
#: What the golden releases leave out.
OPTIONS = {
    "counts of Gaussian rounds": {"mechanism": dpsel.Steered(), "counts": 0.2},
    "counts of a curve": {"mechanism": dpsel.UnitGreedy(), "counts": 0.2},
    "counts of rows": {"counts": dpsel.Counts(count="rows", max_rows_per_item=4)},
    "counts and auto": {"counts": 0.2},
    "the rest": {"rest": 0.02},
    "counts and rows of the rest": {"counts": 0.2, "rest": dpsel.Rest(0.02, max_rows_per_user=4)},
    "least number of users": {"mechanism": dpsel.WeightedGaussian(), "min_users": 3},
    "lists": {"mechanism": dpsel.Sips(), "exclude": [9], "public_items": [1, 2]},
    "lists and a look": {"exclude": [9]},
    "n-grams": {"ngrams": (1, 2)},
    "n-grams of characters": {"ngrams": (2, 3), "tokenizer": "chars"},
    "sub-words": {"ngrams": (3, 4), "tokenizer": "subwords"},
    "a limit from the data": {"max_items_per_user": dpsel.Quantile(0.5)},
}


@cache
def schema() -> jsonschema.Draft202012Validator:
    found = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@cache
def golden() -> dict[str, dict]:
    found = {}
    for case in releases.cases():
        if case.name.startswith(GOLDEN):
            with warnings.catch_warnings():
                # Mechanisms without a guarantee warn; they have reports all the same.
                warnings.simplefilter("ignore")
                try:
                    found[case.name] = json.loads(case.call(None).report.to_json())
                except (InvalidParameterError, DataError):
                    continue  # arguments that do not go together
    return found


@pytest.fixture(scope="module", autouse=True)
def _releases_are_made_before_any_test() -> None:
    """The time is not that of the test that happens to come first."""
    golden()


@cache
def with_options() -> dict[str, dict]:
    found = {}
    for name, options in OPTIONS.items():
        rows = [(1, "to be")] if "ngrams" in options else ROWS
        release = dpsel.select_partitions(rows, privacy=APPROX, **({"max_items_per_user": 4} | options))
        found[name] = json.loads(release.report.to_json())
    return found


def every() -> dict[str, dict]:
    return golden() | with_options()


def objects(value: object, place: str = "$"):
    """Each object of a report with its place."""
    if isinstance(value, dict):
        yield place, value
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list):
            yield from objects(inner, f"{place}.{key}")


def kinds() -> dict[tuple, tuple[dict, int]]:
    """Each kind of object at each kind of place: a report that has one, and which of its objects that is."""
    found = {}
    for report in every().values():
        for number, (place, each) in enumerate(objects(report)):
            form = re.sub(r"\d+", "", place), tuple(each), each.get("kind"), each.get("name")
            found.setdefault(form, (report, number))
    return found


def test_reports_have_the_form_of_the_schema():
    assert len(every()) > 250
    assert [name for name, report in every().items() if not schema().is_valid(report)] == []


def test_the_schema_names_nothing_that_no_report_has():
    named = set()
    for _, each in objects(schema().schema):
        named |= set(each.get("properties", {}))
    there = {key for report in every().values() for _, each in objects(report) for key in each}
    assert named == there


def test_a_field_that_is_not_named_is_refused_in_every_object():
    assert len(kinds()) > 100
    for form, (report, number) in kinds().items():
        changed = copy.deepcopy(report)
        [*objects(changed)][number][1]["surprise"] = 1
        assert not schema().is_valid(changed), form


def test_every_mechanism_is_in_the_schema():
    made = {each["name"] for report in every().values() for _, each in objects(report) if "name" in each}
    selections, top_ks = dpsel.mechanisms.selection_mechanisms(), dpsel.mechanisms.top_k_mechanisms()
    assert made == {each.name for each in (*selections.values(), *top_ks.values())}


@pytest.mark.parametrize("path", ["format", "task", "request", "calibration", "cost", "key", "fingerprint"])
def test_reports_that_lack_a_part_are_refused(path):
    report = copy.deepcopy(with_options()["counts of a curve"])
    del report[path]
    assert not schema().is_valid(report)


def test_a_selection_has_no_calibration_of_a_top_k():
    selection = next(report for name, report in golden().items() if name.startswith("select/"))
    top_k = next(report for name, report in golden().items() if name.startswith("top_k/"))
    assert not schema().is_valid(selection | {"calibration": top_k["calibration"]})
    assert not schema().is_valid(top_k | {"request": selection["request"]})
