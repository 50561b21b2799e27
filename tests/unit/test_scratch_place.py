"""Where rows go beyond memory: it depends on the folder and on free memory alone."""

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
        _scratch.place_of_rows("/somewhere/secret", 64 << 20)
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
    monkeypatch.setattr(_scratch, "_PROCESS", str(tmp_path / "none"))
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


def system(tmp_path, monkeypatch, files):
    """A made-up machine."""
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(_scratch, "_MACHINE", str(tmp_path / "meminfo"))
    monkeypatch.setattr(_scratch, "_PROCESS", str(tmp_path))
    monkeypatch.setattr(_scratch, "_GROUPS", str(tmp_path / "groups"))


MACHINE = {"meminfo": "MemTotal:  9000000 kB\nMemAvailable:   4000000 kB\n"}
SECOND = {
    "cgroup": "0::/a/b\n",
    "groups/memory.current": "1",
    "groups/a/memory.max": "3000000000\n",
    "groups/a/memory.current": "1500000000\n",
    "groups/a/memory.stat": "anon 7\ninactive_file 250000000\nactive_file 3\n",
    "groups/a/b/memory.max": "max\n",
    "groups/a/b/memory.current": "900000\n",
}
FIRST = {
    "cgroup": "5:cpu,cpuacct:/z\n4:memory:/c\n1:name=systemd:/z\n",
    "groups/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "groups/memory/memory.usage_in_bytes": "5\n",
    "groups/memory/c/memory.limit_in_bytes": "200\n",
    "groups/memory/c/memory.usage_in_bytes": "150\n",
    "groups/memory/c/memory.stat": "inactive_file 999\ntotal_inactive_file 30\n",
}


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        (MACHINE, 4_096_000_000),
        (MACHINE | SECOND, 1_750_000_000),
        (MACHINE | FIRST, 80),
        (MACHINE | {"cgroup": "half a line\n0::\n"}, 4_096_000_000),
        ({"meminfo": "MemAvailable: none\n"}, None),
        (MACHINE | FIRST | {"groups/memory/c/memory.usage_in_bytes": "900"}, 0),
    ],
)
def test_free_memory_is_that_of_the_machine_or_of_a_group_around_the_process(
    files, free, tmp_path, monkeypatch
):
    system(tmp_path, monkeypatch, files)
    assert _scratch.free_memory() == free


def test_a_limit_that_is_left_out_is_half_of_the_free_memory(tmp_path, monkeypatch):
    system(tmp_path, monkeypatch, MACHINE)
    assert _scratch.place_of_rows(tmp_path, None) == (str(tmp_path), 2_048_000_000)
    assert _scratch.place_of_rows(tmp_path, 7) == (str(tmp_path), 7)
    assert _scratch.place_of_rows(None, None) == (None, None)
    system(tmp_path, monkeypatch, FIRST)
    assert _scratch.place_of_rows(tmp_path, None) == (str(tmp_path), 64 << 20)


def test_auto_takes_a_folder_on_a_disk(tmp_path, monkeypatch):
    kinds = {"/memory": "tmpfs", "/far": "nfs", "/locked": "ext4", str(tmp_path): "ext4"}
    monkeypatch.setattr(_scratch, "_file_system", kinds.get)
    monkeypatch.setattr(_scratch, "_MORE_FOLDERS", ("/far", str(tmp_path)))
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/memory")
    monkeypatch.setattr("os.path.isdir", kinds.__contains__)
    monkeypatch.setattr("os.access", lambda folder, _: folder != "/locked")
    monkeypatch.setattr(_scratch, "free_memory", lambda: 7)
    assert _scratch.place_of_rows("auto", 5) == (_scratch.found_place, 5)
    assert _scratch.found_place() == (str(tmp_path), 7)
    monkeypatch.setattr(_scratch, "_MORE_FOLDERS", ("/far", "/locked"))
    assert _scratch.found_place() == (None, 7)
