"""The mechanisms as frozen values: how items are weighed and released, or how the top k are picked.

All of them guarantee privacy for adding or removing one user with all of its rows. Proofs are in
<https://dpsel.github.io/dpsel/algorithms/>. A new mechanism is a frozen dataclass with ``@registered`` in one
of the files below. Files here have the selections that ``"auto"`` can choose, and all top-k; other selections
are in ``published``.

Examples:
    >>> from dpsel import Sips
    >>> Sips(rounds=3)
    Sips(rounds=3, ratio=0.3333333333333333)
    >>> from dpsel import mechanisms
    >>> [cls.__name__ for cls in mechanisms.top_k_mechanisms().values() if cls.finds_domain]
    ['LimitDomain', 'Discover', 'SelectAndCount']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# The order of these files is the order in which mechanisms are registered and listed.
# isort: off
from dpsel.mechanisms import _base
from dpsel.mechanisms._base import *  # noqa: F403 - the bases and the registries
from dpsel.mechanisms._rounds import *  # noqa: F403 - every file names its mechanisms in __all__
from dpsel.mechanisms._counts import *  # noqa: F403
from dpsel.mechanisms._matching import *  # noqa: F403
from dpsel.mechanisms._matching_or import *  # noqa: F403
from dpsel.mechanisms.published import *  # noqa: F403
from dpsel.mechanisms._exponential import *  # noqa: F403
from dpsel.mechanisms._permute_flip import *  # noqa: F403
from dpsel.mechanisms._noisy_counts import *  # noqa: F403
from dpsel.mechanisms._unknown_domain import *  # noqa: F403
# isort: on

if not TYPE_CHECKING:
    # Type checkers follow the lines above; a list that is computed would hide the names from them.
    __all__ = list(_base.__all__)
    __all__ += [cls.__name__ for cls in _base.selection_mechanisms().values()]
    __all__ += [cls.__name__ for cls in _base.top_k_mechanisms().values()]
