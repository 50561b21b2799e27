"""Mechanisms of the literature, and variants of them, that ``"auto"`` never chooses."""

# The order of these files is the order in which mechanisms are registered and listed.
# isort: off
from dpsel.mechanisms.published._weighted import *  # noqa: F403 - every file names its mechanisms in __all__
from dpsel.mechanisms.published._one_item import *  # noqa: F403
from dpsel.mechanisms.published._policies import *  # noqa: F403
from dpsel.mechanisms.published._greedy import *  # noqa: F403
from dpsel.mechanisms.published._adaptive import *  # noqa: F403
# isort: on
