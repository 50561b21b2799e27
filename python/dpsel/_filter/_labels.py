"""Labels in place of items that were not released."""

from __future__ import annotations

from typing import Any

__all__ = ["scalar_of"]


def scalar_of(label: object, kind: Any) -> Any:
    """Return a label as a value of an Arrow type.

    Raises:
        ValueError: If it is none, as all of Arrow's errors of this kind are, or a ``TypeError``.
    """
    import pyarrow as pa

    if isinstance(label, float):
        # Arrow would cut it off to an integer, and no item is a float.
        raise TypeError
    return pa.scalar(label, kind)
