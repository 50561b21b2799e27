"""Which broken selections does the audit of functions refute, and how soon? Does it let sound ones stand?

    python -m benches.audit_power                        # every broken selection once, 60 s at most
    python -m benches.audit_power --runs 3 --seconds 20
    python -m benches.audit_power --sound 20 --seconds 3 # 20 audits of each sound one
    python -m benches.audit_power --only noise
    python -m benches.audit_power --others --seconds 5   # a plain falsifier with fixed tables instead

The selections stand in `audit_selections.py`, `audit_more_selections.py`, `audit_heldout.py` and
`audit_heldout_users.py`, with what they claim and what they need at least. A *factor* is the larger one of
e^epsilon and delta that are needed, over what is claimed.
Time is processor time of this one process, so that other programs do not count.
"""

from __future__ import annotations

import argparse
import statistics
import time
from types import SimpleNamespace

import dpsel
from benches import (
    audit_baseline,
    audit_heldout_users,  # noqa: F401 - they are in the lists then
    audit_more_selections,  # noqa: F401 - they are in the lists then
    tables,
)
from benches import audit_selections as selections
from dpsel.auditing import _calls

#: The factor from which on everything has to be refuted.
BAR = 1.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="at most so long for each audit")
    parser.add_argument("--runs", type=int, default=1, help="audits of each broken selection")
    parser.add_argument("--sound", type=int, default=0, metavar="N", help="audits of each sound one instead")
    parser.add_argument("--only", default="", help="selections with this in their names")
    parser.add_argument("--seed", type=int, default=1, help="of the noise of the selections")
    parser.add_argument("--others", action="store_true", help="the plain falsifier of audit_baseline.py")
    chosen = parser.parse_args()
    _calls.time = SimpleNamespace(monotonic=time.process_time)
    subjects = selections.SOUND if chosen.sound else selections.BROKEN
    if chosen.others:
        _others([each for each in subjects if chosen.only in each.name], chosen.seconds, chosen.seed)
        return
    rows = [
        _audited(subject, chosen.sound or chosen.runs, chosen.seconds, chosen.seed)
        for subject in subjects
        if chosen.only in subject.name
    ]
    head = ["selection", "items", "factor", "refuted", "seconds", "worst case", "event"]
    print(tables.markdown(head, rows))


def _others(subjects: list[selections.Selection], seconds: float, seed: int) -> None:
    """Print what the plain falsifier refutes; it knows no swaps, and takes public lists as they are."""
    rows = []
    for subject in subjects:
        selections.seed(seed)
        falls = audit_baseline.refutes(subject.function, subject.privacy, subject.bound, seconds)
        factor = f"{subject.excess:.3g}" if subject.excess else "sound"
        rows.append([subject.name, str(subject.bound), factor, "refuted" if falls else "stands"])
        print(": ".join(rows[-1]), flush=True)
    print(tables.markdown(["selection", "items", "factor", "verdict"], rows))
    print(f"{sum(row[-1] == 'refuted' for row in rows)} of {len(rows)} refuted")


def _audited(subject: selections.Selection, runs: int, seconds: float, first_seed: int) -> list[str]:
    took, refuted, finding = [], 0, None
    for run in range(runs):
        selections.seed(first_seed + run)
        started = time.process_time()
        report = dpsel.audit_callable(
            subject.function,
            privacy=subject.privacy,
            max_items_per_user=subject.bound,
            seconds=seconds,
            items=("int", "str", "numpy"),
            **dict(subject.options),
        )
        took.append(time.process_time() - started)
        refuted += not report.ok
        (finding,) = report.findings
        print(f"{subject.name}: {finding.verdict} after {took[-1]:.1f} s", flush=True)
    factor = f"{subject.excess:.3g}" if subject.excess else "sound"
    worst = finding.tables if finding else ""
    return [
        subject.name,
        str(subject.bound),
        factor,
        f"{refuted} of {runs}",
        f"{statistics.median(took):.1f}",
        worst,
        finding.event[:60] if finding else "",
    ]


if __name__ == "__main__":
    main()
