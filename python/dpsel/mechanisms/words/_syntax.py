"""The grammar of a mechanism in words: ``name`` or ``name(parameter=value, ...)``.

A value is a number, a fraction such as ``1/3``, ``true``, ``false``, a word with or without quotes, or again
``name(parameter=value, ...)``.
Python's parser reads the call as a syntax tree. Nothing in it is evaluated.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | Inner"

#: Far more than a mechanism with all its parameters has.
_LONGEST = 1000
_FORM = "write NAME or 'NAME(PARAMETER=VALUE, ...)', such as 'sips(rounds=3)'"
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class Inner:
    """A mechanism with parameters that is the value of a parameter."""

    name: str
    parameters: dict[str, Value]


class MechanismSyntaxError(ValueError):
    """A text that the grammar does not have; the message says where it departs from it."""


def parse(text: str) -> tuple[str, dict[str, Value]]:
    """Return the name and the parameters in a text; whether they exist is checked elsewhere.

    Raises:
        MechanismSyntaxError: If the text does not have the form.

    Examples:
        >>> parse("sips(rounds=3, ratio=1/3, release=curve)")
        ('sips', {'rounds': 3, 'ratio': 0.3333333333333333, 'release': 'curve'})
    """
    if len(text) > _LONGEST:
        message = f"a mechanism has at most {_LONGEST} characters; {_FORM}"
        raise MechanismSyntaxError(message)
    name, parenthesis, rest = (part.strip() for part in text.partition("("))
    if not parenthesis and ")" in name:
        message = f"the opening parenthesis is missing; {_FORM}"
        raise MechanismSyntaxError(message)
    if not parenthesis:
        return name, {}
    if ")" not in rest:
        message = f"the closing parenthesis is missing; {_FORM}"
        raise MechanismSyntaxError(message)
    return name, _parameters(_call(rest))


def _call(rest: str) -> ast.Call:
    """Read what follows the opening parenthesis as the arguments of a call."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about literals, in the words of a Python program
            tree = ast.parse(f"f({rest}", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        message = f"parentheses, commas or quotes do not match; {_FORM}"
        raise MechanismSyntaxError(message) from None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        message = f"something follows the closing parenthesis; {_FORM}"
        raise MechanismSyntaxError(message)
    return tree


def _parameters(call: ast.Call) -> dict[str, Value]:
    if call.args or any(keyword.arg is None for keyword in call.keywords):
        message = f"every value needs the name of its parameter; {_FORM}"
        raise MechanismSyntaxError(message)
    found: dict[str, Value] = {}
    for keyword in call.keywords:
        name = str(keyword.arg)
        if name in found:
            message = f"{name} is given twice; keep one value"
            raise MechanismSyntaxError(message)
        found[name] = _value(name, keyword.value)
    return found


def _value(name: str, node: ast.expr) -> Value:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Constant(value=None):
            message = f"{name} has no value; leave it out to get its default"
            raise MechanismSyntaxError(message)
        case ast.Name(id=word):
            return _FLAGS.get(word, word)
        case ast.Call(func=ast.Name(id=inner), args=[]):
            return Inner(inner, _parameters(node))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if (
            not isinstance(value, bool)
        ):
            return -value
        case ast.BinOp(
            op=ast.Div(),
            left=ast.Constant(value=int() | float() as above),
            right=ast.Constant(value=int() | float() as below),
        ) if below and not isinstance(above, bool) and not isinstance(below, bool):
            return _fraction(name, above, below)
    message = f"{name} must be a number, a fraction such as 1/3, true, false or a word"
    raise MechanismSyntaxError(message)


def _fraction(name: str, above: float, below: float) -> float:
    try:
        return above / below
    except OverflowError:
        message = f"{name} is a fraction of numbers that are too large; write it as one number"
        raise MechanismSyntaxError(message) from None
