"""How the release key comes to the tasks: wrapped in their functions; what unwraps it is a setting.

Spark hands the settings of a session to every task beside the function, as properties of its job. Neither
the function nor the setting tells anything alone, and Spark keeps them in different places: functions in the
block manager, which may write to disk; settings in the event log, which redacts names like this one if
they are known when the session starts.
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

#: Spark takes names with "secret" for such as no event log and no page shows. Only settings that start with
#: "spark" come to the tasks.
SETTING: Final = "spark.dpsel.secret"
#: What the setting is while no release runs, if somebody reserved it.
RESERVED: Final = "reserved"


@dataclass(frozen=True)
class Sealed:
    """A plan on its way to tasks."""

    plan: _core.ClusterSealed = field(repr=False)

    def open(self) -> _core.ClusterPlan:
        """Return the plan, in a task."""
        from pyspark import TaskContext

        context = TaskContext.get()
        share = None if context is None else context.getLocalProperty(SETTING)
        if share is None:
            raise InternalError(
                f"a task did not get the setting {SETTING} of its session; please report this"
            )
        return self.plan.open(share)


@dataclass
class _InUse:
    """The share of a session, and what was there before."""

    share: _core.ClusterShare
    before: str | None
    releases: int = 1


class _Shares:
    """The shares that are in use. Releases that run in a session at the same time have the same one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: list[_InUse] = []

    def enter(self, settings: Any) -> _InUse:
        """Return the share of the session, which has one from now on."""
        with self._lock:
            used = self._of(settings)
            if used is not None:
                used.releases += 1
                return used
            share, before = _core.ClusterShare(), settings.get(SETTING, None)
            settings.set(SETTING, share.text())
            # Anything else was left behind by a release whose process ended.
            made = _InUse(share, before if before == RESERVED else None)
            self._used.append(made)
            return made

    def leave(self, settings: Any, used: _InUse) -> None:
        """Take the share out of the session after its last release."""
        with self._lock:
            used.releases -= 1
            if used.releases:
                return
            self._used.remove(used)
            if used.before is None:
                settings.unset(SETTING)
            else:
                settings.set(SETTING, used.before)

    def is_reserved(self, settings: Any) -> bool:
        """Whether the session had the setting before any release began."""
        with self._lock:
            used = self._of(settings)
            before = settings.get(SETTING, None) if used is None else used.before
        return before == RESERVED

    def _of(self, settings: Any) -> _InUse | None:
        now = settings.get(SETTING, None)
        return next((used for used in self._used if now is not None and used.share.is_text(now)), None)


_shares: Final = _Shares()


@contextmanager
def shared(
    session: Any, plan: _core.ClusterPlan, secret_file: str | os.PathLike[str] | None
) -> Iterator[Sealed]:
    """Let the tasks of a session unwrap the key of a plan."""
    settings = session.conf
    used = _shares.enter(settings)
    try:
        yield Sealed(used.share.seal(plan, secret_file))
    finally:
        _shares.leave(settings, used)


def is_redacted(session: Any) -> bool:
    """Whether the event log leaves the value of the setting out.

    It redacts what is a setting of the whole application. A session of Spark Connect sees whether it is one;
    in others it is made one.
    """
    context = getattr(session, "_sc", None)
    if context is None:
        return _shares.is_reserved(session.conf)
    with suppress(Exception):
        # The object that the writer of the event log looks at; PySpark shows copies only.
        settings = context._jsc.sc().conf()  # noqa: SLF001 - there is no public name
        if not settings.contains(SETTING):
            settings.set(SETTING, RESERVED)
        return bool(settings.contains(SETTING))
    return False
