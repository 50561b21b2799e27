"""A series of releases at one price: its folder, its commits, and the class.

The [order of steps](https://dpsel.github.io/dpsel/algorithms/series/#state) is what its guarantee rests on.
"""

from dpsel.series._card import SeriesCard
from dpsel.series._count_series import CountSeries
from dpsel.series._results import CountRelease, SeriesRelease, SeriesStatus
from dpsel.series._series import Series

__all__ = ["CountRelease", "CountSeries", "Series", "SeriesCard", "SeriesRelease", "SeriesStatus"]
