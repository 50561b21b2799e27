"""Keys by PyDP: it decides for each key by its number of users. The caller counts users and bounds them."""

import csv
import random
from collections import Counter, defaultdict
from pathlib import Path

from pydp.algorithms.partition_selection import create_partition_strategy
from timed import report


def job(path, epsilon, delta, limit):
    # job
    items_of = defaultdict(set)
    with Path(path).open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            items_of[row["user"]].add(row["item"])
    users_of = Counter()
    for items in items_of.values():
        users_of.update(random.sample(sorted(items), min(limit, len(items))))
    strategy = create_partition_strategy("truncated_geometric", epsilon, delta, limit)
    return [item for item, users in users_of.items() if strategy.should_keep(users)]
    # end


report(job, "python-dp")
