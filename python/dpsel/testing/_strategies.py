"""Hypothesis strategies; Hypothesis is imported when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import dpsel

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["approx_dp", "contributions", "neighbours", "release_keys", "zcdp"]

Table: TypeAlias = list[tuple[int, int]]

#: The user who is in one of two neighbouring tables only.
ADDED_USER = 1_000_000


def _strategies() -> Any:
    try:
        from hypothesis import strategies
    except ImportError as error:
        message = "the strategies of dpsel.testing need Hypothesis; run pip install 'dpsel[testing]'"
        raise ImportError(message) from error
    return strategies


def contributions(*, users: int = 25, items: int = 14, max_rows: int = 120) -> SearchStrategy[Table]:
    """Return a strategy of tables with a few popular items, many rare ones, and rows that repeat.

    Args:
        users: Users are whole numbers below this.
        items: Items are whole numbers below this; 0, 1 and 2 are popular.
        max_rows: The most rows.

    Returns:
        A strategy of lists of (user, item).

    Raises:
        ImportError: If Hypothesis is not installed.

    Examples:
        >>> from dpsel import testing
        >>> tables = testing.contributions(users=3, max_rows=10)
    """
    st = _strategies()
    row = st.tuples(st.integers(0, users - 1), st.integers(0, min(2, items - 1)) | st.integers(0, items - 1))
    found: SearchStrategy[Table] = st.lists(row, max_size=max_rows)
    return found


def neighbours(
    *, users: int = 25, items: int = 14, max_rows: int = 120, added: int = 12
) -> SearchStrategy[tuple[Table, Table]]:
    """Return a strategy of pairs of tables: one, and the same with one more user.

    The user may hold items of others and items that nobody else has.

    Args:
        users: As for [`contributions`][dpsel.testing.contributions].
        items: As there.
        max_rows: As there.
        added: The most items of the added user.

    Returns:
        A strategy of pairs of lists of (user, item).

    Raises:
        ImportError: If Hypothesis is not installed.

    Examples:
        >>> from dpsel import testing
        >>> pairs = testing.neighbours(added=3)
    """
    st = _strategies()
    base = contributions(users=users, items=items, max_rows=max_rows)
    more = st.sets(st.integers(0, items + items // 2 - 1), min_size=1, max_size=added)
    pairs: SearchStrategy[tuple[Table, Table]] = st.tuples(base, more).map(
        lambda drawn: (drawn[0], drawn[0] + [(ADDED_USER, item) for item in sorted(drawn[1])])
    )
    return pairs


def release_keys() -> SearchStrategy[bytes]:
    """Return a strategy of release keys, for ``insecure_test_key=``.

    Raises:
        ImportError: If Hypothesis is not installed.

    Examples:
        >>> from dpsel import testing
        >>> keys = testing.release_keys()
    """
    keys: SearchStrategy[bytes] = _strategies().binary(min_size=32, max_size=32)
    return keys


def approx_dp() -> SearchStrategy[dpsel.ApproxDP]:
    """Return a strategy of budgets under which tables of a hundred rows release some items, but not all.

    Raises:
        ImportError: If Hypothesis is not installed.

    Examples:
        >>> from dpsel import testing
        >>> budgets = testing.approx_dp()
    """
    st = _strategies()
    budgets: SearchStrategy[dpsel.ApproxDP] = st.builds(
        dpsel.ApproxDP, epsilon=st.floats(0.5, 8.0), delta=st.floats(1e-4, 0.2)
    )
    return budgets


def zcdp() -> SearchStrategy[dpsel.ZCDP]:
    """Return a strategy of zCDP budgets of such a size.

    Raises:
        ImportError: If Hypothesis is not installed.

    Examples:
        >>> from dpsel import testing
        >>> budgets = testing.zcdp()
    """
    st = _strategies()
    budgets: SearchStrategy[dpsel.ZCDP] = st.builds(
        dpsel.ZCDP, rho=st.floats(0.05, 8.0), delta=st.floats(1e-4, 0.2)
    )
    return budgets
