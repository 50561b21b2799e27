"""The lines of a ledger: costs as JSON, hashes, and the lock of the file."""

from __future__ import annotations

import hashlib
import json
from typing import IO, TYPE_CHECKING, Any

from dpsel.accounting import Cost
from dpsel.accounting._privacy import KINDS, is_reported, of_json

if TYPE_CHECKING:
    from dpsel.accounting import Privacy

__all__ = ["as_decimals", "canonical", "cost_of_json", "cost_to_json", "hash_of", "lock", "unlock"]


def cost_to_json(cost: Cost) -> dict[str, Any]:
    """Return a cost as it stands in a line."""
    counts = None if cost.counts is None else _numbers_of(cost.counts)
    return {"items": _numbers_of(cost.items), "counts": counts, "neighbours": cost.neighbours}


def cost_of_json(cost: dict[str, Any]) -> Cost:
    """Return the cost of a line."""
    counts = None if cost["counts"] is None else _of_numbers(cost["counts"])
    return Cost(items=_of_numbers(cost["items"]), counts=counts, neighbours=cost["neighbours"])


def _numbers_of(privacy: Privacy) -> dict[str, Any]:
    """Return the decimals of a guarantee as texts, or the floats of one that a report states."""
    stated = privacy.to_json()
    return stated if is_reported(privacy) else {name: str(value) for name, value in stated.items()}


def _of_numbers(entry: dict[str, Any]) -> Privacy:
    """Return the guarantee of an entry."""
    return as_decimals(entry) if all(isinstance(value, str) for value in entry.values()) else of_json(entry)


def as_decimals(entry: dict[str, Any]) -> Privacy:
    """Return a guarantee that somebody wrote."""
    values = {name: float(value) for name, value in entry.items() if name != "kind"}
    privacy: Privacy = KINDS[entry["kind"]](**values)
    return privacy


def canonical(entry: dict[str, Any]) -> str:
    """Return a line as the one text that is hashed."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def hash_of(entry: dict[str, Any]) -> str:
    """Return the hash of a line."""
    return hashlib.sha256(b"dpsel ledger 1\n" + canonical(entry).encode()).hexdigest()


def lock(file: IO[bytes]) -> None:
    """Wait for the lock of a file, which ends when it is closed."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(0)
        locking: Any = msvcrt
        locking.locking(file.fileno(), locking.LK_LOCK, 1)
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def unlock(file: IO[bytes]) -> None:
    """Give the lock back."""
    try:
        import fcntl
    except ImportError:  # Windows, where it ends with the process that closes the file
        return
    fcntl.flock(file, fcntl.LOCK_UN)
