"""An injective map from positive integers to pronounceable words."""

from __future__ import annotations

_SYLLABLES = tuple(c + v for c in "bdfgklmnprstvz" for v in "aeiou")


def word(number: int) -> str:
    """Return the word of ``number`` (at least 1): small numbers, which are frequent, get short words.

    This is bijective numeration with syllables for digits, so two numbers never share a word.

    >>> word(1), word(70), word(71), word(12345)
    ('ba', 'zu', 'baba', 'benaku')
    """
    if number < 1:
        message = f"number must be at least 1, got {number}"
        raise ValueError(message)
    digits: list[str] = []
    while number:
        number, digit = divmod(number - 1, len(_SYLLABLES))
        digits.append(_SYLLABLES[digit])
    return "".join(reversed(digits))
