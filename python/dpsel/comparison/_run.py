"""``compare``: runs of mechanisms over a grid of budgets and limits."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_int_if_given, at_least_one, several
from dpsel._ingest import Tokens, is_read_once, open_columns
from dpsel._request import (
    checked_limit,
    columns_of,
    count_request,
    request_of_selection,
    selection_request,
)
from dpsel._scratch import may_outgrow_memory, place_of_rows
from dpsel.accounting import ApproxDP, checked_counts, checked_privacy
from dpsel.accounting._privacy import uncharged
from dpsel.comparison._bound import upper_bound
from dpsel.comparison._result import Comparison
from dpsel.exceptions import CalibrationError, InvalidParameterError
from dpsel.mechanisms import selection_mechanisms
from dpsel.selection import select_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from dpsel.accounting import Counts, Privacy
    from dpsel.mechanisms import SelectionMechanism
    from dpsel.typing import FileFormat, IntoContributions, Tokenizer

__all__ = ["compare"]

_CAUTION: Final = (
    "LOOKING AT SEVERAL OUTCOMES ON PRIVATE DATA COSTS BUDGET: EVERY RUN OF A COMPARISON IS A RELEASE OF ITS "
    "OWN, AND THE COUNTS BESIDE IT ARE NOT PRIVATE AT ALL"
)


def compare(  # noqa: PLR0913 - keyword-only settings
    data: IntoContributions,
    *,
    user: str | Sequence[str] | None = None,
    item: str | Sequence[str] | None = None,
    privacy: Privacy | Sequence[Privacy],
    max_items_per_user: int | Sequence[int],
    mechanisms: SelectionMechanism | Sequence[SelectionMechanism] | None = None,
    public_data: bool = False,
    repeats: int = 1,
    seed: int | None = None,
    counts: float | Counts | None = None,
    ngrams: tuple[int, int] | None = None,
    tokenizer: Tokenizer | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    scratch: str | PathLike[str] | None = "auto",
    scratch_limit: int | str | None = None,
    file_format: FileFormat | None = None,
) -> Comparison:
    """Run mechanisms over a grid of budgets and limits on public data, and count what each releases.

    Use it to choose a mechanism on public data that resembles the private data. Never use it on the private
    data: each run would be a release of its own, and a choice by its outcome costs budget that nobody counts.

    Args:
        data: Public data, as for [`select_partitions`][dpsel.select_partitions]; it is read once for each
            run, so an iterator is refused.
        user: As for [`select_partitions`][dpsel.select_partitions].
        item: As for [`select_partitions`][dpsel.select_partitions].
        privacy: One guarantee, or several.
        max_items_per_user: One limit, or several.
        mechanisms: One or several; by default every mechanism, where it has a guarantee of that kind.
        public_data: Must be true: you say that the data is public or synthetic.
        repeats: Runs of each combination, each with a fresh key.
        seed: Makes the runs reproducible. Without it keys are fresh.
        counts: As for [`select_partitions`][dpsel.select_partitions]: how many items come out beside
            numbers of users. Mechanisms without such a guarantee are left out.
        ngrams: As for [`select_partitions`][dpsel.select_partitions].
        tokenizer: As for [`select_partitions`][dpsel.select_partitions].
        threads: As for [`select_partitions`][dpsel.select_partitions].
        memory_limit: As for [`select_partitions`][dpsel.select_partitions].
        scratch: As for [`select_partitions`][dpsel.select_partitions]. If it names a folder and
            ``mechanisms`` is left out, mechanisms that need all rows in memory are left out.
        scratch_limit: As for [`select_partitions`][dpsel.select_partitions].
        file_format: As for [`select_partitions`][dpsel.select_partitions].

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
    limits = [checked_limit(each) for each in several(max_items_per_user)]
    grid = [(budget, limit) for budget in budgets for limit in limits]
    asked = checked_counts(counts)
    place, memory_limit = place_of_rows(scratch, memory_limit)
    beyond_memory = may_outgrow_memory(place, memory_limit)
    running: dict[str, Any] = {"threads": threads, "memory_limit": memory_limit}
    running |= {"scratch": scratch, "scratch_limit": scratch_limit}
    of_job = running | {"scratch": place}
    runs = [
        (*cell, mechanism)
        for cell in grid
        for mechanism in _mechanisms(mechanisms, *cell, asked, of_job, beyond_memory=beyond_memory)
    ]
    reading: dict[str, Any] = {"user": user, "item": item, "file_format": file_format}
    reading |= {"ngrams": ngrams, "tokenizer": tokenizer}
    available = _users_per_item(data, of_job, **reading)
    seed = as_int_if_given("seed", seed)
    keys = [_key(seed, repeat) for repeat in range(at_least_one("repeats", repeats))]
    rows = [
        _row(run, repeat, _released(data, run, key, counts=asked, **running, **reading), available)
        for repeat, key in enumerate(keys)
        for run in runs
    ]
    return Comparison(_rows=tuple(rows))


def _mechanisms(
    named: Any,
    privacy: Privacy,
    limit: int,
    counts: Counts | None,
    of_job: dict[str, Any],
    *,
    beyond_memory: bool,
) -> list[SelectionMechanism]:
    if named is not None:
        return [
            request_of_selection(privacy, limit, each, beyond_memory=beyond_memory).mechanism
            for each in several(named)
        ]
    return [
        each
        for each in (cls() for cls in selection_mechanisms().values())
        if _can_run(each, privacy, limit, counts, of_job)
    ]


def _can_run(
    mechanism: SelectionMechanism,
    privacy: Privacy,
    limit: int,
    counts: Counts | None,
    of_job: dict[str, Any],
) -> bool:
    """Return whether a mechanism has a guarantee of this kind, and runs with these limits."""
    try:
        request = selection_request(privacy, limit, mechanism, counts=counts)
        request.calibrate()
        request.job(**of_job)
    except (CalibrationError, InvalidParameterError):
        return False
    return True


def _key(seed: int | None, repeat: int) -> bytes | None:
    return None if seed is None else hashlib.sha256(f"dpsel compare {seed} {repeat}".encode()).digest()


def _released(
    data: Any, run: tuple[Privacy, int, SelectionMechanism], key: bytes | None, **reading: Any
) -> dict[str, Any]:
    """Return the number of items, what a look found, and how far numbers of users may be off."""
    privacy, limit, mechanism = run
    release = select_partitions(
        data,
        privacy=uncharged(privacy),
        max_items_per_user=limit,
        mechanism=mechanism,
        insecure_test_key=key,
        **reading,
    )
    noise, look = release.report.counts, release.report.get("look", {})
    found = {"items": len(release), "lists": look.get("lists")}
    return found | ({"counts_half_width": noise["half_width"]} if noise else {})


def _users_per_item(
    data: Any,
    of_job: dict[str, Any],
    *,
    user: Any,
    item: Any,
    ngrams: Any,
    tokenizer: Any,
    file_format: FileFormat | None,
) -> list[tuple[int, int]]:
    """Return (users, items): how many items have how many users."""
    job = count_request(columns_of(user, item), ngrams, tokenizer).job(**of_job)
    opened = open_columns(data, user, item, file_format, Tokens.of(tokenizer, ngrams))
    return opened.read(_core_calls.users_per_item, job)


def _row(
    run: tuple[Privacy, int, SelectionMechanism],
    repeat: int,
    found: dict[str, Any],
    available: list[tuple[int, int]],
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
        **found,
        "upper_bound": bound,
        "fraction": found["items"] / bound if bound else None,
    }
