"""Short, slow, obvious Python of every mechanism: the oracle of the differential tests.

Nothing here is imported from `dpsel`. Integers are Python integers, real numbers are `mpmath` at 320
bits, users are dictionaries. Only scales and thresholds are taken from a release's report; they are
verified apart, in `calibration`.
"""
