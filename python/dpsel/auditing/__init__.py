"""A falsifier: lower bounds of the epsilon and delta that a mechanism needs, against what it claims.

[`audit`][dpsel.audit] runs what ships with dpsel, [`audit_callable`][dpsel.audit_callable] any function from
rows to items. A claim that stands is not proved by that; the proofs are in
<https://dpsel.github.io/dpsel/algorithms/>. How it works is in <https://dpsel.github.io/dpsel/guide/audit/>.

Examples:
    >>> import dpsel
    >>> report = dpsel.audit("gamma")
    >>> report.ok
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpsel.auditing._answers import items_and_numbers
from dpsel.auditing._findings import AuditReport, Finding
from dpsel.auditing._witness import Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpsel.accounting import Privacy
    from dpsel.mechanisms import SelectionMechanism, TopKMechanism
    from dpsel.series import CountSeries, Series

__all__ = ["AuditReport", "Finding", "Witness", "audit", "audit_callable", "items_and_numbers"]

#: The chance that a report calls a true claim refuted.
FALSE_ALARM = 1e-6


def audit(
    *mechanisms: SelectionMechanism | TopKMechanism | Series | CountSeries | str,
    privacy: Privacy | None = None,
    max_items_per_user: int | None = None,
    levels: int | None = None,
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
            With a pure claim everything means everything that can be pure. A
            [`Series`][dpsel.Series] or [`CountSeries`][dpsel.CountSeries] stands for a new one with its
            parameters; nothing of it is released. The names are ``"series"`` and ``"count-series"``.
        privacy: The claim to test; by default a usual one for computed laws, and one of a larger delta,
            which samples can see, for the others.
        max_items_per_user: The limit; by default one that fits. ``OneItem`` always has the limit 1.
        levels: Audit releases of trees of so many levels, 2 to 32, which ``steered`` releases by [lines of
            descent](https://dpsel.github.io/dpsel/algorithms/descent/). Events are sets of nodes.
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
        levels=levels,
        effort=effort,
        false_alarm=false_alarm,
        progress=progress,
    )


def audit_callable(
    function: Callable[[list[Any]], Any],
    *,
    privacy: Privacy,
    max_items_per_user: int,
    seconds: float = 60.0,
    calls: int | None = None,
    neighbours: Literal["add_remove", "swap"] = "add_remove",
    items: str | Iterable[str] | None = None,
    domain: int | None = None,
    padding: int = 0,
    copies: int = 1,
    false_alarm: float = FALSE_ALARM,
    name: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> AuditReport:
    """Try to refute the guarantee of any function that selects items, of any library.

    The audit finds the number of users at which items come out, makes neighbouring tables around it, searches
    for an event that is too likely on one side, and tests it on fresh samples. It stops as soon as the claim
    is refuted; the bounds hold whenever it stops. Samples cannot see a small delta: claim a large one, such
    as 0.02. Thresholds, scales and limits are mostly wrong at every delta or at none.

    Args:
        function: Takes rows, a list of pairs (user, item), and returns the released items: a set, a list,
            pairs (item, number), a dictionary, a column or a table. The order of a list counts, except that
            in which items first occur in the rows. Every call has to draw fresh noise.
        privacy: What the function claims.
        max_items_per_user: The limit that the function enforces; users of the tables have more at times.
        seconds: How long to try at most.
        calls: How many calls to make at most, instead of seconds. Then an audit of a function with seeded
            noise can be repeated exactly, if ``copies`` fits and no time is measured.
        neighbours: Whether one table has one user more (``"add_remove"``), or one user has other rows
            (``"swap"``).
        items: What items are: ``"int"``, ``"str"``, ``"numpy"`` (``numpy.int64``), or several. By default
            whole numbers, and besides those that the function takes of the others; NumPy's only if it is
            imported.
        domain: If the items are public, their number: the tables have items below it only.
        padding: So many users more in every table share one more item, so that no table is empty.
        copies: Number of disjoint copies of the tables in one call, each of which is a sample. More than 1
            is right only for functions that decide about an item by the users connected with it. Then many
            samples are cheap. Noise that items share is seen within a copy, but then the copies are not
            independent, and ``false_alarm`` does not hold.
        false_alarm: The chance that a true claim is called refuted.
        name: What to call the function in the report, such as ``"library.module:function"``.
        progress: Called with a line of text about once in a second.

    Returns:
        One finding. If the claim is refuted, ``witness`` has the tables, the event, the counts and a program
        that replays them. If it stands, ``seen`` says what would have been seen.

    Raises:
        InvalidParameterError: If a parameter is out of range, or if the function raises or returns something
            that is no answer; the text names the function and the table.

    Examples:
        >>> import dpsel
        >>> def everything(rows):
        ...     return {item for _, item in rows}
        >>> claim = dpsel.ApproxDP(epsilon=1.0, delta=0.02)
        >>> dpsel.audit_callable(everything, privacy=claim, max_items_per_user=3).ok
        False
    """
    from dpsel.auditing._callables import run_callable

    return run_callable(
        function,
        privacy=privacy,
        max_items_per_user=max_items_per_user,
        seconds=seconds,
        calls=calls,
        copies=copies,
        neighbours=neighbours,
        items=items,
        domain=domain,
        padding=padding,
        false_alarm=false_alarm,
        name=name,
        progress=progress,
    )
