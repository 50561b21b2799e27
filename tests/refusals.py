"""Bad input gives a clear error or a correct result: never a panic, a partial file or a leaked file.

A message says what was wrong, why it matters and which argument mends it, and holds no value of the data.
"""

from __future__ import annotations

import pytest

import dpsel
from support import select, table

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
SIPS = dpsel.Sips()
SECRET = "zxqv-secret"


def run(data, **arguments):
    arguments = {"privacy": PRIVACY, "max_items_per_user": 5, "mechanism": SIPS} | arguments
    return select(data, **arguments)


def refused(data, *, match: str, kind: type = dpsel.DpselError, **arguments) -> str:
    """The call fails with a message that matches and names no value of the data."""
    with pytest.raises(kind, match=match) as caught:
        run(data, **arguments)
    assert isinstance(caught.value, dpsel.DpselError)
    assert SECRET not in str(caught.value)
    assert "panic" not in str(caught.value).lower()
    return str(caught.value)


GOOD = table([(u, f"{SECRET}{u}") for u in range(10)])
