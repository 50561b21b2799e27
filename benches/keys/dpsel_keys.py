"""Keys by dpsel, with "auto"."""

import json
import sys
import time

import dpsel

path, epsilon, delta, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
start = time.perf_counter()
# job
release = dpsel.select_partitions(
    path,
    user="user",
    item="item",
    privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
    max_items_per_user=limit,
)
keys = release.items
# end
seconds = time.perf_counter() - start
print(json.dumps({"keys": len(keys), "seconds": seconds, "version": dpsel.__version__}))
