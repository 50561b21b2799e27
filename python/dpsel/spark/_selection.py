"""``select_partitions`` for Spark DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel import _core, _core_calls
from dpsel._request import public_lists, request_of_selection
from dpsel._request._columns import checked_test_key
from dpsel._request._request import as_pairs
from dpsel.budget._payment import begin_call
from dpsel.release import Release
from dpsel.spark._cluster import Cluster
from dpsel.spark._errors import own_errors
from dpsel.spark._frames import checked_frame, checked_list, checked_tokens, named_columns
from dpsel.spark._release import SparkRelease
from dpsel.spark._schema import arrow_schema, with_tokens
from dpsel.spark._steps import Steps

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from dpsel.accounting import Counts, Privacy, Quantile, Rest
    from dpsel.mechanisms import SelectionMechanism
    from dpsel.spark._dataflow import Dataflow
    from dpsel.spark._encryption import Unencrypted
    from dpsel.typing import Progress, Tokenizer

__all__ = ["select_partitions"]


def select_partitions(  # noqa: PLR0913 - keyword-only settings
    data: Any,
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
    progress: Progress | bool | None = None,
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
            many, as with three rounds of ``Sips``. Choose it without looking at the data, or have it found
            within the budget by [`Quantile`][dpsel.Quantile].
        mechanism: How to select: one whose users can be weighed in any order. ``"auto"`` decides by the
            parameters, as on one machine with a folder for ``scratch=``, and the report says why.
        with_weights: Also return the noisy weight of each released item. With ``"auto"`` that may cost
            items, see [`select_partitions`][dpsel.select_partitions].
        counts: Also return the noisy number of users or rows of each released item, as for
            [`select_partitions`][dpsel.select_partitions]. All items that a user holds count, so the rows are
            looked at once more.
        rest: Also publish noisy numbers of what the list covers, as for
            [`select_partitions`][dpsel.select_partitions]. The rows are looked at once more.
        public_items: Items that come out in any case, as for
            [`select_partitions`][dpsel.select_partitions]: a list on the driver, or a Spark DataFrame with
            the item columns, which is brought there.
        exclude: Items that never come out, in the same forms.
        min_users: The least number of users that a released item has, whatever the noise.
        ngrams: ``(fewest, most)`` words: the item column is text, and its n-grams are the items.
        tokenizer: What n-grams are made of: ``"words"`` (usual), ``"chars"``, ``"subwords"``, or a function,
            which runs in Spark's Python workers: see [the page](https://dpsel.github.io/dpsel/guide/tokenizers/).
        levels: What makes a tree of the items, as for [`select_partitions`][dpsel.select_partitions].
        progress: ``True`` draws a bar. A function is called on the driver with ``(done, total)`` after each
            step.
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
        MemoryLimitError: If the sums of a round may exceed ``spark.driver.maxResultSize``.
        CalibrationError: If no noise and threshold meet the guarantee.
    """
    columns = named_columns(user, item)
    lists = public_lists(
        checked_list("exclude", exclude, columns),
        checked_list("public_items", public_items, columns),
        levels=levels,
    )
    request = request_of_selection(
        privacy,
        max_items_per_user,
        mechanism,
        columns=columns,
        ngrams=ngrams,
        tokenizer=tokenizer,
        levels=levels,
        with_weights=with_weights,
        counts=counts,
        rest=rest,
        beyond_memory=True,
        min_users=min_users,
        lists=lists,
    )
    key, tokens = checked_test_key(insecure_test_key), checked_tokens(tokenizer, ngrams)
    steps = Steps(progress, request)
    _core_calls.validate_exchange(request.json)
    frame = checked_frame(data, "select_partitions")
    schema = arrow_schema(frame, columns)
    schema = schema if tokens is None else with_tokens(schema, columns.items, tokens)
    selection = _core.ExchangeSelection(
        request.json,
        schema,
        test_key=key,
        excluded=as_pairs(lists.exclude),
        public_items=as_pairs(lists.public_items),
    )
    cluster = Cluster.checked(
        frame,
        columns,
        num_partitions=num_partitions,
        unencrypted=unencrypted,
        secret_file=secret_file,
        job=selection.job,
        tokens=tokens,
    )
    with begin_call(privacy, private=key is None) as payment:
        core = _run(selection, cluster, schema, request.chosen, steps)
        release: Release[Any] = Release(core, "pyarrow")
        payment.settle(release.report)
    return SparkRelease(release, frame.sparkSession)


@own_errors
def _run(
    selection: _core.ExchangeSelection,
    cluster: Cluster,
    schema: Any,
    reason: str | None,
    steps: Steps,
) -> _core.Release:
    """Run the jobs of a release."""
    steps.begin(selection.most_rounds)
    with cluster.dataflow(selection.job, steps) as flow:
        with flow.contributions(selection.unread, looks=selection.sizes is not None) as contributions:
            public = selection.read_public
            with flow.without(contributions, public) as others:
                selection = _looked(flow, selection, others)
                released = flow.selected(others)
            steps.end_rounds()
            looks_up, numbers, rest = selection.looks_up(schema), None, None
            known = flow.released_set(contributions, released) if looks_up else _core.ExchangePacked()
            named = flow.names(known)
            closed = selection.closed(named, released, schema)
            if selection.is_counted or selection.has_rest:
                # Then one join serves names and numbers.
                is_known = looks_up and not len(public) and len(closed) == len(released)
                listed = known if is_known else flow.released_set(contributions, closed.followed_by(public))
                numbers = flow.noisy_counts(contributions, listed) if selection.is_counted else None
                rest = flow.rest(contributions, listed) if selection.has_rest else None
        made = selection.publish(named, closed, numbers, rest, schema, reason)
    steps.end()
    return made


def _looked(
    flow: Dataflow, selection: _core.ExchangeSelection, contributions: Any
) -> _core.ExchangeSelection:
    """Take the noisy look at the data that chooses the rounds, if one does."""
    sizes = selection.sizes
    if sizes is None:
        return selection
    chosen = selection.after_a_look(flow.lengths(contributions, sizes))
    flow.go_on_with(chosen.job)
    return chosen
