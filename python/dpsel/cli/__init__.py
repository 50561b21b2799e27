"""The command line, ``dpsel``: one file per command, listed in ``dpsel.cli._app``.

Results go to a file or to standard output; everything else (progress, summaries, warnings, errors) goes
to standard error. ``dpsel --help`` lists the exit codes.
"""

from __future__ import annotations

from dpsel.cli._app import main

__all__ = ["main"]
