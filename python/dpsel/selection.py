"""``select_partitions``: the items of a (user, item) table that may be published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from dpsel._core_calls import run
from dpsel._ingest import Tokens, open_columns
from dpsel._request import columns_of, public_lists, request_of_selection
from dpsel._scratch import may_outgrow_memory, place_of_rows
from dpsel.budget._payment import begin_call
from dpsel.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from typing import TypeVar, Unpack

    from dpsel.accounting import Counts, Privacy, Quantile, Rest
    from dpsel.item_table import ItemTable
    from dpsel.mechanisms import SelectionMechanism
    from dpsel.typing import (
        ArrowArrayExportable,
        ArrowStreamExportable,
        FileFormat,
        IntoContributions,
        LazyTable,
        Pair,
        Progress,
        Relation,
        SelectOptions,
        Table,
        Tokenizer,
    )

    TableT = TypeVar("TableT", bound=Table)
    OtherT = TypeVar("OtherT")

__all__ = ["select_partitions"]


@overload
def select_partitions(
    data: str | PathLike[str] | Sequence[str] | Sequence[PathLike[str]], **options: Unpack[SelectOptions]
) -> Release[ItemTable]: ...
@overload
def select_partitions(data: Iterable[Pair], **options: Unpack[SelectOptions]) -> Release[list[Any]]: ...
@overload
def select_partitions(data: TableT, **options: Unpack[SelectOptions]) -> Release[TableT]: ...
@overload
def select_partitions(data: LazyTable[OtherT], **options: Unpack[SelectOptions]) -> Release[OtherT]: ...
@overload
def select_partitions(data: Relation[OtherT], **options: Unpack[SelectOptions]) -> Release[OtherT]: ...
@overload
def select_partitions(
    data: ArrowStreamExportable | ArrowArrayExportable, **options: Unpack[SelectOptions]
) -> Release[ItemTable]: ...
@overload
def select_partitions(data: IntoContributions, **options: Unpack[SelectOptions]) -> Release[Any]: ...
def select_partitions(  # noqa: PLR0913 - keyword-only settings
    data: IntoContributions,
    *,
    user: str | Sequence[str] | None = None,
    item: str | Sequence[str] | None = None,
    privacy: Privacy,
    max_items_per_user: int | Quantile,
    mechanism: SelectionMechanism | str = "auto",
    with_weights: bool = False,
    counts: float | Counts | None = None,
    rest: float | Rest | None = None,
    public_items: Iterable[Any] | None = None,
    exclude: Iterable[Any] | None = None,
    min_users: int = 1,
    ngrams: tuple[int, int] | None = None,
    tokenizer: Tokenizer | None = None,
    levels: bool | str | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    scratch: str | PathLike[str] | None = "auto",
    scratch_limit: int | str | None = None,
    progress: Progress | bool | None = None,
    insecure_test_key: bytes | None = None,
    file_format: FileFormat | None = None,
) -> Release[Any]:
    """Return the items that may be published, as many as the guarantee allows.

    Rows say that a user has an item; repeated rows count once (except for mechanisms that go by a user's own
    counts, and where rows are counted). The result is a function of the set of rows, the parameters and a
    fresh secret key: neither order nor chunking nor threads change it.

    Args:
        data: A polars, pandas or pyarrow table, a polars LazyFrame, a DuckDB relation, a Hugging Face
            dataset, anything else with the Arrow stream method, a dict of columns, a list of dicts, NumPy
            arrays, a sparse matrix of users by items, paths or glob patterns of Parquet, CSV, NDJSON or Arrow
            IPC files (``"-"`` is the standard input), or an iterable of ``(user, item)`` or ``(user,
            [items])``.
        user: Column that identifies the user, the unit of privacy. Null users are refused. Required for
            tables and files; for pairs it is only a label. Several columns, such as ``["tenant", "id"]``,
            make a user of each combination of values; users of pairs are then tuples. What that protects is
            said [here](https://dpsel.github.io/dpsel/understand/users/).
        item: Column of the item, or several columns that make up one. Null items are dropped. Required for
            tables and files; for pairs, several names mean that each item is a tuple.
        privacy: The guarantee, as [`ApproxDP`][dpsel.ApproxDP] or [`ZCDP`][dpsel.ZCDP].
        max_items_per_user: The most distinct items that one user may contribute, a random choice of them
            if there are more. With ``Steered(reach=3)``, which ``"auto"`` mostly takes, it is three times as
            many, as with three rounds of ``Sips``. Choose it without looking at the data, or have it found
            within the budget by [`Quantile`][dpsel.Quantile].
        mechanism: How to select: a mechanism, or one in words such as ``"sips(rounds=5)"``, as on the command
            line. ``"auto"`` decides by the parameters, and the report says why. For some of them it takes
            [`MatchingOr`][dpsel.MatchingOr]: a noisy look whether lists are short, for less than one per
            cent of epsilon. There is none where rows may go to a disk by a ``memory_limit`` or a ``scratch``
            folder.
        with_weights: Also return the noisy weight of each released item. It adds nothing to the guarantee of
            a mechanism with noise. But mechanisms without noise have none to return. With a limit of 1
            ``"auto"`` then takes a mechanism whose weights are numbers of users, which releases fewer items
            if users own several. ``dpsel.plan(with_weights=True)`` shows its threshold.
        counts: Also return the noisy number of users of each released item, in a column ``users``. A number
            is the part of the budget that this costs, such as 0.2; [`Counts`][dpsel.Counts] has more
            options, also for rows in place of users. The guarantee is then of items and numbers together. See
            [the guide](https://dpsel.github.io/dpsel/guide/counts/).
        rest: Also publish noisy numbers of users with all, some or none of their items released, for this
            part of the budget, such as 0.02; [`Rest`][dpsel.Rest] adds rows inside and outside of the list.
            Then [`coverage`][dpsel.Release.coverage] says how much the list covers, also without ``counts``.
        public_items: Items that come out in any case, such as the names of all countries. Their rows are
            removed before bounding, so they use nothing of a user's limit and of the guarantee. The released
            table has a column ``public`` that marks them. They must be public: not taken from the data.
        exclude: Items that never come out, such as stop words. Their rows are removed before bounding. The
            list must be public too.
        min_users: The least number of users that a released item has, whatever the noise. It is for
            mechanisms whose users do not react to each other: ``"auto"`` takes noise on counts, and others
            are refused. See [the page](https://dpsel.github.io/dpsel/algorithms/min_users/) for its price.
        ngrams: ``(fewest, most)`` words: the item column is text, and its n-grams are the items.
        tokenizer: What n-grams are made of: ``"words"`` (usual), ``"chars"``, ``"subwords"``, or a
            function from a text to a list of tokens, which must depend on that one text alone: see
            [the page](https://dpsel.github.io/dpsel/guide/tokenizers/).
        levels: Items are nodes of a tree, such as country, region and city. ``True``: each column of ``item``
            is a level, from the top, and a null ends a path. A text: the separator of the parts of one text
            column, such as ``"/"``. A user who has a node has all above it, and the limit counts them all.
            With a node all above it come out, and a column ``level`` says how deep each is. See
            [the page](https://dpsel.github.io/dpsel/algorithms/descent/).
        threads: The most threads to use; by default as many as there are cores.
        memory_limit: The most bytes to use, such as ``"4GiB"``; by default half of the memory that the
            machine or its container has free (on Linux), unless ``scratch`` is ``None``.
        scratch: Where rows beyond that go on. ``"auto"`` takes the system's folder for temporary files, or
            ``/var/tmp``, whichever is on a disk. The release is the same. Files there have no name, are
            encrypted under a key that only this process has, and are gone when it ends. Some mechanisms
            need all rows in memory: with ``"auto"`` they may take all that is free, and with a folder that is
            named they are refused ([guide](https://dpsel.github.io/dpsel/learn/larger-than-memory/)).
            ``None``: no row goes to a disk, and beyond ``memory_limit`` there is an error.
        scratch_limit: The most bytes to use there.
        progress: ``True`` draws a bar, also in notebooks. A function is called with ``(done, total)`` several
            times a second; a total of 0 means unknown. ``done`` never falls, and reaches the total with the
            last call.
        insecure_test_key: 32 bytes that replace the secret key. Reproducible, hence **not private**, and
            the report is stamped with it. For tests only.
        file_format: The format of files whose names do not say it, such as pipes; [`Csv`][dpsel.Csv] for
            another delimiter, or no header line.

    Returns:
        The released items as the kind of table that came in, with the report.

    Raises:
        InvalidParameterError: If a parameter is out of range or does not fit another one.
        SchemaError: If a column is missing or has a type that cannot be a user or an item.
        DataError: If the rows break a rule, such as a null user.
        FileError: If a file cannot be read, or scratch not written.
        MemoryLimitError: If ``memory_limit`` is not enough.
        CalibrationError: If no noise and threshold meet the guarantee.

    Examples:
        >>> import dpsel
        >>> rows = [(user, drink) for user in range(500) for drink in ("tea", "milk")] + [(7, "absinthe")]
        >>> release = dpsel.select_partitions(
        ...     rows, privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=3
        ... )
        >>> release.items
        ['milk', 'tea']

        The same items with several columns:

        >>> visits = [(user, ("Oslo", "bus")) for user in range(500)]
        >>> dpsel.select_partitions(
        ...     visits,
        ...     item=["city", "means"],
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     max_items_per_user=1,
        ... ).items
        [('Oslo', 'bus')]

        A public item, and one that is left out:

        >>> dpsel.select_partitions(
        ...     rows,
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     max_items_per_user=3,
        ...     public_items=["water"],
        ...     exclude=["milk"],
        ... ).items
        [('tea', False), ('water', True)]

        The items with noisy numbers of their users:

        >>> counted = dpsel.select_partitions(
        ...     rows, privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=3, counts=0.3
        ... )
        >>> [(item, 400 < users < 600) for item, users in counted.items]
        [('milk', True), ('tea', True)]
    """
    place, memory_limit = place_of_rows(scratch, memory_limit)
    beyond_memory = may_outgrow_memory(place, memory_limit)
    request = request_of_selection(
        privacy,
        max_items_per_user,
        mechanism,
        columns=columns_of(user, item),
        ngrams=ngrams,
        tokenizer=tokenizer,
        levels=levels,
        with_weights=with_weights,
        beyond_memory=beyond_memory,
        min_users=min_users,
        counts=counts,
        rest=rest,
        lists=public_lists(exclude, public_items, levels=levels),
    )
    job = request.job(
        test_key=insecure_test_key,
        threads=threads,
        memory_limit=memory_limit,
        scratch=place,
        scratch_limit=scratch_limit,
        progress=progress,
    )
    # The data is opened only after every parameter was checked.
    opened = open_columns(data, user, item, file_format, Tokens.of(tokenizer, ngrams))
    opened.check(job)
    # n-grams are texts, whatever they were taken from.
    restored = None if ngrams or tokenizer else opened.restored
    with begin_call(
        privacy, guaranteed=request.mechanism.has_guarantee, private=insecure_test_key is None
    ) as payment:
        release: Release[Any] = Release(opened.read(run, job), opened.returns, restored)
        payment.settle(release.report)
    return release
