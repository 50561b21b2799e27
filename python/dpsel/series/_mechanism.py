"""The mechanism of a series, as the core has it: its plan, one release, deletions and lists."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from dpsel import _core_calls
from dpsel._arguments import as_bytes, as_flag, as_int, as_int_if_given
from dpsel._ingest import open_columns
from dpsel._ingest._libraries import library_of
from dpsel._request import columns_of
from dpsel._request._selection import checked_limit, count_request
from dpsel.accounting import ZCDP, ApproxDP, checked_privacy
from dpsel.budget._series import ledger_that_pays
from dpsel.exceptions import DataError, InvalidParameterError, MemoryLimitError, ReportError, SchemaError
from dpsel.item_table import ItemTable
from dpsel.quoting import quoted
from dpsel.series._files import random_bytes
from dpsel.series._folder import Made
from dpsel.series._records import Header
from dpsel.series._users import UserColumn, forms_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpsel._core_calls import Release, SeriesRelease, Source
    from dpsel._request import NamedColumns
    from dpsel.accounting import Privacy
    from dpsel.series._folder import Attempt, Inputs
    from dpsel.series._keys import Key
    from dpsel.typing import FileFormat

__all__ = [
    "attempt",
    "budget_of",
    "differences",
    "differences_of",
    "fixed_columns",
    "header_of",
    "header_of_lists",
    "joined",
    "request_of",
    "table_of",
]

_DIGEST = 16


def header_of(
    plan: Callable[..., str],
    privacy: Any,
    releases: Any,
    max_items_per_user: Any,
    user: Any,
    item: Any,
    *,
    prompt: bool = False,
    counts: dict[str, Any] | None = None,
) -> Header:
    """Check the arguments that every series has, and plan all of its releases by a call of the core."""
    in_ledger = ledger_that_pays(checked_privacy(privacy)) is not None
    stated, columns = budget_of(privacy).to_json(), fixed_columns(user, item)
    most, limit = as_int("releases", releases), _limit(max_items_per_user)
    planned = plan(
        epsilon=stated.get("epsilon"),
        delta=stated["delta"],
        rho=stated.get("rho"),
        releases=most,
        max_items_per_user=limit,
    )
    return Header(
        identity=random_bytes(16).hex(),
        privacy=stated,
        releases=most,
        max_items_per_user=limit,
        user=columns.users,
        item=columns.items,
        prompt=prompt,
        in_ledger=in_ledger,
        plan=planned,
        counts=counts,
    )


def _limit(given: Any) -> int:
    """Return the limit of items, whose words in a selection are of a random choice."""
    if (limit := as_int("max_items_per_user", given)) < 1:
        raise InvalidParameterError(
            f"max_items_per_user must be at least 1, got {limit}; give the most items of one user that "
            "ever count"
        )
    return checked_limit(limit)


def header_of_lists(*fixed: Any, prompt: Any) -> Header:
    """Check the arguments of a series of lists, and plan all of its releases."""
    at_once = as_flag("prompt", prompt)
    plan = partial(_core_calls.series_plan, waits=not at_once)
    return header_of(plan, *fixed, prompt=at_once)


def budget_of(privacy: Any) -> Privacy:
    """Return the budget of a series."""
    checked = checked_privacy(privacy)
    if not isinstance(checked, ApproxDP | ZCDP):
        raise InvalidParameterError(
            "privacy of a series needs a delta, got PureDP: neither items that nobody knows nor Gaussian "
            "noise go without one; give an ApproxDP or a ZCDP"
        )
    return checked


def fixed_columns(user: Any, item: Any) -> NamedColumns:
    """Return the columns, which stay for the whole series."""
    if user is None or item is None:
        missing = "user" if user is None else "item"
        raise InvalidParameterError(
            f"{missing} must name a column, got None: it stays for the whole series; name one, or several"
        )
    columns = columns_of(user, item)
    # The checks of names and numbers of columns that every request has.
    count_request(columns, None).job()
    return columns


def attempt(
    header: Header,
    data: Any,
    make: Callable[..., SeriesRelease] = _core_calls.series_release,
    *more: Any,
    threads: Any,
    memory_limit: Any,
    file_format: FileFormat | None,
) -> Attempt:
    """Check what needs no row, and return what reads the rows and makes a release by a call of the core."""
    if library_of(data) == "pyspark":
        raise SchemaError(
            "a series keeps its rows in the memory of one machine, got a Spark DataFrame; pass its distinct "
            "pairs of user and item, such as frame.select(user, item).distinct().toArrow()"
        )
    columns = columns_of(header.user, header.item)
    job = count_request(columns, None).job(threads=threads, memory_limit=memory_limit)
    # A list without pairs is a table without rows; elsewhere it might be a list of files.
    rows = iter(()) if isinstance(data, list) and not data else data
    with _columns_that_stay(columns):
        opened = open_columns(rows, header.user, header.item, file_format)
        opened.check(job)

    def run(inputs: Inputs) -> Made:
        def made(source: Source, _: object) -> Made:
            released = make(
                header.plan,
                inputs.secret.raw,
                inputs.state,
                inputs.noise.raw,
                source,
                json.dumps(columns.to_json()),
                _digests(inputs.forget),
                *more,
                threads=as_int_if_given("threads", threads),
                memory_limit=as_bytes("memory_limit", memory_limit),
            )
            sealed = released.sealed_state(inputs.secret.raw, inputs.label)
            return Made(sealed, released.items.to_ipc())

        try:
            with _columns_that_stay(columns):
                return opened.read(made, job)
        except MemoryLimitError:
            # The core names mechanisms and engines that a series has not.
            raise MemoryLimitError(
                "the rows and the state of the series need more memory than memory_limit= or the system "
                "has, so nothing was released; give a larger memory_limit=, or pass distinct pairs of user "
                "and item, or the rows that are new alone"
            ) from None

    return run


@contextmanager
def _columns_that_stay(columns: NamedColumns) -> Iterator[None]:
    """Say in errors that the columns have the names of the whole series: no call can name others."""
    try:
        yield
    except SchemaError as error:
        problem, *fixes = str(error).split("; ")
        others = [fix for fix in fixes if not re.search(r"\b(user|item)=", fix)]
        if others == fixes:
            raise
        there = re.search(r"; set (?:user|item)= to one of its columns: ([^;]*)", str(error))
        told = "; ".join([problem, _fix_of(columns, there), *others])
    else:
        return
    raise SchemaError(told)


def _fix_of(columns: NamedColumns, there: re.Match[str] | None) -> str:
    named = " and ".join(map(quoted, (*columns.users, *columns.items)))
    found = f" ({there[1]})" if there else ""
    return f"rename the columns of the data{found}, since the series was made for those named {named}"


def _digests(requests: Sequence[bytes]) -> list[bytes]:
    """Return the digests of the users to forget."""
    return [users[at : at + _DIGEST] for users in requests for at in range(0, len(users), _DIGEST)]


def request_of(header: Header, secret: Key, user: Any) -> bytes:
    """Return a deletion: the keyed digests of the user, of all types that it may have in tables to come."""
    columns = columns_of(header.user, header.item)
    if len(columns.users) > 1 and not (isinstance(user, tuple) and len(user) == len(columns.users)):
        raise InvalidParameterError(
            f"user must be a tuple with a value for each of the {len(columns.users)} user columns; give one"
        )
    values = [user] if len(columns.users) == 1 else user
    return b"".join(
        digest
        for forms in itertools.product(*map(forms_of, values))
        for digest in _digests_of(secret, columns.users, forms)
    )


def _digests_of(secret: Key, names: Sequence[str], forms: Sequence[Any]) -> list[bytes]:
    """Return the digest of a user with a form for each column, as it is in a table of their types."""
    # Digests know no names, and those of a table may not be taken by its item.
    users = [f"user {at}" for at in range(len(forms))]
    columns = {to: UserColumn(name, form) for to, name, form in zip(users, names, forms, strict=True)}
    row = _core_calls.release_of(columns | {"item": [0]}, None, "")
    asked = json.dumps(columns_of(users if len(users) > 1 else users[0], "item").to_json())
    try:
        return _core_calls.series_user_digests(secret.raw, _core_calls.Source.stream(row, [], None), asked)
    except DataError:
        raise SchemaError("user is a missing value, which no row has as its user; give a value") from None


def _list(header: Header, ipc: bytes) -> Release:
    return _core_calls.Release.from_ipc(ipc, _shown(header))


def _shown(header: Header) -> str:
    """Return what tables of items ask a report for: the columns of the items."""
    return json.dumps({"request": {"columns": {"items": header.item}}})


def table_of(header: Header, ipc: bytes) -> ItemTable:
    """Return the list of a release."""
    return ItemTable(_list(header, ipc))


def joined(header: Header, lists: Sequence[bytes]) -> ItemTable:
    """Return all items, in the last types that hold them."""
    if not lists:
        nothing: dict[str, Any] = {name: [] for name in header.item}
        return ItemTable(_core_calls.release_of(nothing, None, _shown(header)))
    return ItemTable(_core_calls.series_items([_list(header, each) for each in lists]))


def differences_of(header: Header, check: Callable[[str], None], **more: Any) -> list[str]:
    """Return whatever is not as a series of some kind promises."""
    asked = {name: getattr(header, name) for name in ("privacy", "releases", "max_items_per_user")}
    if json.loads(header.plan)["asked"] != asked | more:
        return ["the plan is for other parameters"]
    try:
        check(header.plan)
    except ReportError as error:
        return [str(error)]
    return []


def differences(header: Header) -> list[str]:
    """Return whatever is not as a series of lists promises."""
    return differences_of(header, _core_calls.series_check, waits=not header.prompt)
