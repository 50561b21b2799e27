"""Any sequence of uses of budgets and of handles of one ledger, against exact fractions."""

from __future__ import annotations

import copy
import pickle
import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import dpsel
from dpsel.exceptions import BudgetExceededError

PARTS = st.sampled_from([0.1, 0.2, 0.3, 0.07, 1 / 3, 0.5, 1e-9])
HANDLE = st.integers(0, 3)


class Uses(RuleBasedStateMachine):
    """What was spent, in exact fractions, beside the budget and its copies."""

    @initialize(total=st.sampled_from([1.0, 0.9, 0.3]), in_file=st.booleans())
    def start(self, total, in_file):
        self.folder = tempfile.TemporaryDirectory()
        self.total, self.spent, self.calls = Fraction(repr(total)), Fraction(0), 0
        asked = dpsel.PureDP(epsilon=total)
        if in_file:
            path = Path(self.folder.name, "spent")
            first = dpsel.Ledger(path, asked)
            self.handles = [first, dpsel.Ledger(path), pickle.loads(pickle.dumps(first)), copy.copy(first)]
        else:
            first = dpsel.Budget(asked)
            self.handles = [first, copy.copy(first), copy.deepcopy(first), first]

    def teardown(self):
        self.folder.cleanup()

    def pays(self, epsilon, pay):
        amount = Fraction(repr(epsilon))
        try:
            value = pay()
        except BudgetExceededError:
            assert self.spent + amount > self.total
            return None
        assert self.spent + amount <= self.total
        self.spent, self.calls = self.spent + amount, self.calls + 1
        return value

    @rule(handle=HANDLE, epsilon=PARTS)
    def spend(self, handle, epsilon):
        part = dpsel.PureDP(epsilon=epsilon)
        paid = self.pays(epsilon, lambda: self.handles[handle].spend(part))
        if paid is not None:
            released = sum(self.released(copied(paid)) for copied in (copy.copy, copy.deepcopy, copy.copy))
            assert released == 1

    @rule(handle=HANDLE, epsilon=PARTS, copied=st.sampled_from([copy.copy, copy.deepcopy]))
    def use(self, handle, epsilon, copied):
        part = self.handles[handle].on_use(dpsel.PureDP(epsilon=epsilon))
        self.pays(epsilon, lambda: self.release(copied(part)))

    @rule(handle=HANDLE, parts=st.integers(1, 12))
    def share(self, handle, parts):
        part = self.handles[handle].share(parts)
        self.pays(part.epsilon, lambda: self.release(part))

    @rule(handle=HANDLE)
    def spend_what_remains(self, handle):
        left = self.handles[handle].remaining
        if left is not None:
            assert self.pays(left.epsilon, lambda: self.handles[handle].spend(left)) == left

    def release(self, privacy):
        return dpsel.top_k_from_counts([9, 2], k=1, privacy=privacy)

    def released(self, privacy):
        try:
            return bool(self.release(privacy))
        except BudgetExceededError:
            return False

    @invariant()
    def every_handle_knows_everything(self):
        if not hasattr(self, "handles"):
            return
        for handle in self.handles:
            left = handle.remaining
            assert len(handle.spent) == self.calls
            assert (0 if left is None else Fraction(repr(left.epsilon))) <= self.total - self.spent


TestUses = Uses.TestCase
TestUses.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
