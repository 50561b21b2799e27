"""Some hundreds of random jobs without growth; `nox -s soak` runs them for hours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory in use is read from /proc")

SCRIPT = """
import sys; sys.path.insert(0, {folder!r})
import soak
outcome = soak.run(0, 1, jobs={jobs})
print(outcome)
sys.exit(not outcome.good)
"""


@pytest.mark.long("many jobs in one process")
@pytest.mark.parametrize("jobs", [150, pytest.param(6000, marks=pytest.mark.slow)])
def test_random_jobs_without_growth(jobs) -> None:
    script = SCRIPT.format(folder=str(Path(__file__).parent), jobs=jobs)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
