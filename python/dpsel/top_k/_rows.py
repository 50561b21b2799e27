"""``select_top_k``: the k items of a table that most users hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from dpsel._core_calls import run
from dpsel._ingest import Tokens, open_columns
from dpsel._request import columns_of, priced, request_of_rows
from dpsel._scratch import place_of_rows
from dpsel.budget._payment import begin_call
from dpsel.release import TopKRelease

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from typing import TypeVar, Unpack

    from dpsel.accounting import Privacy
    from dpsel.item_table import ItemTable
    from dpsel.mechanisms import TopKMechanism
    from dpsel.typing import (
        ArrowArrayExportable,
        ArrowStreamExportable,
        FileFormat,
        IntoContributions,
        LazyTable,
        Neighbours,
        Pair,
        Progress,
        PublishedCounts,
        Relation,
        Table,
        Tokenizer,
        TopKOptions,
    )

    TableT = TypeVar("TableT", bound=Table)
    OtherT = TypeVar("OtherT")

__all__ = ["select_top_k"]


@overload
def select_top_k(
    data: str | PathLike[str] | Sequence[str] | Sequence[PathLike[str]], **options: Unpack[TopKOptions]
) -> TopKRelease[ItemTable]: ...
@overload
def select_top_k(data: Iterable[Pair], **options: Unpack[TopKOptions]) -> TopKRelease[list[Any]]: ...
@overload
def select_top_k(data: TableT, **options: Unpack[TopKOptions]) -> TopKRelease[TableT]: ...
@overload
def select_top_k(data: LazyTable[OtherT], **options: Unpack[TopKOptions]) -> TopKRelease[OtherT]: ...
@overload
def select_top_k(data: Relation[OtherT], **options: Unpack[TopKOptions]) -> TopKRelease[OtherT]: ...
@overload
def select_top_k(
    data: ArrowStreamExportable | ArrowArrayExportable, **options: Unpack[TopKOptions]
) -> TopKRelease[ItemTable]: ...
@overload
def select_top_k(data: IntoContributions, **options: Unpack[TopKOptions]) -> TopKRelease[Any]: ...
def select_top_k(  # noqa: PLR0913 - keyword-only settings
    data: IntoContributions,
    *,
    user: str | Sequence[str] | None = None,
    item: str | Sequence[str] | None = None,
    k: int,
    privacy: Privacy,
    mechanism: TopKMechanism | str = "auto",
    domain: Iterable[Any] | None = None,
    ordered: bool = True,
    counts: PublishedCounts = None,
    max_items_per_user: int | None = None,
    neighbours: Neighbours = "add_remove",
    ngrams: tuple[int, int] | None = None,
    tokenizer: Tokenizer | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    scratch: str | PathLike[str] | None = "auto",
    scratch_limit: int | str | None = None,
    progress: Progress | bool | None = None,
    insecure_test_key: bytes | None = None,
    file_format: FileFormat | None = None,
) -> TopKRelease[Any]:
    """Return about the k items that most users hold.

    Rows say that a user has an item; repeated rows count once. The items are drawn with exactly the
    probabilities of the mechanism, from a fresh secret key.

    Args:
        data: As for [`select_partitions`][dpsel.select_partitions].
        user: Column that identifies the user, the unit of privacy.
        item: Column of the item, or several columns that make up one.
        k: Number of items.
        privacy: The guarantee.
        mechanism: How to pick: a mechanism, or one in words such as ``"joint"``. ``"auto"`` decides by the
            other arguments alone, and the report says why.
        domain: The items that can be picked, a public list; items of it that nobody holds have count 0,
            and rows of other items do not matter, to the limit neither. They have the type of the column,
            or are text that is written like its values (``"12"``, ``"2024-01-31"``). They come back in the
            column's type, or as they were given where the source declares none. Without it the items of the
            data are secret, which needs delta: [`LimitDomain`][dpsel.LimitDomain],
            [`Discover`][dpsel.Discover] or [`SelectAndCount`][dpsel.SelectAndCount].
        ordered: Whether the order of the items is wanted. A set is far more accurate.
        counts: A budget publishes noisy counts of the items, on top of ``privacy``: Laplace noise for
            ``PureDP``, Gaussian noise (of about the root of k instead of k) for ``ZCDP``, the smaller one for
            ``ApproxDP``. ``"free"`` publishes those that the mechanism has anyway.
        max_items_per_user: If given, users with more items contribute a random choice of that many.
        neighbours: ``"add_remove"`` one user, or ``"swap"`` one for another, which needs more noise.
        ngrams: ``(fewest, most)`` words: the item column is text, and its n-grams are the items.
        tokenizer: What n-grams are made of: ``"words"`` (usual), ``"chars"``, ``"subwords"``, or a
            function from a text to a list of tokens, which must depend on that one text alone: see
            [the page](https://dpsel.github.io/dpsel/guide/tokenizers/).
        threads: The most threads to use.
        memory_limit: The most bytes to use, such as ``"4GiB"``, as for
            [`select_partitions`][dpsel.select_partitions].
        scratch: Where rows beyond that go on, as for [`select_partitions`][dpsel.select_partitions].
        scratch_limit: The most bytes to use there.
        progress: ``True`` for a bar, or a function that is called with ``(done, total)``, as for
            [`select_partitions`][dpsel.select_partitions].
        insecure_test_key: 32 bytes that replace the secret key, for tests: then nothing is private.
        file_format: The format of files whose names do not say it; [`Csv`][dpsel.Csv] for another
            delimiter, or no header line.

    Returns:
        The items, best first (sorted by themselves if they have no order), with the report.

    Raises:
        InvalidParameterError: If a parameter is out of range or does not fit another one.
        SchemaError: If a column is missing or has a type that cannot be a user or an item, or the domain has
            items of another type than the column.
        DataError: If the rows break a rule, such as a null user, or their source fails.
        FileError: If a file cannot be read.
        CalibrationError: If the budget is too small.

    Examples:
        >>> import dpsel
        >>> rows = [(user, drink) for user in range(500) for drink in ("tea", "milk")] + [(7, "gin")]
        >>> dpsel.select_top_k(
        ...     rows, k=2, privacy=dpsel.PureDP(epsilon=1.0), domain=["gin", "milk", "tea"], ordered=False
        ... ).items
        ['milk', 'tea']
    """
    request = request_of_rows(
        columns_of(user, item),
        k=k,
        privacy=privacy,
        mechanism=mechanism,
        domain=domain,
        ordered=ordered,
        counts=counts,
        max_items_per_user=max_items_per_user,
        neighbours=neighbours,
        ngrams=ngrams,
        tokenizer=tokenizer,
    )
    place, memory_limit = place_of_rows(scratch, memory_limit)
    job = request.job(
        test_key=insecure_test_key,
        threads=threads,
        memory_limit=memory_limit,
        scratch=place,
        scratch_limit=scratch_limit,
        progress=progress,
    )
    opened = open_columns(data, user, item, file_format, Tokens.of(tokenizer, ngrams))
    opened.check(job)
    with begin_call(
        privacy, counts=priced(counts), neighbours=neighbours, private=insecure_test_key is None
    ) as payment:
        core = opened.read(run, job)
        restored = None if ngrams or tokenizer else opened.restored
        release: TopKRelease[Any] = TopKRelease.from_core(core, opened.returns, restored)
        payment.settle(release.report)
    return release
