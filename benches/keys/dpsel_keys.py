"""Keys by dpsel, with "auto"."""

import dpsel
from timed import report


def job(path, epsilon, delta, limit):
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
    return keys


report(job, "dpsel")
