"""Write the corpus: small valid inputs of every target, from which the search starts.

    python fuzz/corpus.py

The same files come out each time, up to the versions of the libraries that write them. Every text in the
tables holds the mark that the targets look for in errors.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import dpsel

FOLDER = Path(__file__).resolve().parent / "corpus"
MARK = "zxqv"
USERS = [f"{MARK} user {n // 3}" for n in range(9)]
ITEMS = [f'{MARK} item {n % 4}, "quoted"' if n % 5 else None for n in range(9)]
OTHERS = [n * 77_777 for n in range(9)]

TYPES = {
    "text": (pa.string(), pa.string()),
    "view": (pa.string_view(), pa.string_view()),
    "dictionary": (pa.string(), pa.dictionary(pa.int8(), pa.string())),
    "binary": (pa.binary(), pa.large_binary()),
}


def table(user: pa.DataType, item: pa.DataType) -> pa.Table:
    """The rows with these types."""
    columns = {"user": pa.array(USERS), "item": pa.array(ITEMS), "other": pa.array(OTHERS)}
    flat = item.value_type if pa.types.is_dictionary(item) else item
    cast = {"user": columns["user"].cast(user), "item": columns["item"].cast(flat)}
    if pa.types.is_dictionary(item):
        cast["item"] = cast["item"].dictionary_encode()
    return pa.table(columns | cast)


def tables() -> dict[str, pa.Table]:
    """Tables of the types that files can hold."""
    found = {name: table(*types) for name, types in TYPES.items()}
    numbers = {"user": pa.array(OTHERS, pa.uint32()), "other": pa.array([True, False, None] * 3)}
    found["numbers"] = pa.table(numbers | {"item": pa.array(OTHERS, pa.int64())})
    found["dates"] = pa.table(numbers | {"item": pa.array(OTHERS, pa.date32())})
    found["times"] = pa.table(numbers | {"item": pa.array(OTHERS, pa.timestamp("us", "UTC"))})
    found["lists"] = pa.table(numbers | {"item": [ITEMS[:n] for n in range(9)]})
    return found


def keep(target: str, name: str, content: bytes) -> None:
    """Write one input."""
    folder = FOLDER / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def columnar() -> None:
    """Parquet and Arrow IPC."""
    for (name, data), compression in itertools.product(tables().items(), ["none", "snappy"]):
        sink = pa.BufferOutputStream()
        options = {"use_dictionary": compression == "snappy", "row_group_size": 5, "write_statistics": False}
        pyarrow.parquet.write_table(data, sink, compression=compression, **options)
        keep("parquet", f"{name}.{compression}.parquet", sink.getvalue())
    for compression, codec in (("zstd", "text"), ("gzip", "numbers"), ("brotli", "view"), ("lz4", "binary")):
        sink = pa.BufferOutputStream()
        pyarrow.parquet.write_table(
            tables()[codec], sink, compression=compression, data_page_version="2.0", write_statistics=False
        )
        keep("parquet", f"{codec}.{compression}.parquet", sink.getvalue())
    for (name, data), file in itertools.product(tables().items(), [True, False]):
        sink = pa.BufferOutputStream()
        compression = {"text": "zstd", "view": "lz4"}.get(name)
        make = pa.ipc.new_file if file else pa.ipc.new_stream
        with make(sink, data.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as out:
            out.write_table(data, max_chunksize=5)
        keep("ipc", f"{name}.{'arrow' if file else 'arrows'}", sink.getvalue())


def text() -> None:
    """CSV and JSON lines, plain and compressed."""
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(tables()["text"], sink)
    plain = sink.getvalue().to_pybytes()
    keep("csv", "rows.csv", plain)
    keep("csv", "crlf.csv", b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    keep("csv", "rows.csv.gz", gzip.compress(plain, mtime=0))
    keep("csv", "rows.csv.zst", pa.compress(plain, codec="zstd", asbytes=True))
    for name in ("text", "numbers", "lists"):
        rows = tables()[name].to_pylist()
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        keep("ndjson", f"{name}.ndjson", lines)
    keep("ndjson", "lists.ndjson.gz", gzip.compress(lines, mtime=0))


#: Parameters whose tables take seconds.
SLOW = {("curves", 4), ("curves", 5), ("curves", 9)}


def bytes_of_targets() -> None:
    """Bytes that the targets `keys` and `curves` take apart."""
    source = random.Random("dpsel")  # noqa: S311 - no secret
    for target, size, number in (("keys", 400, 24), ("curves", 40, 12)):
        for n in range(number):
            content = source.randbytes(size)
            if (target, n) not in SLOW:
                keep(target, f"{n:02}", content)


def reports() -> None:
    """A report of every mechanism."""
    common = {"max_items_per_user": 10, "insecure_test_key": bytes(32)}
    for mechanism in (cls() for cls in dpsel.mechanisms.selection_mechanisms().values()):
        privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-5)
        bound = {"max_items_per_user": 1} if mechanism.name == "one_item" else {}
        release = dpsel.select_partitions([(1, 2)], privacy=privacy, mechanism=mechanism, **common | bound)
        keep("reports", f"{mechanism.name}.json", release.report.to_json().encode())
    domain = [2, 3, 4]
    for mechanism in (dpsel.Joint(), dpsel.GumbelPeel(), dpsel.Gamma()):
        release = dpsel.select_top_k(
            [(1, 2)], k=2, domain=domain, privacy=dpsel.PureDP(epsilon=1.0), mechanism=mechanism,
            insecure_test_key=bytes(32),
        )  # fmt: skip
        keep("reports", f"{mechanism.name}.json", release.report.to_json().encode())


if __name__ == "__main__":
    columnar()
    text()
    bytes_of_targets()
    reports()
    print(sum(1 for path in FOLDER.rglob("*") if path.is_file()), "files in", FOLDER)
