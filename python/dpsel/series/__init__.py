"""A series of releases at one price: its folder, its commits, and the class.

The order of steps, and what it guarantees, is in docs/algorithms/series.md, section "State".
"""

from dpsel.series._face import Series
from dpsel.series._results import SeriesRelease, SeriesStatus

__all__ = ["Series", "SeriesRelease", "SeriesStatus"]
