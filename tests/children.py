"""Programs that tests start in processes of their own, to kill, interrupt or measure them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: Rows of which a job releases thousands of items, and keeps one of each user to itself.
ITEMS = 20_000
PRELUDE = """
    import sys, time
    import pyarrow as pa, numpy as np
    import dpsel
    SECRET = "unselected secret"
    def rows(items=20_000, users=40):
        names = pa.array([f"a published item with the number {n:06}" for n in range(items)])
        held = pa.concat_arrays([names] * users)
        own = pa.array([f"{SECRET} {n}" for n in range(users)])
        user = np.repeat(np.arange(users), items)
        user = np.concatenate([user, np.arange(users)])
        return pa.table({"user": user, "item": pa.concat_arrays([held, own])})
    def resident(name):
        # Bytes of this process in memory, on Linux: now (VmRSS), or the most since `begin` (VmHWM).
        with open("/proc/self/status") as status:
            return next(int(row.split()[1]) << 10 for row in status if row.startswith(name))
    def begin():
        # What is in memory now, from which the peak is measured. `ru_maxrss` has that of the parent, too.
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
        return resident("VmRSS")
    GENEROUS = {"privacy": dpsel.ZCDP(rho=1e5, delta=1e-9), "max_items_per_user": 20_001,
                "mechanism": dpsel.CountGaussian()}
"""


def start(script: str, folder: Path, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a program that begins with the prelude, in a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PRELUDE) + textwrap.dedent(script)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(script: str, folder: Path, timeout: float = 120) -> str:
    """Run such a program to its end; what it printed."""
    with start(script, folder) as child:
        out, err = child.communicate(timeout=timeout)
    assert child.returncode == 0, err
    return out
