"""What a filter writes to a text file, a selection of the same file with the same options reads back."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import dpsel
from dpsel.exceptions import DpselError

USERS = 12
WEAK = dpsel.ApproxDP(epsilon=60.0, delta=0.4)
PACK = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}
CHARS = st.sampled_from("ab\"'\\^,;\t |\n\r é\ufeff")
TEXTS = st.text(CHARS, min_size=1, max_size=5)


def field(text: str, form: dpsel.Csv, delimiter: str, *, quoted: bool) -> str | None:
    """A field as any writer with these options may write it; ``None`` if there is no way to."""
    plain = not (set(text) & {delimiter, "\n", "\r", form.quote or "\0"})
    if plain and not quoted:
        return text
    if not form.quote:
        return text if plain else None
    escape = form.escape or form.quote
    inner = "".join(escape + char if char in (form.quote, escape) else char for char in text)
    return f"{form.quote}{inner}{form.quote}"


def selected(path, form, columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = dpsel.select_partitions(
            path,
            user=columns[0],
            item=columns[1],
            privacy=WEAK,
            max_items_per_user=9,
            file_format=form,
            mechanism=dpsel.WeightedGaussian(),
        )
    return set(release.to_pylist())


def released(items):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [(user, item) for user in range(USERS * 20) for item in items]
        return dpsel.select_partitions(rows, privacy=WEAK, max_items_per_user=9)


@st.composite
def forms(draw):
    delimiter = draw(st.sampled_from([None, ",", ";", "\t", "|", " ", "a"]))
    quote = draw(st.sampled_from(['"', "'", "", "|"]))
    escape = draw(st.sampled_from(["", "\\", "^", "'"])) if quote else ""
    used = [char for char in (delimiter, quote, escape) if char]
    assume(len(used) == len(set(used)))
    return dpsel.Csv(delimiter=delimiter, header=draw(st.booleans()), quote=quote, escape=escape)


@pytest.mark.long("a file written and read back for each of 150 examples")
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    form=forms(),
    items=st.lists(TEXTS, min_size=2, max_size=3, unique=True),
    label=st.none() | TEXTS,
    quoted=st.booleans(),
    mark=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    names=st.sampled_from(
        [
            (".csv", ".csv"),
            (".tsv", ".tab.gz"),
            (".csv.gz", ".txt"),
            (".tab", ".tsv.zst"),
            (".csv.zst", ".tsv"),
        ]
    ),
)
def test_what_a_filter_writes_is_read_back(form, items, label, quoted, mark, end, last, names) -> None:
    delimiter = form.delimiter or ("\t" if names[0].startswith((".tsv", ".tab")) else ",")
    assume(delimiter not in (form.quote, form.escape))
    kept = items[:-1]
    lines = [("user", "item")] if form.header else []
    lines += [(str(user), item) for user in range(USERS) for item in items]
    written = [[field(text, form, delimiter, quoted=quoted) for text in line] for line in lines]
    assume(all(text is not None for line in written for text in line))
    text = (
        ("\ufeff" if mark else "")
        + end.join(delimiter.join(line) for line in written)
        + (end if last else "")
    )
    assume(label is None or label not in items)
    columns = ("user", "item") if form.header else ("column_1", "column_2")
    keys = released(kept)
    with TemporaryDirectory() as folder:
        source, target = (
            Path(folder) / f"{name}{end}" for name, end in zip(("rows", "out"), names, strict=True)
        )
        source.write_bytes(PACK.get(source.suffix, bytes)(text.encode()))
        first = selected(source, form, columns)
        try:
            keys.filter_file(source, target, item=columns[1], file_format=form, other=label)
        except DpselError as error:
            # No quotes around a label that needs them, or a name that tells another delimiter.
            assert "not quoted" in str(error) or "another delimiter" in str(error)  # noqa: PT017
            assert not target.exists()
            return
        assert first == set(items)
        expected = set(kept) | ({label} if label is not None else set())
        assert selected(target, form, columns) == expected
        again = Path(folder) / f"again{names[1]}"
        # All items that are there are released, so nothing is left out the second time.
        released([*kept, label] if label is not None else kept).filter_file(
            target, again, item=columns[1], file_format=form
        )
        assert again.read_bytes() == target.read_bytes() or target.suffix in (".gz", ".zst")
