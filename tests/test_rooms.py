"""The rooms of the Rust crates: a room uses only rooms before it, and no file leads back to itself.

The imports are read off the `use` lines and paths of the source. A re-export leads to the file that
defines the name, so a `mod.rs` that only hands names on uses nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from circles import circles
from rust_imports import Crate

ROOT = Path(__file__).resolve().parents[1]
CRATES = ["rust/core/src", "rust/python/src"]

#: From the ground up. A room may use the rooms before it, and nothing else.
ROOMS = [
    "error",
    "numeric",
    "random",
    "accounting",
    "runtime",
    "scratch",
    "ingest",
    "contributions",
    "look",
    "bounding",
    "weighting",
    "noise",
    "threshold",
    "counting",
    "rounds",
    "mechanisms",
    "release",
    "top_k",
    "task",
    "exchange",
    "disk",
]


@pytest.mark.parametrize("crate", CRATES)
def test_no_circle_of_files(crate) -> None:
    assert circles(Crate(ROOT / crate).graph()) == []


def test_a_room_uses_only_rooms_below_it() -> None:
    house = Crate(ROOT / CRATES[0])
    assert {module[0] for module in house.files if module} == set(ROOMS)
    upwards = [
        f"{'/'.join(file)} -> {'/'.join(used)}"
        for file, used in house.edges()
        if file and used and ROOMS.index(used[0]) > ROOMS.index(file[0])
    ]
    assert sorted(upwards) == []


def write(root: Path, files: dict[str, str]) -> Crate:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Crate(root)


def test_a_circle_through_a_reexport_is_found(tmp_path) -> None:
    house = write(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod b;\n",
            "a/mod.rs": "mod inner;\npub(crate) use inner::{Deep as Other, Deep};\n",
            "a/inner.rs": "use crate::b::{self, c::Thing};\npub(crate) struct Deep;\n",
            "b/mod.rs": "pub(crate) mod c;\n",
            "b/c.rs": "// use crate::nothing;\npub(crate) struct Thing(crate::a::Deep);\n",
        },
    )
    assert circles(house.graph()) == [{"a/inner", "b/c"}]


def test_unit_tests_and_faces_are_left_out(tmp_path) -> None:
    house = write(
        tmp_path,
        {
            "lib.rs": "mod a;\n",
            "a/mod.rs": "mod one;\nmod two;\npub use one::One;\n",
            "a/one.rs": "use super::two::Two;\npub struct One;\n",
            "a/two.rs": "pub struct Two;\n#[cfg(test)]\nmod tests {\n    use super::super::One;\n}\n",
            "a/tests.rs": "use super::one::One;\n",
        },
    )
    assert house.edges() == {(("a", "one"), ("a", "two"))}
