"""What tests of `dpsel.Series` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpsel

if TYPE_CHECKING:
    from pathlib import Path

#: So generous that an item of many users comes out at its first release, and one of a single user never.
PRIVACY = dpsel.ApproxDP(epsilon=8.0, delta=1e-6)
#: So many hold what comes out.
FEW_USERS = 50
KEY = bytes(range(32))
GIVEN: dict[str, Any] = {
    "privacy": PRIVACY,
    "releases": 4,
    "max_items_per_user": 4,
    "user": "user",
    "item": "item",
}


def created(folder: Path, **options: Any) -> dpsel.Series:
    """A series in the folder `series`."""
    return dpsel.Series.create(folder / "series", **({"key": KEY} | GIVEN | options))


def opened(folder: Path, **options: Any) -> dpsel.Series:
    return dpsel.Series.open(folder / "series", **({"key": KEY} | options))


def held(*items: Any, users: int = 300) -> list[tuple[int, Any]]:
    """Rows in which all users have all items."""
    return [(user, item) for user in range(users) for item in items]


def files(folder: Path) -> dict[str, bytes]:
    """What is in the folder of the series."""
    return {path.name: path.read_bytes() for path in (folder / "series").iterdir()}


def put(folder: Path, content: dict[str, bytes]) -> None:
    """Make it the content of the folder of the series."""
    for path in (folder / "series").iterdir():
        path.unlink()
    for name, each in content.items():
        (folder / "series" / name).write_bytes(each)
