# The compiled module. Private: use the names that `dpsel` exports.
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, final

from dpsel._protocols import ArrowArrayExportable

__all__ = [
    "LONGEST_NGRAM",
    "ExchangeDraw",
    "ExchangeJob",
    "ExchangePacked",
    "ExchangeSealedJob",
    "ExchangeSelection",
    "ExchangeShare",
    "ExchangeSteering",
    "ExchangeTask",
    "ExchangeTopK",
    "Job",
    "Members",
    "ObjectColumn",
    "Release",
    "ReportText",
    "RowMask",
    "SeriesRelease",
    "Source",
    "__commit__",
    "__version__",
    "await_ending",
    "calibrate",
    "check_report",
    "check_source",
    "composed_privacy",
    "convert_zcdp",
    "count_series_check",
    "count_series_plan",
    "count_series_release",
    "create_text",
    "curve_words",
    "foreign_error",
    "gaussian_part",
    "keep_probabilities",
    "object_column",
    "possible_limits",
    "quoted",
    "quoted_path",
    "read_report",
    "run",
    "seal",
    "series_check",
    "series_items",
    "series_plan",
    "series_release",
    "series_user_digests",
    "tag",
    "top_k_counts",
    "top_k_loss",
    "unseal",
    "users_needed",
    "validate",
    "validate_exchange",
    "write_text",
]

__version__: str
__commit__: str | None
LONGEST_NGRAM: int

@final
class Job:
    def __new__(
        cls,
        request_json: str,
        *,
        test_key: bytes | None = None,
        threads: int | None = None,
        memory_limit: int | None = None,
        scratch: str | Callable[[], tuple[str | None, int | None]] | None = None,
        scratch_limit: int | None = None,
        progress: Callable[..., object] | None = None,
        with_phase: bool = False,
        chosen: str | None = None,
        public_table: Iterable[object] | None = None,
        excluded: Iterable[object] | None = None,
        public_items: Iterable[object] | None = None,
    ) -> Job: ...

@final
class Source:
    @staticmethod
    def files(
        paths: list[str] | list[PathLike[str]],
        file_format: Literal["parquet", "csv", "tsv", "ndjson", "ipc"] | None,
        *,
        quoted: bool,
        delimiter: str | None = None,
        header: bool = True,
        quote: str = '"',
        escape: str = "",
    ) -> Source: ...
    def named_files(self) -> list[PathLike[str]]: ...
    def whole_files(
        self, items: list[str]
    ) -> list[tuple[PathLike[str], bytes | None, list[tuple[str, str | None]]]]: ...
    @staticmethod
    def stream(stream: object, found: list[str], names: list[str] | None) -> Source: ...
    @staticmethod
    def batches(frames: object, names: list[str] | None) -> Source: ...
    @staticmethod
    def pairs(pairs: object) -> Source: ...

@final
class ReportText:
    @property
    def text(self) -> str: ...

@final
class Release:
    @staticmethod
    def from_ipc(ipc: bytes, report_json: str) -> Release: ...
    @staticmethod
    def of_columns(
        columns: Sequence[tuple[str, ArrowArrayExportable]], weights: list[float] | None, report_json: str
    ) -> Release: ...
    @property
    def report(self) -> ReportText: ...
    @property
    def num_items(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def to_columns(self, name: str | None = None, places: Sequence[int] | None = None) -> list[list[Any]]: ...
    def write(self, path: str | PathLike[str]) -> None: ...
    def to_ipc(self) -> bytes: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes, str]]: ...

@final
class Members:
    def __new__(cls, release: Release, columns: list[str], levels: str | None = None) -> Members: ...
    def rows(self, table: object) -> RowMask: ...
    def levels(self, table: object) -> bytes: ...
    def copy_rows(
        self,
        source: Source,
        columns: list[str],
        labels: list[str] | None,
        made: str | PathLike[str],
        shown: str | PathLike[str],
    ) -> None: ...

@final
class RowMask:
    def __len__(self) -> int: ...
    def to_bytes(self) -> bytes: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class SeriesRelease:
    #: The whole new state. It is not encrypted, and secret.
    @property
    def state(self) -> bytes: ...
    def sealed_state(self, key: bytes, label: bytes) -> bytes: ...
    #: The new items. Their ``report`` is the text of the plan.
    @property
    def items(self) -> Release: ...

@final
class ObjectColumn:
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class ExchangeSelection:
    def __new__(
        cls,
        request_json: str,
        schema: object,
        *,
        test_key: bytes | None = None,
        excluded: Iterable[object] | None = None,
        public_items: Iterable[object] | None = None,
    ) -> ExchangeSelection: ...
    @property
    def most_rounds(self) -> int: ...
    @property
    def sizes(self) -> list[int] | None: ...
    def after_a_look(self, counted: ExchangePacked) -> ExchangeSelection: ...
    @property
    def unread(self) -> ExchangePacked: ...
    @property
    def read_public(self) -> ExchangePacked: ...
    @property
    def job(self) -> ExchangeJob: ...
    def looks_up(self, schema: object) -> bool: ...
    def closed(self, named: list[Any], released: ExchangePacked, schema: object) -> ExchangePacked: ...
    @property
    def is_counted(self) -> bool: ...
    @property
    def has_rest(self) -> bool: ...
    def publish(
        self,
        named: list[Any],
        released: ExchangePacked,
        numbers: ExchangePacked | None,
        rest: ExchangePacked | None,
        schema: object,
        chosen: str | None = None,
    ) -> Release: ...

@final
class ExchangeTopK:
    def __new__(
        cls,
        request_json: str,
        schema: object,
        *,
        test_key: bytes | None = None,
        domain: Iterable[object] | None = None,
    ) -> ExchangeTopK: ...
    @property
    def job(self) -> ExchangeJob: ...
    @property
    def is_discovery(self) -> bool: ...
    @property
    def has_noisy_numbers(self) -> bool: ...
    @property
    def listed(self) -> ExchangePacked | None: ...
    @property
    def largest(self) -> int | None: ...
    def draw(self, counted: ExchangePacked) -> ExchangeDraw: ...
    def looks_up(self, schema: object) -> bool: ...
    def publish(
        self, named: list[Any], draw: ExchangeDraw, schema: object, chosen: str | None = None
    ) -> Release: ...

@final
class ExchangeDraw:
    @property
    def items(self) -> ExchangePacked: ...

@final
class ExchangePacked:
    def __new__(cls, batches: list[Any] = ...) -> ExchangePacked: ...
    def followed_by(self, more: ExchangePacked) -> ExchangePacked: ...
    def added_up(self, more: ExchangePacked) -> ExchangePacked: ...
    def __len__(self) -> int: ...

@final
class ExchangeSteering:
    def __new__(cls, job: ExchangeJob) -> ExchangeSteering: ...
    def take(self, sent: ExchangePacked) -> None: ...
    def end_round(self) -> ExchangePacked: ...
    @staticmethod
    def most_sums(shared: ExchangePacked, tasks: int) -> int: ...

@final
class ExchangeShare:
    def __new__(cls) -> ExchangeShare: ...
    def text(self) -> str: ...
    def seal(self, job: ExchangeJob, secret_file: str | PathLike[str] | None = None) -> ExchangeSealedJob: ...

@final
class ExchangeSealedJob:
    @staticmethod
    def from_parts(
        spec_json: str, key_json: str, secret_file: str | PathLike[str] | None
    ) -> ExchangeSealedJob: ...
    def open(self, share: str) -> ExchangeJob: ...
    def __reduce__(self) -> tuple[Any, tuple[str, str, PathLike[str] | None]]: ...

@final
class ExchangeJob:
    @property
    def rounds(self) -> int: ...
    @property
    def is_steered(self) -> bool: ...
    @property
    def is_tree(self) -> bool: ...
    @property
    def is_text(self) -> bool: ...
    def encode(
        self, num_buckets: int, with_user_counts: bool, left_out: bytes | None = None
    ) -> ExchangeTask: ...
    def take_out(self, items: bytes) -> ExchangeTask: ...
    def lengths(self, sizes: list[int]) -> ExchangeTask: ...
    @property
    def frequent_above(self) -> int: ...
    @staticmethod
    def frequent_items(frequent_above: int) -> ExchangeTask: ...
    def prune_and_weigh(self, frequent_above: int, frequent: bytes) -> ExchangeTask: ...
    def weigh(self, round: int, released: bytes) -> ExchangeTask: ...  # noqa: A002 - of a release
    def decided(self, round: int, sent: ExchangePacked) -> ExchangePacked: ...  # noqa: A002 - of a release
    def block_users(self, shared: bytes) -> ExchangeTask: ...
    def weigh_blocks(self, round: int, states: bytes) -> ExchangeTask: ...  # noqa: A002 - of a release
    def count(self, num_buckets: int, wanted: bytes | None, bounded: bool) -> ExchangeTask: ...
    def count_released(self, num_buckets: int, released: bytes) -> ExchangeTask: ...
    def count_rest(self, listed: bytes) -> ExchangeTask: ...
    def noisy_counts(self) -> ExchangeTask: ...
    def total(self, most: int | None) -> ExchangeTask: ...
    @staticmethod
    def released_set(decided: ExchangePacked, bits: int | None = None) -> ExchangePacked: ...
    def filter_candidates(self, num_buckets: int, filter: bytes) -> ExchangeTask: ...  # noqa: A002 - of a release
    @staticmethod
    def false_positives() -> ExchangeTask: ...
    @staticmethod
    def bucket_decisions(num_buckets: int, decided: ExchangePacked) -> list[Any]: ...
    def name(self, released: bytes, left_out: bytes | None = None) -> ExchangeTask: ...
    def sealed(self, packed: ExchangePacked) -> bytes: ...

@final
class ExchangeTask:
    def push(self, batch: ArrowArrayExportable) -> list[Any]: ...
    def finish(self) -> list[Any]: ...

def run(source: Source, job: Job) -> Release | list[tuple[int, int]]: ...
def check_source(source: Source, job: Job, declared: object | None) -> None: ...
def top_k_counts(counts: object, job: Job) -> tuple[list[int | None], list[int | None], str]: ...
def top_k_loss(request_json: str, items: int, probability: float) -> float | None: ...
def await_ending() -> None: ...
def series_plan(
    *,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    releases: int,
    max_items_per_user: int,
    waits: bool,
) -> str: ...
def series_check(plan: str) -> None: ...
def count_series_plan(
    *,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    releases: int,
    window: int,
    max_items_per_user: int,
    max_releases_per_item: int,
    is_of_one_release: bool,
) -> str: ...
def count_series_check(plan: str) -> None: ...

# The lists of one series, one at least, in the order of its releases.
def series_items(lists: Sequence[Release]) -> Release: ...

# `secret` and `noise_key` have 32 bytes. `columns_json` is the `columns` of a request, such as
# `{"user": "u", "items": ["i"]}`, with `ngrams` if there are such. `forget` has digests that
# `series_user_digests` made under the same secret. The first release has no state. It may be
# given as its label and what `seal` made of it with the secret. A state that is damaged,
# or of another plan or secret, is a `DataError`, and a plan that does not hold a `ReportError`.
def series_release(
    plan: str,
    secret: bytes,
    state: bytes | tuple[bytes, bytes] | None,
    noise_key: bytes,
    source: Source,
    columns_json: str,
    forget: Sequence[bytes],
    *,
    threads: int | None = None,
    memory_limit: int | None = None,
) -> SeriesRelease: ...

# As `series_release`. `named` has pairs of anything and a public item, which are counted from now on.
def count_series_release(
    plan: str,
    secret: bytes,
    state: bytes | tuple[bytes, bytes] | None,
    noise_key: bytes,
    source: Source,
    columns_json: str,
    forget: Sequence[bytes],
    named: Sequence[tuple[int, Any]] | None,
    *,
    threads: int | None = None,
    memory_limit: int | None = None,
) -> SeriesRelease: ...

# The digests of all users of a source of rows, sorted. To forget users, give them any item:
# `Source.pairs([(user, 0), ...])`, with values of the type that the table has.
def series_user_digests(secret: bytes, source: Source, columns_json: str) -> list[bytes]: ...

# Keys have 32 bytes. What `seal` gives is padded to steps of an eighth. `unseal` raises `DataError` (a
# `ValueError`) for another key, label, length or content. `tag` is a keyed digest of 32 bytes.
def seal(key: bytes, label: bytes, plain: bytes) -> bytes: ...
def unseal(key: bytes, label: bytes, sealed: bytes) -> bytes: ...
def tag(key: bytes, data: bytes) -> bytes: ...
def quoted(name: str) -> str: ...
def quoted_path(path: str) -> str: ...
def calibrate(request_json: str) -> str: ...
def check_report(report_json: str) -> list[str]: ...
def composed_privacy(
    first: tuple[str, list[float]], second: tuple[str, list[float]]
) -> tuple[str, list[float]]: ...
def convert_zcdp(
    rho: float,
    delta: float,
    *,
    epsilon: float | None = None,
    target_delta: float | None = None,
    releases: int = 1,
) -> dict[str, float]: ...
def create_text(path: str | PathLike[str], text: str) -> bool: ...
def curve_words(spec_json: str) -> list[int]: ...
def foreign_error(error: BaseException, position: str) -> BaseException: ...
def object_column(
    values: Iterable[object], name: str, *, lists: bool, of_pandas: bool = True
) -> ObjectColumn: ...
def gaussian_part(report_json: str) -> tuple[float, float] | None: ...
def read_report(report_json: str) -> None: ...
def keep_probabilities(request_json: str, items_per_user: int, users: list[int]) -> list[float]: ...
def possible_limits(request_json: str) -> tuple[list[int], float, str]: ...
def users_needed(request_json: str, items_per_user: int, probabilities: list[float]) -> list[int | None]: ...
def validate(
    *,
    privacy: dict[str, Any] | None = None,
    max_items_per_user: int | None = None,
    mechanism: dict[str, Any] | None = None,
) -> None: ...
def validate_exchange(request_json: str) -> None: ...
def write_text(path: str | PathLike[str], text: str) -> None: ...
