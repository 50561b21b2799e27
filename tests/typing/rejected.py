"""Every statement here must be refused by mypy; test_typing.py counts them."""

import dpsel

dpsel.ApproxDP(1.0, 1e-6)
dpsel.ApproxDP(epsilon="1", delta=1e-6)
dpsel.select_partitions([("ada", "tea")], max_items_per_user=3)
dpsel.select_partitions([("ada", "tea")], privacy=1.0, max_items_per_user=3)
dpsel.select_partitions([("ada", "tea")], privacy=dpsel.PureDP(epsilon=1.0), max_items_per_user="3")
dpsel.select_partitions(
    [("ada", "tea")], privacy=dpsel.PureDP(epsilon=1.0), max_items_per_user=3, mechanism=3
)
dpsel.select_partitions(7, privacy=dpsel.PureDP(epsilon=1.0), max_items_per_user=3)
dpsel.plan(privacy=dpsel.PureDP(epsilon=1.0))
dpsel.Sips(rounds=2).rounds = 3
dpsel.Budget(dpsel.PureDP(epsilon=1.0)).spend(1.0)
dpsel.Budget(dpsel.PureDP(epsilon=1.0), neighbours="other")
dpsel.select_partitions(
    [("ada", "tea")], privacy=dpsel.PureDP(epsilon=1.0), max_items_per_user=1
).items.schema()
dpsel.select_partitions(
    [("ada", "tea")],
    privacy=dpsel.PureDP(epsilon=1.0),
    max_items_per_user=1,
    mechanism=dpsel.Joint(),
)
dpsel.plan_top_k(privacy=dpsel.PureDP(epsilon=1.0), k=1, items=2, mechanisms=dpsel.Sips())
