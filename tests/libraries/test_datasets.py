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
