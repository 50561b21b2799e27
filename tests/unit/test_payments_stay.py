"""Payments of budgets within budgets, of interrupted calls and of forked processes."""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path

import pytest

import dpsel
from dpsel.exceptions import STAYS_SPENT, BudgetExceededError, InvalidParameterError

TOTAL = dpsel.PureDP(epsilon=1.0)
PART = dpsel.PureDP(epsilon=0.25)
BUDGET = str(Path(dpsel.Budget.spend.__code__.co_filename).parent)


@pytest.fixture(params=["budget", "ledger"])
def make(request, tmp_path):
    def made(name, total=TOTAL):
        return dpsel.Budget(total) if request.param == "budget" else dpsel.Ledger(tmp_path / name, total)

    return made


def release(privacy, **options):
    return dpsel.top_k_from_counts([900, 20], k=1, privacy=privacy, **options)


#: What one budget pays for, in every form.
PAID = {
    "share": lambda budget: budget.share(4),
    "on_use": lambda budget: budget.on_use(PART),
    "spend": lambda budget: budget.spend(PART),
    "items": lambda budget: budget.on_use(dpsel.Cost(items=PART)).items,
    "counts": lambda budget: budget.on_use(dpsel.Cost(items=PART, counts=PART)).counts,
    "total": lambda budget: budget.on_use(dpsel.Cost(items=PART, counts=PART)).total,
}
#: Where another one could take it for its own.
TAKEN = {
    "total": lambda make, paid: make("team", paid),
    "spend": lambda make, paid: make("team").spend(paid),
    "on_use": lambda make, paid: make("team").on_use(paid),
    "items": lambda make, paid: make("team").spend(dpsel.Cost(items=paid)),
    "counts": lambda make, paid: make("team").on_use(dpsel.Cost(items=PART, counts=paid)),
}


@pytest.mark.parametrize("paid", PAID)
@pytest.mark.parametrize("taken", TAKEN)
def test_no_budget_takes_what_another_one_pays_for(make, paid, taken):
    """The first one would not be charged for what is spent from the second one."""
    org = make("org")
    with pytest.raises(InvalidParameterError, match="another budget, which .* not be charged"):
        TAKEN[taken](make, PAID[paid](org))
    assert len(org.spent) == (paid == "spend")


def test_a_part_of_a_budget_that_is_spent_there_is_one_of_its_own(make):
    org = make("org")
    org.spend(org.share(4))
    team = make("team", PART)
    release(team.share(2))
    assert org.remaining == dpsel.PureDP(epsilon=0.75)


class _Interrupt:
    """Raises at the n-th line of the files of budgets that a call comes to."""

    def __init__(self, at):
        self.at, self.seen = at, 0

    def __call__(self, frame, event, _argument):
        if not frame.f_code.co_filename.startswith(BUDGET):
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        # No signal comes at the beginning of a block, and between its end and the end of its lock.
        if event == "line" and not line.startswith(("with ", "try:")):
            self.seen += 1
            if self.seen == self.at:
                raise KeyboardInterrupt
        return self


def _of(paid):
    return lambda: release(paid)


CALLS = {
    "spend": lambda budget: lambda: budget.spend(PART),
    "share": lambda budget: _of(budget.share(4)),
    "on_use": lambda budget: _of(budget.on_use(PART)),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_says_whether_the_cost_stays_spent(make, call):
    """At every line: the note is there if the cost is, and only then."""
    for at in range(1, 400):
        budget = make(f"{call} {at}")
        run, interrupt = CALLS[call](budget), _Interrupt(at)
        sys.settrace(interrupt)
        try:
            run()
            error = None
        except KeyboardInterrupt as raised:
            error = raised
        finally:
            sys.settrace(None)
        if error is None:
            break
        is_spent = budget.remaining != TOTAL
        # After the rows are read, the release is settled; an interrupt there is another matter.
        told = getattr(error, "__notes__", [])
        assert told == [STAYS_SPENT] * is_spent or (told == [] and budget.spent[0].report is not None), at
    assert at > 20
    assert interrupt.seen < at


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("way", ["spend", "budget"])
def test_a_fork_is_another_process_whatever_its_number_is(way, monkeypatch):
    """Numbers of processes are used again, and other namespaces count on their own."""
    budget = dpsel.Budget(TOTAL)
    paid, parent = budget.spend(PART), os.getpid()
    child = os.fork()
    if child == 0:
        code = 1
        monkeypatch.setattr(os, "getpid", lambda: parent)
        try:
            release(paid if way == "spend" else budget.share(4))
        except BudgetExceededError:
            # What the child makes is its own.
            release(dpsel.Budget(TOTAL).spend(PART))
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    release(paid)
