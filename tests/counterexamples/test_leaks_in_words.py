"""Known leak: values of the data in errors, tracebacks, logs, standard streams and temporary files."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import textwrap
import traceback

import pyarrow as pa
import pytest

import dpsel
from support import select, table

SECRET = "zxqv-unmistakable-secret"
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-9)


def _failures() -> dict[str, tuple[object, dict]]:
    """Calls that fail after data was given, each with the secret among its values."""
    good = table([(SECRET, SECRET)] * 3)
    null_user = pa.table({"user": [SECRET, None], "item": [SECRET, SECRET]})
    mixed = [(SECRET, SECRET), (SECRET, 5), (SECRET,)]
    return {
        "missing column": (good, {"item": "nowhere"}),
        "null user": (null_user, {}),
        "mixed pairs": (mixed, {}),
        "not rows": ([{SECRET: 1}, 5], {}),
        "nested item": (pa.table({"user": [SECRET], "item": [{"a": SECRET}]}), {}),
        "memory": (table([(u, f"{SECRET}{u}") for u in range(20_000)]), {"memory_limit": 1000}),
        "ngrams of integers": (table([(SECRET, 5)]), {"ngrams": (1, 2)}),
    }


@pytest.mark.parametrize("name", _failures())
def test_errors_do_not_quote_the_data(name, caplog, capfd) -> None:
    data, arguments = _failures()[name]
    arguments = {"max_items_per_user": 4, "mechanism": dpsel.Sips(), "privacy": PRIVACY} | arguments
    with caplog.at_level(logging.DEBUG), pytest.raises(dpsel.DpselError) as caught:
        select(data, **arguments)
    text = io.StringIO()
    traceback.print_exception(caught.value, file=text)
    out, err = capfd.readouterr()
    shown = [text.getvalue(), str(caught.value), repr(caught.value.args), caplog.text, out, err]
    assert not any(SECRET in words for words in shown)


def test_a_quiet_run_writes_nothing(caplog, capfd) -> None:
    with caplog.at_level(logging.DEBUG):
        select(
            table([(u, SECRET) for u in range(500)]),
            privacy=PRIVACY,
            max_items_per_user=4,
            mechanism=dpsel.Sips(),
        )
    out, err = capfd.readouterr()
    assert (out, err, caplog.text) == ("", "", "")


def test_no_temporary_file_is_left_or_made(tmp_path) -> None:
    """The whole run, in a process whose temporary and working folders are empty, leaves them empty."""
    script = f"""
        import dpsel
        rows = [(u, "{SECRET}" + str(u % 500)) for u in range(20000)]
        privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-9)
        dpsel.select_partitions(rows, user="user", item="item", privacy=privacy,
                                max_items_per_user=4, mechanism=dpsel.Sips())
    """
    environment = os.environ | {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=environment, cwd=tmp_path, check=True)
    assert list(tmp_path.rglob("*")) == []
