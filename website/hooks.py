"""What MkDocs does besides: links out of `docs/`, formulas, pages made from the program.

mkdocs.yml names this file. MkDocs imports it by its path, so it puts its folder on the path first.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import formulas
import generated
import links
import lists
import outputs
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

#: A cell of a table, code in it, and an underscore in that.
CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
CODE = re.compile(r"(?<=<code>)[^<]*(?=</code>)")
BREAKS = re.compile(r"_(?=\w)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside of `docs/`; complete the navigation."""
    for source, uri in links.OUTSIDE.items():
        files.append(File.generated(config, uri, abs_src_path=str(source)))
    pages = {file.src_uri: file for file in files.documentation_pages()}
    config.nav = links.expanded(config.nav or [], pages)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Fill in what the program says of itself; lead links to where they work."""
    source, repository = Path(str(page.file.abs_src_path)), str(config.repo_url).rstrip("/")
    if source in links.OUTSIDE:
        page.edit_url = f"{repository}/edit/main/{source.relative_to(links.ROOT).as_posix()}"
    try:
        text = lists.widened(outputs.shown(generated.filled(markdown), page.file.src_uri))
        return links.relinked(text, source, page.file.src_uri, repository)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {type(error).__name__}: {error}") from error


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Typeset formulas; let long names in tables break after an underscore, and nowhere else."""
    try:
        return CELL.sub(lambda cell: CODE.sub(breakable, cell[0]), formulas.typeset(html))
    except formulas.FormulaError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error


def breakable(code: re.Match[str]) -> str:
    """Code that may go on in the next line after an underscore."""
    return BREAKS.sub("_<wbr>", code[0])
