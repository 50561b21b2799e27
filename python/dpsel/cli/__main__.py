"""``python -m dpsel.cli``: the same as the ``dpsel`` command."""

from __future__ import annotations

import sys

from dpsel.cli import main

if __name__ == "__main__":
    sys.exit(main())
