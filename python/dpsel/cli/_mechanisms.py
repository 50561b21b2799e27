"""``--mechanism``: the option, its completion, and mechanisms by their names, taken from the registry."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms import Mechanism, selection_mechanisms, top_k_mechanisms
from dpsel.mechanisms.words import (
    AUTO,
    InWords,
    MechanismSyntaxError,
    Parameter,
    UnknownNameError,
    by_shown_name,
    in_words,
    parameters_of,
    shown_name,
    spellings,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

F = TypeVar("F", bound=Callable[..., Any])

#: The purpose of each kind of mechanism in the words of an error, and the commands that release and plan.
_KINDS = {
    "selection": ("selects items", "dpsel select", "dpsel plan", selection_mechanisms),
    "top-k": ("picks a top-k", "dpsel top-k", "dpsel plan-top-k", top_k_mechanisms),
}


def mechanisms_of(kind: str) -> dict[str, type[Mechanism]]:
    """Return the mechanisms of a kind by the names that are shown."""
    return by_shown_name(_KINDS[kind][-1]().values())


def every_mechanism() -> dict[str, type[Mechanism]]:
    """Return all mechanisms by the names that are shown."""
    return {name: cls for kind in _KINDS for name, cls in mechanisms_of(kind).items()}


class Chosen(InWords):
    """A mechanism as it was written, or ``auto``, before it is made."""

    def made(self) -> Any:
        """Return the mechanism, or ``"auto"``; refuse parameters out of range."""
        try:
            return super().made()
        except InvalidParameterError as error:
            raise click.BadParameter(str(error), param_hint="'--mechanism'") from None

    def with_option(self, option: str, name: str, value: Any) -> Chosen:
        """Return the mechanism with a parameter that has an option of its own."""
        if self.cls is None or name not in parameters_of(self.cls):
            owners = [known for known, cls in every_mechanism().items() if name in parameters_of(cls)]
            message = (
                f"{option} belongs to --mechanism {' or '.join(owners)}; name the mechanism, or drop {option}"
            )
            raise click.UsageError(message)
        return dataclasses.replace(self, parameters=self.parameters | {name: value})


class MechanismType(click.ParamType):  # type: ignore[type-arg] # generic only in newer versions of click
    """``auto``, a name, or a name with parameters in parentheses."""

    name = "mechanism"

    def __init__(self, *kinds: str, auto: bool = True) -> None:
        """Accept the mechanisms of some kinds."""
        self.kinds, self.auto = kinds, auto

    @property
    def named(self) -> dict[str, type[Mechanism]]:
        """The mechanisms that are accepted, by the names that are shown."""
        return {name: cls for kind in self.kinds for name, cls in mechanisms_of(kind).items()}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Chosen:
        """Parse the text."""
        if isinstance(value, Chosen):
            return value
        try:
            chosen = in_words(value, self.named, auto=self.auto)
        except UnknownNameError as error:
            self._refuse_other_kinds(error.name, param, ctx)
            self.fail(str(error), param, ctx)
        except (MechanismSyntaxError, InvalidParameterError) as error:
            self.fail(str(error), param, ctx)
        return Chosen(chosen.cls, chosen.parameters)

    def _refuse_other_kinds(
        self, name: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> None:
        plans = ctx is not None and (ctx.info_name or "").startswith("plan")
        for kind, (does, releasing, planning, _) in _KINDS.items():
            if kind not in self.kinds and name in spellings(mechanisms_of(kind)):
                command = planning if plans else releasing
                self.fail(f"{name} {does}; it belongs to `{command}`", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete names, and after the parenthesis names of parameters and words."""
        del ctx, param
        name, parenthesis, inside = incomplete.partition("(")
        if not parenthesis:
            return [CompletionItem(text) for text in self._names(incomplete)]
        cls = spellings(self.named).get(name)
        if cls is None:
            return []
        given, _, last = inside.rpartition(",")
        start = incomplete[: len(incomplete) - len(last.lstrip())]
        used = re.findall(r"(\w+)\s*=", given)
        return [
            CompletionItem(start + text)
            for each in written(cls)
            if each.name not in used
            for text in _continuations(each, last)
            if text.startswith(last.lstrip())
        ]

    def _names(self, incomplete: str) -> list[str]:
        """Return the names, with a parenthesis beside those that have parameters."""
        shown = {AUTO: None, **self.named} if self.auto else self.named
        candidates: Mapping[str, type[Mechanism] | None] = shown
        if not any(name.startswith(incomplete) for name in shown):
            candidates = spellings(self.named)
        found = [(name, cls) for name, cls in candidates.items() if name.startswith(incomplete)]
        opened = [f"{name}(" for name, cls in found if cls and written(cls)]
        return [name for name, _ in found] + opened


def _continuations(parameter: Parameter, last: str) -> list[str]:
    """Return what completion offers for a parameter: its name, and after the equals sign its words."""
    if "=" in last:
        return [f"{parameter.name}={word}" for word in parameter.words]
    return [f"{parameter.name}="]


def mechanism_option(kind: str, *, several: bool = False, usual: str = AUTO) -> Callable[[F], F]:
    """Return ``--mechanism`` of one kind; ``several`` lets it be repeated, under the name ``mechanisms``."""
    accepted = MechanismType(kind)
    names = ", ".join(accepted.named)
    say = "Repeat it to compare several. " if several else ""
    return click.option(
        "--mechanism",
        "mechanisms" if several else "mechanism",
        multiple=several,
        type=accepted,
        default=None if several else AUTO,
        metavar="MECHANISM",
        help=f"auto, or one of {names}; parameters in parentheses: "
        f"'{_example(accepted)}'. {say}`dpsel mechanisms` explains them.  [default: {usual}]",
    )


def _example(accepted: MechanismType) -> str:
    """Return the first mechanism whose first parameter is a whole number, as it is written."""
    first = [(name, written(cls)[0]) for name, cls in accepted.named.items() if written(cls)]
    name, parameter = next((pair for pair in first if pair[1].type is int), first[0])
    return f"{name}({parameter if parameter.default is not None else f'{parameter.name}=500'})"


class MechanismCommand(click.Command):
    """A command that answers a parameter of a mechanism, given as an option, with the form to write."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; see the class."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if advice := self._advice(error.option_name, given):
                raise click.UsageError(advice, ctx) from None
            raise

    def _advice(self, option: str, given: list[str]) -> str | None:
        """Return the ``--mechanism`` in which an option has become a parameter, if it is one."""
        (accepted,) = (each.type for each in self.params if isinstance(each.type, MechanismType))
        values = _values_of(given)
        chosen = spellings(accepted.named).get(values.get("--mechanism", "").partition("(")[0])
        for cls in (chosen, *accepted.named.values()):
            options = {f"--{each.name}": each.name for each in written(cls)} if cls else {}
            if cls and option in options:
                inside = ", ".join(
                    f"{options[name]}={value}" for name, value in values.items() if name in options
                )
                form = f"--mechanism '{shown_name(cls)}({inside})'"
                return f"{option} is a parameter of a mechanism now; use {form}"
        return None


def _values_of(arguments: list[str]) -> dict[str, str]:
    """Return each long option with its value, or with ``VALUE`` if none can be shown."""
    found = {}
    for at, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if not option.startswith("--"):
            continue
        follows = value if equals else next(iter(arguments[at + 1 : at + 2]), "")
        found[option] = follows if re.fullmatch(r"[\w.+/][\w.+/-]*(\(.*)?", follows) else "VALUE"
    return found
