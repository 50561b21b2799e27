"""Our own calls on public or made-up data pay nothing; calls of others that run inside them pay."""

from __future__ import annotations

import pyarrow as pa
import pytest

import dpsel

TABLE = pa.table({"user": list(range(40)), "item": ["tea"] * 40})
CALL = {"user": "user", "item": "item", "max_items_per_user": 1}
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)


class Lazy:
    """A table that makes a paid release of something else each time it is read."""

    def __init__(self, ledger: dpsel.Ledger) -> None:
        self.ledger, self.reads = ledger, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.reads += 1
        dpsel.select_partitions(TABLE, privacy=self.ledger.on_use(PRIVACY, "inner"), **CALL)
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.fixture
def ledger(tmp_path):
    return dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=1000.0, delta=0.5))


def test_a_source_that_releases_while_a_comparison_reads_it_pays_each_time(ledger):
    lazy = Lazy(ledger)
    dpsel.compare(lazy, privacy=PRIVACY, public_data=True, mechanisms=dpsel.Sips(), repeats=3, **CALL)
    assert lazy.reads == 4
    assert len(ledger.spent) == 4


def test_a_tokenizer_that_releases_while_a_comparison_reads_pays_each_time(ledger):
    def tokens(text):
        dpsel.select_partitions(TABLE, privacy=ledger.on_use(PRIVACY, "inner"), **CALL)
        return [text]

    dpsel.compare(
        TABLE.slice(0, 2),
        privacy=PRIVACY,
        public_data=True,
        mechanisms=dpsel.Sips(),
        tokenizer=tokens,
        **CALL,
    )
    assert len(ledger.spent) == 4


def test_a_function_under_audit_pays_from_its_own_budget():
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=10.0, delta=0.5))
    spent = budget.spend(PRIVACY, "once")

    def released(rows):
        return dpsel.select_partitions(rows, privacy=spent, max_items_per_user=1).items

    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="raised BudgetExceededError"):
        dpsel.audit_callable(released, privacy=PRIVACY, max_items_per_user=1, calls=60)


@pytest.mark.long("a whole audit")
def test_comparison_and_audit_pay_nothing_of_what_their_parameters_were_given_by(ledger):
    share = ledger.on_use(PRIVACY, "public")
    dpsel.compare(TABLE, privacy=share, public_data=True, mechanisms=dpsel.Sips(), **CALL)
    dpsel.audit(dpsel.Sips(), privacy=share, effort="quick", max_items_per_user=1)
    assert ledger.spent == ()
