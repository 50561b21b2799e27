"""Numbers of values on Spark, by which they are kept apart and moved. This needs no Spark."""

from __future__ import annotations

from dpsel.spark._pairs import _Numbered


def test_values_of_users_have_the_number_of_their_task() -> None:
    """So they go to one task, and a task that runs again does not change who goes where."""

    def task(values):
        yield from ((len(value), value) for value in values)
        yield -1, b"sums"

    numbers, values = [], []
    for place, written in enumerate(_Numbered(task)(7, iter([b"", b"ab", b"abc"]))):
        (values if place % 2 else numbers).append(written)
    assert values == [b"", b"ab", b"abc", b"sums", b""]
    of_users, of_driver = 2**31 + 7, 2**32 + 7
    assert [int.from_bytes(number, "big") for number in numbers] == [of_users] * 3 + [of_driver] * 2
    assert {len(number) for number in numbers} == {8}
    other = next(iter(_Numbered(task)(8, iter([b""]))))
    assert int.from_bytes(other, "big") == of_users + 1
