"""Circles in a graph of imports."""

from __future__ import annotations


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of files of which each one leads to every other: strongly connected components."""

    def reached(start: str) -> set[str]:
        found, waiting = set(), [start]
        while waiting:
            for name in graph[waiting.pop()] - found:
                found.add(name)
                waiting.append(name)
        return found

    reach = {name: reached(name) for name in graph}
    joined = [
        frozenset({name} | {other for other in reach[name] if name in reach[other]})
        for name in graph
        if name in reach[name]
    ]
    return [set(each) for each in dict.fromkeys(joined)]
