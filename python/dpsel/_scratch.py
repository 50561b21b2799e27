"""Warnings of scratch folders that are no place for what does not fit into memory."""

from __future__ import annotations

import os
import warnings
from typing import Final

from dpsel.budget._strength import callers_level
from dpsel.exceptions import ScratchWarning

__all__ = ["warn_of_file_system"]

#: What is written there stays in memory, or in swap.
_MEMORY: Final = {"tmpfs", "ramfs", "devtmpfs", "zram"}
#: Each block goes through a network twice, and others may see its size.
_NETWORK: Final = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "gpfs"),
    *("lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"),
}
_MOUNTS: Final = "/proc/self/mountinfo"


def warn_of_file_system(folder: str | os.PathLike[str]) -> None:
    """Warn if files of a folder are in memory or on another machine; unknown systems pass."""
    kind = _file_system(folder)
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
    warnings.warn(ScratchWarning(message), stacklevel=callers_level())


def _file_system(folder: str | os.PathLike[str]) -> str | None:
    """Return the type of the file system of a folder, as Linux lists it; ``None`` if it is not known."""
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116 - pathlib takes longer to import
        with open(_MOUNTS, encoding="utf-8", errors="replace") as mounts:  # noqa: PTH123
            return _listed(f"{os.major(device)}:{os.minor(device)}", mounts.read())
    except (OSError, AttributeError):
        # The core says what is wrong with a folder, and Windows has no numbers of devices.
        return None


def _listed(device: str, mounts: str) -> str | None:
    """Return the type of a device: fields are divided by blanks, and a type stands behind a lone dash."""
    for line in mounts.splitlines():
        own, _, shared = line.partition(" - ")
        if device in own.split()[2:3]:
            return next(iter(shared.split()), None)
    return None
