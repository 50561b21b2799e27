"""Keys by PyDP: it decides for each key by its number of users. The caller counts users and bounds them."""

import csv
import json
import random
import sys
import time
from collections import Counter, defaultdict
from importlib.metadata import version
from pathlib import Path

from pydp.algorithms.partition_selection import create_partition_strategy

path, epsilon, delta, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
start = time.perf_counter()
# job
items_of = defaultdict(set)
with Path(path).open(newline="", encoding="utf-8") as lines:
    for row in csv.DictReader(lines):
        items_of[row["user"]].add(row["item"])
users_of = Counter()
for items in items_of.values():
    users_of.update(random.sample(sorted(items), min(limit, len(items))))
strategy = create_partition_strategy("truncated_geometric", epsilon, delta, limit)
keys = [item for item, users in users_of.items() if strategy.should_keep(users)]
# end
seconds = time.perf_counter() - start
print(json.dumps({"keys": len(keys), "seconds": seconds, "version": version("python-dp")}))
