"""The rows of a table whose item was released.

``_keys.py`` is the set of items. ``_rows.py`` takes rows of each library's tables, ``_plain.py`` those
without a library, ``_spark.py`` those of Spark and ``_files.py`` those of files. ``_labels.py`` has the
values that stand in place of other items, and ``_roll_up.py`` puts released nodes of a tree there.
"""

from dpsel._filter._files import filter_file
from dpsel._filter._keys import Keys
from dpsel._filter._roll_up import rolled_up
from dpsel._filter._rows import filtered

__all__ = ["Keys", "filter_file", "filtered", "rolled_up"]
