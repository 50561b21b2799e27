"""Standard streams that are missing, closed or full, from Python: a release needs none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import io, sys, os, warnings
import dpsel

class Full(io.StringIO):
    def write(self, text):
        raise OSError(28, "No space left on device")

def closed():
    stream = io.StringIO()
    stream.close()
    return stream

ledger = dpsel.Ledger("spent.jsonl", dpsel.ApproxDP(epsilon=100.0, delta=0.1))
sys.stdout = sys.stderr = {"missing": lambda: None, "closed": closed, "full": Full}[sys.argv[1]]()
made = dpsel.select_partitions(
    [(user, "tea") for user in range(300)],
    privacy=ledger.on_use(dpsel.ApproxDP(epsilon=float(sys.argv[2]), delta=1e-6), "x"),
    max_items_per_user=1,
    progress=True,
)
assert (list(made), len(ledger.spent)) == (["tea"], 1)
made.report.save("report.json")
os._exit(0)
"""


@pytest.mark.parametrize("stream", ["missing", "closed", "full"])
@pytest.mark.parametrize("epsilon", ["1", "30"])
def test_no_job_and_no_payment_is_lost_with_a_stream(epsilon, stream, tmp_path):
    ran = subprocess.run([sys.executable, "-c", SCRIPT, stream, epsilon], cwd=tmp_path, check=False)
    assert ran.returncode == 0
    assert (tmp_path / "report.json").exists()
