"""Refuse a tag that is not `v` and the version of the workspace: `python tests/bare/tag.py v0.1.0`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(tag: str) -> int:
    """Compare the tag with `Cargo.toml`, where the version stands."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    if tag == f"v{version}":
        return 0
    print(f"the tag {tag} does not name the version {version}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
