"""The calls of the compiled core, apart from the pieces of a release that ``dpsel.spark`` hands out.

Requests go in as JSON, and answers that are JSON come out as Python values. A change of the binding changes
this file only.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from dpsel import _core
from dpsel._core import Job, Release, __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpsel._core import ObjectColumn

__all__ = ["Job", "Release", "Source", "Task", "__version__", "run"]

Task: TypeAlias = Literal["select", "count", "top_k"]
"""What a request asks for: partition selection, numbers of users per item, or a top-k."""

validate_privacy: Final = _core.validate_privacy
validate_bound: Final = _core.validate_bound
validate_policy: Final = _core.validate_policy
validate_sips: Final = _core.validate_sips
validate_steered: Final = _core.validate_steered
validate_greedy_frequency: Final = _core.validate_greedy_frequency
validate_cluster: Final = _core.validate_cluster
composed_privacy: Final = _core.composed_privacy
convert_zcdp: Final = _core.convert_zcdp
gaussian_part: Final = _core.gaussian_part
read_report: Final = _core.read_report
check_report: Final = _core.check_report
keep_probabilities: Final = _core.keep_probabilities
users_needed: Final = _core.users_needed
top_k_loss: Final = _core.top_k_loss
top_k_counts: Final = _core.top_k_counts


@dataclass(frozen=True, slots=True)
class Source:
    """Data that the core can read, and the arguments that name it."""

    kind: Literal["files", "batches", "stream", "pairs"]
    arguments: dict[str, Any]


_READERS: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "select": {
        "files": _core.select_files,
        "batches": _core.select_batches,
        "stream": _core.select_stream,
        "pairs": _core.select_pairs,
    },
    "count": {
        "files": _core.count_files,
        "batches": _core.count_batches,
        "stream": _core.count_stream,
        "pairs": _core.count_pairs,
    },
    "top_k": {
        "files": _core.top_k_files,
        "batches": _core.top_k_batches,
        "stream": _core.top_k_stream,
        "pairs": _core.top_k_pairs,
    },
}


@overload
def run(task: Literal["select", "top_k"], source: Source, job: Job) -> Release: ...
@overload
def run(task: Literal["count"], source: Source, job: Job) -> list[tuple[int, int]]: ...
def run(task: Task, source: Source, job: Job) -> Any:
    """Read a source and do what the request of the job asks for."""
    return _READERS[task][source.kind](**source.arguments, job=job)


def check_source(source: Source, names: list[str] | None, job: Job) -> None:
    """Refuse missing columns and files without reading a row; ``names`` are the columns, where known."""
    if source.kind == "files":
        _core.check_files(**source.arguments, job=job)
    elif names is not None:
        _core.check_names(names, job)


def calibrate(task: Task, request: str) -> dict[str, Any]:
    """Return the rounds of a selection, or the rates of a top-k, for which no data is needed."""
    text = _core.calibrate_top_k(request) if task == "top_k" else _core.calibrate(request)
    calibration: dict[str, Any] = json.loads(text)
    return calibration


def object_column(values: Iterable[object], name: str, *, lists: bool) -> ObjectColumn:
    """Return Python values as an Arrow column of one type."""
    return _core.object_column(values, name, lists)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file under another name and rename it, so that it is complete or not there."""
    _core.write_text(os.fspath(path), text)
