"""The shapes that dpsel accepts, as protocols: no library has to be installed to be understood.

Examples:
    >>> from dpsel.typing import ArrowStreamExportable
    >>> isinstance([("ada", "tea")], ArrowStreamExportable)
    False
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    Required,
    TypeAlias,
    TypedDict,
    TypeVar,
)

from dpsel._protocols import ArrowArrayExportable, ArrowStreamExportable
from dpsel.accounting import Neighbours, NeighboursOfCounts, PublishedCounts
from dpsel.formats import Csv

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    from dpsel.accounting import Counts, Privacy, Quantile, Rest
    from dpsel.mechanisms import SelectionMechanism, TopKMechanism

    #: The kind of a release's items; a bare `Release` says nothing about it.
    ItemsT = TypeVarWithDefault("ItemsT", default=Any)
else:
    ItemsT = TypeVar("ItemsT")

__all__ = [
    "ArrowArrayExportable",
    "ArrowStreamExportable",
    "FileFormat",
    "IntoContributions",
    "LazyTable",
    "Neighbours",
    "NeighboursOfCounts",
    "Pair",
    "Progress",
    "PublishedCounts",
    "Relation",
    "SelectOptions",
    "Table",
    "TopKOptions",
]


TableT_co = TypeVar("TableT_co", covariant=True)


class _DataFrame(Protocol):
    """A polars or pandas DataFrame, recognised by methods that other tables lack."""

    def unstack(self, *args: Any, **kwargs: Any) -> Any: ...
    def transpose(self, *args: Any, **kwargs: Any) -> Any: ...


class _ArrowTable(Protocol):
    """A pyarrow Table, recognised by methods that record batches lack."""

    def combine_chunks(self, *args: Any, **kwargs: Any) -> Any: ...
    def unify_dictionaries(self, *args: Any, **kwargs: Any) -> Any: ...


Table: TypeAlias = _DataFrame | _ArrowTable
"""A table of polars, pandas or pyarrow: released items come back as the same kind."""


class LazyTable(Protocol[TableT_co]):
    """A polars LazyFrame: released items come back as a DataFrame, as those of ``describe`` do."""

    def describe(self, *args: Any, **kwargs: Any) -> TableT_co:
        """Return a summary."""
        ...

    def sink_parquet(self, *args: Any, **kwargs: Any) -> Any:
        """Write the rows."""
        ...


class Relation(Protocol[TableT_co]):
    """A DuckDB relation: released items come back as a pyarrow Table."""

    def to_arrow_table(self, *args: Any, **kwargs: Any) -> TableT_co | None:
        """Return the rows."""
        ...

    def project(self, *args: Any, **kwargs: Any) -> Any:
        """Choose columns."""
        ...


Pair: TypeAlias = tuple[Any, Any]
"""``(user, item)`` or ``(user, [items])``."""

FileFormat: TypeAlias = Literal["parquet", "csv", "tsv", "ndjson", "ipc"] | Csv
"""The formats of files that are read; ``Csv`` names a delimiter, or says that there is no header line."""

Progress: TypeAlias = Callable[[int, int], object]
"""Called with (work done, total work); a total of 0 means that it is not known.

Reading counts its bytes or rows, and every phase after it as much as the reading.
"""

IntoContributions: TypeAlias = (
    ArrowStreamExportable
    | ArrowArrayExportable
    | str
    | PathLike[str]
    | Sequence[str]
    | Sequence[PathLike[str]]
    | Iterable[Pair]
    | Table
    | LazyTable[Any]
    | Relation[Any]
)
"""Everything that ``select_partitions`` takes as data."""


Tokenizer: TypeAlias = Literal["words", "chars", "subwords"] | Callable[[str], Sequence[str]]
"""What n-grams are made of: words, characters, pieces of words, or the tokens of a function."""


class SelectOptions(TypedDict, total=False):
    """The keywords of ``select_partitions``, which are documented there."""

    user: str | Sequence[str] | None
    item: str | Sequence[str] | None
    privacy: Required[Privacy]
    max_items_per_user: Required[int | Quantile]
    mechanism: SelectionMechanism | str
    with_weights: bool
    counts: float | Counts | None
    rest: float | Rest | None
    public_items: Iterable[Any] | None
    exclude: Iterable[Any] | None
    min_users: int
    ngrams: tuple[int, int] | None
    tokenizer: Tokenizer | None
    threads: int | None
    memory_limit: int | str | None
    scratch: str | PathLike[str] | None
    scratch_limit: int | str | None
    progress: Progress | bool | None
    insecure_test_key: bytes | None
    file_format: FileFormat | None


class TopKOptions(TypedDict, total=False):
    """The keywords of ``select_top_k``, which are documented there."""

    user: str | Sequence[str] | None
    item: str | Sequence[str] | None
    k: Required[int]
    privacy: Required[Privacy]
    mechanism: TopKMechanism | str
    domain: Iterable[Any] | None
    ordered: bool
    counts: PublishedCounts
    max_items_per_user: int | None
    neighbours: Neighbours
    ngrams: tuple[int, int] | None
    tokenizer: Tokenizer | None
    threads: int | None
    memory_limit: int | str | None
    scratch: str | PathLike[str] | None
    scratch_limit: int | str | None
    progress: Progress | bool | None
    insecure_test_key: bytes | None
    file_format: FileFormat | None
