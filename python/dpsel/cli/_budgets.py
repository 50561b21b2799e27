"""Options that make privacy parameters: how much a call may spend, and on what."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

import dpsel
from dpsel.cli._types import Real, RealRange, WholeRange
from dpsel.exceptions import InvalidParameterError

F = TypeVar("F", bound=Callable[..., Any])
Privacy: TypeAlias = dpsel.PureDP | dpsel.ApproxDP | dpsel.ZCDP


def privacy_options(command: F) -> F:
    """Add ``--epsilon``, ``--rho`` and ``--delta``; see ``privacy_from`` and ``privacy_of``."""
    epsilon = click.option("--epsilon", type=Real(), metavar="E", help="Privacy loss of (epsilon, delta)-DP.")
    rho = click.option("--rho", type=Real(), metavar="R", help="Privacy loss of zCDP, instead of --epsilon.")
    delta = click.option(
        "--delta", type=Real(), metavar="D", help="Far below 1 / number of users, such as 1e-8."
    )
    return epsilon(rho(delta(command)))


def ledger_option(command: F) -> F:
    """Add ``--ledger`` and ``--label``; see ``paid_from``."""
    ledger = click.option(
        "--ledger",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Pay from the total in FILE, which `dpsel ledger` makes; refuse what exceeds it.",
    )
    label = click.option(
        "--label", metavar="TEXT", help="What the cost is for, in FILE of --ledger.  [default: the item]"
    )
    return ledger(label(command))


def paid_from(privacy: Privacy, options: dict[str, Any]) -> Privacy:
    """Return the parameters as they are, or paid for from the ledger when the call begins."""
    label = options["label"]
    if options["ledger"] is None:
        if label is not None:
            message = "--label is for the entry of a ledger, which is not given; add --ledger FILE"
            raise click.UsageError(message)
        return privacy
    if label is None:
        item = str(options["items"][0]) if options.get("items") else ""
        # A label is one line of text, and the name of a column may be anything.
        label = item if item.isprintable() else ascii(item)
    return dpsel.Ledger(options["ledger"]).on_use(privacy, label)


def counts_options(command: F) -> F:
    """Add ``--counts-epsilon``, ``--counts-rho`` and ``--counts-delta``; see ``counts_from``."""
    epsilon = click.option(
        "--counts-epsilon",
        type=Real(),
        metavar="E",
        help="Publish noisy counts; their budget is added to that of the items.",
    )
    rho = click.option(
        "--counts-rho", type=Real(), metavar="R", help="The same under zCDP, with Gaussian noise."
    )
    delta = click.option(
        "--counts-delta", type=Real(), metavar="D", help="The delta of --counts-epsilon or --counts-rho."
    )
    return epsilon(rho(delta(command)))


def privacy_from(epsilon: float | None, rho: float | None, delta: float | None) -> Privacy:
    """Make the privacy parameters of a call that needs a delta; there are no defaults."""
    if delta is None and (epsilon is None) != (rho is None):
        message = (
            "--delta is needed: it bounds the probability that an item of one single user is released; "
            "choose it far below 1 / number of users"
        )
        raise click.UsageError(message)
    return privacy_of(epsilon, rho, delta)


def privacy_of(
    epsilon: float | None, rho: float | None, delta: float | None, *, prefix: str = "--"
) -> Privacy:
    """Make the privacy parameters of a call; without a delta the guarantee is pure."""
    if (epsilon is None) == (rho is None):
        message = f"give either {prefix}epsilon or {prefix}rho: how much privacy to spend is your decision"
        raise click.UsageError(message)
    if rho is not None:
        if delta is None:
            message = f"{prefix}rho needs {prefix}delta; 1e-30 is small enough to be ignored"
            raise click.UsageError(message)
        return dpsel.ZCDP(rho=rho, delta=delta)
    assert epsilon is not None  # noqa: S101 - exactly one is given, checked above
    return dpsel.PureDP(epsilon=epsilon) if delta is None else dpsel.ApproxDP(epsilon=epsilon, delta=delta)


def counts_from(options: dict[str, Any]) -> Privacy | None:
    """Make the budget of published counts, if any counts are to be published."""
    budget = [options[f"counts_{name}"] for name in ("epsilon", "rho", "delta")]
    if budget == [None, None, None]:
        return None
    try:
        return privacy_of(*budget, prefix="--counts-")
    except InvalidParameterError as error:
        # The message names the parameter of the class, which is used for items as well.
        message = re.sub(r"^(epsilon|rho|delta)(?= must )", r"--counts-\1", str(error))
        raise click.UsageError(message) from None


def counted_options(command: F) -> F:
    """Add ``--counts`` and what goes with it; see ``counted_from``."""
    share = click.option(
        "--counts",
        type=RealRange(0, 1, min_open=True, max_open=True),
        metavar="SHARE",
        help="Add a column `users`, noisy numbers of users, for this share of the budget, such as 0.2.",
    )
    most = click.option(
        "--max-counted-items",
        type=WholeRange(min=1),
        metavar="B",
        help="Users of more released items count less than 1 in each.  [default: the limit, at most 100]",
    )
    nonnegative = click.option("--nonnegative", is_flag=True, help="Publish 0 in place of numbers below 0.")
    count = click.option(
        "--count",
        type=click.Choice(["users", "rows"]),
        help="What --counts counts; `rows` adds a column of that name, and needs --max-rows-per-item.  "
        "[default: users]",
    )
    rows = click.option(
        "--max-rows-per-item",
        type=WholeRange(1, 1_000_000),
        metavar="C",
        help="Of one user and item, at most so many rows count.",
    )
    return share(count(rows(most(nonnegative(command)))))


def rest_options(command: F) -> F:
    """Add ``--rest`` and what goes with it; see ``rest_from``."""
    share = click.option(
        "--rest",
        type=RealRange(0, 0.5, min_open=True),
        metavar="SHARE",
        help="Say how many users have all, some or none of their items released, for this share of the "
        "budget, such as 0.02.",
    )
    rows = click.option(
        "--max-rows-per-user",
        type=WholeRange(1, 1_000_000),
        metavar="C",
        help="With --rest, count rows inside and outside of the list too: of one user at most so many.",
    )
    return share(rows(command))


def counted_from(options: dict[str, Any]) -> dpsel.Counts | None:
    """Return what the options of ``counted_options`` ask for, or ``None``."""
    share, most = options["counts"], options["max_counted_items"]
    count, rows = options["count"], options["max_rows_per_item"]
    if share is None:
        given = {
            "--max-counted-items": most is not None,
            "--nonnegative": options["nonnegative"],
            "--count": count is not None,
            "--max-rows-per-item": rows is not None,
        }
        if wrong := next((name for name, is_given in given.items() if is_given), None):
            message = f"{wrong} is about --counts, which is not given; add --counts 0.2"
            raise click.UsageError(message)
        return None
    if count == "rows" and rows is None:
        message = "--count rows needs --max-rows-per-item; the noise grows with it, so choose it small"
        raise click.UsageError(message)
    if count != "rows" and rows is not None:
        message = "--max-rows-per-item is about rows, but users are counted; add --count rows"
        raise click.UsageError(message)
    return dpsel.Counts(
        share=share,
        max_counted_items=most,
        nonnegative=options["nonnegative"],
        count="users" if count is None else count,
        max_rows_per_item=rows,
    )


def rest_from(options: dict[str, Any]) -> dpsel.Rest | None:
    """Return what ``--rest`` and ``--max-rows-per-user`` ask for, or ``None``."""
    share, rows = options["rest"], options["max_rows_per_user"]
    if share is not None:
        return dpsel.Rest(share=share, max_rows_per_user=rows)
    if rows is not None:
        message = "--max-rows-per-user is about --rest, which is not given; add --rest 0.02"
        raise click.UsageError(message)
    return None
