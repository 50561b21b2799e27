"""Standard streams that are missing, closed or full, from Python: a release needs none of them."""

from __future__ import annotations

import io
import sys
import warnings

import pytest

import dpsel

PAIRS = [(user, "tea") for user in range(300)]
GOOD, WEAK = dpsel.ApproxDP(epsilon=1.0, delta=1e-6), dpsel.ApproxDP(epsilon=30.0, delta=1e-6)


class Full(io.StringIO):
    """A stream on a full disk."""

    def write(self, _text):
        raise OSError(28, "No space left on device")


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


STREAMS = {"missing": lambda: None, "closed": closed, "full": Full}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("privacy", [GOOD, WEAK], ids=["good", "weak"])
def test_no_job_and_no_payment_is_lost_with_a_stream(privacy, stream, monkeypatch, tmp_path):
    ledger = dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=100.0, delta=0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # As Python shows them without a test runner: on standard error.
        monkeypatch.setattr(warnings, "showwarning", shown)
        monkeypatch.setattr(sys, "stdout", STREAMS[stream]())
        monkeypatch.setattr(sys, "stderr", STREAMS[stream]())
        made = dpsel.select_partitions(
            PAIRS, privacy=ledger.on_use(privacy, "x"), max_items_per_user=1, progress=True
        )
        monkeypatch.undo()
    assert (list(made), len(ledger.spent)) == (["tea"], 1)


def shown(message, category, filename, lineno, file=None, line=None):
    """Write as `warnings` does."""
    warnings._showwarnmsg_impl(warnings.WarningMessage(message, category, filename, lineno, file, line))
