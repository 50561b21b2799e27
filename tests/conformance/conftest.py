"""Every mechanism goes through the laws; none is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mechanisms import CURVES, EVERY, MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Generator

#: The fixtures that name a mechanism.
OF_MECHANISMS = {"case", "noisy_case", "curve_case", "top_k_case"}


@pytest.fixture(params=EVERY, ids=str, scope="session")
def case(request: pytest.FixtureRequest):
    """Every mechanism in turn."""
    return request.param


@pytest.fixture(params=MECHANISMS, ids=str, scope="session")
def noisy_case(request: pytest.FixtureRequest):
    """Every mechanism with noise and a threshold in turn."""
    return request.param


@pytest.fixture(params=CURVES, ids=str, scope="session")
def curve_case(request: pytest.FixtureRequest):
    """Every mechanism with a release curve in turn."""
    return request.param


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A law that skips a mechanism has failed."""
    report = yield
    if report.skipped and OF_MECHANISMS & set(getattr(item, "fixturenames", ())):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} skips a mechanism: {call.excinfo.value if call.excinfo else ''}"
    return report
