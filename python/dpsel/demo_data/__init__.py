"""Data to try the library on: a small real corpus that ships with it, and two generators.

```python
>>> from dpsel import demo_data
>>> demo_data.quotations().name
'quotations.csv'
>>> rows = list(demo_data.generate("zeta", users=3, seed=1))
>>> sorted({user for user, item in rows})
[0, 1, 2]

```

Nothing here is private or random in the sense of the library: the generators are seeded, because the
point of test data is that it can be made again.
"""

from __future__ import annotations

from pathlib import Path

from dpsel.demo_data._generate import ITEM_TYPES, KINDS, ORDERS, generate
from dpsel.demo_data._words import word
from dpsel.demo_data._write import EXTENSIONS, write

__all__ = ["EXTENSIONS", "ITEM_TYPES", "KINDS", "ORDERS", "generate", "quotations", "word", "write"]


def quotations() -> Path:
    """Path of the shipped corpus: CSV with the columns ``line`` (the user) and ``text``.

    594 lines of Shakespeare's sonnets, the King James Bible and founding documents of the United
    States, all in the public domain. Each line counts as one user.
    """
    return Path(__file__).parent.parent / "data" / "quotations.csv"
