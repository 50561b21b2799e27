"""A request: one call apart from its data and its key, as the core reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from dpsel import _core_calls
from dpsel._arguments import as_bytes, as_int_if_given
from dpsel._request._columns import checked_test_key
from dpsel._request._lists import NO_LISTS, PublicLists
from dpsel.progress import Bar, progress_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel._core_calls import Job, Task
    from dpsel.accounting import Privacy
    from dpsel.mechanisms import Mechanism
    from dpsel.typing import Progress

__all__ = ["Request", "as_json", "as_pairs", "request_of"]

# Kept, because making an encoder takes as long as encoding a request.
_ENCODER: Final = json.JSONEncoder(allow_nan=False)

MechanismT = TypeVar("MechanismT", bound="Mechanism | None")
ReleasingT = TypeVar("ReleasingT", bound="Mechanism")


@dataclass(frozen=True, slots=True)
class Request(Generic[MechanismT]):
    """A request, and the values of the call that are not in its JSON.

    Args:
        task: The task: a selection, a count or a top-k.
        json: The request as the core reads it.
        mechanism: The mechanism, never ``"auto"``; ``None`` for a count.
        chosen: The reason, if ``"auto"`` chose the mechanism.
        public_table: Items with numbers that are public: a domain, or preferences of users.
        lists: Public lists of a selection.
    """

    task: Task
    json: str
    mechanism: MechanismT
    chosen: str | None = None
    public_table: list[tuple[int, Any]] | None = None
    lists: PublicLists = NO_LISTS

    def calibrate(self) -> dict[str, Any]:
        """Return the calibration, which needs no data."""
        return _core_calls.calibrate(self.json)

    def job(
        self,
        *,
        test_key: object = None,
        threads: int | None = None,
        memory_limit: int | str | None = None,
        scratch: str | Callable[[], tuple[str | None, int | None]] | None = None,
        scratch_limit: int | str | None = None,
        progress: Progress | bool | None = None,
    ) -> Job:
        """Return the request with a key and the limits of this machine."""
        call = progress_call(progress)
        return _core_calls.Job(
            self.json,
            test_key=checked_test_key(test_key),
            threads=as_int_if_given("threads", threads),
            memory_limit=as_bytes("memory_limit", memory_limit),
            scratch=scratch,
            scratch_limit=as_bytes("scratch_limit", scratch_limit),
            progress=call,
            with_phase=isinstance(call, Bar),
            chosen=self.chosen,
            public_table=self.public_table,
            excluded=as_pairs(self.lists.exclude),
            public_items=as_pairs(self.lists.public_items),
        )


def request_of(
    task: Task,
    privacy: Privacy,
    mechanism: ReleasingT,
    parameters: dict[str, Any],
    *,
    chosen: str | None = None,
    public_table: list[tuple[int, Any]] | None = None,
    lists: PublicLists = NO_LISTS,
) -> Request[ReleasingT]:
    """Return the request of a release; ``parameters`` are the fields that only this task has."""
    fields = {"privacy": privacy.to_json(), "mechanism": mechanism.to_json()} | parameters
    return Request(task, as_json(task, fields), mechanism, chosen, public_table, lists)


def as_pairs(items: list[Any] | None) -> list[tuple[int, Any]] | None:
    """Return the items of a public list as the core reads them: each beside a user, who means nothing."""
    return None if items is None else [(0, item) for item in items]


def as_json(task: Task, fields: dict[str, Any]) -> str:
    """Return a request as the core reads it: it says its task."""
    return _ENCODER.encode({"task": task} | fields)
