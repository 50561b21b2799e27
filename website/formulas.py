"""Formulas of a page as MathML, which browsers typeset without a script, a font or a network."""

from __future__ import annotations

import html
import re
from functools import cache

from latex2mathml.converter import convert
from mended import mended

#: What pymdownx.arithmatex makes of `$...$` and `$$...$$`.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
#: Brackets that the converter does not take after `\bigl` and the like, as signs that it takes.
SIGNS = {r"\lfloor": "⌊", r"\rfloor": "⌋", r"\lceil": "⌈", r"\rceil": "⌉"}
SIZED = re.compile(r"(\\[bB]ig[lrm]?)\s*(\\[lr](?:floor|ceil))(?![A-Za-z])")


class FormulaError(ValueError):
    """A formula that cannot be typeset."""


def typeset(page: str) -> str:
    """The HTML of a page with its formulas as MathML."""
    page = DISPLAY.sub(lambda found: f'<div class="formula">{mathml(found[1], "block")}</div>', page)
    return INLINE.sub(lambda found: mathml(found[1], "inline"), page)


@cache
def mathml(formula: str, display: str) -> str:
    """One formula; the text is that of HTML."""
    text = " ".join(html.unescape(formula).split())
    text = SIZED.sub(lambda found: found[1] + SIGNS[found[2]], text)
    try:
        shown = mended(convert(text, display=display), display)
    except Exception as error:
        raise FormulaError(f"{text}: {type(error).__name__}") from error
    if left := re.search(r"\\[A-Za-z]+", shown):
        raise FormulaError(f"{text}: {left[0]} is not known")
    return shown
