"""Keys by SmartNoise SQL: a private group-by. The counts that it makes on the way are dropped."""

import pandas as pd
import snsql
from timed import report


def job(path, epsilon, delta, limit):
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
    return [row[0] for row in answer[1:]]
    # end


report(job, "smartnoise-sql")
