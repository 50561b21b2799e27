"""DP-SIPS in numpy: items and users as codes, rows as one sorted array, `bincount` for the weights."""

from __future__ import annotations

from benches.parameters import MAX_ITEMS_PER_USER
from benches.peers import _harness
from benches.peers._rounds import sips_rounds


def prepare(args):
    import numpy as np  # noqa: F401
    import pyarrow as pa
    import pyarrow.parquet

    pa.set_cpu_count(args.threads)


def job(path: str, _prepared: None) -> int:
    import numpy as np

    user, item, keys = read(path)
    generator = np.random.default_rng()
    released = np.zeros(len(keys), dtype=bool)
    for sigma, threshold in sips_rounds():
        noisy = weigh(user, item, len(keys))
        held = noisy > 0
        noisy += generator.normal(0, sigma, len(keys))
        released |= held & (noisy >= threshold)
        live = ~released[item]
        user, item = user[live], item[live]
    return len(keys.filter(released))


def read(path: str) -> tuple:
    """Distinct rows as codes, sorted by user and then by random priority, and the keys of the items."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["user", "item"])
    item, keys = _codes(table["item"])
    user, _ = _codes(table["user"])
    del table
    order = np.argsort(_priority(user, item))  # equal rows become neighbours
    user, item = user[order], item[order]
    first = np.concatenate(([True], (user[1:] != user[:-1]) | (item[1:] != item[:-1])))
    return user[first], item[first], keys


def _codes(column) -> tuple:
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary


def _priority(user, item):
    """The user above 40 bits of a hash of user and item (the finaliser of SplitMix64)."""
    import numpy as np

    word = user.astype(np.uint64) << np.uint64(32)
    word ^= item.astype(np.uint64)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (user.astype(np.uint64) << np.uint64(40)) | (word >> np.uint64(24))


def weigh(user, item, items: int):
    """The weight of each item after bounding: of each user the first rows, those with the smallest hashes."""
    import numpy as np

    degree = np.bincount(user)
    starts = np.cumsum(degree) - degree
    kept = np.arange(user.size) - starts[user] < MAX_ITEMS_PER_USER
    weight = 1 / np.sqrt(np.clip(degree, 1, MAX_ITEMS_PER_USER))
    return np.bincount(item[kept], weight[user[kept]], minlength=items)


if __name__ == "__main__":
    _harness.run(job, prepare)
