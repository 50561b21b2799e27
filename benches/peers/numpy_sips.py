"""DP-SIPS in numpy: items and users as codes, rows as one sorted array, `bincount` for the weights."""

from __future__ import annotations

from benches.parameters import MAX_ITEMS_PER_USER
from benches.peers import _harness
from benches.peers._rounds import sips_rounds


def prepare(args):
    import numpy  # noqa: F401
    import pyarrow as pa
    import pyarrow.parquet  # noqa: F401

    pa.set_cpu_count(args.threads)


def job(path: str, _prepared: None) -> int:
    import numpy as np

    user, item, keys = read(path)
    generator = np.random.default_rng()
    released = np.zeros(len(keys), dtype=bool)
    for sigma, threshold in sips_rounds():
        bounded_user, bounded_item = bound(user, item)
        degree = np.bincount(bounded_user)
        weights = np.bincount(bounded_item, 1 / np.sqrt(degree[bounded_user]), minlength=len(keys))
        noisy = weights + generator.normal(0, sigma, len(keys))
        released |= (weights > 0) & (noisy >= threshold)
        live = ~released[item]
        user, item = user[live], item[live]
    return len(keys.filter(released))


def read(path: str) -> tuple:
    """Distinct rows as codes, sorted by user and within a user by random priority, and the keys of the items."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["user", "item"]).combine_chunks()
    item, keys = _codes(table["item"])
    user, _ = _codes(table["user"])
    del table
    rows = (user << 32) | item
    if not np.all(rows[1:] > rows[:-1]):
        rows.sort()
        rows = rows[np.concatenate(([True], rows[1:] != rows[:-1]))]
    return rows >> 32, rows & 0xFFFF_FFFF, keys


def _codes(column) -> tuple:
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if hasattr(encoded, "chunks") else encoded
    return encoded.indices.to_numpy().astype("int64"), encoded.dictionary


def bound(user, item) -> tuple:
    """The rows of light users, and of each heavy user the rows with the smallest hashes."""
    import numpy as np

    degree = np.bincount(user)
    heavy = degree[user] > MAX_ITEMS_PER_USER
    if not heavy.any():
        return user, item
    owner, theirs = user[heavy], item[heavy]
    order = np.lexsort((_hash(owner, theirs), owner))
    first = np.cumsum(degree * (degree > MAX_ITEMS_PER_USER)) - degree
    kept = order[np.arange(owner.size) - first[owner[order]] < MAX_ITEMS_PER_USER]
    light = ~heavy
    return np.concatenate((user[light], owner[kept])), np.concatenate((item[light], theirs[kept]))


def _hash(user, item):
    """The finaliser of SplitMix64: the same priority in every round."""
    import numpy as np

    word = (user.astype(np.uint64) << np.uint64(32)) ^ item.astype(np.uint64)
    word += np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


if __name__ == "__main__":
    _harness.run(job, prepare)
