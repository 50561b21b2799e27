"""``check``: whether the numbers of a report follow from its request."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Protocol

from dpsel import _core_calls
from dpsel._arguments import type_name
from dpsel._request import _auto, _auto_top_k
from dpsel._tables import Display, Displayed
from dpsel.exceptions import InvalidParameterError
from dpsel.release._report import Report
from dpsel.release._wording import quantity

__all__ = ["CheckResult", "check"]

#: How the differences begin that are about the whole report, in the core.
_OF_ALL: Final = ("the fingerprint", "made with insecure_test_key", "the commitment")

#: So many others are told by name.
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult(Displayed):
    """The result of a check: whether a report holds, and the reason if it does not.

    The reason has a line for each difference: what is about the whole report, then the first three others.
    ``differences`` has all of them.

    Examples:
        >>> from dpsel.release import CheckResult
        >>> print(CheckResult(ok=True, reason="everything in it follows from its request"))
        ok: everything in it follows from its request
    """

    ok: bool
    reason: str
    differences: tuple[str, ...] = ()

    def _display(self) -> Display:
        first, *others = self.reason.split("\n")
        return Display([f"{'ok' if self.ok else 'FAILED'}: {first}", *(f"  {line}" for line in others)])

    def __repr__(self) -> str:
        """One line: whether it holds, and how much differs."""
        told = "ok" if self.ok else f"FAILED, {quantity(len(self.differences), 'difference')}"
        return f"<dpsel.CheckResult: {told}>"


class Reported(Protocol):
    """A release of any kind."""

    @property
    def report(self) -> Report:
        """What was enforced."""
        ...


def check(report: Report | Reported | str | os.PathLike[str]) -> CheckResult:
    """Derive a report again from its request: every number, the theorem, the cost, the reason.

    A fingerprint covers all fields. Some cannot be derived: the names of columns, the commitment to the key,
    and whether it was a test key. A report is not signed: a report that was forged as a whole, with its
    fingerprint, passes. The check does not know whether a report belongs to a file of items.

    Args:
        report: A report, a release with its report, or the path of a file with one.

    Returns:
        Whether the report is the one that its request leads to.

    Raises:
        ReportError: If it is not a report.
        FileError: If the file cannot be read.
        InvalidParameterError: If it is none of these.

    Examples:
        >>> import dpsel
        >>> release = dpsel.select_partitions(
        ...     [("ada", "tea")], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=2
        ... )
        >>> print(dpsel.check(release.report))
        ok: everything in it follows from its request
    """
    loaded = _report_of(report)
    differences = _core_calls.check_report(loaded.to_json())
    if not differences and not _reason_holds(loaded):
        differences = ["the mechanism is not chosen for the reason that is given"]
    if differences:
        return _failed(differences)
    return CheckResult(ok=True, reason="everything in it follows from its request")


def _failed(differences: list[str]) -> CheckResult:
    """Return what differs: many numbers of rounds follow from a changed one, so all else comes first."""
    of_all = [each for start in _OF_ALL for each in differences if each.startswith(start)]
    others = sorted(
        (each for each in differences if not each.startswith(_OF_ALL)),
        key=lambda each: each.startswith("round "),
    )
    lines = of_all + others[:_SHOWN]
    if rest := len(others[_SHOWN:]):
        lines.append(f"and {rest:,} more")
    return CheckResult(ok=False, reason="\n".join(lines), differences=(*of_all, *others))


def _report_of(given: Report | Reported | str | os.PathLike[str]) -> Report:
    """Return the report itself, of a release, or in a file."""
    if isinstance(given, Report):
        return given
    if isinstance(given, str | os.PathLike):
        return Report.load(given)
    if isinstance(found := getattr(given, "report", None), Report):
        return found
    raise InvalidParameterError(
        f"report must be a report, a release or the path of a report, got {type_name(given)}; "
        "pass release.report"
    )


def _reason_holds(report: Report) -> bool:
    """Whether ``"auto"`` chooses this mechanism for this reason; reports without a reason claim nothing."""
    if "chosen" not in report:
        return True
    request = report["request"]
    again = _auto_top_k.reasons(request) if report.task == "top_k" else _auto.reasons(request)
    return (request["mechanism"], report["chosen"]) in again
