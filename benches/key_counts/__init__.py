"""One program for each library that releases keys with counts, for `benches.peers_counts`.

`PROGRAM CSV EPSILON DELTA LIMITS KIND` prints one line of JSON for each of the limits, which commas separate:
released key -> published number of users. Each runs in a virtual environment of its own, so it uses nothing of
this repository.
"""
