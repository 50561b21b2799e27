"""``dpsel mechanisms``: every mechanism with its parameters, guarantees and page."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from dpsel.cli._mechanisms import Chosen, MechanismType, every_mechanism
from dpsel.cli._streams import require_stdout
from dpsel.mechanisms import SelectionMechanism, TopKMechanism
from dpsel.mechanisms.words import described, shown_name, summary, written

if TYPE_CHECKING:
    from dpsel.mechanisms import Mechanism

_WIDTH = 100
_GUARANTEES = {"pure_dp": "epsilon-DP", "approx_dp": "(epsilon, delta)-DP", "zcdp": "zCDP"}
_WEIGHTS = {
    "noisy_weight": "the noisy weight of each item",
    "cumulative_score": "the cumulative score of each item",
    "none": "none",
}

_EPILOG = """\
\b
Examples:
  dpsel mechanisms
  dpsel mechanisms sips joint
"""


@click.command("mechanisms", epilog=_EPILOG, short_help="List the mechanisms and their parameters.")
@click.argument(
    "mechanisms",
    nargs=-1,
    metavar="[MECHANISM]...",
    type=MechanismType("selection", "top-k", auto=False),
)
def command(mechanisms: tuple[Chosen, ...]) -> None:
    """List MECHANISMs, by default all, with their parameters, guarantees, weights and page.

    The first line of each entry is what --mechanism takes, with the defaults of the parameters.
    """
    require_stdout()
    classes = [each.cls for each in mechanisms if each.cls] or list(every_mechanism().values())
    click.echo("\n\n".join(_entry(cls) for cls in classes))


def _entry(cls: type[Mechanism]) -> str:
    parameters, words = written(cls), described(cls)
    form = f"{shown_name(cls)}({', '.join(map(str, parameters))})" if parameters else shown_name(cls)
    facts = {"guarantee": " or ".join(_GUARANTEES[each] for each in cls.guarantees)}
    facts |= _facts(cls)
    facts["page"] = f"https://dpsel.github.io/dpsel/algorithms/{cls.name}/"
    facts |= {each.name: f"{each.expected}. {words.get(each.name, '')}" for each in parameters}
    body = [_wrapped("", summary(cls)), *(_wrapped(f"{name:<13}", text) for name, text in facts.items())]
    return "\n".join([form, *body])


def _facts(cls: type[Mechanism]) -> dict[str, str]:
    """Return the properties of the two kinds of mechanisms."""
    if issubclass(cls, SelectionMechanism):
        return {"weights": _WEIGHTS[cls.weights]}
    if issubclass(cls, TopKMechanism):
        answer = "a sequence, best first" if cls().ordered else "a set"
        items = "found in the data" if cls.finds_domain else "from a public list"
        return {"answer": f"{answer}; the items are {items}"}
    return {}


def _wrapped(label: str, text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=f"  {label}", subsequent_indent=" " * (2 + len(label)))
