"""The lines of a file that a release was written to."""

from __future__ import annotations

import gzip
import io
from typing import IO, TYPE_CHECKING, Any

from dpsel.exceptions import DataError, FileError, MissingFileError
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

__all__ = ["lines_of"]


def lines_of(path: Path) -> Generator[str]:
    """Yield the lines of a text file, with their ends.

    Raises:
        FileError: If it cannot be read.
        DataError: If it is not UTF-8.
    """
    try:
        with _opened(path) as file:
            yield from file
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot read {quoted_path(path)}: {error.strerror}") from None
    except FileError:
        raise
    except (OSError, EOFError) as error:
        raise FileError(
            f"cannot read {quoted_path(path)}: {getattr(error, 'strerror', None) or 'it is damaged'}"
        ) from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; convert it first") from None


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        binary: Any = gzip.GzipFile(path, "r")
        return io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
    if path.suffix == ".zst":
        raise FileError(f"cannot read {quoted_path(path)}: unpack it first, for example with zstd -d")
    return path.open(encoding="utf-8-sig", newline="")
