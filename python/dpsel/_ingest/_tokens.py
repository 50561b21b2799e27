"""Tokens of a function of the caller's: each text of the item column becomes the list of its n-grams."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from dpsel._arguments import is_unicode, type_name, with_article
from dpsel._core_calls import LONGEST_NGRAM
from dpsel._ingest._foreign import opened
from dpsel._request import lengths_of
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Tokens", "list_type"]


def list_type(pa: Any) -> Any:
    """Return the Arrow type of lists of n-grams."""
    return pa.list_(pa.large_string())


@dataclass(frozen=True)
class Tokens:
    """A function from a text to its tokens, and how many tokens make an item.

    Args:
        function: The function.
        fewest: The fewest tokens of an item.
        most: The most tokens of an item.
    """

    function: Callable[[str], Sequence[str]]
    fewest: int
    most: int

    @classmethod
    def of(cls, tokenizer: object, ngrams: object) -> Tokens | None:
        """Return the tokens of a function; ``None`` for the tokenizers of the core."""
        if not callable(tokenizer):
            return None
        fewest, most = lengths_of(ngrams) or (1, 1)
        if not 1 <= fewest <= most <= LONGEST_NGRAM:
            raise InvalidParameterError(
                f"ngrams must be (min, max) with 1 <= min <= max <= {LONGEST_NGRAM}, got ({fewest}, {most}); "
                "(1, 1) makes single tokens, (1, 2) tokens and pairs"
            )
        return cls(tokenizer, fewest, most)

    def of_text(self, text: object) -> list[str] | None:
        """Return the n-grams of a text, joined by spaces; ``None`` for a missing one.

        Raises:
            SchemaError: If it is no text, or the function returns no list of texts. The value is not shown.
        """
        if text is None:
            return None
        if not isinstance(text, str):
            raise SchemaError(f"tokenizer= needs text, but the item column holds {with_article(text)}")
        tokens = self._called(text)
        # Not all that can be iterated: a text is its characters, a mapping its keys, and a set has no order.
        if not isinstance(tokens, list | tuple):
            raise SchemaError(
                f"tokenizer= must return a list of tokens, got {type_name(tokens)}; return texts in a list"
            )
        # A copy: the function may use its list again.
        words = list(tokens)
        if not all(isinstance(word, str) for word in words):
            raise SchemaError("tokenizer= must return a list of texts, got a list with something else in it")
        if not all(map(is_unicode, words)):
            raise SchemaError(
                "tokenizer= must return texts that are Unicode, got one with half of a surrogate pair; "
                "replace it, for example with text.encode(errors='replace').decode()"
            )
        lengths = range(self.fewest, self.most + 1)
        return [" ".join(words[at : at + n]) for n in lengths for at in range(len(words) - n + 1)]

    def _called(self, text: str) -> object:
        try:
            return self.function(text)
        except Exception as error:  # noqa: BLE001 - whatever it is, its words may quote the text
            failed = type(error).__name__
        # Behind the handler: in it Python would chain the exception to this one, text and all.
        shown = failed if failed.isidentifier() else "an exception"
        raise DataError(
            f"tokenizer= raised {shown} on a text; its message may quote the text and is left out, so call "
            "the function on your texts without dpsel, and let it return [] where there is no token"
        )

    def of_pairs(self, pairs: Iterable[Any]) -> Iterator[tuple[Any, list[str]]]:
        """Return pairs of users and lists of n-grams."""
        for position, row in enumerate(pairs):
            # A row with names of fields may have them in any order.
            if type(row) not in (tuple, list) or len(row) != 2:  # noqa: PLR2004 - a pair
                raise SchemaError(
                    f"with tokenizer= the row at position {position} must be a tuple (user, text), got "
                    f"{with_article(row)}; yield plain tuples"
                )
            user, value = row
            texts = value if isinstance(value, list | set | frozenset) else [value]
            yield user, [item for text in texts for item in self.of_text(text) or ()]

    def of_batch(self, batch: Any) -> Any:
        """Return an Arrow batch with lists of n-grams in place of the texts in its last column.

        Raises:
            SchemaError: As `of_text`.
            DataError: In place of an exception of the function, whose words may quote a text.
        """
        import pyarrow as pa

        *others, texts = batch.columns
        lists = opened(lambda: list(map(self.of_text, texts.to_pylist())), "in tokenizer=")
        fields = [*batch.schema][:-1]
        schema = pa.schema([*fields, pa.field(batch.schema.names[-1], list_type(pa))])
        return pa.record_batch([*others, pa.array(lists, list_type(pa))], schema=schema)

    def of_table(self, source: Any, items: list[str], *, in_batches: bool) -> Iterator[Any]:
        """Return the batches of the table, which is opened when it is read, with lists of n-grams for texts.

        Raises:
            SchemaError: If there are several item columns.
            ImportError: If pyarrow is not installed.
        """
        import pyarrow as pa

        if len(items) != 1:
            raise SchemaError("tokenizer= needs exactly one item column; name the text column alone as item=")
        return self._batches(pa, source if in_batches else [source], items[0])

    def check(self, declared: Any, item: str) -> None:
        """Refuse a declared type of the item column that is no text.

        Raises:
            SchemaError: If it is another one.
        """
        import pyarrow as pa
        import pyarrow.types as pt

        schema = pa.RecordBatchReader.from_stream(declared).schema
        at = schema.get_field_index(item)
        kind = schema.field(at).type if at >= 0 else pa.null()
        kind = kind.value_type if pt.is_dictionary(kind) else kind
        texts = (pt.is_null, pt.is_string, pt.is_large_string, pt.is_string_view)
        if not any(is_text(kind) for is_text in texts):
            raise SchemaError(f"tokenizer= needs text, but the item column '{item}' has type {kind}")

    def _batches(self, pa: Any, source: Iterable[Any], item: str) -> Iterator[Any]:
        parts = map(pa.RecordBatchReader.from_stream, source)
        # A library gives at least one part, for the columns.
        first = next(parts)
        at = first.schema.get_field_index(item)
        if at < 0:
            # The core has the message.
            yield first.schema.empty_table()
            return
        schema = first.schema.set(at, pa.field(item, list_type(pa)))
        yield schema.empty_table()
        for batch in chain.from_iterable(chain([first], parts)):
            column = pa.array(map(self.of_text, batch.column(at).to_pylist()), schema.field(at).type)
            columns = [*batch.columns[:at], column, *batch.columns[at + 1 :]]
            yield pa.record_batch(columns, schema=schema)
