"""The findings of an audit, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from dpsel import _core_calls
from dpsel._arguments import as_number
from dpsel._tables import Display, Displayed, text_table
from dpsel.auditing._witness import Witness  # noqa: TC001 - part of the annotations of a dataclass
from dpsel.exceptions import InvalidParameterError
from dpsel.outputs import checked_output
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    import os

__all__ = ["AuditReport", "Finding", "checked_chance"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Lower bounds of the epsilon and delta that one mechanism needs, and its claim.

    Args:
        subject: The mechanism or function.
        method: ``"exact"`` for a law that was computed, ``"sampled"`` for bounds that hold with the
            confidence of the report.
        tables: The neighbouring tables on which it is worst.
        claimed_epsilon: The claim.
        claimed_delta: The claim; 0 for pure differential privacy.
        epsilon: A lower bound of the epsilon that the claimed delta needs.
        delta: A lower bound of the delta that the claimed epsilon needs.
        refuted: Whether the bounds exceed the claim.
        samples: Outcomes that the bounds rest on, of the table that has fewer; 0 if exact.
        control: Whether it is known to be wrong, and there to show that the audit sees it.
        measure: ``"rho"`` if the claim is zCDP: then ``claimed_epsilon`` and ``epsilon`` are its rho.
        neighbours: ``"add_remove"`` or ``"swap"``: how neighbouring tables differ.
        event: The event that was tested on ``tables``, in words; empty where the law was computed.
        witness: What refutes the claim of a function, with a program that replays it.
        tried: The tables that were tried for a function, in words.
        seen: If the claim of a function stands, what size of fault would have been seen.
        note: What is proved about the tables beside the claim, such as a smaller epsilon.

    Examples:
        >>> import dpsel
        >>> (finding, *_) = dpsel.audit(dpsel.Gamma(), effort="quick").findings
        >>> finding.refuted
        False
    """

    subject: str
    method: Literal["exact", "sampled"]
    tables: str
    claimed_epsilon: float
    claimed_delta: float
    epsilon: float
    delta: float
    refuted: bool
    samples: int = 0
    control: bool = False
    measure: Literal["epsilon", "rho"] = "epsilon"
    neighbours: Literal["add_remove", "swap"] = "add_remove"
    event: str = ""
    witness: Witness | None = None
    tried: tuple[str, ...] = ()
    seen: str = ""
    note: str = ""

    @property
    def as_expected(self) -> bool:
        """Whether the claim stands; of a control, whether it falls."""
        return self.refuted == self.control

    @property
    def verdict(self) -> str:
        """One or a few words."""
        if self.control:
            return "refuted, as it should be" if self.refuted else "NOT REFUTED, which it should be"
        return "REFUTED" if self.refuted else "stands"


@dataclass(frozen=True, slots=True, repr=False)
class AuditReport(Displayed):
    """All findings of an audit; prints as a table.

    Args:
        findings: One or more for each mechanism: a law that was computed, and samples.
        false_alarm: An upper bound of the chance that a sampled bound of this report is too large.

    Examples:
        >>> import dpsel
        >>> report = dpsel.audit("joint-set")
        >>> report.ok
        True
    """

    findings: tuple[Finding, ...]
    false_alarm: float

    @property
    def ok(self) -> bool:
        """Whether every claim stands, and everything known to be wrong was refuted."""
        return all(finding.as_expected for finding in self.findings)

    def to_json(self) -> str:
        """Return the report as JSON text."""
        found = [asdict(finding) | {"verdict": finding.verdict} for finding in self.findings]
        return json.dumps({"ok": self.ok, "false_alarm": self.false_alarm, "findings": found}, indent=2)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as JSON.

        Raises:
            FileError: If the file cannot be written.
        """
        _core_calls.write_text(checked_output(path), self.to_json() + "\n")

    def __str__(self) -> str:
        """Return a table for a person, and what is behind it."""
        return "\n\n".join([text_table(*self._table()), self._summary(), *self._details()])

    def __repr__(self) -> str:
        """Return one line."""
        return f"<dpsel.AuditReport: {quantity(len(self.findings), 'finding')}, {self._summary()}>"

    def _display(self) -> Display:
        head, body = self._table()
        return Display(head=head, rows=body, below=[self._summary()])

    def _details(self) -> list[str]:
        """Return the witness of each refuted function, what was looked at where a claim stands, and notes."""
        notes = [f"{each.subject}: {each.note}" for each in self.findings if each.note]
        return notes + [
            f"{each.subject}: {each.verdict}\n{each.witness or each.seen}"
            for each in self.findings
            if each.witness or each.seen
        ]

    def _summary(self) -> str:
        wrong = [finding for finding in self.findings if not finding.as_expected]
        verdict = (
            "every claim stands" if not wrong else f"{len(wrong)} of {len(self.findings)} not as claimed"
        )
        return (
            f"{verdict}; the chance that any lower bound from samples is too large "
            f"is {self.false_alarm:g} at most"
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["mechanism", "law", "epsilon", "at least", "delta", "at least", "verdict", "worst case"]
        return head, [_row(finding) for finding in self.findings]


def _row(finding: Finding) -> list[str]:
    law = "exact" if finding.method == "exact" else quantity(finding.samples, "sample")
    numbers: list[Any] = [finding.claimed_epsilon, finding.epsilon, finding.claimed_delta, finding.delta]
    shown = [f"{number:.4g}" for number in numbers]
    if finding.measure == "rho":
        shown[:2] = [f"rho {number}" for number in shown[:2]]
    swapped = " (a user is replaced)" if finding.neighbours == "swap" and finding.method == "exact" else ""
    return [finding.subject, law, *shown, finding.verdict, finding.tables + swapped]


def checked_chance(false_alarm: float) -> float:
    """Return the chance of a false alarm, or refuse it."""
    chance = as_number("false_alarm", false_alarm)
    if not 0 < chance < 0.1:  # noqa: PLR2004 - the bounds are those of a small chance
        raise InvalidParameterError(f"false_alarm must be above 0 and below 0.1, got {chance}")
    return chance
