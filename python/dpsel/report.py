"""The report of a release: what was enforced, and nothing of the data."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from dpsel import _core, top_k_mechanisms
from dpsel._arguments import type_name
from dpsel.cost import Cost, of_json
from dpsel.exceptions import FileError, InvalidParameterError, MissingFileError, ReportError
from dpsel.mechanisms import _auto
from dpsel.mechanisms._every import CLASSES
from dpsel.mechanisms._shared import is_usual

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.accounting import Privacy

__all__ = ["CheckResult", "Report", "check"]

#: Weights and thresholds are integers in the core; this many units are one unit of weight.
UNIT: Final = 1 << 30


#: What each kind of published counts costs on top of the items.
PRICES: Final[dict[str, Callable[[dict[str, Any]], Privacy | None]]] = {
    "none": lambda _: None,
    "free": lambda _: None,
    "laplace": lambda counts: of_json({"kind": "pure_dp", "epsilon": counts["epsilon"]}),
    "noise": lambda counts: of_json(counts["privacy"]),
}


class Report(Mapping[str, Any]):
    """What was asked for and what was enforced: parameters, noise scales, thresholds, guarantee.

    A read-only mapping in the shape of its JSON. It holds no count of users, rows or items, so it can be
    published with the release, and :func:`check` can derive its numbers again.

    Args:
        text: JSON, as :meth:`to_json` gives it.

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

    __slots__ = ("_data", "_text")

    def __init__(self, text: str) -> None:
        """Parse the JSON."""
        # The core reads it first: what it lets through has the fields that are used here, of their types.
        try:
            _core.read_report(text)
            data = json.loads(text)
        except UnicodeEncodeError:
            raise ReportError("not a dpsel report: it is no Unicode text") from None
        self._text = text
        self._data: dict[str, Any] = data

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """Read a report from a file.

        Raises:
            FileError: If the file cannot be read.
            ReportError: If it is not a report.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise MissingFileError(f"cannot read {os.fspath(path)}: {error.strerror}") from None
        except OSError as error:
            raise FileError(f"cannot read {os.fspath(path)}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ReportError(f"not a dpsel report: {os.fspath(path)} is not UTF-8 text") from None
        except ValueError:  # a zero byte in the path
            raise FileError(f"cannot read {os.fspath(path)!r}: it is not the name of a file") from None
        return cls(text)

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """One entry per round: weighting, noise, its scale and the threshold in units of weight.

        A release curve has no noise; its threshold is the weight at which a release is as likely as not. A
        top-k has no such rounds: its rates are in ``report["calibration"]``.
        """
        if "k" in self._data["request"]:
            return []
        return [readable(each) for each in self._data["calibration"]["rounds"]]

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
        counts = request.get("counts", {"kind": "none"})
        return Cost(
            items=of_json(request["privacy"]),
            counts=PRICES[counts["kind"]](counts),
            neighbours=request.get("neighbours", "add_remove"),
        )

    @property
    def has_guarantee(self) -> bool:
        """Whether the mechanism guarantees what was asked for; the published one of greedy does not."""
        return bool(self._data["request"]["mechanism"].get("calibration", "curve") == "curve")

    @property
    def is_insecure(self) -> bool:
        """Whether the release was made with a test key: then nothing about it is private."""
        return bool(self._data["key"]["insecure_test_key"])

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return self._text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON to a file, aside and renamed, so it is complete or not there.

        Raises:
            FileError: If it cannot be written.
        """
        _core.write_text(os.fspath(path), self._text + "\n")

    def __getitem__(self, key: str) -> Any:
        """Return a copy of one field."""
        return copy.deepcopy(self._data[key])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return iter(self._data)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(self._data)

    def __str__(self) -> str:
        """Return the JSON text."""
        return self._text

    def __repr__(self) -> str:
        """Mechanism and guarantee."""
        return f"<dpsel.Report: {describe_mechanism(self)}, {describe_guarantee(self)}>"

    def __reduce__(self) -> tuple[type[Report], tuple[str]]:
        """Pickle the JSON."""
        return Report, (self._text,)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Whether a report holds, and why not.

    Examples:
        >>> from dpsel.report import CheckResult
        >>> print(CheckResult(ok=True, reason="everything in it follows from its request"))
        ok: everything in it follows from its request
    """

    ok: bool
    reason: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{'ok' if self.ok else 'FAILED'}: {self.reason}"


class Reported(Protocol):
    """A release of any kind."""

    @property
    def report(self) -> Report:
        """What was enforced."""
        ...


def check(report: Report | Reported | str | os.PathLike[str]) -> CheckResult:
    """Derive a report again, from the request in it alone: every number, the theorem, the cost, the reason.

    A fingerprint covers all fields, also those that follow from nothing: names of columns, the commitment to
    the key and whether a test gave it. A report is not signed, so nobody can find a report that was written
    anew as a whole, fingerprint included. Nor can it be known whether a report belongs to some file of items.

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
    differences = _core.check_report(loaded.to_json())
    if not differences and not _reason_holds(loaded):
        differences = ["the mechanism is not chosen for the reason that is given"]
    if differences:
        return CheckResult(ok=False, reason="; ".join(differences))
    return CheckResult(ok=True, reason="everything in it follows from its request")


def _report_of(given: Report | Reported | str | os.PathLike[str]) -> Report:
    """Return a report, that of a release, or that in a file."""
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
    again = top_k_mechanisms.reasons(request) if "k" in request else _auto.reasons(request)
    return (request["mechanism"], report["chosen"]) in again


def readable(stage: dict[str, Any]) -> dict[str, Any]:
    """Return a round of a calibration in units of weight.

    A scored round before the last has no threshold; the last one has the scale of the noise in a score.
    """
    if "curve" in stage:
        # Without noise there is no scale, and in place of a threshold stands the weight of even odds.
        return {
            "weighting": stage["weighting"],
            "noise": "none",
            "scale": None,
            "threshold": stage["half"] / UNIT,
        }
    publish = stage.get("publish") or {}
    noise = publish.get("score_noise", stage["noise"])
    threshold = publish.get("threshold", stage.get("threshold"))
    return {
        "weighting": stage["weighting"],
        "noise": noise["kind"],
        "scale": noise["sigma"] if noise["kind"] == "gaussian" else noise["scale"],
        "threshold": None if threshold is None else threshold / UNIT,
    }


def describe_mechanism(report: Mapping[str, Any]) -> str:
    """Return the mechanism as its class would be written."""
    fields = dict(report["request"]["mechanism"])
    name = _class_name(fields.pop("name"))
    if (order := fields.pop("order", None)) == "prior":
        fields["prior"] = order
    shown = [f"{key}={_short(key, value)}" for key, value in fields.items() if not is_usual(key, value)]
    return f"{name}({', '.join(shown)})"


def _class_name(name: str) -> str:
    known = {cls.name: cls.__name__ for cls in CLASSES}
    return known.get(name) or "".join(part.capitalize() for part in name.split("_"))


def _short(key: str, value: object) -> str:
    if key == "prior":
        return "..."
    return f"{value:.6g}" if isinstance(value, int | float) else repr(value)


def describe_guarantee(report: Report) -> str:
    """Return the guarantee in the usual notation, or that there is none."""
    asked = notation(report["request"]["privacy"])
    return asked if report.has_guarantee else f"NOT PRIVATE: no guarantee (asked for {asked})"


def notation(privacy: Mapping[str, Any]) -> str:
    """Return a guarantee, as it stands in reports, in the usual notation."""
    fields = dict(privacy)
    kind = {"pure_dp": "DP", "approx_dp": "DP", "zcdp": "zCDP"}[fields.pop("kind")]
    return f"({', '.join(f'{key} = {value:.6g}' for key, value in fields.items())})-{kind}"
