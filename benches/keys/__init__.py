"""One program for each library that releases keys, which prints one line of JSON (`timed.py`).

Each runs in a virtual environment of its own, so it uses nothing of this repository but `timed.py`.
"""
