"""The ledger of a series of releases: it books the series once, and knows of each release that was shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsel._arguments import type_name
from dpsel.budget._ledger import Ledger
from dpsel.budget._payment import Payment, payment_of
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from dpsel.accounting import Privacy

__all__ = ["follower", "ledger_that_pays"]


def ledger_that_pays(privacy: Privacy) -> Ledger[Any] | None:
    """Return the ledger from which parameters are paid; ``None`` for plain numbers and other budgets.

    Raises:
        InvalidParameterError: If they were spent already: then nobody could tell a repeated call.
    """
    payment = payment_of(privacy)
    if isinstance(payment, Payment):
        raise InvalidParameterError(
            "privacy was spent for one call, and creating a series may have to be repeated; give what "
            "on_use() returns, which is booked once for each series"
        )
    place = None if payment is None else payment.place
    return Ledger(place) if isinstance(place, Path) else None


def follower(
    ledger: Ledger[Any] | str | os.PathLike[str] | None,
) -> Callable[[str, Sequence[str]], None] | None:
    """Return what compares the commits of a series with a ledger, and notes the last one.

    Raises:
        InvalidParameterError: If it is no ledger and no path.
        LedgerError: If the file is none.
    """
    if ledger is None:
        return None
    if not isinstance(ledger, Ledger | str) and not hasattr(ledger, "__fspath__"):
        raise InvalidParameterError(
            f"ledger must be a dpsel.Ledger or the path of its file, got {type_name(ledger)}; give one of "
            "these"
        )
    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    return opened._follow  # noqa: SLF001 - of this folder
