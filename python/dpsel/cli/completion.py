"""``dpsel completion``: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dpsel.cli._streams import require_stdout

PROGRAM = "dpsel"
COMPLETION_VARIABLE = "_DPSEL_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

_EPILOG = """\
\b
Examples:
  eval "$(dpsel completion bash)"                                    # in ~/.bashrc
  eval "$(dpsel completion zsh)"                                     # in ~/.zshrc
  dpsel completion fish > ~/.config/fish/completions/dpsel.fish
"""


@click.command("completion", epilog=_EPILOG, short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete the commands and options of dpsel."""
    require_stdout()
    completion = get_completion_class(shell)
    assert completion is not None  # noqa: S101 - the choice lists what click has
    click.echo(completion(context.find_root().command, {}, PROGRAM, COMPLETION_VARIABLE).source())
