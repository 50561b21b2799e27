"""Where rows go that do not fit into memory, and how much memory they may take before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeAlias

from dpsel._arguments import as_path_if_given
from dpsel.budget._strength import warn_caller
from dpsel.exceptions import ScratchWarning

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AUTO", "FindPlace", "found_place", "may_outgrow_memory", "place_of_rows"]

#: What is written there stays in memory, or in swap.
_MEMORY: Final = {"tmpfs", "ramfs", "devtmpfs", "zram"}
#: Each block goes through a network twice, and others may see its size.
_NETWORK: Final = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "gpfs"),
    *("lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"),
}
_PROCESS: Final = "/proc/self"
_MACHINE: Final = "/proc/meminfo"
_GROUPS: Final = "/sys/fs/cgroup"
#: The least limit with which the core works from a disk.
_LEAST: Final = 64 << 20
#: The scratch folder that a job finds by itself if it needs one.
AUTO: Final = "auto"
#: What ``"auto"`` tries after the system's folder for temporary files.
_MORE_FOLDERS: Final = ("/var/tmp",)  # noqa: S108 - files there have no name


#: What a job asks when it has more than a few rows: a folder for them on a disk, and the memory that is free.
FindPlace: TypeAlias = "Callable[[], tuple[str | None, int | None]]"


def place_of_rows(
    scratch: str | os.PathLike[str] | None, memory_limit: int | str | None
) -> tuple[str | FindPlace | None, int | str | None]:
    """Return the scratch folder and the memory limit of a call.

    ``"auto"`` becomes a function that finds a folder on a disk when a job is not small. With a folder that is
    named and without a memory limit, rows take half of the memory that the machine or its container has free.
    No release depends on either, but by `may_outgrow_memory`.
    """
    if (scratch := as_path_if_given("scratch", scratch)) is None:
        return None, memory_limit
    if scratch == AUTO:
        return found_place, memory_limit
    _warn_of(_file_system(scratch))
    if memory_limit is None and (free := free_memory()) is not None:
        memory_limit = max(free // 2, _LEAST)
    return scratch, memory_limit


def may_outgrow_memory(place: str | FindPlace | None, memory_limit: object) -> bool:
    """Return whether a call says that its rows may go to a disk: by a folder, or by a limit of the memory."""
    return isinstance(place, str) or (place is not None and memory_limit is not None)


def found_place() -> tuple[str | None, int | None]:
    """Return a folder for temporary files that is on a disk of this machine, and the memory that is free."""
    import tempfile

    folders = (folder for folder in (tempfile.gettempdir(), *_MORE_FOLDERS) if _is_disk(folder))
    return next(folders, None), free_memory()


def _is_disk(folder: str) -> bool:
    return (
        os.path.isdir(folder)  # noqa: PTH112 - pathlib takes longer to import
        and os.access(folder, os.W_OK)
        and _file_system(folder) not in _MEMORY | _NETWORK
    )


def free_memory() -> int | None:
    """Return how many bytes the machine has free, or its container if that is less; ``None`` if unknown."""
    machine = _number(_read(_MACHINE), "MemAvailable:")
    limits = [] if machine is None else [machine * 1024]
    for line in _read(f"{_PROCESS}/cgroup").splitlines():
        _, _, rest = line.partition(":")
        kinds, _, group = rest.partition(":")
        if kinds and "memory" not in kinds.split(","):
            continue
        root, files = (_GROUPS, _SECOND) if not kinds else (f"{_GROUPS}/memory", _FIRST)
        limits += _left_in_groups(root, group, *files)
    return max(min(limits), 0) if limits else None


#: Files of a control group, of its second and first version: limit, use, and what of that can be dropped.
_SECOND: Final = ("memory.max", "memory.current", "inactive_file")
_FIRST: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _left_in_groups(root: str, group: str, limit: str, used: str, droppable: str) -> list[int]:
    """Return what is left in a group and in those around it, each if it has a limit."""
    names, left = [name for name in group.split("/") if name], []
    for depth in range(len(names) + 1):
        folder = "/".join([root, *names[:depth]])
        most, taken = _number(_read(f"{folder}/{limit}")), _number(_read(f"{folder}/{used}"))
        if most is not None and taken is not None:
            left.append(most - taken + (_number(_read(f"{folder}/memory.stat"), droppable) or 0))
    return left


def _number(text: str, name: str = "") -> int | None:
    """Return the number behind a name at the start of a line, or the only one."""
    for line in text.splitlines():
        words = line.split() if name else ["", *line.split()]
        if len(words) > 1 and words[0] == name:
            return int(words[1]) if words[1].isdecimal() else None
    return None


def _read(path: str) -> str:
    """Return a file of the system; nothing if it is not there."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - takes longer to import
            return file.read()
    except OSError:
        return ""


def _warn_of(kind: str | None) -> None:
    """Warn if files of a file system are in memory or on another machine; unknown ones pass."""
    if kind in _MEMORY:
        message = (
            f"scratch= names a folder of the file system {kind}, whose files take the memory that they are "
            "to save; name a folder on a disk, such as /var/tmp"
        )
    elif kind in _NETWORK:
        message = (
            f"scratch= names a folder of the file system {kind}, so every row goes through the network "
            "several times, encrypted; name a folder on a disk of this machine"
        )
    else:
        return
    warn_caller(ScratchWarning(message))


def _file_system(folder: str | os.PathLike[str]) -> str | None:
    """Return the type of the file system of a folder, as Linux lists it; ``None`` if it is not known."""
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116 - pathlib takes longer to import
        return _listed(f"{os.major(device)}:{os.minor(device)}", _read(f"{_PROCESS}/mountinfo"))
    except (OSError, AttributeError, ValueError):
        # The core says what is wrong with a folder, and Windows has no numbers of devices.
        return None


def _listed(device: str, mounts: str) -> str | None:
    """Return the type of a device: fields are divided by blanks, and a type stands behind a lone dash."""
    for line in mounts.splitlines():
        own, _, shared = line.partition(" - ")
        if device in own.split()[2:3]:
            return next(iter(shared.split()), None)
    return None
