"""What the converter of formulas gets wrong: limits of max and the like, brackets, bars, relations."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

SPACE = "http://www.w3.org/1998/Math/MathML"
#: Words whose index stands below them in a formula of its own line.
LIMITS = {"max", "min", "sup", "inf", "lim"}
#: Relations that the converter takes for letters, without room on their sides.
RELATIONS = {"~": "\N{TILDE OPERATOR}"}
#: Signs that open and close alike. Browsers take them for relations, with room on both sides.
BARS = {"|", "\N{DOUBLE VERTICAL LINE}"}
OPENING = {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "⌈": "⌉"}


def mended(shown: str, display: str) -> str:
    """The MathML of one formula, mended."""
    root = ET.fromstring(shown)  # noqa: S314 - the converter wrote it
    if display == "block":
        for each in root.iter(_tag("msub")):
            if each[0].tag == _tag("mo") and each[0].text in LIMITS:
                each.tag = _tag("munder")
    for each in root.iter(_tag("mi")):
        if each.text in RELATIONS:
            each.tag, each.text = _tag("mo"), RELATIONS[each.text]
    for row in list(root.iter()):
        _bracket(row)
        _bars(row)
    ET.register_namespace("", SPACE)
    return re.sub(r" xmlns:?\w*=", " xmlns=", ET.tostring(root, encoding="unicode"))


def _tag(name: str) -> str:
    return f"{{{SPACE}}}{name}"


def _bars(row: ET.Element) -> None:
    """Say which bars open and which close, if they come in pairs; a single one is a condition."""
    for bar in BARS:
        signs = [_base(each) for each in row]
        found = [each for each in signs if each.tag == _tag("mo") and each.text == bar]
        for number, sign in enumerate(found if len(found) % 2 == 0 else []):
            sign.set("form", "postfix" if number % 2 else "prefix")
            sign.attrib |= {"lspace": "0", "rspace": "0"}


def _base(each: ET.Element) -> ET.Element:
    """What an index or a power stands at; the element itself if it has none."""
    return each[0] if each.tag in {_tag("msup"), _tag("msub"), _tag("msubsup")} else each


def _bracket(row: ET.Element) -> None:
    """Put a power on the whole bracket: browsers draw a closing sign with a power of its own lower."""
    here = 0
    while here < len(row):
        power = row[here]
        closing = power[0] if power.tag == _tag("msup") else power
        start = _opening(row, here, closing) if closing is not power and _sized(closing) else None
        if start is not None:
            inside = ET.Element(_tag("mrow"))
            inside.extend([*row[start:here], closing])
            power[0] = inside
            del row[start:here]
            here = start
        here += 1


def _opening(row: ET.Element, end: int, closing: ET.Element) -> int | None:
    """Where the bracket of that size opens that closes there."""
    depth = 0
    for number in range(end - 1, -1, -1):
        each = row[number]
        sign = each[0] if each.tag == _tag("msup") else each
        if not _sized(sign):
            continue
        if sign.text == closing.text:
            depth += 1
        elif OPENING.get(sign.text or "") == closing.text:
            if not depth:
                return number
            depth -= 1
    return None


def _sized(each: ET.Element) -> bool:
    return each.tag == _tag("mo") and "minsize" in each.attrib
