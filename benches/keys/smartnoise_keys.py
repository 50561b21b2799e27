"""Keys by SmartNoise SQL: a private group-by. The counts that it makes on the way are dropped."""

import json
import sys
import time
from importlib.metadata import version

import pandas as pd
import snsql

path, epsilon, delta, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
start = time.perf_counter()
# job
rows = pd.read_csv(path, dtype=str, keep_default_na=False)
meta = {
    "": {
        "s": {
            "rows": {
                "max_ids": limit,
                "user": {"type": "string", "private_id": True},
                "item": {"type": "string"},
            }
        }
    }
}
reader = snsql.from_df(rows, privacy=snsql.Privacy(epsilon=epsilon, delta=delta), metadata=meta)
answer = reader.execute("SELECT item, COUNT(DISTINCT user) AS users FROM s.rows GROUP BY item")
keys = [row[0] for row in answer[1:]]
# end
seconds = time.perf_counter() - start
print(json.dumps({"keys": len(keys), "seconds": seconds, "version": version("smartnoise-sql")}))
