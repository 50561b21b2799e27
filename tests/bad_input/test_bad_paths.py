"""Paths that name nothing: texts are not quoted, empty lists refused, targets named as given."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpsel
from dpsel.exceptions import FileError, InvalidParameterError, MissingFileError

SECRET = "a secret diagnosis"
COMMON = {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6), "max_items_per_user": 3}
NAMED = {"user": "user", "item": "item", **COMMON}


def select(data, **arguments):
    return dpsel.select_partitions(data, **(NAMED | arguments))


def top_k(data, **arguments):
    return dpsel.select_top_k(data, k=1, **(NAMED | arguments))


def compare(data, **arguments):
    return dpsel.compare(data, public_data=True, **(NAMED | arguments))


DOORS = [select, top_k, compare]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "texts",
    [
        [SECRET, "another text"],
        ["a/b", SECRET],
        [f"what is {SECRET}?", "[" + SECRET, f"*{SECRET}**"],
        [SECRET * 400],
        [SECRET + "\0"],
        [SECRET + ".csv"],
    ],
)
def test_a_list_of_texts_is_not_quoted(door, texts):
    for data in (texts, tuple(texts)):
        with pytest.raises(FileError, match=r"element \d of \d") as caught:
            door(data)
        text = "".join(
            str(error) for error in (caught.value, caught.value.__cause__, caught.value.__context__)
        )
        assert not any(word in text for word in ("secret", "diagnosis", "another", "a/b"))


def test_elements_that_exist_but_are_no_data_files_are_not_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("diagnosis").mkdir()
    Path("insulin").write_text("")
    for text, reason in (
        ("diagnosis", "no file in this folder"),
        ("insulin", "the name does not tell the format"),
    ):
        with pytest.raises(FileError, match=f"element 1 of 1.*{reason}") as caught:
            select([text])
        assert text not in str(caught.value)
        assert not isinstance(caught.value, MissingFileError)


def test_a_file_of_a_list_is_named_once_it_was_found(tmp_path):
    (tmp_path / "rows.csv").write_text("user,other\n1,2\n")
    with pytest.raises(dpsel.exceptions.SchemaError, match="rows.csv has"):
        select([str(tmp_path / "rows.csv")])


def test_a_single_path_and_objects_that_are_paths_are_quoted():
    for data in ("absent.csv", Path("absent.csv"), [Path("absent.csv")], (Path("absent*.csv"),)):
        with pytest.raises(MissingFileError, match="absent"):
            select(data)


def test_an_element_that_is_missing_is_a_missing_file():
    with pytest.raises(MissingFileError, match="element 2 of 2"):
        select([str(Path(__file__)), "absent.csv"], file_format="csv")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("empty", [[], ()])
def test_an_empty_list_of_paths_is_refused(door, empty):
    with pytest.raises(InvalidParameterError, match="is empty and names no file"):
        door(empty)
    with pytest.raises(InvalidParameterError, match="is empty and names no file"):
        door(empty, user=None, item=None, file_format="csv")


def test_no_pairs_are_an_empty_release():
    assert dpsel.select_partitions([], **COMMON).items == []
    assert dpsel.select_partitions(iter([]), **NAMED).items == []


@pytest.mark.parametrize("name", ["nodir/x.csv", "nodir/deeper/x.parquet", "file/x.csv"])
def test_a_target_is_named_as_it_was_given(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    release = dpsel.select_partitions([(user, "tea") for user in range(400)], **COMMON)
    writes = [release.write, lambda path: release.report.save(Path(path).with_suffix(".json"))]
    for write in writes:
        with pytest.raises(FileError) as caught:
            write(name)
        assert str(Path(name).with_suffix("")) in str(caught.value)
        assert ".dpsel" not in str(caught.value)
        assert "tmp" not in str(caught.value).replace(str(tmp_path), "")
