"""Lists as code hosts read them. Python-Markdown wants what belongs to an entry indented by four blanks."""

from __future__ import annotations

import re

ENTRY = re.compile(r"(?:[-*+]|\d+[.)]) +(?=\S)")
FENCE = re.compile(r"(`{3,}|~{3,})")
INDENT = 4


def widened(markdown: str) -> str:
    """The page with the inside of entries indented by four blanks, at every level."""
    return "\n".join(_widened(markdown.split("\n")))


def _widened(lines: list[str]) -> list[str]:
    found: list[str] = []
    here = 0
    while here < len(lines):
        line = lines[here]
        if fence := FENCE.match(line):
            after = range(here + 1, len(lines))
            end = next((number for number in after if lines[number].startswith(fence[1])), len(lines) - 1)
            found += lines[here : end + 1]
            here = end + 1
        elif entry := ENTRY.match(line):
            inside = _inside(lines, here + 1, len(entry[0]))
            own = [each[len(entry[0]) :] for each in inside]
            found.append(line)
            found += [f"{' ' * INDENT}{each}" if each else "" for each in _widened(own)]
            here += 1 + len(inside)
        else:
            found.append(line)
            here += 1
    return found


def _inside(lines: list[str], start: int, width: int) -> list[str]:
    """The lines from there that are indented by at least the width, blank lines between them included."""
    end = start
    for number in range(start, len(lines)):
        if lines[number].startswith(" " * width):
            end = number + 1
        elif lines[number].strip():
            break
    return lines[start:end]
