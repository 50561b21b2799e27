"""The values of several columns that may be published, in one call and one budget.

A call reads a table with declared types (`_table`), makes rows (user, column, value) of it (`_pairs`),
selects, and gives the values their types back (`_domains`).
"""

from dpsel.column_domains._call import domains
from dpsel.column_domains._domains import Domains

__all__ = ["Domains", "domains"]
