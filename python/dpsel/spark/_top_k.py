"""``select_top_k`` for Spark DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel import _core
from dpsel._request import priced, request_of_rows
from dpsel._request._columns import checked_test_key
from dpsel.budget._payment import begin_call
from dpsel.exceptions import DataError
from dpsel.release import TopKRelease
from dpsel.spark._cluster import Cluster
from dpsel.spark._errors import own_errors
from dpsel.spark._frames import checked_frame, checked_list, checked_tokens, named_columns
from dpsel.spark._release import SparkTopKRelease
from dpsel.spark._schema import arrow_schema, with_tokens
from dpsel.spark._steps import Steps

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from dpsel.accounting import Privacy, PublishedCounts
    from dpsel.mechanisms import TopKMechanism
    from dpsel.spark._dataflow import Dataflow
    from dpsel.spark._encryption import Unencrypted
    from dpsel.typing import Neighbours, Progress, Tokenizer

__all__ = ["select_top_k"]


def select_top_k(  # noqa: PLR0913 - keyword-only settings
    data: Any,
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
    progress: Progress | bool | None = None,
    num_partitions: int | None = None,
    unencrypted: Unencrypted = "warn",
    secret_file: str | os.PathLike[str] | None = None,
    insecure_test_key: bytes | None = None,
) -> SparkTopKRelease:
    """Return about the k items of a Spark DataFrame that most users hold.

    As [`select_top_k`][dpsel.select_top_k], with the same result for the same rows, parameters and key. The
    cluster counts users; the draw is made on the driver. It runs at once, and the answer is final.

    Args:
        data: A Spark DataFrame. Without ``domain`` items of texts and of several columns are read twice, so
            they should be the same both times.
        user: Column that identifies the user, the unit of privacy, or several columns that do so together.
            Null users are refused.
        item: Column of the item, or several columns that make up one. Null items are dropped.
        k: Number of items.
        privacy: The guarantee.
        mechanism: How to pick. ``"auto"`` decides by the other arguments alone, and the report says why.
        domain: The items that can be picked, a public list, which has to fit on the driver; a Spark
            DataFrame with the item columns is brought there. Its types are checked as for
            [`select_top_k`][dpsel.select_top_k], before any row is read.
        ordered: Whether the order of the items is wanted. A set is far more accurate.
        counts: A budget publishes noisy counts of the items, on top of ``privacy``, as for
            [`select_top_k`][dpsel.select_top_k]; ``"free"`` those that the mechanism has anyway.
        max_items_per_user: If given, users with more items contribute a random choice of that many.
        neighbours: ``"add_remove"`` one user, or ``"swap"`` one for another, which needs more noise.
        ngrams: ``(fewest, most)`` words: the item column is text, and its n-grams are the items.
        tokenizer: What n-grams are made of: ``"words"`` (usual), ``"chars"``, ``"subwords"``, or a function,
            which runs in Spark's Python workers: see [the page](https://dpsel.github.io/dpsel/guide/tokenizers/).
        progress: ``True`` draws a bar. A function is called on the driver with ``(done, total)`` after each
            step.
        num_partitions: Number of partitions into which users and items are divided, as for
            [`select_partitions`][dpsel.select_partitions].
        unencrypted: What to do where Spark's settings leave something of the release unencrypted on disks,
            the network or in the event log: ``"warn"``, ``"refuse"`` or ``"accept"`` it.
        secret_file: A file of at least 32 random bytes that driver and executors have under this path. The
            key is wrapped with it too, so that all of Spark's logs and disks together do not tell it.
        insecure_test_key: 32 bytes that replace the secret key, for tests: then nothing is private.

    Returns:
        The items, best first (sorted by themselves if they have no order), with the report.

    Raises:
        InvalidParameterError: If a parameter is out of range or does not fit another one.
        SchemaError: If a column is missing or has a type that cannot be a user or an item.
        DataError: If the rows break a rule, such as a null user, or change between two reads.
        MemoryLimitError: If the sums of a round may exceed ``spark.driver.maxResultSize``.
        CalibrationError: If the budget is too small.
    """
    columns = named_columns(user, item)
    request = request_of_rows(
        columns,
        k=k,
        privacy=privacy,
        mechanism=mechanism,
        domain=checked_list("domain", domain, columns),
        ordered=ordered,
        counts=counts,
        max_items_per_user=max_items_per_user,
        neighbours=neighbours,
        ngrams=ngrams,
        tokenizer=tokenizer,
    )
    key, tokens = checked_test_key(insecure_test_key), checked_tokens(tokenizer, ngrams)
    steps = Steps(progress, request)
    request.calibrate()
    frame = checked_frame(data, "select_top_k")
    schema = arrow_schema(frame, columns)
    schema = schema if tokens is None else with_tokens(schema, columns.items, tokens)
    top_k = _core.ExchangeTopK(request.json, schema, test_key=key, domain=request.public_table)
    cluster = Cluster.checked(
        frame,
        columns,
        num_partitions=num_partitions,
        unencrypted=unencrypted,
        secret_file=secret_file,
        job=top_k.job,
        tokens=tokens,
    )
    with begin_call(privacy, counts=priced(counts), neighbours=neighbours, private=key is None) as payment:
        answer = TopKRelease.from_core(_run(top_k, cluster, schema, request.chosen, steps), "pyarrow")
        payment.settle(answer.report)
    return SparkTopKRelease(answer, frame.sparkSession)


@own_errors
def _run(
    top_k: _core.ExchangeTopK,
    cluster: Cluster,
    schema: Any,
    reason: str | None,
    steps: Steps,
) -> _core.Release:
    """Run the jobs of a release."""
    job = top_k.job
    steps.begin(job.rounds)
    with cluster.dataflow(job, steps) as flow:
        draw = top_k.draw(_counted(flow, top_k))
        steps.end_rounds()
        named = flow.names(job.released_set(draw.items)) if top_k.looks_up(schema) else []
        made = top_k.publish(named, draw, schema, reason)
    steps.end()
    return made


def _counted(flow: Dataflow, top_k: _core.ExchangeTopK) -> _core.ExchangePacked:
    """Count the users of the items that can be picked: listed, discovered, or most frequent."""
    with flow.contributions() as contributions:
        if not top_k.is_discovery:
            return flow.user_counts(contributions, top_k.listed, bounded=True, most=top_k.largest)
        found = flow.selected(contributions)
        if top_k.has_noisy_numbers:
            counts = flow.noisy_counts(contributions, flow.released_set(contributions, found))
        else:
            counts = flow.user_counts(contributions, found, bounded=False) if found else found
    # Each discovered item has a user, so it has a count. Any other number means that the table changed.
    if len(counts) != len(found):
        raise DataError(
            "other items were counted than discovered, so rows of the table changed meanwhile; "
            "write the table out first, and select from what was written"
        )
    return counts
