"""How many calls does any audit need to see that the classical Gaussian noise is too small at epsilon 8?

    python -m benches.audit_least

A test that calls a true claim refuted with probability ``ALPHA`` at most, and refutes a false one with
probability ``POWER``, needs on average at least kl(POWER, ALPHA) / D samples (Wald 1945, "Sequential tests of
statistical hypotheses"). D is the relative entropy, for one sample, of what is true against some pair of laws
for which the claim holds. Every such pair gives a bound. Here the smaller of the two densities is
raised where they are further apart than e^epsilon, on both sides, until the claim just holds.

The table is one item of one user more or less, and the noisy number is published. No tester can do with
fewer calls, even if it knew this table and both laws, and looked for nothing else.
"""

from __future__ import annotations

import math
import timeit

import numpy as np

from benches import audit_heldout

ALPHA, POWER = 1e-6, 0.9
_WIDTHS, _POINTS = 7, 400_001


def main() -> None:
    calls = least_calls(audit_heldout.CLASSICAL.epsilon, audit_heldout.CLASSICAL.delta)
    rows = [(user, 0) for user in range(3)]
    select = audit_heldout.classical_gaussian_noise_at_a_large_epsilon
    cost = min(timeit.repeat(lambda: select(rows.copy()), number=20_000, repeat=3)) / 20_000
    print(f"at least {calls / 1e6:.1f} million calls; at {cost * 1e6:.1f} microseconds: {calls * cost:.0f} s")


def least_calls(epsilon: float, delta: float) -> float:
    """Return the bound for Gaussian noise of the deviation sqrt(2 ln(1.25 / delta)) / epsilon."""
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    points = np.linspace(-_WIDTHS * sigma, 1 + _WIDTHS * sigma, _POINTS)
    without, added = (_normal((points - mean) / sigma) for mean in (0.0, 1.0))
    above, below = added - math.exp(epsilon) * without, without - math.exp(epsilon) * added
    part = 1 - delta / float(np.maximum(above, 0).sum())
    allowed = [
        (law, law + part * np.maximum(excess, 0) / math.exp(epsilon))
        for law, excess in ((without, above), (added, below))
    ]
    entropy = max(float((law * np.log(law * raised.sum() / raised)).sum()) for law, raised in allowed)
    needed = POWER * math.log(POWER / ALPHA) + (1 - POWER) * math.log((1 - POWER) / (1 - ALPHA))
    return needed / entropy


def _normal(points: np.ndarray) -> np.ndarray:
    density = np.exp(-np.square(points) / 2)
    return density / density.sum()


if __name__ == "__main__":
    main()
