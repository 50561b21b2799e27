"""No copy of what a budget pays for is free: it is paid from the same budget, or refused."""

from __future__ import annotations

import copy
import dataclasses
import functools
import multiprocessing
import os
import pickle
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import dpsel
from dpsel.exceptions import BudgetExceededError, InvalidParameterError

TOTAL = dpsel.PureDP(epsilon=1.0)
HALF = dpsel.PureDP(epsilon=0.5)


def release(privacy, counts=None):
    return dpsel.top_k_from_counts([900, 20], k=1, privacy=privacy, publish_counts=counts)


def outcome(privacy):
    """Of one call, in any process: whether it released, or how it was refused."""
    try:
        release(privacy)
    except BudgetExceededError as error:
        return str(error)
    return "released"


def of_dict(value):
    return type(value)(**dataclasses.asdict(value))


class Estimator:
    """What scikit-learn clones: parameters by name, and copies of them for a new object."""

    def __init__(self, privacy=None):
        self.privacy = privacy

    def get_params(self):
        return {"privacy": copy.deepcopy(self.privacy)}


def cloned(value):
    return Estimator(**Estimator(value).get_params()).privacy


COPIES = {
    "itself": lambda value: value,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy in a list": lambda value: copy.deepcopy([value, value])[1],
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "pickle by an old protocol": lambda value: pickle.loads(pickle.dumps(value, 0)),
    "reduce": lambda value: copy._reconstruct(value, None, *value.__reduce_ex__(4)),
    "replace": dataclasses.replace,
    "asdict": of_dict,
    "clone": cloned,
}
WAYS = {
    "share": lambda budget: budget.share(2),
    "on_use": lambda budget: budget.on_use(HALF),
    "spend": lambda budget: budget.spend(HALF),
    "items of a cost": lambda budget: budget.on_use(dpsel.Cost(items=HALF)).items,
    "total of a cost": lambda budget: budget.on_use(dpsel.Cost(items=HALF)).total,
}


@pytest.fixture(params=["budget", "ledger"])
def budget(request, tmp_path):
    return dpsel.Budget(TOTAL) if request.param == "budget" else dpsel.Ledger(tmp_path / "spent", TOTAL)


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("way", WAYS)
def test_no_copy_is_free(budget, way, copied):
    """Whatever is copied, and whoever releases: not more calls than entries, nor more than the total."""
    paid, released = WAYS[way](budget), 0
    for _ in range(3):
        for make in (COPIES[copied], lambda value: value):
            try:
                release(make(paid))
                released += 1
            except BudgetExceededError:
                pass
    assert 1 <= released <= (1 if way == "spend" else 2)
    assert released == len(budget.spent)


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_copy_is_paid_for_what_it_is_or_refused(budget, way):
    larger = dataclasses.replace(WAYS[way](budget), epsilon=0.75)
    if way == "spend":
        with pytest.raises(BudgetExceededError, match=r"has privacy=.*0\.75.*, but .*0\.5.* was spent"):
            release(larger)
    else:
        release(larger)
        assert budget.remaining == dpsel.PureDP(epsilon=0.25)
        with pytest.raises(BudgetExceededError, match=r"exceeds the remaining 0\.25"):
            release(larger)


@pytest.mark.parametrize("copied", ["copy", "deepcopy", "deepcopy in a list", "pickle"])
def test_a_copy_of_a_budget_grants_nothing_more(budget, copied):
    if copied == "pickle" and type(budget) is dpsel.Budget:
        with pytest.raises(BudgetExceededError, match="share\\(\\) or on_use\\(\\) of a dpsel.Ledger"):
            pickle.dumps(budget)
        return
    other = COPIES[copied](budget)
    other.spend(HALF)
    budget.spend(HALF)
    for each in (budget, other):
        assert len(each.spent) == 2
        with pytest.raises(BudgetExceededError, match="no epsilon remains"):
            each.spend(HALF)


def test_what_was_derived_is_paid_as_well():
    budget = dpsel.Budget(dpsel.ZCDP(rho=1.0, delta=1e-4))
    part = budget.on_use(dpsel.ZCDP(rho=0.01, delta=1e-9))
    rows = [(user, "tea") for user in range(500)]
    derived = (
        part.to_approx_dp(delta=1e-6),
        dpsel.for_group(part.to_approx_dp(delta=1e-6), 2),
        budget.on_use(dpsel.Cost(items=part, counts=dpsel.PureDP(epsilon=0.1))).total,
    )
    for number, each in enumerate(derived, 1):
        dpsel.select_partitions(rows, privacy=each, max_items_per_user=1)
        assert len(budget.spent) == number


def test_a_copy_that_lost_its_payment_on_the_way_is_refused(budget):
    for lost in ({}, "Payment", object()):
        fields = dataclasses.asdict(budget.share(2)) | {"_payment": lost}
        with pytest.raises(InvalidParameterError, match="in place of its payment"):
            release(dpsel.PureDP(**fields))


def test_counts_from_a_budget_need_items_from_it(budget):
    for counts in (budget.share(4), budget.spend(HALF)):
        with pytest.raises(InvalidParameterError, match="counts= comes from a budget, but privacy= does not"):
            release(HALF, counts=counts)


@pytest.mark.parametrize("is_ledger", [False, True])
def test_items_and_counts_are_paid_from_one_budget(is_ledger, tmp_path):
    """The budget of the items paid for the counts as well, and the other one for nothing."""
    quarter, ledger = dpsel.PureDP(epsilon=0.25), lambda name: dpsel.Ledger(tmp_path / name, TOTAL)
    one, other = (ledger("one"), ledger("other")) if is_ledger else (dpsel.Budget(TOTAL), dpsel.Budget(TOTAL))
    cost = dpsel.Cost(items=quarter, counts=quarter)
    paid, of_other = one.spend(cost), other.spend(cost)
    for items in (one.share(4), one.on_use(cost).items, paid.items):
        for counts in (other.share(4), other.on_use(cost).counts, of_other.counts):
            with pytest.raises(InvalidParameterError, match="counts= comes from another budget"):
                release(items, counts=counts)
    assert len(one.spent) == len(other.spent) == 1
    release(paid.items, counts=paid.counts)
    release(one.share(4), counts=copy.deepcopy(one.share(4)))
    assert one.remaining is None
    if is_ledger:  # Handles of one file are one budget.
        counts = pickle.loads(pickle.dumps(ledger("third").share(4)))
        release(ledger("third").share(4), counts=counts)


def test_records_are_plain_and_can_be_pickled(budget):
    budget.spend(budget.share(2), "first")
    release(budget.share(2, "second"))
    records = pickle.loads(pickle.dumps(budget.spent))
    assert [each.label for each in records] == ["first", "second"]
    assert records == budget.spent


def test_releases_and_plans_can_be_copied_if_what_paid_for_them_can(budget):
    made = release(budget.share(2))
    assert pickle.loads(pickle.dumps(made)).items == made.items
    assert copy.deepcopy(made).report == made.report


# ------------------------------------------------------------------------------------------- processes

METHODS = [
    method for method in ("fork", "spawn", "forkserver") if method in multiprocessing.get_all_start_methods()
]


def in_pool(method, values):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        try:
            return list(pool.map(outcome, values))
        except BudgetExceededError as error:
            return [str(error)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", ["share", "on_use", "spend"])
def test_workers_pay_from_the_file_or_are_refused(budget, method, way):
    outcomes = in_pool(method, [WAYS[way](budget)] * 5)
    if type(budget) is dpsel.Ledger and way != "spend":
        assert outcomes.count("released") == 2
        assert len(budget.spent) == 2
        assert {each.report is None for each in budget.spent} == {False}
    else:
        assert "released" not in outcomes
        assert all("dpsel.Ledger" in each for each in outcomes)


def forked(work):
    """Return what ``work`` returns in a forked child, which inherits memory and pickles nothing."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:  # pragma: no cover
        try:
            said = work()
        except BaseException as error:  # noqa: BLE001 - the parent asserts what it was
            said = f"{type(error).__name__}: {error}"
        os.write(writer, str(said).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader, "rb") as stream:  # noqa: PTH123 - a descriptor
        return stream.read().decode()


HAS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@HAS_FORK
@pytest.mark.parametrize("way", WAYS)
def test_what_a_fork_inherits_is_not_paid_again(budget, way):
    paid = WAYS[way](budget)
    outcomes = [forked(functools.partial(outcome, paid)) for _ in range(5)]
    outcomes += [outcome(paid) for _ in range(5)]
    most = 1 if way == "spend" else 2
    assert outcomes.count("released") == most == len(budget.spent)
    in_memory = type(budget) is dpsel.Budget or way == "spend"
    assert ("released" in outcomes[:5]) != in_memory


@HAS_FORK
def test_a_budget_refuses_everything_in_a_fork():
    budget = dpsel.Budget(TOTAL)
    uses = (
        lambda: budget.spend(HALF),
        lambda: budget.remaining,
        lambda: budget.spent,
        lambda: release(budget.share(2)),
        lambda: release(budget.on_use(HALF)),
        lambda: budget.to_dp_accounting(),
    )
    for use in uses:
        said = forked(use)
        assert said.startswith("BudgetExceededError") or "dp-accounting" in said
        assert "dpsel.Ledger" in said
    assert "of another process" in forked(lambda: repr(budget))
    assert budget.remaining == TOTAL


@HAS_FORK
def test_a_fork_during_a_turn_waits_for_no_dead_lock(budget):
    with budget._turn():
        said = forked(lambda: budget.spend(HALF)) if type(budget) is dpsel.Budget else "BudgetExceededError"
    assert said.startswith("BudgetExceededError")
    paid = budget.spend(HALF)
    with paid._payment._lock:
        assert forked(lambda: release(paid)).startswith("BudgetExceededError")


@HAS_FORK
def test_a_child_that_lives_on_keeps_no_lock(tmp_path):
    """It inherits the open file, and with it the lock, if it is forked while another thread has it."""
    ledger = dpsel.Ledger(tmp_path / "spent", TOTAL)
    reader, writer = os.pipe()
    with ledger._turn():
        if (child := os.fork()) == 0:  # pragma: no cover
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
    spending = threading.Thread(target=ledger.spend, args=(HALF,), daemon=True)
    spending.start()
    spending.join(20)
    stuck = spending.is_alive()
    os.close(writer)
    os.waitpid(child, 0)
    os.close(reader)
    assert not stuck


# --------------------------------------------------------------------------------------------- threads


@pytest.fixture
def switching():
    """Let threads take turns after each few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_threads_never_overspend(budget):
    part, start = dpsel.PureDP(epsilon=0.1), threading.Barrier(8)
    value = budget.on_use(part)

    def spend(number):
        start.wait()
        paid = 0
        for _ in range(3):
            try:
                budget.spend(part) if number % 2 else release(value)
                paid += 1
            except BudgetExceededError:
                pass
            repr(budget)
        return paid

    with ThreadPoolExecutor(8) as pool:
        paid = sum(pool.map(spend, range(8)))
    assert paid == 10 == len(budget.spent)
    assert budget.remaining is None


@pytest.mark.usefixtures("switching")
def test_threads_never_overspend_a_budget_in_many_trials():
    """Without a lock most trials overspend."""
    part = dpsel.PureDP(epsilon=0.25)
    for _ in range(30):
        budget, start = dpsel.Budget(TOTAL), threading.Barrier(8)

        def spend(_, budget=budget, start=start):
            start.wait()
            try:
                return bool(budget.spend(part))
            except BudgetExceededError:
                return False

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(spend, range(8))) == 4 == len(budget.spent)


@pytest.mark.usefixtures("switching")
def test_threads_use_one_payment_once(budget):
    paid, start = budget.spend(HALF), threading.Barrier(8)

    def use(_):
        start.wait()
        return outcome(paid)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(use, range(8))).count("released") == 1
