"""``select_partitions`` for Spark DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpsel import _core, _core_calls
from dpsel._request import request_of_selection
from dpsel._request._columns import checked_test_key
from dpsel.budget._payment import begin_call
from dpsel.release import Release
from dpsel.spark._cluster import Cluster
from dpsel.spark._errors import own_errors
from dpsel.spark._frames import checked_frame, checked_tokenizer, named_columns
from dpsel.spark._release import SparkRelease
from dpsel.spark._schema import arrow_schema

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dpsel.accounting import Counts, Privacy
    from dpsel.mechanisms import SelectionMechanism
    from dpsel.spark._encryption import Unencrypted

__all__ = ["select_partitions"]


def select_partitions(
    data: Any,
    *,
    user: str | Sequence[str] | None = None,
    item: str | Sequence[str] | None = None,
    privacy: Privacy,
    max_items_per_user: int,
    mechanism: SelectionMechanism | str = "auto",
    with_weights: bool = False,
    counts: float | Counts | None = None,
    ngrams: tuple[int, int] | None = None,
    tokenizer: Literal["words", "chars", "subwords"] | None = None,
    num_partitions: int | None = None,
    unencrypted: Unencrypted = "warn",
    secret_file: str | os.PathLike[str] | None = None,
    insecure_test_key: bytes | None = None,
) -> SparkRelease:
    """Return the items of a Spark DataFrame that may be published, as many as the guarantee allows.

    As [`select_partitions`][dpsel.select_partitions], with the same result for the same rows, mechanism,
    other parameters and key: neither partitions nor retried or speculative tasks change it. It runs at once,
    and the release is final: looking at it later draws nothing again.

    Args:
        data: A Spark DataFrame. Items of integers, dates and the like are read once. Texts and several
            columns are read twice, so they should be the same both times.
        user: Column that identifies the user, the unit of privacy, or several columns that do so together.
            Null users are refused.
        item: Column of the item, or several columns that make up one. Null items are dropped.
        privacy: The guarantee, as [`ApproxDP`][dpsel.ApproxDP] or [`ZCDP`][dpsel.ZCDP].
        max_items_per_user: The most distinct items that one user may contribute, a random choice of them
            if there are more. With ``Steered(reach=3)``, which ``"auto"`` mostly takes, it is three times as
            many, as with three rounds of ``Sips``. Choose it without looking at the data.
        mechanism: How to select: one that weighs the users of a round independently of each other.
            ``"auto"`` decides by the parameters alone, and the report says why. It is as on one machine, but
            that no noisy look at the lengths of lists comes first.
        with_weights: Also return the noisy weight of each released item. With ``"auto"`` that may cost
            items, see [`select_partitions`][dpsel.select_partitions].
        counts: Also return the noisy number of users or rows of each released item, as for
            [`select_partitions`][dpsel.select_partitions]. All items that a user holds count, so the rows are
            looked at once more.
        ngrams: ``(fewest, most)`` words: the item column is text, and its n-grams are the items.
        tokenizer: What n-grams are made of: ``"words"`` (usual), ``"chars"`` or ``"subwords"``.
        num_partitions: Number of partitions into which users and items are divided; by default four for each
            of Spark's shuffle partitions. A task works on them one after the other, and one has to fit into
            memory.
        unencrypted: What to do where Spark's settings leave something of the release unencrypted on disks,
            the network or in the event log: ``"warn"``, ``"refuse"`` or ``"accept"`` it.
        secret_file: A file of at least 32 random bytes that driver and executors have under this path. The
            key is wrapped with it too, so that all of Spark's logs and disks together do not tell it.
        insecure_test_key: 32 bytes that replace the secret key. Reproducible, hence **not private**, and
            the report is stamped with it. For tests only.

    Returns:
        The released items and the report.

    Raises:
        InvalidParameterError: If a parameter is out of range or does not fit another one, or the mechanism
            cannot be run on a cluster.
        SchemaError: If a column is missing or has a type that cannot be a user or an item.
        DataError: If the rows break a rule, such as a null user, or change between two reads.
        CalibrationError: If no noise and threshold meet the guarantee.
    """
    columns = named_columns(user, item)
    request = request_of_selection(
        privacy,
        max_items_per_user,
        mechanism,
        columns=columns,
        ngrams=ngrams,
        tokenizer=checked_tokenizer(tokenizer),
        with_weights=with_weights,
        counts=counts,
        on_cluster=True,
    )
    key = checked_test_key(insecure_test_key)
    _core_calls.validate_exchange(request.json)
    frame = checked_frame(data, "select_partitions")
    schema = arrow_schema(frame, columns)
    selection = _core.ExchangeSelection(request.json, schema, test_key=key)
    cluster = Cluster.checked(
        frame,
        columns,
        num_partitions=num_partitions,
        unencrypted=unencrypted,
        secret_file=secret_file,
        job=selection.job,
    )
    with begin_call(privacy, private=key is None) as payment:
        core = _run(selection, cluster, schema, request.chosen)
        release: Release[Any] = Release(core, "pyarrow")
        payment.settle(release.report)
    return SparkRelease(release, frame.sparkSession)


@own_errors
def _run(
    selection: _core.ExchangeSelection,
    cluster: Cluster,
    schema: Any,
    reason: str | None,
) -> _core.Release:
    """Run the jobs of a release."""
    with cluster.dataflow(selection.job) as flow:
        with flow.contributions() as contributions:
            released = flow.selected(contributions)
            looks_up, nothing = selection.looks_up(schema), _core.ExchangePacked()
            is_needed = looks_up or selection.is_counted
            known = flow.released_set(contributions, released) if is_needed else nothing
            numbers = flow.noisy_counts(contributions, known) if selection.is_counted else None
        named = flow.names(known if looks_up else nothing)
        return selection.publish(named, released, numbers, schema, reason)
