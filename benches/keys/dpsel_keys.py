"""Keys by dpsel, with "auto"."""

from timed import report

import dpsel


def job(path, epsilon, delta, limit):
    # job
    release = dpsel.select_partitions(
        path,
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
        max_items_per_user=limit,
    )
    return release.items
    # end


report(job, "dpsel")
