"""The one job that every peer does, with the parameters of the DP-SIPS paper (Section 5)."""

from __future__ import annotations

RHO = 0.1
DELTA = 1e-5
#: For mechanisms without zCDP.
EPSILON = 1.765
MAX_ITEMS_PER_USER = 100
ROUNDS = 3
RATIO = 1 / 3

#: The non-private peers keep items with at least this many distinct users.
MIN_USERS = 10
