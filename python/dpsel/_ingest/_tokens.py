"""Tokens of a function of the caller's: each text of the item column becomes the list of its n-grams."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from dpsel._arguments import is_unicode, type_name, with_article
from dpsel._core_calls import LONGEST_NGRAM
from dpsel._request import lengths_of
from dpsel.exceptions import InvalidParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Tokens"]


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
    faults: list[str] = field(default_factory=list, repr=False, compare=False)
    """What was wrong. On its way through a stream an exception loses its words."""

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
            raise self._fault(f"tokenizer= needs text, but the item column holds {with_article(text)}")
        tokens = self.function(text)
        # Not all that can be iterated: a text is its characters, a mapping its keys, and a set has no order.
        if not isinstance(tokens, list | tuple):
            raise self._fault(
                f"tokenizer= must return a list of tokens, got {type_name(tokens)}; return texts in a list"
            )
        # A copy: the function may use its list again.
        words = list(tokens)
        if not all(isinstance(word, str) for word in words):
            raise self._fault("tokenizer= must return a list of texts, got a list with something else in it")
        if not all(map(is_unicode, words)):
            raise self._fault(
                "tokenizer= must return texts that are Unicode, got one with half of a surrogate pair; "
                "replace it, for example with text.encode(errors='replace').decode()"
            )
        lengths = range(self.fewest, self.most + 1)
        return [" ".join(words[at : at + n]) for n in lengths for at in range(len(words) - n + 1)]

    def _fault(self, words: str) -> SchemaError:
        self.faults.append(words)
        return SchemaError(words)

    def of_pairs(self, pairs: Iterable[Any]) -> Iterator[tuple[Any, list[str]]]:
        """Return pairs of users and lists of n-grams."""
        for user, value in pairs:
            texts = value if isinstance(value, list | set | frozenset) else [value]
            yield user, [item for text in texts for item in self.of_text(text) or ()]

    def _of_texts(self, texts: Any) -> list[list[str] | None]:
        """Return the n-grams of an Arrow column."""
        try:
            return list(map(self.of_text, texts.to_pylist()))
        except KeyboardInterrupt:
            # Behind Arrow only the text of an exception comes through, and is known by its last line.
            raise KeyboardInterrupt from None

    def of_table(self, source: Any, items: list[str], *, in_batches: bool) -> Tokenized:
        """Return the table with lists of n-grams in place of texts. It is opened when it is read.

        Raises:
            SchemaError: If there are several item columns.
            ImportError: If pyarrow is not installed.
        """
        import pyarrow as pa

        if len(items) != 1:
            raise SchemaError("tokenizer= needs exactly one item column; name the text column alone as item=")
        return Tokenized(pa, self, source if in_batches else [source], items[0])

    def read(self, pa: Any, source: Iterable[Any], item: str) -> Any:
        """Return a reader of the table."""
        parts = iter(source)
        # A library gives at least one part, for the columns.
        first = pa.RecordBatchReader.from_stream(next(parts))
        at = first.schema.get_field_index(item)
        if at < 0:
            # The core has the message.
            return pa.RecordBatchReader.from_batches(first.schema, [])
        schema = first.schema.set(at, pa.field(item, pa.list_(pa.large_string())))

        def listed() -> Iterator[Any]:
            for reader in chain([first], map(pa.RecordBatchReader.from_stream, parts)):
                for batch in reader:
                    column = pa.array(self._of_texts(batch.column(at)), schema.field(at).type)
                    columns = [*batch.columns[:at], column, *batch.columns[at + 1 :]]
                    yield pa.record_batch(columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, listed())


@dataclass(frozen=True)
class Tokenized:
    """A table with lists of n-grams in place of texts."""

    _pyarrow: Any
    _tokens: Tokens
    _source: Iterable[Any]
    _item: str

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule of the table."""
        reader = self._tokens.read(self._pyarrow, self._source, self._item)
        return reader.__arrow_c_stream__(requested_schema)
