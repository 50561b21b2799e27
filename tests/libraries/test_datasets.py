"""Hugging Face's datasets as sources: the release is that of the same pairs."""

from __future__ import annotations

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError, SchemaError

datasets = pytest.importorskip("datasets", reason="in the group `libraries`; run `nox -s libraries`")
pytestmark = pytest.mark.libraries

PAIRS = [(user, f"item {(user * user + at) % 40}") for user in range(600) for at in range(3)]
COLUMNS = {"user": "u", "item": "i"}


def select(data, **columns):
    return dpsel.select_partitions(
        data,
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=3,
        mechanism="sips",
        insecure_test_key=bytes(32),
        **columns,
    )


@pytest.fixture(scope="module")
def split():
    users, items = zip(*PAIRS, strict=True)
    return datasets.Dataset.from_dict({"note": [0] * len(PAIRS), "u": users, "i": items})


def streamed():
    for user, item in PAIRS:
        yield {"u": user, "i": item}


FORMS = {
    "a split": lambda split: split,
    "shuffled": lambda split: split.shuffle(seed=1),
    "streamed": lambda split: split.to_iterable_dataset(),
    "without known types": lambda _: datasets.IterableDataset.from_generator(streamed),
    "in another format": lambda split: split.with_format("numpy"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_release_of_its_pairs(split, form):
    found = select(FORMS[form](split), **COLUMNS)
    assert list(found) == list(select(PAIRS))
    assert len(found) > 3
    assert type(found.items).__module__.startswith("pyarrow")


def test_what_was_selected_is_respected(split):
    some = split.filter(lambda row: row["u"] % 2 == 0, load_from_cache_file=False)
    assert list(select(some, **COLUMNS)) == list(select([pair for pair in PAIRS if pair[0] % 2 == 0]))
    assert len(select(split.select(range(0)), **COLUMNS)) == 0


def test_wrong_calls_say_what_mends_them(split):
    with pytest.raises(SchemaError, match="data\\['train'\\]"):
        select(datasets.DatasetDict(train=split), **COLUMNS)
    with pytest.raises(SchemaError, match="no column 'x'"):
        select(split, user="u", item="x")
    with pytest.raises(InvalidParameterError, match="must name columns"):
        select(split)


def shouting(rows):
    return rows | {"i": [f"{item}!" for item in rows["i"]]}


def test_a_transform_is_refused_and_not_left_out(split):
    """The caller sees other rows than are stored. Selected and mapped rows are those that are seen."""
    changed = datasets.Dataset.from_dict(split.to_dict())
    changed.set_transform(shouting)
    for view in (changed, split.with_transform(shouting), split.with_transform(shouting).select(range(9))):
        with pytest.raises(SchemaError, match=r"has a transform.*data\.map"):
            select(view, **COLUMNS)
    mapped = [(user, f"{item}!") for user, item in PAIRS]
    for view in (
        split.map(shouting, batched=True, load_from_cache_file=False),
        split.to_iterable_dataset().map(shouting, batched=True),
        split.to_iterable_dataset().map(shouting, batched=True).filter(lambda row: row["u"] >= 0),
    ):
        assert list(select(view, **COLUMNS)) == list(select(mapped))


def test_a_saved_data_set_is_loaded_by_its_library(split, tmp_path):
    split.select(range(900)).save_to_disk(tmp_path / "saved")
    with pytest.raises(dpsel.exceptions.FileError, match="datasets.load_from_disk"):
        select(tmp_path / "saved", **COLUMNS)
    loaded = datasets.load_from_disk(tmp_path / "saved")
    assert list(select(loaded, **COLUMNS)) == list(select(PAIRS[:900]))


@pytest.mark.parametrize("form", ["a split", "streamed", "in another format"])
def test_rows_of_released_items_are_kept(split, form):
    release = select(PAIRS)
    kept = release.filter(FORMS[form](split), item="i").read_all()
    assert kept.column("i").to_pylist() == [item for _, item in PAIRS if item in release]
