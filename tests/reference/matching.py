"""Matchings of users and slots, slot by slot, and rankings, in the plainest form there is."""

from __future__ import annotations

from itertools import chain, repeat

from mpmath import floor, log, mp, mpf

from . import prf
from .noise import UNIT

RANKING = 12


def slots_of(items, quota: int, most: int) -> list[tuple]:
    """The slots in their order, as (item, number); the items are in order."""
    turns = chain.from_iterable(zip(repeat(item), range(min(quota, most))) for item in items)
    return [*turns, *((item, number) for number in range(quota, most) for item in items)]


def in_order(bounded, key: bytes, ranking: dict | None = None) -> list:
    """The items that somebody holds, as their slots are offered."""
    held = {item for items in bounded.values() for item in items}
    return sorted(held, key=lambda item: (-(ranking or {}).get(item, 0), prf.item_digest(key, item[1])))


def path_to_a_free_user(filled: dict, users: dict, slot: tuple) -> list[tuple]:
    """The users who move with the slots that they move to, first the free one; empty if there is no path."""
    reached: dict = {}
    slots = [slot]
    for at in slots:
        for user, items in users.items():
            if at[0] not in items or user in reached:
                continue
            reached[user] = at
            if user in filled:
                slots.append(filled[user])
                continue
            moves = [(user, at)]
            while moves[-1][1] != slot:
                (left,) = [other for other in reached if filled.get(other) == moves[-1][1]]
                moves.append((left, reached[left]))
            return moves
    return []


def kept(users: dict, slots: list[tuple]) -> list[tuple]:
    """The slots that are kept, one after the other."""
    filled: dict = {}
    found, useful = [], sum(1 for items in users.values() if items)
    for slot in slots:
        if len(filled) < useful and (moves := path_to_a_free_user(filled, users, slot)):
            filled |= dict(moves)
            found.append(slot)
    return found


def rank(users: dict, slots) -> int:
    """The size of a largest matching, by trying everything: all sets of users who can fill slots together."""
    reached = {frozenset()}
    for item, _ in slots:
        holders = [user for user, items in users.items() if item in items]
        reached |= {taken | {user} for taken in reached for user in holders if user not in taken}
    return max(len(taken) for taken in reached)


def levels(bounded, parameters: dict, key: bytes, ranking: dict | None = None) -> dict:
    """The weights of a round: a unit for each kept slot."""
    items, sets = in_order(bounded, key, ranking), {user: set(held) for user, held in bounded.items()}
    found = dict.fromkeys(items, 0)
    for item, _ in kept(sets, slots_of(items, parameters["quota"], parameters["most"])):
        found[item] += UNIT
    return found


def geometric(rate: float, half_word: int) -> int:
    """The largest n with U < e^(-rate n), from the first 64 digits of U."""
    with mp.workdps(60):
        least, most = (
            floor(-log(mpf(half_word + more) / 2**64) / mpf(rate)) if half_word + more else None
            for more in (1, 0)
        )
    assert least == most, "64 digits do not decide: take another key"
    return int(least)


def ranked(items, sums: dict, round_: dict, key: bytes) -> dict:
    """The noisy levels of items."""
    subkey, found = prf.subkey(key, RANKING, 0), {}
    for item in items:
        word = prf.aes(subkey, prf.item_digest(key, item[1]))
        above = geometric(round_["rate_above"], word % 2**64)
        below = geometric(round_["rate_below"], word >> 64)
        found[item] = sums.get(item, 0) // UNIT + above - below
    return found
