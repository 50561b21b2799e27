"""How the release key comes to the tasks: the functions of tasks hold the key wrapped, a property the share.

Spark hands the properties of a job to every task, beside the function. Neither the wrapped key nor the share
tells anything alone, and Spark keeps them in different places. Functions are in the block manager, which may
write to disk. Properties are in the event log, which redacts a name like this one if it is a setting of the
application.

Spark Connect has no properties, but makes some of the settings of its session. These settings are also part
of the Hadoop configuration, which tasks that read files get by the block manager. So both may come to a disk.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel.exceptions import InternalError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

__all__ = ["RESERVED", "SETTING", "Sealed", "is_redacted", "shared"]

#: Spark shows no setting with "secret" in its name, neither in the event log nor on a page. Only settings of
#: a session that start with "spark" become properties.
SETTING: Final = "spark.dpsel.secret"
#: The value of the setting for the application.
RESERVED: Final = "reserved"


@dataclass(frozen=True)
class Sealed:
    """A job on its way to tasks."""

    job: _core.ExchangeSealedJob = field(repr=False)

    def open(self) -> _core.ExchangeJob:
        """Return the job, in a task."""
        from pyspark import TaskContext

        context = TaskContext.get()
        share = None if context is None else context.getLocalProperty(SETTING)
        if share is None:
            raise InternalError(
                f"a task did not get the property {SETTING} of its job; if PYSPARK_PIN_THREAD is false, "
                "leave it out, else please report this"
            )
        return self.job.open(share)


@dataclass(frozen=True)
class _Properties:
    """The properties of the jobs of this thread, with the methods of settings of a session."""

    context: Any

    def set(self, name: str, value: str) -> None:
        self.context.setLocalProperty(name, value)

    def unset(self, name: str) -> None:
        self.context.setLocalProperty(name, None)


@dataclass
class _InUse:
    """The share of a session of Spark Connect, or of one release in a classic session."""

    share: _core.ExchangeShare
    session: str | None
    releases: int = 1


class _Shares:
    """The shares that are in use.

    Releases that run in one session of Spark Connect at the same time use the same share, since they use the
    same settings. In classic sessions each release has a share of its own, as threads have properties of
    their own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: list[_InUse] = []

    def enter(self, settings: Any, session: str | None) -> _InUse:
        """Return the share that tasks get from now on, a fresh one if none is in use."""
        with self._lock:
            for used in self._used:
                if session is not None and used.session == session:
                    used.releases += 1
                    return used
            made = _InUse(_core.ExchangeShare(), session)
            settings.set(SETTING, made.share.text())
            self._used.append(made)
            return made

    def leave(self, settings: Any, used: _InUse) -> None:
        """Take the share back after its last release."""
        with self._lock:
            used.releases -= 1
            if used.releases == 0:
                self._used.remove(used)
                settings.unset(SETTING)


_shares: Final = _Shares()


@contextmanager
def shared(
    session: Any, secret_file: str | os.PathLike[str] | None
) -> Iterator[Callable[[_core.ExchangeJob], Sealed]]:
    """Seal jobs, whose keys the tasks of a session can unwrap meanwhile."""
    context = getattr(session, "_sc", None)
    if context is None:
        settings, session_id = session.conf, session.session_id
    else:
        settings, session_id = _Properties(context), None
    used = _shares.enter(settings, session_id)
    try:
        yield lambda job: Sealed(used.share.seal(job, secret_file))
    finally:
        _shares.leave(settings, used)


def is_redacted(session: Any) -> bool:
    """Whether the event log leaves the value of the setting out.

    It redacts settings of the whole application, so this function makes it one. Sessions of Spark Connect
    cannot do that, and do not show whether it is one.
    """
    context = getattr(session, "_sc", None)
    if context is None:
        return False
    with suppress(Exception):
        # The object that the writer of the event log looks at; PySpark shows copies only.
        settings = context._jsc.sc().conf()  # noqa: SLF001 - there is no public name
        if not settings.contains(SETTING):
            settings.set(SETTING, RESERVED)
        return bool(settings.contains(SETTING))
    return False
