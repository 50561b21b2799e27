"""A falsifier: lower bounds of the epsilon and delta that a mechanism needs, against what it claims.

[`audit`][dpsel.audit] runs what ships with dpsel, [`audit_callable`][dpsel.audit_callable] any function from
rows to items. A claim that stands is not proved by that; the proofs are in ``docs/algorithms/``. How it works
is in ``docs/guide/audit.md``.

Examples:
    >>> import dpsel
    >>> report = dpsel.audit("gamma")
    >>> report.ok
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpsel.auditing._findings import AuditReport, Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpsel.accounting import Privacy
    from dpsel.mechanisms import SelectionMechanism, TopKMechanism

__all__ = ["AuditReport", "Finding", "audit", "audit_callable"]

#: The chance that a report calls a true claim refuted.
FALSE_ALARM = 1e-6


def audit(
    *mechanisms: SelectionMechanism | TopKMechanism | str,
    privacy: Privacy | None = None,
    max_items_per_user: int | None = None,
    effort: Literal["quick", "thorough"] = "quick",
    false_alarm: float = FALSE_ALARM,
    progress: Callable[[str], None] | None = None,
) -> AuditReport:
    """Try to refute the guarantee of mechanisms that ship with dpsel.

    Laws that can be computed are computed, from the thresholds, curves and rates that releases use. All
    mechanisms are sampled on the worst tables of a family and of a search; where scores are published,
    attacks look at them, too. No data of yours is involved.

    Args:
        *mechanisms: Mechanisms or their names, such as ``"sips"``; by default everything, and as a control
            the published calibration of [`GreedyFrequency`][dpsel.GreedyFrequency], which has to be refuted.
            With a pure claim everything means everything that can be pure.
        privacy: The claim to test; by default a usual one for computed laws, and one of a larger delta,
            which samples can see, for the others.
        max_items_per_user: The limit; by default one that fits. ``OneItem`` always has the limit 1.
        effort: ``"quick"`` takes a second or two for each mechanism, ``"thorough"`` some minutes.
        false_alarm: The chance that this report calls a true claim refuted.
        progress: Called with the name of each mechanism before it is audited.

    Returns:
        The findings; ``ok`` says whether all claims stand.

    Raises:
        InvalidParameterError: If a name is not known or a parameter is out of range.

    Examples:
        >>> import dpsel
        >>> report = dpsel.audit("joint", dpsel.JointSet(), privacy=dpsel.PureDP(epsilon=1.0))
        >>> [finding.method for finding in report.findings]
        ['exact', 'sampled', 'exact', 'sampled']
        >>> report.ok
        True
    """
    from dpsel.auditing._run import run

    return run(
        mechanisms,
        privacy=privacy,
        max_items_per_user=max_items_per_user,
        effort=effort,
        false_alarm=false_alarm,
        progress=progress,
    )


def audit_callable(
    function: Callable[[list[tuple[int, int]]], Iterable[Any]],
    *,
    privacy: Privacy,
    max_items_per_user: int,
    effort: Literal["quick", "thorough"] = "quick",
    copies: int = 1,
    false_alarm: float = FALSE_ALARM,
    name: str | None = None,
) -> AuditReport:
    """Try to refute the guarantee of any function that selects items, of any library.

    The function is called some two hundred thousand times with small tables. So few samples cannot see a
    small delta: claim a large one, such as 0.02. Thresholds, scales and bounding are mostly wrong at every
    delta or at none.

    Args:
        function: Takes rows, a list of pairs (user, item) of whole numbers, and returns the released items.
        privacy: What the function claims, [`ApproxDP`][dpsel.ApproxDP] or [`PureDP`][dpsel.PureDP].
        max_items_per_user: The limit that the function enforces; users of the tables have more at times.
        effort: ``"quick"`` or ``"thorough"``, ten times as many calls.
        copies: Number of disjoint copies of the tables in one call, each of which is a sample. More
            than 1 is right only for functions that decide about an item by the users connected with it.
        false_alarm: The chance that a true claim is called refuted.
        name: What to call the function in the report.

    Returns:
        One finding.

    Raises:
        InvalidParameterError: If a parameter is out of range, or the function raises.

    Examples:
        >>> import dpsel
        >>> def everything(rows):
        ...     return {item for _, item in rows}
        >>> claim = dpsel.ApproxDP(epsilon=1.0, delta=0.02)
        >>> dpsel.audit_callable(everything, privacy=claim, max_items_per_user=3).ok
        False
    """
    from dpsel.auditing._run import run_callable

    return run_callable(
        function,
        privacy=privacy,
        max_items_per_user=max_items_per_user,
        effort=effort,
        copies=copies,
        false_alarm=false_alarm,
        name=name,
    )
