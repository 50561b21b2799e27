"""Links of a page: those that leave `docs/` lead to another page of the site, or to the repository."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: Documents outside of `docs/` that are pages of the site.
OUTSIDE = {
    ROOT / "SECURITY.md": "project/security.md",
    ROOT / "CHANGELOG.md": "project/changelog.md",
    ROOT / "CONTRIBUTING.md": "project/contributing.md",
    ROOT / "ARCHITECTURE.md": "project/architecture.md",
    ROOT / "benches" / "README.md": "project/benchmarks.md",
}
FENCE = re.compile(r"^( *)(`{3,}|~{3,})[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)[^\n]+?(?<!`)\1(?!`)")
#: The words of a link may be code, so the target alone is looked for.
TARGET = re.compile(r"(?<=\]\()([^()\s#]+)(#[^()\s]*)?(?=\))")


class BrokenLinkError(ValueError):
    """A link leads to a file that is not there."""


def relinked(text: str, source: Path, uri: str, repository: str) -> str:
    """The text of a page whose links work on the site.

    Args:
        text: Markdown, as it stands in ``source``.
        source: The file that the links are relative to.
        uri: Where the page is on the site, such as ``guide/audit.md``.
        repository: Address of the repository, for files that are no pages.
    """
    code = [found.span() for found in FENCE.finditer(text)]

    def replaced(found: re.Match[str]) -> str:
        if any(start <= found.start() < end for start, end in code):
            return found[0]
        anchor = found[2] or ""
        return _target(found[1], source, uri, repository) + anchor

    return TARGET.sub(replaced, text)


def _target(target: str, source: Path, uri: str, repository: str) -> str:
    for branch in ("blob/main/", "tree/main/"):
        if target.startswith(f"{repository}/{branch}"):
            return _place(ROOT / target.removeprefix(f"{repository}/{branch}"), uri, repository, target)
    if "://" in target or target.startswith("mailto:"):
        return target
    path = source.parent / target
    return _place(Path(posixpath.normpath(path)), uri, repository, target)


def _place(path: Path, uri: str, repository: str, target: str) -> str:
    if not path.exists():
        raise BrokenLinkError(target)
    here = posixpath.dirname(uri)
    if path in OUTSIDE:
        return posixpath.relpath(OUTSIDE[path], here or ".")
    if path.is_relative_to(DOCS):
        page = path / "README.md" if path.is_dir() else path
        if page.is_file():
            return posixpath.relpath(page.relative_to(DOCS).as_posix(), here or ".")
    kind = "tree" if path.is_dir() else "blob"
    return f"{repository}/{kind}/main/{path.relative_to(ROOT).as_posix()}"


def expanded(nav: list[object], uris: Mapping[str, object]) -> list[object]:
    """The navigation with `folder/*.md` replaced by the pages of the folder that it does not name."""
    named = set(_leaves(nav))

    def walk(entries: list[object]) -> list[object]:
        found: list[object] = []
        for entry in entries:
            if isinstance(entry, dict):
                found.append({key: walk(of) if isinstance(of, list) else of for key, of in entry.items()})
            elif isinstance(entry, str) and entry.endswith("*.md"):
                folder = entry.removesuffix("*.md").rstrip("/")
                inside = [uri for uri in sorted(uris) if posixpath.dirname(uri) == folder]
                found += [uri for uri in inside if uri not in named]
            else:
                found.append(entry)
        return found

    return walk(nav)


def _leaves(entries: object) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    parts = entries.values() if isinstance(entries, dict) else entries
    return [leaf for part in parts for leaf in _leaves(part)] if isinstance(entries, dict | list) else []
