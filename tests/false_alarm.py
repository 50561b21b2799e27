"""The false-alarm rate of the statistical suite, named once. A failure is looked into, never retried."""

from __future__ import annotations

#: One run of the whole statistical suite fails by chance with at most this probability.
FALSE_ALARM = 1e-9
#: More p-values than the suite computes (Bonferroni).
COMPARISONS = 1000
#: A p-value below this is a failure.
ALPHA = FALSE_ALARM / COMPARISONS
