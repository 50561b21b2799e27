"""Comparisons: what each mechanism releases from data that is public anyway.

Examples:
    >>> import dpsel
    >>> rows = [(user, item) for user in range(300) for item in range(user % 30)]
    >>> compared = dpsel.compare(
    ...     rows,
    ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
    ...     max_items_per_user=[10, 30],
    ...     mechanisms=[dpsel.WeightedGaussian(), dpsel.Sips()],
    ...     public_data=True,
    ... )
    >>> len(compared.rows)
    4
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel._arguments import as_int, at_least_one, several
from dpsel._ingest import is_read_once
from dpsel._request import calibrate, checked_privacy, request_json
from dpsel._strength import spoken_for
from dpsel._tables import html_table, text_table
from dpsel.accounting import ApproxDP
from dpsel.exceptions import CalibrationError, InvalidParameterError
from dpsel.mechanisms import WeightedGaussian, selection_mechanisms
from dpsel.mechanisms._auto import resolve
from dpsel.selection import columns_of, ngrams_of, open_columns, select_partitions

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dpsel.accounting import Privacy
    from dpsel.mechanisms import SelectionMechanism
    from dpsel.typing import FileFormat, IntoContributions

__all__ = ["Comparison", "compare"]

_CAUTION: Final = (
    "LOOKING AT SEVERAL OUTCOMES ON PRIVATE DATA COSTS BUDGET: EVERY RUN OF A COMPARISON IS A RELEASE OF ITS "
    "OWN, AND THE COUNTS BESIDE IT ARE NOT PRIVATE AT ALL"
)


def compare(
    data: IntoContributions,
    *,
    user: str | None = None,
    item: str | Sequence[str] | None = None,
    privacy: Privacy | Sequence[Privacy],
    max_items_per_user: int | Sequence[int],
    mechanisms: SelectionMechanism | Sequence[SelectionMechanism] | None = None,
    public_data: bool = False,
    repeats: int = 1,
    seed: int | None = None,
    ngrams: tuple[int, int] | None = None,
    threads: int | None = None,
    file_format: FileFormat | None = None,
) -> Comparison:
    """Run mechanisms over a grid of budgets and limits on public data, and count what each releases.

    This is for choosing a mechanism on data that resembles the private data, never on the private data
    itself: each run would be a release of its own, and choosing by the outcome costs budget that nobody
    counts.

    Args:
        data: Public data, as for :func:`~dpsel.select_partitions`; it is read once for each run, so an
            iterator is refused.
        user: As for :func:`~dpsel.select_partitions`.
        item: As for :func:`~dpsel.select_partitions`.
        privacy: One guarantee, or several.
        max_items_per_user: One limit, or several.
        mechanisms: One or several; by default every mechanism, where it has a guarantee of that kind.
        public_data: Must be true: you say that the data is public or synthetic.
        repeats: Runs of each combination, each with a fresh key.
        seed: Makes the runs reproducible. Without it keys are fresh.
        ngrams: As for :func:`~dpsel.select_partitions`.
        threads: As for :func:`~dpsel.select_partitions`.
        file_format: As for :func:`~dpsel.select_partitions`.

    Returns:
        One row for each run.

    Raises:
        InvalidParameterError: If ``public_data`` is not true, an argument is out of range, or a mechanism
            that was named has no guarantee of that kind.
        CalibrationError: If no parameters of a mechanism that was named meet a guarantee.

    Examples:
        >>> import dpsel
        >>> dpsel.compare([(1, "a")], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=1)
        Traceback (most recent call last):
            ...
        dpsel.exceptions.InvalidParameterError: LOOKING AT SEVERAL OUTCOMES ON PRIVATE DATA COSTS BUDGET: ...
    """
    if public_data is not True:
        raise InvalidParameterError(f"{_CAUTION}; pass public_data=True if the data is public or synthetic")
    if is_read_once(data):
        raise InvalidParameterError(
            "data must be readable more than once, got an iterator or a pipe; pass a list or a file"
        )
    budgets = [checked_privacy(each) for each in several(privacy)]
    limits = [_limit(each) for each in several(max_items_per_user)]
    grid = [(budget, limit) for budget in budgets for limit in limits]
    runs = [(*cell, mechanism) for cell in grid for mechanism in _mechanisms(mechanisms, *cell)]
    reading: dict[str, Any] = {"user": user, "item": item, "ngrams": ngrams, "file_format": file_format}
    available = _users_per_item(data, threads=threads, **reading)
    rows = [
        _row(run, repeat, _released(data, run, _key(seed, repeat), threads=threads, **reading), available)
        for repeat in range(at_least_one("repeats", repeats))
        for run in runs
    ]
    return Comparison(_rows=tuple(rows))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What :func:`compare` found: one row for each run.

    Examples:
        >>> import dpsel
        >>> rows = [(user, item) for user in range(300) for item in range(user % 30)]
        >>> compared = dpsel.compare(
        ...     rows,
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     max_items_per_user=30,
        ...     mechanisms=dpsel.Sips(),
        ...     public_data=True,
        ... )
        >>> 0 < compared.rows[0]["fraction"] < 1
        True
    """

    _rows: tuple[dict[str, Any], ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per run.

        ``mechanism``, ``max_items_per_user``, the parameters of the guarantee (``epsilon`` or ``rho``,
        ``delta``), ``repeat``, ``items`` (how many were released), ``upper_bound`` (items that a mechanism of
        this guarantee releases on average at most, whatever the limit; ``None`` under zCDP) and ``fraction``
        (items / upper_bound).
        """
        return [dict(row) for row in self._rows]

    def to_polars(self) -> Any:
        """Return the rows as a ``polars.DataFrame``.

        Raises:
            ImportError: If polars is not installed.
        """
        import polars as pl

        return pl.DataFrame(self.rows)

    def to_pandas(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``.

        Raises:
            ImportError: If pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(self.rows)

    def to_json(self) -> str:
        """Return the rows as JSON text."""
        return json.dumps(self.rows, indent=2)

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV."""
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(self._rows[0]))
            writer.writeheader()
            writer.writerows(self._rows)

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, fraction: bool = False, ax: Any = None
    ) -> Any:
        """Draw the released items against the budget.

        Args:
            path: Save the figure here; the extension says the format.
            fraction: Draw them as a fraction of the upper bound.
            ax: Draw into these matplotlib axes instead of new ones.

        Returns:
            The matplotlib axes.

        Raises:
            ImportError: If matplotlib is not installed (``pip install 'dpsel[plot]'``).
        """
        from dpsel._plot import plot_comparison

        return plot_comparison(self, path, ax, fraction=fraction)

    def summary(self) -> list[dict[str, Any]]:
        """Return one row for each combination: the mean over its repeats, the fewest and the most items."""
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in self._rows:
            groups.setdefault(tuple(row[name] for name in _GRID), []).append(row)
        return [_mean(rows) for rows in groups.values()]

    def __str__(self) -> str:
        """Return a table for a person."""
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["mechanism", "max items", "epsilon", "rho", "delta", "items", "of upper bound"]
        return head, [_cells(row) for row in self.summary()]


_GRID: Final = ("mechanism", "max_items_per_user", "epsilon", "rho", "delta")


def upper_bound(epsilon: float, delta: float, users: int) -> float:
    """Return the most that any (epsilon, delta)-DP mechanism releases an item of so many users with.

    That is the optimum for users of one item each: Desfontaines, Voss, Gipson and Mandayam (PoPETs 2022),
    Theorem 1, in ordinary arithmetic.

    Examples:
        >>> upper_bound(1.0, 1e-6, 1)
        1e-06
        >>> 0.5 < upper_bound(1.0, 1e-6, 15) < upper_bound(1.0, 1e-6, 100) == 1.0
        True
    """
    growth = math.expm1(epsilon)
    turn = 1 + math.floor(math.log((growth + 2 * delta) / (delta * (growth + 2))) / epsilon)
    if users * epsilon < _LARGE and users <= turn:
        return min(1.0, delta * math.expm1(users * epsilon) / growth)
    at_turn = delta * math.expm1(turn * epsilon) / growth
    left = math.exp(-(users - turn) * epsilon)
    return min(1.0, (1 - left) * (1 + delta / growth) + left * at_turn)


_LARGE: Final = 700.0


def _limit(items: Any) -> int:
    limit = as_int("max_items_per_user", items)
    _core.validate_bound(limit)
    return limit


def _mechanisms(named: Any, privacy: Privacy, limit: int) -> list[SelectionMechanism]:
    if named is not None:
        return [resolve(each, privacy, limit)[0] for each in several(named)]
    return [
        each
        for each in (cls() for cls in selection_mechanisms().values())
        if _has_guarantee(each, privacy, limit)
    ]


def _has_guarantee(mechanism: SelectionMechanism, privacy: Privacy, limit: int) -> bool:
    try:
        calibrate(privacy, limit, mechanism)
    except (CalibrationError, InvalidParameterError):
        return False
    return True


def _key(seed: int | None, repeat: int) -> bytes | None:
    return None if seed is None else hashlib.sha256(f"dpsel compare {seed} {repeat}".encode()).digest()


def _released(
    data: Any, run: tuple[Privacy, int, SelectionMechanism], key: bytes | None, **reading: Any
) -> int:
    privacy, limit, mechanism = run
    with spoken_for():
        release = select_partitions(
            data,
            privacy=privacy,
            max_items_per_user=limit,
            mechanism=mechanism,
            insecure_test_key=key,
            **reading,
        )
    return len(release)


def _users_per_item(
    data: Any, *, user: Any, item: Any, ngrams: Any, threads: int | None, file_format: FileFormat | None
) -> list[tuple[int, int]]:
    """Return (users, items): how many items have how many users."""
    columns = columns_of(user, item)
    # Which mechanism and guarantee it names does not matter for counting.
    request = request_json(
        ApproxDP(epsilon=1.0, delta=1e-6), 1, WeightedGaussian(),
        user=columns[0], items=columns[1:], ngrams=ngrams_of(ngrams),
    )  # fmt: skip
    return open_columns(data, user, item, file_format).count(_core.Job(request, threads=threads))


def _row(
    run: tuple[Privacy, int, SelectionMechanism], repeat: int, items: int, available: list[tuple[int, int]]
) -> dict[str, Any]:
    privacy, limit, mechanism = run
    bound = None
    if isinstance(privacy, ApproxDP):
        bound = sum(n * upper_bound(privacy.epsilon, privacy.delta, users) for users, n in available)
    return {
        "mechanism": repr(mechanism),
        "max_items_per_user": limit,
        "epsilon": getattr(privacy, "epsilon", None),
        "rho": getattr(privacy, "rho", None),
        "delta": getattr(privacy, "delta", None),
        "repeat": repeat,
        "items": items,
        "upper_bound": bound,
        "fraction": items / bound if bound else None,
    }


def _mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    items = [row["items"] for row in rows]
    mean, bound = statistics.fmean(items), rows[0]["upper_bound"]
    return {name: rows[0][name] for name in _GRID} | {
        "items": mean,
        "fewest": min(items),
        "most": max(items),
        "upper_bound": bound,
        "fraction": mean / bound if bound else None,
    }


def _cells(row: dict[str, Any]) -> list[str]:
    budget = ["" if row[name] is None else f"{row[name]:.6g}" for name in ("epsilon", "rho", "delta")]
    fraction = "" if row["fraction"] is None else f"{row['fraction']:.1%}"
    return [row["mechanism"], f"{row['max_items_per_user']:,}", *budget, f"{row['items']:,.0f}", fraction]
