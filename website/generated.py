"""Parts of pages that the program says of itself: a line `<!-- made: NAME -->` stands for each."""

from __future__ import annotations

import re
from pathlib import Path

MARK = re.compile(r"^<!-- made: ([a-z-]+) -->$", re.MULTILINE)
ROOT = Path(__file__).resolve().parents[1]


def filled(markdown: str) -> str:
    """The page with every mark replaced."""
    return MARK.sub(lambda found: MAKERS[found[1]](), markdown)


def commands() -> str:
    """What `dpsel --help` and the help of each command print."""
    import click

    from dpsel.cli._app import cli, every_command

    shown = [("dpsel", cli), *((f"dpsel {name}", command) for name, command in every_command().items())]
    parts = []
    for name, command in shown:
        context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def report_schema() -> str:
    """The JSON Schema of reports."""
    path = ROOT / "docs" / "reference" / "report-2.schema.json"
    return f"```json\n{path.read_text(encoding='utf-8').rstrip()}\n```"


def selection_mechanisms() -> str:
    """The documentation of every mechanism of a partition selection."""
    from dpsel.mechanisms import selection_mechanisms

    return "\n".join(map(_documented, selection_mechanisms().values()))


def top_k_mechanisms() -> str:
    """The documentation of every mechanism of a top-k."""
    from dpsel.mechanisms import top_k_mechanisms

    return "\n".join(map(_documented, top_k_mechanisms().values()))


def _documented(cls: type) -> str:
    name = cls.__name__
    # The anchor is the name under which docstrings link it; the static analysis does not see through `*`.
    return f"[](){{ #dpsel.{name} }}\n\n::: dpsel.mechanisms.{name}\n    options: {{ heading_level: 3 }}\n"


MAKERS = {
    "commands": commands,
    "report-schema": report_schema,
    "selection-mechanisms": selection_mechanisms,
    "top-k-mechanisms": top_k_mechanisms,
}
