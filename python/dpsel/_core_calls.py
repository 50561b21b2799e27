"""The calls of the compiled core, apart from the pieces of a release that ``dpsel.spark`` hands out.

Requests go in as JSON, and answers that are JSON come out as Python values. A change of the binding changes
this file only.
"""

from __future__ import annotations

import atexit
import json
import os
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from dpsel.exceptions import InternalError

# The allocator of the core reads its settings when it is loaded. Freed memory goes back to the system after
# ten milliseconds instead of a second, so that a job keeps to its memory limit. What the environment says
# goes first.
if _ours := "MIMALLOC_PURGE_DELAY" not in os.environ:
    os.environ["MIMALLOC_PURGE_DELAY"] = "10"
try:
    from dpsel import _core
    from dpsel._core import (
        Job,
        Members,
        Release,
        ReportText,
        RowMask,
        SeriesRelease,
        Source,
        __commit__,
        __version__,
    )
finally:
    if _ours:
        del os.environ["MIMALLOC_PURGE_DELAY"]

# A job without a memory limit frees its memory after it has answered. Its thread is not there any more when
# the process forks or ends.
atexit.register(_core.await_ending)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_core.await_ending)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpsel._core import ObjectColumn

__all__ = [
    "Job",
    "Members",
    "Release",
    "ReportText",
    "RowMask",
    "SeriesRelease",
    "Source",
    "Task",
    "__commit__",
    "__version__",
    "run",
]

Task: TypeAlias = Literal["select", "count", "top_k"]
"""The tasks of a request: partition selection, numbers of users per item, or a top-k."""

#: The longest n-gram, in words or characters.
LONGEST_NGRAM: Final = _core.LONGEST_NGRAM

validate: Final = _core.validate
validate_exchange: Final = _core.validate_exchange
composed_privacy: Final = _core.composed_privacy
convert_zcdp: Final = _core.convert_zcdp
gaussian_part: Final = _core.gaussian_part
read_report: Final = _core.read_report
check_report: Final = _core.check_report
keep_probabilities: Final = _core.keep_probabilities
possible_limits: Final = _core.possible_limits
users_needed: Final = _core.users_needed
top_k_loss: Final = _core.top_k_loss
top_k_counts: Final = _core.top_k_counts
check_source: Final = _core.check_source
#: The exception that stands for one of foreign code, whose words may quote a value.
foreign_error: Final = _core.foreign_error
#: Write a new file; false if there is one.
create_text: Final = _core.create_text
series_plan: Final = _core.series_plan
series_check: Final = _core.series_check
series_release: Final = _core.series_release
count_series_plan: Final = _core.count_series_plan
count_series_check: Final = _core.count_series_check
count_series_release: Final = _core.count_series_release
series_items: Final = _core.series_items
series_user_digests: Final = _core.series_user_digests
#: Bytes under a key, with a label that must be the same when they are unsealed; and the digest under a key.
seal: Final = _core.seal
unseal: Final = _core.unseal
tag: Final = _core.tag
#: A name or a path that the caller gave, as every error shows it: it may be data.
quoted: Final = _core.quoted
quoted_path: Final = _core.quoted_path


def run(source: Source, job: Job) -> Release:
    """Read a source, and make the release of the job: a selection or a top-k."""
    made = _core.run(source, job)
    if isinstance(made, Release):
        return made
    raise InternalError("internal error: a request to count makes no release; please report this")


def users_per_item(source: Source, job: Job) -> list[tuple[int, int]]:
    """Read a source, and return how many items have how many users: (users, items). Not private."""
    made = _core.run(source, job)
    if isinstance(made, list):
        return made
    raise InternalError("internal error: only a request to count makes counts; please report this")


def calibrate(request: str) -> dict[str, Any]:
    """Return the rounds of a selection, or the rates of a top-k, for which no data is needed."""
    calibration: dict[str, Any] = json.loads(_core.calibrate(request))
    return calibration


def object_column(
    values: Iterable[object], name: str, *, lists: bool, of_pandas: bool = True
) -> ObjectColumn:
    """Return Python values as an Arrow column of one type."""
    return _core.object_column(values, name, lists=lists, of_pandas=of_pandas)


def table_of(names: Sequence[str], columns: Sequence[Iterable[object]]) -> Release:
    """Return columns of Python values as a table of Arrow, which is no release."""
    arrays = [
        (name, object_column(values, name, lists=False)) for name, values in zip(names, columns, strict=True)
    ]
    return Release.of_columns(arrays, None, "")


def release_of(columns: dict[str, Any], weights: list[float] | None, report: str) -> Release:
    """Return a release of columns, Arrow arrays or lists of Python values, that were written before."""
    arrays = [
        (name, object_column(values, name, lists=False) if isinstance(values, list) else values)
        for name, values in columns.items()
    ]
    return Release.of_columns(arrays, weights, report)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file under another name and rename it, so that it is complete or not there."""
    from dpsel._arguments import as_name_of_file

    _core.write_text(as_name_of_file("path", path), text)
