"""Shared fixtures, hypothesis profiles, and the one named false-alarm rate."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS))
# The programs under benches/ are tested where they claim something.
sys.path.append(str(ROOT))

from mechanisms import MECHANISMS  # noqa: E402
from time_limit import pytest_runtest_call  # noqa: E402, F401 - a hook

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("fast", max_examples=25, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("slow", max_examples=1000, deadline=None, suppress_health_check=_QUIET)
# For planted bugs: the first failure is enough, and none is kept for the next bug. While hypothesis makes a
# failure smaller, it calls a library beneath with inputs that our code refuses, and one of them can crash it.
settings.register_profile(
    "planted",
    max_examples=25,
    deadline=None,
    suppress_health_check=_QUIET,
    phases=(Phase.explicit, Phase.generate),
    database=None,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


# A shell has its background jobs ignore Ctrl-C. Tests of an interrupt would then wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests, and those of packages that are not installed here, out unless `-m` asks for them."""
    if config.getoption("-m"):
        return
    extra = ("slow", "spark", "dp_accounting", "libraries")
    left_out = [item for item in items if any(map(item.get_closest_marker, extra))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(params=MECHANISMS, ids=str, scope="session")
def case(request: pytest.FixtureRequest):
    """Every mechanism in turn."""
    return request.param


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the real data sets, from DPSEL_DATA or beside the repository."""
    folder = Path(os.environ.get("DPSEL_DATA", ROOT.parent / "shared" / "data")) / "users"
    if not folder.is_dir():
        pytest.skip(f"the real data sets are not in {folder}; set DPSEL_DATA to their folder")
    return folder
