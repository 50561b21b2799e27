"""How the release key comes to the tasks: wrapped in functions; what unwraps it is a property of the job.

Spark hands the properties of a job to every task beside the function. Neither the function nor the property
tells anything alone, and Spark keeps them in different places: functions in the block manager, which may
write to disk; properties in the event log, which redacts names like this one if they are settings of the
application.

Spark Connect has no properties, but makes some of the settings of its session. These are also part of the
Hadoop configuration that tasks which read files get by the block manager. So there both may come to a disk.
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
    from collections.abc import Iterator

__all__ = ["RESERVED", "SETTING", "Sealed", "is_redacted", "shared"]

#: Spark takes names with "secret" for such as no event log and no page shows. Only settings of a session that
#: start with "spark" become properties.
SETTING: Final = "spark.dpsel.secret"
#: What the setting is for the application.
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
    """The share of a session of Spark Connect, or of one release."""

    share: _core.ExchangeShare
    session: str | None
    releases: int = 1


class _Shares:
    """The shares that are in use.

    Releases that run in a session of Spark Connect at the same time have the same one, since they have the
    same settings. Others have their own, since threads have their own properties.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: list[_InUse] = []

    def enter(self, settings: Any, session: str | None) -> _InUse:
        """Return the share that tasks get from now on."""
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
    session: Any, job: _core.ExchangeJob, secret_file: str | os.PathLike[str] | None
) -> Iterator[Sealed]:
    """Let the tasks of a session unwrap the key of a job."""
    context = getattr(session, "_sc", None)
    if context is None:
        settings, session_id = session.conf, session.session_id
    else:
        settings, session_id = _Properties(context), None
    used = _shares.enter(settings, session_id)
    try:
        yield Sealed(used.share.seal(job, secret_file))
    finally:
        _shares.leave(settings, used)


def is_redacted(session: Any) -> bool:
    """Whether the event log leaves the value of the setting out.

    It redacts what is a setting of the whole application, which this makes of it. Sessions of Spark Connect
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
