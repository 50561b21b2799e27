"""A budget in a file, which several processes and people spend from."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

from dpsel._arguments import as_name_of_file
from dpsel._core_calls import create_text
from dpsel.budget._budget import Budget
from dpsel.budget._display import display_of, page_of
from dpsel.budget._file import absolute, append, locked
from dpsel.budget._lines import as_decimals, canonical, cost_of_json, cost_to_json, hash_of
from dpsel.budget._payment import Payment
from dpsel.budget._process import OfOneProcess
from dpsel.exceptions import FileError, LedgerError, SeriesError
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpsel._tables import Display
    from dpsel.accounting import Neighbours, Privacy
    from dpsel.release import Report

__all__ = ["Ledger"]

#: Costs are texts of decimals; floats are costs that reports state.
_FORMAT: Final = 2
_NOTHING: Final = "0" * 64

Kind = TypeVar("Kind", bound="Privacy")


class Ledger(Budget[Kind]):
    """A [`Budget`][dpsel.Budget] in a file: every process that opens it spends from one total.

    The file has a line of JSON for the total, for each cost, and for the report of each call that has ended.
    Lines are only appended. Each has the hash of the line before it, so a changed, removed or inserted line
    is found when the file is opened. Lines that were cut off at the end cannot be found so: note ``head``,
    the last hash, elsewhere. A cost is on disk before the call that it pays for reads a row, and stays spent
    if the call fails.

    The file is locked while it is read or written. Locks of network drives are not always reliable.

    Values of ``share`` and ``on_use`` may be copied, pickled and sent to other processes, which pay from the
    same file. A value of ``spend`` is for one call of the process that spent it.

    Its sums hold if costs and questions are chosen as you go, with earlier releases in view: ``spend`` is a
    privacy filter (Rogers, Roth, Ullman and Vadhan, 2016, Theorem 3.6; for zCDP Whitehouse, Ramdas, Rogers
    and Wu, 2023).

    Args:
        path: The file, also if the working directory changes later. It is made if it does not exist and
            ``total`` is given.
        total: The guarantee that all releases together must have; may be left out if the file exists.
        neighbours: As for [`Budget`][dpsel.Budget].

    Raises:
        LedgerError: If the file is no ledger, was changed, or is for another total; also later, if it was
            replaced by one without what was read before.
        FileError: If it cannot be read or written.

    Examples:
        >>> import pathlib, tempfile, dpsel
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "spent.jsonl")
        >>> ledger = dpsel.Ledger(path, dpsel.ApproxDP(epsilon=2.0, delta=1e-6))
        >>> release = dpsel.select_partitions(
        ...     [(user, "tea") for user in range(500)],
        ...     privacy=ledger.spend(dpsel.ApproxDP(epsilon=0.5, delta=1e-7), "drinks"),
        ...     max_items_per_user=1,
        ... )
        >>> dpsel.Ledger(path).remaining.epsilon
        1.5
        >>> folder.cleanup()
    """

    __slots__ = ("_head", "_named", "_path", "_shown", "_times")

    def __init__(
        self,
        path: str | os.PathLike[str],
        total: Kind | None = None,
        *,
        neighbours: Neighbours = "add_remove",
    ) -> None:
        """Make the file, or read it."""
        OfOneProcess.__init__(self)
        self._named, self._head = as_name_of_file("path", path), _NOTHING
        # Another folder may be the working one later.
        self._path = absolute(Path(self._named))
        if total is not None:
            self._start(total, neighbours)
            self._create()
        with self._turn():
            pass
        if total is not None and (total, neighbours) != (self._sums.total, self._sums.neighbours):
            raise LedgerError(
                f"{self._path} is a ledger of {self._sums.total!r} for neighbours={self._sums.neighbours!r}, "
                f"not of {total!r}; leave total= out, or name another file"
            )

    def _reopen(self, path: Path, head: str, total: Kind, neighbours: Neighbours) -> None:
        OfOneProcess.__init__(self)
        self._named, self._path, self._head = str(path), path, head
        self._start(total, neighbours)

    def refuse_elsewhere(self) -> None:
        """Refuse nobody: the file is for all processes."""

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def head(self) -> str:
        """The hash of the last line, which stands for the whole file."""
        with self._turn():
            return self._head

    @contextmanager
    def _turn(self) -> Iterator[IO[bytes]]:
        """Lock the file against all processes and threads, and read what they spent."""
        with locked(self._path, is_known=self._head != _NOTHING) as file:
            self._reload(file)
            yield file

    def _place(self) -> object:
        return self._path

    def _book(self, payment: Payment) -> None:
        with self._turn() as file:
            if self._is_booked(payment):
                return
            number = len(self._entries) + 1
            self._sums.plus(payment.cost)
            payment.on_report = lambda report: self._report(number, report)
            cost = cost_to_json(payment.cost)
            end = file.seek(0, os.SEEK_END)
            try:
                step = {} if payment.step is None else {"step": payment.step}
                self._append(
                    file, {"kind": "cost", "number": number, "label": payment.label, "cost": cost} | step
                )
                payment.stands = True
            except BaseException:
                payment.stands = file.seek(0, os.SEEK_END) > end
                raise

    def _report(self, number: int, report: Report) -> None:
        """Append the report of a call that has ended."""
        with self._turn() as file:
            self._append(file, {"kind": "report", "number": number, "report": json.loads(report.to_json())})

    def _follow(self, series: str, commits: Sequence[str]) -> None:
        """Refuse the folder of a series that lacks a release, and note its last one.

        Args:
            series: What `step` was when it was booked.
            commits: The digests of its releases, in order.
        """
        with self._turn() as file:
            if all(entry.step != series for entry in self._entries):
                raise SeriesError(
                    f"{self._path} has not booked this series; name the ledger that paid for it"
                )
            seen, commit = self._shown.get(series, (0, ""))
            if seen > len(commits) or (seen and commits[seen - 1] != commit):
                raise SeriesError(
                    f"the folder of the series is older than the ledger {self._path}, which knows of "
                    f"release {seen}; "
                    "restore the newest copy of the folder: two lists that share noise are not covered"
                )
            if seen < len(commits):
                entry = {"kind": "series", "series": series, "release": len(commits), "commit": commits[-1]}
                self._append(file, entry)
                self._shown[series] = len(commits), commits[-1]

    def _create(self) -> None:
        """Make the file, or write the total into one that is empty."""
        total = {"kind": "total", "format": _FORMAT, "total": self._sums.total.to_json()}
        total["neighbours"] = self._sums.neighbours
        if not create_text(self._path, self._line(total)[0] + "\n"):
            with locked(self._path, is_known=False) as file:
                if not file.seek(0, os.SEEK_END):
                    self._append(file, total)

    def _line(self, entry: dict[str, Any]) -> tuple[str, str]:
        """Return the line of an entry, and its hash."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        entry = entry | {"time": time, "previous": self._head}
        head = hash_of(entry)
        return canonical(entry | {"hash": head}), head

    def _append(self, file: IO[bytes], entry: dict[str, Any]) -> None:
        line, head = self._line(entry)
        try:
            append(file, line.encode() + b"\n")
        except OSError as error:
            raise FileError(f"cannot write {quoted_path(self._named)}: {error.strerror}") from None
        self._head = head

    def _reload(self, file: IO[bytes]) -> None:
        """Read the whole file and add it up again."""
        file.seek(0)
        lines = file.read().split(b"\n")
        if lines == [b""] and self._head == _NOTHING:
            raise LedgerError(f"{self._path} is empty; give total= to make it a new ledger")
        if lines == [b""]:
            raise self._lacks()
        if len(lines) < 2 or lines.pop() != b"":  # noqa: PLR2004 - the total, and what is behind it
            raise LedgerError(
                f"{self._path} ends in the middle of a line: a write was cut off, and no call was paid with "
                "that line; remove it by hand if nothing else was changed"
            )
        head, *entries = self._checked(lines)
        if head.get("kind") != "total" or head.get("format") != _FORMAT:
            raise LedgerError(f"{self._path} is no ledger of this version of dpsel; name another file")
        try:
            total: Any = as_decimals(head["total"])
            self._start(total, head["neighbours"])
            self._times: list[str] = []
            #: The last release of each series, and its digest.
            self._shown: dict[str, tuple[int, str]] = {}
            for entry in entries:
                self._read(entry)
        except (KeyError, TypeError, ValueError):
            raise LedgerError(f"{self._path} has a line that is none of a ledger; restore it") from None

    def _read(self, entry: dict[str, Any]) -> None:
        if entry["kind"] == "cost":
            if entry["number"] != len(self._entries) + 1:
                raise LedgerError(f"{self._path} has entries out of order; restore it")
            payment = Payment(cost_of_json(entry["cost"]), str(entry["label"]), step=entry.get("step"))
            self._sums = self._sums.plus(payment.cost, checked=False)
            self._entries.append(payment)
            self._times.append(str(entry["time"]))
        elif entry["kind"] == "report":
            from dpsel.release import Report

            self._entries[entry["number"] - 1].report = Report(json.dumps(entry["report"]))
        elif entry["kind"] == "series":
            self._shown[str(entry["series"])] = int(entry["release"]), str(entry["commit"])
        else:
            raise LedgerError(f"{self._path} has a line of an unknown kind; update dpsel")

    def _checked(self, lines: list[bytes]) -> list[dict[str, Any]]:
        """Return the entries, if each has the hash of its content and of the line before it."""
        entries, head, seen = [], _NOTHING, {_NOTHING}
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                claimed = entry.pop("hash")
                fits = entry["previous"] == head and claimed == hash_of(entry)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise LedgerError(
                    f"{self._path} is no ledger: line {number} is none; name another file"
                ) from None
            if not fits:
                raise LedgerError(
                    f"{self._path} was changed: line {number} does not fit its hash or the line before it; "
                    "restore the file, since nobody knows what was spent"
                )
            entries.append(entry)
            seen.add(head := claimed)
        if self._head not in seen:
            raise self._lacks()
        self._head = head
        return entries

    def _lacks(self) -> LedgerError:
        return LedgerError(
            f"{self._path} lacks a line that it had: it was replaced, maybe by an older copy, "
            "which does not know all that was spent; restore it, or open it as it is: dpsel.Ledger(path)"
        )

    def _seen(self) -> Display:
        return display_of(self._entries, self._sums.total, self._sums.in_words(), self._times)

    def to_html(self) -> str:
        """Return a page that needs no other file, with all entries."""
        with self._turn():
            display, head = self._seen(), self._head
        return page_of(display, head)

    def __repr__(self) -> str:
        """File, total and remaining."""
        with self._turn():
            return (
                f"Ledger({str(self._path)!r}, total={self._sums.total!r}, remaining={self._sums.in_words()})"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and what was seen of the file: the budget is in the file."""
        return _reopened, (type(self), str(self._path), self._head, self._sums.total, self._sums.neighbours)


def _reopened(
    cls: type[Ledger[Any]], path: str, head: str, total: Any, neighbours: Neighbours
) -> Ledger[Any]:
    """Return a ledger that is read when it is used: an error in `pickle.load` would end a worker."""
    ledger = cls.__new__(cls)
    ledger._reopen(Path(path), head, total, neighbours)  # noqa: SLF001 - of this file
    return ledger
