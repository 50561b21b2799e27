"""``domains``: the values of several columns that may be published, in one call and one budget."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import elements, type_name, with_article
from dpsel._ingest._libraries import library_of
from dpsel._optional import optional
from dpsel._request import columns_of
from dpsel._tables import SHOWN_ROWS, Display, Displayed, cell, one_line
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.quoting import quoted
from dpsel.release._wording import counted_column
from dpsel.selection import select_partitions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dpsel.accounting import Counts, Privacy
    from dpsel.mechanisms import SelectionMechanism
    from dpsel.release import Release, Report
    from dpsel.typing import Progress

__all__ = ["Domains", "domains"]

_EACH_ROW: Final = "each row"
_ROWS: Final = 1 << 16
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


class Domains(Displayed):
    """The released values of each column, typed as the column is. It is made by [`domains`][dpsel.domains].

    Examples:
        >>> import dpsel
        >>> people = {"job": ["cook", "nurse"] * 500, "age": [30, 40] * 500}
        >>> import pyarrow as pa
        >>> found = dpsel.domains(
        ...     pa.table(people), columns=["job", "age"], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
        ... )
        >>> found["job"], found["age"]
        (['cook', 'nurse'], [30, 40])
        >>> print(found.to_snowflake("people"))
        ALTER TABLE people ALTER (
          COLUMN job SET PRIVACY DOMAIN IN ('cook', 'nurse'),
          COLUMN age SET PRIVACY DOMAIN BETWEEN (30, 40)
        );
    """

    __slots__ = ("_arrays", "_users", "counts", "report")

    report: Report
    """What was enforced, for all columns together."""

    counts: dict[str, list[int]] | None
    """The noisy numbers of the values of each column, in their order; ``None`` unless ``counts=`` asked."""

    def __init__(
        self, arrays: dict[str, Any], report: Report, counts: dict[str, list[int]] | None, *, users: bool
    ) -> None:
        """Keep an array of pyarrow for each column, numbers, and whether a column told the users."""
        self._arrays, self.report, self.counts, self._users = arrays, report, counts, users

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order that was asked for."""
        return list(self._arrays)

    def to_arrow(self, column: str) -> Any:
        """Return the values of a column as a ``pyarrow.Array`` of its type."""
        return self._arrays[column]

    def __getitem__(self, column: str) -> list[Any]:
        """Return the values of a column as Python values, sorted."""
        return list(self._arrays[column].to_pylist())

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(self._arrays)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._arrays)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a domain file in JSON: for each column ``{"type": ..., "possible_values": [...]}``.

        It is the form of ``dpsynth.domain.from_yaml_file``, because JSON is YAML. Dates become texts. dpsynth
        takes values that are not in the list for the first one.

        Args:
            path: Where to.

        Raises:
            FileError: If the file cannot be written.
        """
        made = {
            name: {"type": "CategoricalAttribute", "possible_values": self[name]} for name in self._arrays
        }
        _core_calls.write_text(path, json.dumps(made, indent=1, default=str, ensure_ascii=False) + "\n")

    def to_snowflake(self, table: str) -> str:
        """Return the statement that sets the privacy domains of a table of Snowflake.

        Texts have lists, and integers the range from the least to the largest released value. Columns of
        other types, and those without a value, are left out.

        Args:
            table: The name of the table, as it stands in SQL.
        """
        found = ((name, _snowflake(self[name])) for name in self._arrays)
        lines = [f"  COLUMN {_name(name)} SET PRIVACY DOMAIN {domain}" for name, domain in found if domain]
        if not lines:
            raise InvalidParameterError(
                "no column has a text or an integer that was released, so there is no domain to set; use "
                "more privacy budget or other columns="
            )
        return "\n".join((f"ALTER TABLE {table} ALTER (", ",\n".join(lines), ");"))

    def __repr__(self) -> str:
        """Number of values of each column, and whose they are."""
        values = ", ".join(f"{one_line(name)}: {len(array):,}" for name, array in self._arrays.items())
        each = "" if self._users else "; each row is a user"
        return f"<dpsel.Domains: {values}{each}>"

    def _display(self) -> Display:
        rows = [
            [name, f"{len(array):,}", ", ".join(map(cell, array[:SHOWN_ROWS].to_pylist()))]
            for name, array in self._arrays.items()
        ]
        return Display([repr(self)], ["column", "values", "the first of them"], rows)


def domains(
    data: Any,
    *,
    columns: Sequence[str],
    privacy: Privacy,
    user: str | None = None,
    max_items_per_user: int | None = None,
    mechanism: SelectionMechanism | str = "steered",
    counts: float | Counts | None = None,
    public_values: Mapping[str, Iterable[Any]] | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    scratch: str | os.PathLike[str] | None = "auto",
    scratch_limit: int | str | None = None,
    progress: Progress | bool | None = None,
    insecure_test_key: bytes | None = None,
) -> Domains:
    """Return the values of each column that may be published, in one call for all columns.

    Items are pairs (column, value), so all columns share one budget. That finds far more values than a call
    for each column with a part of the budget.

    Args:
        data: A pyarrow, polars or pandas table, or anything else with the Arrow stream method.
        columns: The columns: integers, texts, booleans or dates, also as categories.
        privacy: The guarantee, as [`ApproxDP`][dpsel.ApproxDP] or [`ZCDP`][dpsel.ZCDP], for all columns.
        user: Column that identifies the user. Without it **each row is a user**, and the report says so.
        max_items_per_user: The most values that a user contributes, in all columns together; by default the
            number of columns. Give a larger one if users have several rows.
        mechanism: How to select, as in [`select_partitions`][dpsel.select_partitions].
        counts: Also return noisy numbers of users, or rows, for this share of the budget, as
            [`select_partitions`][dpsel.select_partitions] does; they are in ``counts``.
        public_values: Values that are known already, by column, such as ``{"sex": ["f", "m"]}``. They come
            out in any case and take nothing of the budget or the limit.
        threads: The most threads to use.
        memory_limit: The most bytes to use beside the table, such as ``"4GiB"``.
        scratch: Where rows beyond that go on, as in [`select_partitions`][dpsel.select_partitions].
        scratch_limit: The most bytes to use there.
        progress: ``True`` for a bar, or a function that is called with ``(done, total)``.
        insecure_test_key: 32 bytes that replace the secret key. **Not private**; for tests only.

    Returns:
        The values by column.

    Raises:
        InvalidParameterError: If no column is named, the column of the user is among them, or
            ``public_values`` names another one.
        SchemaError: If a column is missing, or has floating-point numbers or another type without domains, or
            public values of another type.
        ImportError: If pyarrow is not installed.

    Examples:
        >>> import dpsel
        >>> import pyarrow as pa
        >>> table = pa.table({"city": ["Oslo", "Lima"] * 500, "code": ["1", "2"] * 500})
        >>> found = dpsel.domains(
        ...     table, columns=["city", "code"], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
        ... )
        >>> found["code"], found
        (['1', '2'], <dpsel.Domains: city: 2, code: 2; each row is a user>)
        >>> found = dpsel.domains(
        ...     table,
        ...     columns=["city", "code"],
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     counts=0.3,
        ...     public_values={"city": ["Rome"]},
        ... )
        >>> found["city"], len(found.counts["city"])
        (['Lima', 'Oslo', 'Rome'], 3)
    """
    names = _checked_names(columns, user)
    table = _arrow(data, [*names, *([] if user is None else [user])])
    kinds = {name: _kind(name, table.schema.field(name).type) for name in names}
    known = None if public_values is None else _public_pairs(public_values, kinds)
    release = select_partitions(
        _pairs(table, names, user),
        user=_EACH_ROW if user is None else user,
        item=_items(user),
        privacy=privacy,
        max_items_per_user=len(names) if max_items_per_user is None else max_items_per_user,
        mechanism=mechanism,
        counts=counts,
        public_items=known,
        threads=threads,
        memory_limit=memory_limit,
        scratch=scratch,
        scratch_limit=scratch_limit,
        progress=progress,
        insecure_test_key=insecure_test_key,
    )
    arrays, numbers = _typed(release, kinds)
    return Domains(arrays, release.report, numbers, users=user is not None)


def _checked_names(columns: Sequence[str], user: str | None) -> list[str]:
    names = columns_of(user, columns).items
    if not names:
        raise InvalidParameterError("columns must name at least one column, got none; name the columns")
    if user is not None and not isinstance(user, str):
        raise InvalidParameterError(f"user must name one column, got {type_name(user)}; give a text")
    if twice := [name for name in names if names.count(name) > 1 or name == user]:
        raise InvalidParameterError(
            f"columns names {quoted(twice[0])} twice, or as the user too; a list of users is nothing to "
            "publish, so leave it out of columns="
        )
    return names


def _arrow(data: Any, names: list[str]) -> Any:
    """Return the columns as a table of pyarrow; types must be declared, and not found in values."""
    pa = optional("pyarrow", "domains()")
    library = library_of(data)
    if library == "pyspark":
        raise SchemaError(
            "domains does not read Spark DataFrames; unpivot the columns to rows (user, column, value) and "
            "pass them to dpsel.spark.select_partitions with item=['column', 'value']"
        )
    if not hasattr(data, "__arrow_c_stream__"):
        raise SchemaError(
            f"domains reads tables with declared types, got {with_article(data)}; pass a pyarrow, polars or "
            "pandas table (of a LazyFrame its collect())"
        )
    there = list(
        data.columns if library in ("polars", "pandas", "duckdb") else pa.schema(_schema(data)).names
    )
    for name in names:
        if there.count(name) != 1:
            raise SchemaError(
                f"the table has no single column named {quoted(name)}; columns= and user= name its columns"
            )
    if library == "pandas":
        _refuse_objects(data, names)
    if library in ("polars", "pandas"):
        data = data[names]
    return pa.table(data).select(names)


def _schema(data: Any) -> Any:
    return data.schema if hasattr(data, "schema") else data


def _refuse_objects(data: Any, names: list[str]) -> None:
    for name in names:
        dtype = data.dtypes[name]
        categories = getattr(dtype, "categories", None)
        if str(getattr(categories, "dtype", dtype)) == "object":
            raise SchemaError(
                f"column {quoted(name)} has the type object of pandas, which does not say what its values "
                "are; convert it, for example with astype('string') or astype('Int64')"
            )


def _kind(name: str, kind: Any) -> Any:
    """Return the type of the values of a column, or refuse it."""
    import pyarrow.types as pt

    plain = kind.value_type if pt.is_dictionary(kind) else kind
    texts = (pt.is_string, pt.is_large_string, pt.is_string_view)
    if any(check(plain) for check in (pt.is_integer, pt.is_boolean, pt.is_date32, *texts)):
        return plain
    raise SchemaError(
        f"column {quoted(name)} has the type {plain}, whose values make no domain; "
        + (
            "round floating-point numbers to integers, or make bins of them"
            if pt.is_floating(plain) or pt.is_decimal(plain)
            else "cast it to integers, texts, booleans or dates"
        )
    )


def _items(user: str | None) -> list[str]:
    """Return names of the columns of an item, which are others than that of the user."""
    return [f"{name} of {user}" if name == user else name for name in ("column", "value")]


def _pairs(table: Any, names: list[str], user: str | None) -> Any:
    """Return rows (user, number of the column, value as text), which are made when they are read."""
    import pyarrow as pa

    kind = pa.int64() if user is None else table.schema.field(user).type
    column, value = _items(user)
    schema = pa.schema(
        [(_EACH_ROW if user is None else user, kind), (column, pa.int64()), (value, pa.large_string())]
    )

    def batches() -> Iterator[Any]:
        done = 0
        for batch in table.to_batches(max_chunksize=_ROWS):
            rows = len(batch)
            users = pa.array(range(done, done + rows), kind) if user is None else batch.column(user)
            for number, name in enumerate(names):
                yield pa.RecordBatch.from_arrays(
                    [users, pa.array([number] * rows, pa.int64()), _as_text(batch.column(name))],
                    schema=schema,
                )
            done += rows

    return pa.RecordBatchReader.from_batches(schema, batches())


def _as_text(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.types as pt

    plain = array.dictionary_decode() if pt.is_dictionary(array.type) else array
    return plain.cast(pa.large_string())


def _public_pairs(values: Mapping[str, Iterable[Any]], kinds: dict[str, Any]) -> list[tuple[int, str]]:
    """Return public values as items, which are pairs of a number of a column and a text."""
    if not hasattr(values, "items"):
        raise InvalidParameterError(
            f"public_values must have values by column, got {type_name(values)}; give a dict of lists"
        )
    places = {name: place for place, name in enumerate(kinds)}
    if others := [name for name in values if name not in places]:
        raise InvalidParameterError(
            f"public_values names {quoted(str(others[0]))}, which is none of columns=; leave it out"
        )
    return [
        (places[name], text)
        for name, listed in values.items()
        for text in _public_texts(name, listed, kinds[name])
    ]


def _public_texts(name: str, listed: Any, kind: Any) -> list[str]:
    """Return values as the texts of items; nothing is made of another type, such as 1 of True or of 1.0."""
    import pyarrow as pa

    if isinstance(listed, str | bytes):
        raise InvalidParameterError(
            "public_values must have a list for each column, got one text; use a list"
        )
    values = [
        value.item() if hasattr(value, "item") else value for value in elements("public_values", listed)
    ]
    try:
        array = pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        array = None
    if array is None or list(map(_typed_value, array.to_pylist())) != list(map(_typed_value, values)):
        raise SchemaError(
            f"public_values of column {quoted(name)} must be of its type {kind}; convert the others"
        )
    if array.null_count:
        raise InvalidParameterError("public_values must have no missing value, got one; leave it out")
    texts: list[str] = _as_text(array).to_pylist()
    return texts


def _typed_value(value: Any) -> tuple[type, Any]:
    return type(value), value


def _typed(
    release: Release[Any], kinds: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, list[int]] | None]:
    """Return the released texts of each column as its type, sorted, and their numbers if there are any."""
    import pyarrow as pa

    table, number = release.to_table(), counted_column(release.report["request"])
    places, texts = (table.column(name) for name in table.columns[:2])
    numbers = table.column(number) if number else [0] * len(table)
    arrays, counts = {}, {}
    for at, (name, kind) in enumerate(kinds.items()):
        found = [
            (text, count) for place, text, count in zip(places, texts, numbers, strict=True) if place == at
        ]
        values = pa.array([text for text, _ in found], pa.large_string()).cast(kind).to_pylist()
        pairs = sorted(zip(values, (count for _, count in found), strict=True), key=lambda pair: pair[0])
        arrays[name] = pa.array([value for value, _ in pairs], kind)
        counts[name] = [count for _, count in pairs]
    return arrays, counts if number else None


def _snowflake(values: list[Any]) -> str | None:
    """Return a privacy domain in SQL."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return f"BETWEEN ({values[0]}, {values[-1]})"
    if kinds == {str}:
        texts = (value.replace("\\", "\\\\").replace("'", "''") for value in values)
        quotes = ", ".join(f"'{text}'" for text in texts)
        return f"IN ({quotes})"
    return None


def _name(column: str) -> str:
    return column if _PLAIN_NAME.fullmatch(column) else '"' + column.replace('"', '""') + '"'
