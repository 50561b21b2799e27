"""The Joint sampler of its paper in plain numpy, written from the formulas: for timing and comparison only.

All d k differences c_(i) - c_j, made distinct by a term below 1 that orders ties, are sorted. Going through
them, the number of sequences whose largest difference is that cell is kept as a sum of k logarithms. A cell
is drawn by an exponential race, then the other places uniformly among what they allow.
"""

from __future__ import annotations

import math

import numpy as np


def joint(counts: np.ndarray, k: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Positions of the k items, in order."""
    order = np.argsort(-counts, kind="stable")
    ranked = counts[order].astype(np.float64)
    d = len(ranked)
    row, column = np.arange(1, k + 1)[:, None], np.arange(1, d + 1)[None, :]
    cells = ranked[:k, None] - ranked[None, :] + ((k - row) * d + column) / (2 * d * k)
    flat = np.argsort(cells, axis=None, kind="stable")
    rows, columns = np.divmod(flat, d)
    log_numbers = _log_numbers(rows, k)
    weights = log_numbers - epsilon / 2 * np.floor(cells.ravel()[flat])
    race = np.log(rng.exponential(size=len(weights))) - weights
    drawn = int(np.argmin(race))
    seen = np.bincount(rows[: drawn + 1], minlength=k)
    picked = _sequence(seen, int(rows[drawn]), int(columns[drawn]), rng)
    return order[picked]


def _log_numbers(rows: np.ndarray, k: int) -> np.ndarray:
    """Per cell, ascending: log of the product over the other rows of (cells seen there - rows before it)."""
    # Lists and math.log: one at a time they are far quicker than arrays.
    factors, seen = [0.0] * k, [0] * k
    logs = np.full(len(rows), -np.inf)
    empty, total = k, 0.0
    log = math.log
    for at, row in enumerate(rows.tolist()):
        before = factors[row]
        seen[row] += 1
        number = seen[row] - row
        if number == 1:
            empty -= 1
        if number >= 1:
            factors[row] = log(number)
            total += factors[row] - before
        if empty == 0:
            # This row is fixed at this cell; those below it have one choice less already, those above it not.
            logs[at] = total - factors[row]
    return logs


def _sequence(seen: np.ndarray, row: int, column: int, rng: np.random.Generator) -> np.ndarray:
    picked = np.full(len(seen), -1)
    picked[row] = column
    taken = {column}
    for place, allowed in enumerate(seen):
        if place == row:
            continue
        while True:
            candidate = int(rng.integers(allowed))
            if candidate not in taken:
                break
        picked[place] = candidate
        taken.add(candidate)
    return picked
