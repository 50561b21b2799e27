"""The rule of the tier before a commit: a test there takes at most two seconds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

#: Seconds of processor time that the call of a test should take at most.
LONGEST = 2.0
#: A test that takes so many times as long fails. Even processor time depends on the machine, and on what else
#: uses its caches.
MARGIN = 2.0
#: Markers of what runs in later tiers: the list of `noxfile.py`.
LATER = ("long", "slow", "statistical", "spark", "dp_accounting", "libraries")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test that takes longer, unless its marker says that it runs later.

    Profiles of Hypothesis other than the usual one ask for more examples, or have a bug planted.
    """
    before = processor_time()
    yield
    spent = processor_time() - before
    usual = os.environ.get("HYPOTHESIS_PROFILE", "fast") == "fast"
    if spent > MARGIN * LONGEST and usual and not any(map(item.get_closest_marker, LATER)):
        pytest.fail(
            f"took {spent:.1f} s of processor time, and a test before a commit has {LONGEST:g} s: make it "
            'faster, or say why it takes long: @pytest.mark.long("starts ten processes")',
            pytrace=False,
        )


def processor_time() -> float:
    """What this process and those of its children that have ended have used; on Windows, only the former."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
