"""The warning of a scratch folder that is no disk: it depends on the folder alone."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

import dpsel
from dpsel import _scratch
from dpsel.exceptions import DpselWarning, ScratchWarning

MOUNTS = """\
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684096k
41 24 0:51 / /mnt/far\\040away rw shared:12 master:3 - nfs4 server:/folder rw,addr=10.0.0.1
24 1 8:1 / / rw,relatime - ext4 /dev/root rw
half a line
"""


def found(device: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(_scratch, "_file_system", lambda _: _scratch._listed(device, MOUNTS))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _scratch.warn_of_file_system("/somewhere/secret")
    assert all(issubclass(warning.category, ScratchWarning) for warning in seen)
    return [str(warning.message) for warning in seen]


def test_memory_and_networks_are_warned_of_and_disks_are_not(monkeypatch):
    assert issubclass(ScratchWarning, DpselWarning)
    (memory,) = found("0:23", monkeypatch)
    assert "tmpfs" in memory
    (network,) = found("0:51", monkeypatch)
    assert "nfs4" in network
    assert "secret" not in memory + network
    for device in ["8:1", "0:2", "0:230", "line"]:
        assert found(device, monkeypatch) == []


def test_what_cannot_be_found_out_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(_scratch, "_MOUNTS", str(tmp_path / "none"))
    assert _scratch._file_system(tmp_path) is None
    assert _scratch._file_system(tmp_path / "gone") is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/mountinfo")
def test_a_call_warns_where_it_was_written():
    memory = Path("/dev") / "shm"
    if _scratch._file_system(memory) != "tmpfs":
        pytest.skip("shared memory is no tmpfs here")
    with pytest.warns(ScratchWarning, match="tmpfs") as seen:
        dpsel.select_partitions(
            [(user, "tea") for user in range(100)],
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            max_items_per_user=1,
            mechanism=dpsel.Sips(),
            memory_limit=64 << 20,
            scratch=memory,
        )
    assert [warning.filename for warning in seen] == [__file__]
