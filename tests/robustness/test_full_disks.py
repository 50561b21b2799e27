"""No room for a result: an error that says so, and nothing at the final name or beside it.

`tests/bad_input/test_bad_endings.py` fills a small disk. This is the limit of a file's size, which every
user may set.
"""

from __future__ import annotations

import os
import sys

import pytest

from children import finish
from weak import WEAK

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a file's size"),
    WEAK,
]

LIMITED = """
    import os, pathlib, resource
    release = dpsel.select_partitions(rows(), user="user", item="item", **GENEROUS)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
    for extension in dpsel.release.EXTENSIONS:
        for old in (None, "as it was"):
            path = pathlib.Path("items" + extension)
            if old:
                path.write_text(old)
            try:
                release.write(path)
            except dpsel.exceptions.FileError as error:
                print(extension, error)
            assert (path.read_text() if path.exists() else None) == old, extension
            if old:
                path.unlink()
    assert os.listdir() == [], os.listdir()
"""


@pytest.mark.parametrize("limit", [100, 8192])
def test_every_format_says_what_happened_and_leaves_nothing(limit, tmp_path):
    told = finish(LIMITED.format(limit=limit), tmp_path).splitlines()
    assert len(told) == 2 * 8
    assert all("too large" in line for line in told)


REPORT = """
    import os, resource
    release = dpsel.select_partitions(rows(10), user="user", item="item", **GENEROUS)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    try:
        release.report.save("report.json")
    except dpsel.exceptions.FileError as error:
        print(error)
    assert os.listdir() == []
"""


def test_a_report_too(tmp_path):
    assert "report.json" in finish(REPORT, tmp_path)


COMMAND = """
    import os, pathlib, resource, subprocess
    from dpsel.cli import main
    lines = [f"{user},{item}\\n" for user in range(90) for item in range(900)]
    pathlib.Path("rows.csv").write_text("user,item\\n" + "".join(lines))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    words = "select rows.csv --user user --item item --rho 1e5 --delta 1e-9 --max-items-per-user 1000"
    code = main((words + " -o items.csv --report report.json").split())
    print(code, sorted(os.listdir()))
"""


def test_the_command_line_too(tmp_path):
    assert finish(COMMAND, tmp_path) == "3 ['rows.csv']\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path):
    script = """
        import os
        release = dpsel.select_partitions(rows(10), user="user", item="item", **GENEROUS)
        os.mkdir("locked", mode=0o500)
        try:
            release.write("locked/items.csv")
        except dpsel.exceptions.FileError as error:
            print(error)
    """
    assert "locked" in finish(script, tmp_path)
