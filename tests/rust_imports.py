"""The imports of a Rust crate, file by file. A re-export leads to the file that defines the name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

UNIT_TESTS = {"testing", "tests"}
UNIT_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\n(?:\s*#\[.*\]\n)*(?:pub(?:\(\w+\))? )?mod \w+ \{")
TEST_USE = re.compile(r"#\[cfg\(test\)\]\n\s*(?:pub(?:\(\w+\))? )?use [^;]*;")
USE = re.compile(r"(pub(?:\([\w: ]+\))? )?use ([^;]*);")
MODULE = re.compile(r"\bmod \w+;")
INLINE = re.compile(r"\b(\w+(?:::\w+)+)")
#: A comment to the end of its line, a raw text, a character, or a text: whichever begins first.
NO_CODE = re.compile(r"//[^\n]*|r(#*)\".*?\"\1|'(?:\\[^\n]+?|[^\\'\n])'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
DEFINED = re.compile(r"\b(?:fn|struct|enum|trait|type|const|static|union)\s+(?:mut )?(\w+)")


def shipped(path: Path) -> str:
    """The code of a file without comments, text and unit tests."""
    code = NO_CODE.sub("", path.read_text())
    return UNIT_TEST_MODULE.split(TEST_USE.sub("", code))[0]


def leaves(tree: str) -> list[tuple[list[str], str]]:
    """The paths of a use tree, such as `a::{b, c::d}`, each with the name that it has in this file."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        path, *alias = re.split(r"\s+as\s+", tree)
        return [(path.split("::"), alias[0] if alias else path.split("::")[-1])]
    head = [part for part in tree[:brace].split("::") if part]
    inner, depth, parts = tree[brace + 1 : tree.rindex("}")], 0, [""]
    for letter in inner:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [(head + leaf, name) for part in parts if part.strip() for leaf, name in leaves(part)]


class Crate:
    """The files of a crate and what each takes from the others."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = {self.module(path): path for path in sorted(root.rglob("*.rs")) if self.counts(path)}
        self.code = {module: shipped(path) for module, path in self.files.items()}
        self.exports = {module: self.reexports(module) for module in self.files}

    def counts(self, path: Path) -> bool:
        parts = path.relative_to(self.root).with_suffix("").parts
        return not UNIT_TESTS & set(parts) and parts[0] != "bin"

    def module(self, path: Path) -> tuple[str, ...]:
        parts = path.relative_to(self.root).with_suffix("").parts
        return parts[:-1] if parts[-1] in ("mod", "lib") else parts

    def absolute(self, module: tuple[str, ...], path: list[str]) -> list[str] | None:
        """A path from the root of the crate, or None if it leads to another crate."""
        path, base = list(path), list(module)
        if path[0] == "crate":
            return path[1:]
        if path[0] == "self":
            return base + path[1:]
        if path[0] == "super":
            while path and path[0] == "super":
                path, base = path[1:], base[:-1]
            return base + path
        return base + path if (*module, path[0]) in self.files else None

    def reexports(self, module: tuple[str, ...]) -> dict[str, list[str]]:
        found = {}
        for visibility, tree in USE.findall(self.code[module]):
            if visibility:
                for leaf, name in leaves(tree):
                    path = self.absolute(module, leaf)
                    assert not path or name != "*", f"{module}: {tree} hides what it hands on"
                    if path:
                        found[name] = path
        return found

    def definer(self, path: list[str], seen: frozenset = frozenset()) -> tuple[str, ...] | None:
        """The file that defines what a path names."""
        module: tuple[str, ...] = ()
        for at, part in enumerate(path):
            if (*module, part) in self.files:
                module = (*module, part)
                continue
            target = self.exports[module].get(part)
            if target and (module, part) not in seen:
                return self.definer(target + path[at + 1 :], seen | {(module, part)})
            return module
        return module

    def edges(self) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
        found = set()
        for module, code in self.code.items():
            rest = MODULE.sub("", USE.sub("", code))
            # What is handed on is used only if it is named again.
            paths = [
                leaf
                for visibility, tree in USE.findall(code)
                for leaf, name in leaves(tree)
                if not visibility or re.search(rf"\b{re.escape(name)}\b", rest)
            ]
            paths += [match.split("::") for match in INLINE.findall(rest)]
            for path in paths:
                whole = self.absolute(module, path)
                target = self.definer(whole) if whole else None
                if target is not None and target != module:
                    found.add((module, target))
        return found

    def graph(self) -> dict[str, set[str]]:
        """Each file with the files that it uses, by their paths."""
        found: dict[str, set[str]] = {"/".join(module): set() for module in self.files}
        for module, used in self.edges():
            found["/".join(module)].add("/".join(used))
        return found
