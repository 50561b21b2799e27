"""The audit of functions of others: broken ones are refuted, correct ones are not, and reports say why.

Noise is seeded and calls are counted, so that these tests always do the same.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dpsel
from false_alarm import ALPHA

sys.path.insert(0, str(Path(__file__).parent))

import selections

from dpsel.auditing._tables import Pair

CLAIM = dpsel.ApproxDP(epsilon=selections.EPSILON, delta=selections.DELTA)
ARGUMENTS = {"privacy": CLAIM, "max_items_per_user": selections.LIMIT, "calls": 40_000}
KINDS = ("int", "str", "numpy")


@pytest.fixture(autouse=True)
def same_noise() -> None:
    selections.start_again()


def audited(function, **changes):
    (finding,) = dpsel.audit_callable(function, **(ARGUMENTS | changes)).findings
    return finding


@pytest.mark.statistical
@pytest.mark.parametrize("function", selections.BROKEN, ids=lambda function: function.__name__)
def test_what_is_broken_is_refuted(function) -> None:
    # It stops as soon as it has refuted.
    report = dpsel.audit_callable(function, items=KINDS, **(ARGUMENTS | {"calls": 100_000}))
    assert not report.ok
    assert "REFUTED" in str(report)


@pytest.mark.statistical
@pytest.mark.parametrize("function", [selections.correct, selections.ordered_by_noise])
@pytest.mark.parametrize("neighbours", ["add_remove", "swap"])
def test_what_is_correct_stands(function, neighbours) -> None:
    # A swap moves twice as much.
    claim = CLAIM if neighbours == "add_remove" else dpsel.ApproxDP(epsilon=4.0, delta=0.02)
    finding = audited(
        function, privacy=claim, neighbours=neighbours, items=KINDS, calls=20_000, false_alarm=ALPHA
    )
    assert not finding.refuted
    assert finding.delta <= claim.delta
    assert finding.epsilon <= claim.epsilon
    assert "pairs of tables were tried" in finding.seen
    assert finding.witness is None


@pytest.mark.statistical
def test_a_swap_needs_more_noise() -> None:
    assert audited(selections.correct, privacy=dpsel.ApproxDP(epsilon=2.0, delta=0.02)).refuted is False
    selections.start_again()
    finding = audited(selections.correct, neighbours="swap", calls=80_000)
    assert finding.refuted
    assert finding.neighbours == "swap"
    assert re.search(r"without: .*\n", str(finding.witness))


@pytest.mark.statistical
def test_zcdp_is_a_claim_too() -> None:
    claim = dpsel.ZCDP(rho=0.05, delta=0.02)
    finding = audited(selections.correct, privacy=claim)
    assert finding.refuted
    assert (finding.measure, finding.claimed_epsilon) == ("rho", 0.05)
    assert finding.epsilon > 0.05 or finding.delta > 0.02
    generous = audited(selections.correct, privacy=dpsel.ZCDP(rho=2.0, delta=0.02), calls=10_000)
    assert not generous.refuted


@pytest.mark.long("two whole audits")
def test_an_audit_with_counted_calls_can_be_repeated() -> None:
    first = audited(selections.told_counts, calls=6_000)
    selections.start_again()
    assert audited(selections.told_counts, calls=6_000) == first


def test_copies_are_samples() -> None:
    finding = audited(selections.nothing_is_hidden, copies=10, calls=2_000)
    assert finding.refuted
    assert "10 copies in a call" in finding.witness.replay


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore::dpsel.WeakGuaranteeWarning")  # a large delta shows more
def test_our_own_selection_stands_as_a_callable() -> None:
    def select(rows):
        return dpsel.select_partitions(
            rows, privacy=CLAIM, max_items_per_user=2, mechanism=dpsel.CountLaplace()
        ).items

    assert not audited(select, copies=10, calls=4_000, false_alarm=ALPHA).refuted


def test_items_that_nobody_has_are_an_outcome_too() -> None:
    def invents(rows):
        return ["made up"] if len({user for user, _ in rows}) % 2 else []

    assert audited(invents, calls=8_000).refuted


def test_pure_privacy_is_refuted_by_any_item_that_only_one_user_has() -> None:
    finding = audited(selections.nothing_is_hidden, privacy=dpsel.PureDP(epsilon=1.0), max_items_per_user=1)
    assert finding.refuted
    assert finding.claimed_delta == 0


def test_a_public_list_is_no_secret() -> None:
    def all_of_them(_rows):
        return list(range(4))

    finding = audited(all_of_them, privacy=dpsel.PureDP(epsilon=1.0), domain=4, calls=5_000)
    assert not finding.refuted
    # The tables stay within the list.
    widths = []

    def width(rows):
        widths.append(max((item for _, item in rows), default=0))
        return []

    audited(width, privacy=dpsel.PureDP(epsilon=1.0), domain=4, items="int", calls=5_000)
    assert len(widths) >= 5_000
    assert max(widths[1_000:]) == 3


@pytest.mark.long("a whole audit")
@pytest.mark.parametrize("name", ["shared_noise", "told_counts", "true_counts"])
def test_the_witness_can_be_replayed(name) -> None:
    function = getattr(selections, name)
    function = getattr(selections, name)
    finding = audited(function, items="int")
    witness = finding.witness
    program = "\n".join(witness.replay.splitlines()[1:])
    assert witness.replay.startswith(f"function = {function.__name__}\n")
    names = {"function": function}
    exec(program, names)  # noqa: S102 - the program is what is tested
    without, added = names["counts"]
    likely, rare = (added, without) if witness.likely_on == "added" else (without, added)
    assert abs(likely / 2000 - witness.likely / witness.likely_trials) < 0.1
    assert abs(rare / 2000 - witness.rare / witness.rare_trials) < 0.1
    assert witness.rare_trials >= witness.likely_trials > 0


def test_the_report_has_the_witness_in_every_form(tmp_path) -> None:
    report = dpsel.audit_callable(selections.nothing_is_hidden, **ARGUMENTS)
    text = str(report)
    for words in ("tables: ", "without: users with", "event: ", "replay:", "counts.append"):
        assert words in text
    report.save(tmp_path / "audit.json")
    (finding,) = json.loads((tmp_path / "audit.json").read_text())["findings"]
    assert finding["witness"]["event"] in text
    assert finding["witness"]["replay"].count("\n") < 16
    assert finding["event"] == finding["witness"]["event"]


@pytest.mark.long("a whole audit")
def test_progress_is_told() -> None:
    said = []
    dpsel.audit_callable(
        selections.correct, privacy=CLAIM, max_items_per_user=2, seconds=2.5, progress=said.append
    )
    assert said
    assert re.match(r"\d of 2.5 s: \d+ tables, (searching|testing) ", said[0])


def test_time_is_kept() -> None:
    import time

    started = time.monotonic()
    # On a busy machine the calls of a second may be too few for a finding.
    with contextlib.suppress(dpsel.exceptions.InvalidParameterError):
        assert not audited(selections.correct, calls=None, seconds=1.0).refuted
    assert time.monotonic() - started < 30


@pytest.mark.long("whole audits")
def test_errors_name_the_function_and_the_table() -> None:
    def picky(rows):
        if not rows:
            message = "no rows"
            raise ValueError(message)
        return selections.correct(rows)

    with pytest.raises(dpsel.exceptions.InvalidParameterError) as raised:
        audited(picky)
    text = str(raised.value)
    for words in ("picky raised ValueError: no rows", "nobody else", "without the rows", "padding=1"):
        assert words in text
    assert not audited(picky, padding=1, calls=1_000).refuted


@pytest.mark.parametrize(
    ("answer", "words"),
    [(None, "returned nothing"), ("items", "returned a text"), (7, "returned int instead")],
)
def test_what_is_no_answer_is_refused(answer, words) -> None:
    def odd(_rows):
        return answer

    with pytest.raises(dpsel.exceptions.InvalidParameterError, match=f"odd {words}"):
        audited(odd)


@pytest.mark.long("whole audits")
def test_kinds_that_are_not_taken_are_left_out_unless_asked_for() -> None:
    def whole_numbers(rows):
        return selections.correct([(user, item + 0) for user, item in rows])

    finding = audited(whole_numbers, calls=1_000)
    assert "not taken: str (TypeError)" in finding.seen
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="whole_numbers raised TypeError"):
        audited(whole_numbers, items=["int", "str"])


@pytest.mark.parametrize("place", ["first", "last", "mixed"])
@pytest.mark.parametrize("instead", [None, (4, 5)])
def test_tables_differ_in_the_rows_of_one_user_and_in_nothing_else(place, instead) -> None:
    """The rows of all others are the same, in the same order: a function may go by it."""
    groups = ((5, (0, 1, 1)), (3, (2, 0)), (2, (3,)))
    pair = Pair("", groups, (0, 2, 4), instead=instead, place=place, padding=1)
    for copies in (1, 3):
        without, added = (pair.rows(copies, added=side) for side in (False, True))
        user = 0 if place == "first" else 11
        mine = {user + 12 * copy for copy in range(copies)}
        others = [[row for row in rows if row[0] not in mine] for rows in (without, added)]
        assert others[0] == others[1]
        assert len(others[0]) == copies * (5 * 3 + 3 * 2 + 2 + 1)
        assert [item % pair.width for user, item in sorted(added) if user in mine] == [0, 2, 4] * copies
        assert len(without) - len(others[0]) == copies * len(instead or ())
        # Copies share no item.
        assert {item // pair.width for _, item in added} == set(range(copies))


@pytest.mark.long("hundreds of thousands of calls")
def test_bounding_by_the_order_of_rows_is_not_held_against_a_function() -> None:
    def last_row_of_each_user(rows):
        return selections.correct(list(dict(rows).items()))

    assert not audited(last_row_of_each_user, calls=12_000, false_alarm=ALPHA).refuted


def test_items_are_of_the_kinds_that_were_asked_for() -> None:
    kinds = set()

    def looks(rows):
        kinds.update(type(item) for _, item in rows)
        return set()

    audited(looks, items=("str", "numpy"), calls=3_000)
    assert kinds == {str, np.int64}


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"privacy": 1.0}, "privacy must be"),
        ({"max_items_per_user": 0}, "max_items_per_user"),
        ({"copies": 0}, "copies"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"calls": 0}, "calls"),
        ({"neighbours": "near"}, "neighbours must be"),
        ({"items": "bytes"}, "items must be some of"),
        ({"items": ()}, "at least one kind"),
        ({"padding": -1}, "padding"),
        ({"domain": 0}, "domain"),
        ({"domain": 1, "neighbours": "swap"}, "have 1 item or fewer with these neighbours"),
        ({"false_alarm": 0.5}, "false_alarm"),
    ],
)
def test_wrong_arguments_are_refused(changes, match) -> None:
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match=match):
        dpsel.audit_callable(selections.correct, **(ARGUMENTS | changes))
