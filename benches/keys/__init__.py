"""One program for each library that releases keys: `PROGRAM CSV EPSILON DELTA LIMIT` prints one line of JSON.

Each runs in a virtual environment of its own, so it uses nothing of this repository.
"""
