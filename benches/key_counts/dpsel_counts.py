"""Keys with counts by dpsel. KIND: `counts`, or `weights` for noise on counts with a threshold."""

import json
import sys

import dpsel

path, epsilon, delta, limits, kind = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:6]
if kind == "weights":
    options = {"mechanism": dpsel.CountGaussian(), "with_weights": True}
else:
    options = {"counts": 0.2}
for limit in map(int, limits.split(",")):
    release = dpsel.select_partitions(
        path,
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
        max_items_per_user=limit,
        **options,
    )
    numbers = release.to_arrow().to_pydict()
    column = "weight" if kind == "weights" else "users"
    counts = {key: float(number) for key, number in zip(numbers["item"], numbers[column], strict=True)}
    print(json.dumps({"limit": limit, "counts": counts, "version": dpsel.__version__}), flush=True)
