"""The card of a series: what is public about all of its releases."""

from __future__ import annotations

import pytest

import dpsel
from dpsel.exceptions import FileError, SeriesError
from series_support import GIVEN, KEY, created, files, held


def numbers(folder, **options) -> dpsel.CountSeries:
    fixed = {"key": KEY, "max_releases_per_item": 2} | GIVEN | options
    return dpsel.CountSeries.create(folder / "series", **fixed)


def test_a_card_has_the_guarantee_and_each_release(tmp_path) -> None:
    series = created(tmp_path)
    series.release(held("tea", "milk"), "week <1>")
    series.release(held("tea", "coffee"), "week 2")
    before = files(tmp_path)
    card = series.card()
    assert files(tmp_path) == before
    # A new pair waits for the next block.
    assert card.items == (2, 0)
    page = card.to_html()
    assert "2 releases made of at most 4" in page
    assert "(epsilon = 8, delta = 1e-06)-DP" in page
    assert "week &lt;1&gt;</th><td>2 new items" in page
    assert "week 2</th><td>0 new items<" in page
    assert "any 2 users" in page
    assert "coffee" not in page
    assert "running block" not in page
    assert KEY.hex() not in page
    assert card._repr_html_().count("<h3>") == page.count("<h2>") == 6


def test_a_card_of_a_prompt_and_closed_series_says_so(tmp_path) -> None:
    series = created(tmp_path, prompt=True)
    series.release(held("tea"), "week 1")
    series.close(forever=True)
    page = series.card().to_html()
    assert "no further one will be made" in page
    assert "react to lists of the running block" in page
    assert "week 1</th><td>1 new item<" in page


def test_a_card_of_numbers_says_what_counts(tmp_path) -> None:
    series = numbers(tmp_path, window=3)
    series.release(held("tea"), "week 1", items=["tea", "milk"])
    page = series.card().to_html()
    assert "week 1</th><td>2 numbers" in page
    assert "a user counts in 2 releases at most" in page
    assert "3 releases" in page


def test_a_card_of_numbers_of_a_user_in_one_release_speaks_of_that(tmp_path) -> None:
    series = numbers(tmp_path, unit="user-release", max_releases_per_item=None)
    page = series.card().to_html()
    assert "One user in one release changes the probability" in page
    assert "is in the rows of one release" in page
    assert "any 2 users" not in page


def test_a_card_is_saved_as_a_page_or_a_figure(tmp_path) -> None:
    card = created(tmp_path).card()
    card.save(tmp_path / "card.html")
    card.save(tmp_path / "card.svg")
    assert (tmp_path / "card.html").read_text() == card.to_html()
    assert (tmp_path / "card.svg").read_text() == card.to_svg()
    with pytest.raises(FileError, match="a card is a file .html"):
        card.save(tmp_path / "card.txt")


def test_a_damaged_series_has_no_card(tmp_path) -> None:
    series = created(tmp_path)
    series.release(held("tea"), "week 1")
    commit = next(path for path in (tmp_path / "series").iterdir() if path.name.startswith("commit"))
    commit.write_bytes(commit.read_bytes()[:-3])
    with pytest.raises(SeriesError):
        series.card()
