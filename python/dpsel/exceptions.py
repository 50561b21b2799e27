"""Every exception of dpsel. Each also inherits the builtin that a caller would catch.

A message says the problem, the reason and the argument to change. It may name columns, files and
positions; it never holds a value of the data.

Examples:
    >>> import dpsel
    >>> try:
    ...     dpsel.plan(privacy=dpsel.ApproxDP(epsilon=-1.0, delta=1e-8), max_items_per_user=10)
    ... except ValueError as error:
    ...     print(type(error).__name__)
    InvalidParameterError
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BudgetExceededError",
    "CalibrationError",
    "CapacityError",
    "DataError",
    "DpselError",
    "DpselWarning",
    "EntropyError",
    "FileError",
    "InternalError",
    "InvalidParameterError",
    "LedgerError",
    "MemoryLimitError",
    "MissingFileError",
    "ReportError",
    "SchemaError",
    "ScratchWarning",
    "SeriesError",
    "UnencryptedSparkWarning",
    "WeakGuaranteeWarning",
]

#: A note on whatever ends a call after its payment.
STAYS_SPENT: Final = (
    "the cost of this call stays spent: it was paid before rows were read; mend the cause first, because "
    "another call pays again"
)


class DpselError(Exception):
    """Parent of every exception of this package."""


class InvalidParameterError(DpselError, ValueError):
    """An argument is outside its range, or two arguments do not fit each other."""


class SchemaError(DpselError, TypeError):
    """The input lacks a column, or has a type that cannot be a user or an item."""


class DataError(DpselError, ValueError):
    """The rows break a rule (a null user, invalid UTF-8), or the source of the rows failed."""


class FileError(DpselError, OSError):
    """A file cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file, or every file of a pattern, is not there."""


class MemoryLimitError(DpselError, MemoryError):
    """The job would need more memory than ``memory_limit`` allows, or than the driver of Spark has."""


class CapacityError(DpselError, OverflowError):
    """There are more distinct users or items than the codes can hold."""


class BudgetExceededError(DpselError):
    """Spending this much would exceed the budget. Nothing was spent."""


class EntropyError(DpselError, RuntimeError):
    """The operating system gave no random bytes. Nothing was released."""


class CalibrationError(DpselError, ValueError):
    """No noise and threshold meet the guarantee asked for."""


class ReportError(DpselError, ValueError):
    """Something that was given as a report is none."""


class LedgerError(DpselError, ValueError):
    """A file is no ledger, or was changed. Nothing was spent."""


class SeriesError(DpselError, RuntimeError):
    """A series is full, closed, in use, damaged, older than what was shown of it, or of another key.

    Nothing was spent, and nothing new was shown.
    """


class InternalError(DpselError, RuntimeError):
    """A broken promise inside dpsel. Please report it."""


class DpselWarning(UserWarning):
    """Parent of every warning of this package."""


class WeakGuaranteeWarning(DpselWarning):
    """A release was asked for with parameters that protect hardly anybody.

    It comes once for each call, above epsilon = 20, delta = 0.001 or rho = 5, items and counts together.

    Examples:
        >>> import warnings
        >>> import dpsel
        >>> with warnings.catch_warnings(record=True) as seen:
        ...     warnings.simplefilter("always")
        ...     release = dpsel.top_k_from_counts([900, 20], k=1, privacy=dpsel.PureDP(epsilon=1000.0))
        >>> [warning.category.__name__ for warning in seen]
        ['WeakGuaranteeWarning']
    """


class ScratchWarning(DpselWarning):
    """``scratch=`` names a folder whose files take memory, or go through a network.

    It says nothing of the data: it depends on the folder alone. On systems without ``/proc`` there is none.
    """


class UnencryptedSparkWarning(DpselWarning):
    """Spark writes or sends something of a release unencrypted, which its settings can mend."""
