"""Mechanisms in words: ``"sips"``, ``"sips(rounds=5)"``, as the command line and ``mechanism=`` take them.

Examples:
    >>> from dpsel.mechanisms.words import parse
    >>> parse("steered(reach=3)")
    ('steered', {'reach': 3})
"""

from dpsel.mechanisms.words._chosen import (
    AUTO,
    InWords,
    UnknownNameError,
    by_shown_name,
    in_words,
    shown_name,
    spellings,
)
from dpsel.mechanisms.words._parameters import Parameter, described, parameters_of, summary, written
from dpsel.mechanisms.words._syntax import Inner, MechanismSyntaxError, Value, parse

__all__ = [
    "AUTO",
    "InWords",
    "Inner",
    "MechanismSyntaxError",
    "Parameter",
    "UnknownNameError",
    "Value",
    "by_shown_name",
    "described",
    "in_words",
    "parameters_of",
    "parse",
    "shown_name",
    "spellings",
    "summary",
    "written",
]
