"""The rooms of the Rust crates: a room uses only rooms before it, a crate only crates.

No file leads back to itself. The imports are read off the `use` lines and paths of the source. A re-export
leads to the file that defines the name, so a `mod.rs` that only hands names on uses nothing.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from circles import circles
from rust_imports import Crate

ROOT = Path(__file__).resolve().parents[1]

#: From the ground up, the rooms of each crate. A room may use those before it, and nothing else.
CRATES = {
    "exact": ["error", "numeric", "random", "accounting", "noise"],
    "rows": ["runtime", "scratch", "ingest", "contributions"],
    "core": [
        "look",
        "bounding",
        "weighting",
        "threshold",
        "counting",
        "rounds",
        "mechanisms",
        "release",
        "series",
        "top_k",
        "task",
    ],
    "engines": ["exchange", "disk"],
}


def crate(name: str) -> Crate:
    return Crate(ROOT / "rust" / name / "src")


@pytest.mark.parametrize("name", [*CRATES, "python"])
def test_no_circle_of_files(name) -> None:
    assert circles(crate(name).graph()) == []


@pytest.mark.parametrize("name", CRATES)
def test_a_room_uses_only_rooms_below_it(name) -> None:
    house, rooms = crate(name), CRATES[name]
    assert {module[0] for module in house.files if module} == set(rooms)
    upwards = [
        f"{'/'.join(file)} -> {'/'.join(used)}"
        for file, used in house.edges()
        if file and used and rooms.index(used[0]) > rooms.index(file[0])
    ]
    assert sorted(upwards) == []


def test_a_crate_uses_only_crates_below_it() -> None:
    names = [*CRATES, "python"]
    members = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["default-members"]
    assert members == [f"rust/{name}" for name in names]
    for place, member in enumerate(members):
        manifest = tomllib.loads((ROOT / member / "Cargo.toml").read_text())
        used = {name for name in manifest["dependencies"] if name.startswith("dpsel-")}
        assert used <= {f"dpsel-{name}" for name in names[:place]}


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


#: For each way to use another file: the files of a crate in which two lead to each other, and these two.
HIDDEN = {
    "a name of its own": (
        {
            "lib.rs": "mod a;\nmod b;\n",
            "a/mod.rs": "mod inner;\npub(crate) use inner::Deep as Other;\n",
            "a/inner.rs": "use crate::b::Thing;\npub(crate) struct Deep;\n",
            "b.rs": "pub(crate) struct Thing(crate::a::Other);\n",
        },
        {"a/inner", "b"},
    ),
    "a path without `self`": (
        {
            "lib.rs": "mod a;\n",
            "a/mod.rs": "mod inner;\nfn f() { inner::g() }\npub(super) const N: u8 = 1;\n",
            "a/inner.rs": "pub(super) fn g() { super::N; }\n",
        },
        {"a", "a/inner"},
    ),
    "handed on and used": (
        {
            "lib.rs": "mod a;\n",
            "a/mod.rs": "mod inner;\npub use inner::F;\npub struct G(F);\npub struct H;\n",
            "a/inner.rs": "use super::H;\npub struct F(H);\n",
        },
        {"a", "a/inner"},
    ),
    "behind a quote": (
        {
            "lib.rs": "mod a;\nmod b;\n",
            "a.rs": "const Q: char = '\"';\nuse crate::b::B;\npub struct A(B);\nconst R: char = '\"';\n",
            "b.rs": 'const U: &str = "https://x"; use crate::a::A;\npub struct B(A);\nconst V: &str = "";\n',
        },
        {"a", "b"},
    ),
}


@pytest.mark.parametrize("way", HIDDEN)
def test_a_circle_that_hides_is_found(tmp_path, way) -> None:
    files, circle = HIDDEN[way]
    assert circles(write(tmp_path, files).graph()) == [circle]


def test_what_hands_on_all_names_is_refused(tmp_path) -> None:
    with pytest.raises(AssertionError, match="hides"):
        write(tmp_path, {"lib.rs": "mod a;\npub use a::*;\n", "a.rs": "pub struct A;\n"})


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
