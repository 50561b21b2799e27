"""The report of a release: parameters and calibration, and of the data noisy numbers that are paid for."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_name_of_file
from dpsel._tables import Display, Displayed, one_line
from dpsel.accounting import Cost
from dpsel.accounting._privacy import of_json
from dpsel.exceptions import FileError, InvalidParameterError, MissingFileError, ReportError
from dpsel.outputs import checked_output
from dpsel.quoting import quoted_path
from dpsel.release._rest import rest_of
from dpsel.release._summary import summary
from dpsel.release._wording import describe, has_guarantee, limit_of, numbers_of, rounds_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from dpsel._core_calls import ReportText, Task
    from dpsel.accounting import ApproxDP, Privacy, PureDP

__all__ = ["Report"]

#: The cost of each kind of published counts, in addition to the items.
PRICES: Final[dict[str, Callable[[dict[str, Any]], Privacy | None]]] = {
    "none": lambda _: None,
    "free": lambda _: None,
    "laplace": lambda counts: of_json({"kind": "pure_dp", "epsilon": counts["epsilon"]}),
    "noise": lambda counts: of_json(counts["privacy"]),
}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class Report(Displayed, Mapping[str, Any]):
    """The request and its calibration: parameters, noise scales, thresholds, guarantee.

    It prints as a summary, and ``to_json()`` has all of it. It is a read-only mapping in the shape of that
    JSON. It holds no count of users, rows or items, but for the noisy ones of a look and of the rest, which
    the budget pays for. So it can be published with the release, and [`check`][dpsel.check] can derive its
    numbers again.

    Args:
        text: JSON, as [`to_json`][dpsel.Report.to_json] gives it.

    Raises:
        ReportError: If it is not a report.

    Examples:
        >>> import dpsel
        >>> release = dpsel.select_partitions(
        ...     [("ada", "tea")], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=2
        ... )
        >>> release.report["request"]["max_items_per_user"]
        2
        >>> dpsel.check(release.report).ok
        True
    """

    __slots__ = ("_parsed", "_source")

    def __init__(self, text: str) -> None:
        """Parse the JSON."""
        # The core checks the text first, so the fields that are used here exist and have their types.
        try:
            _core_calls.read_report(text)
            data = json.loads(text)
        except UnicodeEncodeError:
            raise ReportError("not a dpsel report: it is no Unicode text") from None
        except ReportError:
            if _is_json(text):
                raise
            raise ReportError("not a dpsel report: the text is not JSON") from None
        self._source: str | ReportText = text
        self._parsed: dict[str, Any] | None = data

    @classmethod
    def of_core(cls, source: str | ReportText) -> Report:
        """Wrap a report of the core, or its text: it needs no check."""
        report = cls.__new__(cls)
        report._source, report._parsed = source, None  # noqa: SLF001 - its own
        return report

    @property
    def _text(self) -> str:
        """The JSON. The core writes it when it is first asked for: many calls want only the items."""
        if not isinstance(self._source, str):
            self._source = self._source.text
        return self._source

    @property
    def _data(self) -> dict[str, Any]:
        """The fields, parsed when they are first asked for."""
        if self._parsed is None:
            data: dict[str, Any] = json.loads(self._text)
            self._parsed = data
        return self._parsed

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """Read a report from a file.

        Raises:
            FileError: If the file cannot be read.
            ReportError: If it is not a report.
        """
        from pathlib import Path

        named = as_name_of_file("path", path)
        try:
            text = Path(named).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise MissingFileError(f"cannot read {quoted_path(path)}: {error.strerror}") from None
        except OSError as error:
            raise FileError(f"cannot read {quoted_path(path)}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ReportError(
                f"not a dpsel report: {quoted_path(path)} is not JSON: it is not UTF-8 text"
            ) from None
        except ValueError:  # a zero byte in the path
            raise FileError(f"cannot read {quoted_path(path)}: it is not the name of a file") from None
        try:
            return cls(text)
        except ReportError as error:
            if _is_json(text):
                raise ReportError(f"{quoted_path(path)}: {error}") from None
            raise ReportError(f"not a dpsel report: {quoted_path(path)} is not JSON") from None

    @property
    def task(self) -> Task:
        """What was asked for: ``"select"`` or ``"top_k"``."""
        task: Task = self._data["task"]
        return task

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """One entry per round: weighting, noise, its scale and the threshold in units of weight.

        A release curve has no noise; its threshold is the weight at which a release is as likely as not. A
        top-k has no such rounds: its rates are in ``report["calibration"]``.
        """
        return rounds_of(self._data)

    @property
    def counts(self) -> dict[str, Any] | None:
        """The noise of the column ``users`` or ``rows``, or ``None`` if there is none.

        Of a top-k, that of the column ``count`` if [`SelectAndCount`][dpsel.SelectAndCount] publishes what it
        sorts.

        ``count`` is the name of that column. ``scale`` is the standard deviation, ``half_width`` that of an
        interval that holds one number with 95 %, both in users or rows. ``max_counted_items``,
        ``max_rows_per_item`` and ``nonnegative`` are as asked for. ``paid`` says
        whether the numbers are one more round of the mechanism (``"together"``), or have a budget of their
        own (``"apart"``). [`Release.count_interval`][dpsel.Release.count_interval] has other intervals.

        Raises:
            ReportError: If parts of the report do not agree; [`check`][dpsel.check] tells more.
        """
        return numbers_of(self._data)

    @property
    def rest(self) -> dict[str, Any] | None:
        """What the list covers, or ``None`` if that was not asked for.

        ``users`` and, if they are counted, ``rows`` have the noisy numbers, the standard deviation ``scale``,
        the ``half_width`` of an interval that holds one number with 95 %, and the ``coverage``: a share with
        such an interval. ``max_rows_per_user`` and ``paid`` are as for [`counts`][dpsel.Report.counts].

        Raises:
            ReportError: If parts of the report do not agree; [`check`][dpsel.check] tells more.
        """
        return rest_of(self._data)

    @property
    def cost(self) -> Cost:
        """What the call costs: items and counts, for one kind of neighbours. A budget can be asked for it.

        Raises:
            InvalidParameterError: If the mechanism has no guarantee: no cost covers such a release.
        """
        if not self.has_guarantee:
            raise InvalidParameterError(
                "a release without a guarantee has no cost: no budget covers it; "
                "leave calibration= out for a private release"
            )
        request = self._data["request"]
        # The counts of a selection are in its own budget, those of a top-k in another one.
        counts = request["counts"] if self.task == "top_k" else {"kind": "none"}
        return Cost(
            items=of_json(request["privacy"]),
            counts=PRICES[counts["kind"]](counts),
            neighbours=request.get("neighbours", "add_remove"),
        )

    @property
    def limit(self) -> int | None:
        """The most distinct items that one user contributes, before the reach of the mechanism.

        As it was given, or as a noisy [`Quantile`][dpsel.Quantile] found it; ``None`` for a top-k without
        one.
        """
        return limit_of(self._data)

    def for_group(self, users_per_group: int, *, delta: float | None = None) -> PureDP | ApproxDP:
        """Return what the whole cost says about any group of users; see [`for_group`][dpsel.for_group].

        Args:
            users_per_group: How many users are added or removed together.
            delta: For zCDP: the delta of one user at which it is converted.
        """
        from dpsel.accounting import for_group

        return for_group(self.cost.total, users_per_group, delta=delta)

    @property
    def has_guarantee(self) -> bool:
        """Whether the release has the guarantee; the published calibration of greedy has none."""
        return has_guarantee(self._data)

    @property
    def is_insecure(self) -> bool:
        """Whether the release was made with a test key: then nothing about it is private."""
        return bool(self._data["key"]["insecure_test_key"])

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return self._text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON under another name and rename it, so that the file is complete or not there.

        Raises:
            FileError: If it cannot be written.
        """
        _core_calls.write_text(checked_output(path), self._text + "\n")

    def __getitem__(self, key: str) -> Any:
        """Return a copy of one field."""
        return copy.deepcopy(self._data[key])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return iter(self._data)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(self._data)

    def _display(self) -> Display:
        try:
            return Display(summary(self, self.cost if self.has_guarantee else None))
        except Exception:  # noqa: BLE001 - whatever a report that was changed leads to
            return Display(["parts of this report do not agree, and dpsel.check(report) tells more"])

    def __repr__(self) -> str:
        """Mechanism and guarantee."""
        return f"<dpsel.Report: {one_line(describe(self))}>"

    def __reduce__(self) -> tuple[type[Report], tuple[str]]:
        """Pickle the JSON."""
        return Report, (self._text,)
