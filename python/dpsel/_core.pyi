# The compiled module. Private: use the names that `dpsel` exports.
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, Literal, final

from dpsel.typing import ArrowArrayExportable, ArrowStreamExportable

__all__ = [
    "Job",
    "Release",
    "__version__",
    "calibrate",
    "check_report",
    "convert_zcdp",
    "keep_probabilities",
    "select_batches",
    "select_files",
    "select_pairs",
    "select_stream",
    "users_needed",
    "validate_bound",
    "validate_privacy",
    "validate_sips",
]

__version__: str

@final
class Job:
    def __new__(
        cls,
        *,
        test_key: bytes | None = None,
        threads: int | None = None,
        memory_limit: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        chosen: str | None = None,
    ) -> Job: ...

@final
class Release:
    @staticmethod
    def from_ipc(ipc: bytes, report_json: str) -> Release: ...
    @property
    def report_json(self) -> str: ...
    @property
    def num_items(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def to_columns(self) -> list[list[Any]]: ...
    def to_ipc(self) -> bytes: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes, str]]: ...

def select_stream(
    stream: ArrowStreamExportable | ArrowArrayExportable, request_json: str, job: Job
) -> Release: ...
def select_batches(frames: Iterable[object], request_json: str, job: Job) -> Release: ...
def select_pairs(pairs: Iterable[object], request_json: str, job: Job) -> Release: ...
def select_files(
    paths: list[str] | list[PathLike[str]],
    file_format: Literal["parquet", "csv", "ndjson", "ipc"] | None,
    request_json: str,
    job: Job,
) -> Release: ...
def calibrate(request_json: str) -> str: ...
def check_report(report_json: str) -> bool: ...
def convert_zcdp(
    rho: float, delta: float, *, epsilon: float | None = None, target_delta: float | None = None
) -> tuple[float, float]: ...
def keep_probabilities(request_json: str, items_per_user: int, users: list[int]) -> list[float]: ...
def users_needed(request_json: str, items_per_user: int, probabilities: list[float]) -> list[int | None]: ...
def validate_bound(items: int) -> None: ...
def validate_privacy(kind: str, values: list[float]) -> None: ...
def validate_sips(rounds: int, ratio: float) -> None: ...
