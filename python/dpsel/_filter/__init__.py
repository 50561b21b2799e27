"""The rows of a table whose item was released.

``_keys.py`` is the set of items. ``_rows.py`` takes rows of each library's tables, ``_files.py`` those of
files.
"""

from dpsel._filter._files import filter_file
from dpsel._filter._keys import Keys
from dpsel._filter._rows import filtered

__all__ = ["Keys", "filter_file", "filtered"]
