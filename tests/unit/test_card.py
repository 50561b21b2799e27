"""Groups of users, the release card, explanations and plots: all from public numbers and released values."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from fractions import Fraction
from html.parser import HTMLParser

import pytest

import dpsel
from dpsel.exceptions import FileError, InvalidParameterError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-8)
ROWS = [(user, drink) for user in range(500) for drink in ("tea", "milk")] + [(7, "absinthe")]


def release(**options):
    return dpsel.select_partitions(ROWS, **{"privacy": PRIVACY, "max_items_per_user": 3} | options)


# Groups.


@pytest.mark.parametrize("users", [1, 2, 3, 10])
@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 0.5, 1.0])
def test_a_group_has_at_least_what_the_theorem_asks(users, epsilon) -> None:
    """The law with k users is at most e^epsilon times the law with k - 1, plus delta, again and again."""
    delta = 1e-9
    group = dpsel.for_group(dpsel.ApproxDP(epsilon=epsilon, delta=delta), users)
    needed, factor = 0.0, 1.0
    for _ in range(users):
        needed, factor = needed + factor * delta, factor * math.exp(epsilon)
    assert Fraction(group.epsilon) >= users * Fraction(epsilon)
    assert needed * (1 - 1e-12) <= group.delta <= needed * (1 + 1e-9)
    assert group.epsilon <= users * epsilon * (1 + 1e-15)


def test_the_group_of_a_worst_case_mechanism_needs_all_of_it() -> None:
    """A chain of laws that loses all of epsilon and delta at each step: no smaller pair would do."""
    epsilon, delta, users = 0.5, 1e-3, 4
    p = 0.0
    for _ in range(users):
        p = math.exp(epsilon) * p + delta
    group = dpsel.for_group(dpsel.ApproxDP(epsilon=epsilon, delta=delta), users)
    assert p <= group.delta <= p * (1 + 1e-9)


def test_pure_and_concentrated_guarantees_of_groups() -> None:
    assert dpsel.for_group(dpsel.PureDP(epsilon=0.1), 3).epsilon >= 0.1 * 3
    zcdp = dpsel.ZCDP(rho=0.1, delta=1e-8)
    one = dpsel.for_group(zcdp, 1, delta=1e-6)
    assert one == zcdp.to_approx_dp(delta=1e-6)
    assert dpsel.for_group(zcdp, 2, delta=1e-6) == dpsel.for_group(one, 2)
    assert release().report.for_group(3) == dpsel.for_group(PRIVACY, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: dpsel.for_group(PRIVACY, 0), "users_per_group must be at least 1"),
        (lambda: dpsel.for_group(PRIVACY, 30), "too many"),
        (lambda: dpsel.for_group(PRIVACY, 10**6), "too many"),
        (lambda: dpsel.for_group(PRIVACY, 2, delta=1e-6), "delta is for zCDP"),
        (lambda: dpsel.for_group(1.0, 2), "privacy must be"),
    ],
)
def test_groups_of_which_nothing_is_known_are_refused(call, text) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        call()


# The card.


class Page(HTMLParser):
    """The text of a page, and what it would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.loads, self.open = "", [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        if tag not in {"meta", "rect", "line"}:
            self.open.append(tag)
        self.loads += [value for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag) -> None:
        if tag not in {"meta", "rect", "line"}:
            assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


@pytest.mark.filterwarnings("ignore::dpsel.WeakGuaranteeWarning")
@pytest.mark.parametrize(
    "privacy", [PRIVACY, dpsel.ZCDP(rho=0.1, delta=1e-8), dpsel.ApproxDP(epsilon=30.0, delta=1e-3)]
)
def test_a_card_is_a_whole_page_of_public_numbers(privacy) -> None:
    made = release(privacy=privacy, mechanism=dpsel.WeightedGaussian())
    page = Page(made.card().to_html())
    assert page.open == []
    assert page.loads == []
    assert "The list has 2 items" in page.text
    assert not {"tea", "milk", "absinthe"} & set(page.text.replace(".", " ").split())
    assert made.report["fingerprint"] in page.text
    # From the report alone, all is the same but the number of items.
    assert Page(dpsel.release.Card(made.report).to_html()).text in page.text.replace(
        "The list has 2 items. ", ""
    )
    figure = ET.fromstring(made.card().to_svg())  # noqa: S314 - our own output
    assert figure.tag.endswith("svg")


def test_the_figure_says_what_bayes_says() -> None:
    svg = release().card().to_svg()
    bars = [each for each in ET.fromstring(svg).iter() if each.tag.endswith("rect")]  # noqa: S314 - our own
    left, width = 130, 460
    low = (float(bars[3].get("x")) - left) / width
    high = low + float(bars[3].get("width")) / width
    assert low == pytest.approx(1 / (1 + math.e), abs=2e-3)
    assert high == pytest.approx(math.e / (1 + math.e), abs=2e-3)


def test_names_of_a_card_stay_whole_in_a_narrow_notebook() -> None:
    """A cell of it breaks words, for digests. Names that may break too become as narrow as a letter."""
    page = release().card()._repr_html_()
    names = page.count("<th ")
    assert names == page.count("</th>") > 5
    assert page.count('<th style="overflow-wrap:normal;') == names


@pytest.mark.filterwarnings("ignore:no guarantee")
def test_a_card_says_when_nothing_is_private() -> None:
    test = release(insecure_test_key=bytes(32)).card().to_html()
    broken = release(mechanism=dpsel.GreedyFrequency(calibration="published")).card().to_html()
    for page in (test, broken):
        assert "NOT PRIVATE" in page
        assert "What is protected" not in page


def test_names_of_columns_are_escaped() -> None:
    made = release(user="<b>&", item="x")
    assert "<b>&</b>" not in made.card().to_html()
    assert "&lt;b&gt;&amp;" in made.card().to_html()


def test_lists_and_least_numbers_are_on_the_card() -> None:
    text = Page(release(min_users=5, exclude=["x"], public_items=["y"]).card().to_html()).text
    assert "never fewer than 5" in text
    assert "Come out anyway1 item" in text
    assert "Left out1 item" in text


def test_a_card_of_a_top_k_has_its_counts() -> None:
    counts = dpsel.top_k_from_counts(
        [917_302_645, 20], k=1, privacy=dpsel.PureDP(epsilon=1.0), publish_counts=dpsel.PureDP(epsilon=0.5)
    )
    text = Page(counts.card().to_html()).text
    assert "(epsilon = 1.5)-DP" in text
    # Not so short that a digest may well have it.
    assert "917302645" not in text
    assert "917,302,645" not in text


def test_cards_are_saved_by_their_extension(tmp_path) -> None:
    card = release().card()
    card.save(tmp_path / "card.html")
    card.save(tmp_path / "card.svg")
    assert (tmp_path / "card.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "card.svg").read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(FileError, match=".html"):
        card.save(tmp_path / "card.pdf")


# Explanations.


def test_an_explanation_is_a_function_of_the_report() -> None:
    # A limit at which nothing looks at the rows.
    none = dpsel.select_partitions([(1, "tea")], privacy=PRIVACY, max_items_per_user=3)
    many = dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=3)
    assert dpsel.explain(none).rows == dpsel.explain(many).rows == dpsel.explain(none.report).rows


def test_what_it_says_is_what_plan_says() -> None:
    made = release(max_items_per_user=100, mechanism=dpsel.CountGaussian())
    rows = {row["change"]: row for row in dpsel.explain(made).rows}
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=100, mechanisms=dpsel.CountGaussian()).rows[0]
    assert rows["as it was"]["users_for_95"] == plan["users_for_95"]
    auto = dpsel.plan(privacy=PRIVACY, max_items_per_user=10).rows[0]
    assert rows["max_items_per_user=10"]["users_for_95"] == auto["users_for_95"]
    double = dpsel.plan(privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-8), max_items_per_user=100).rows[0]
    assert rows["epsilon x 2"]["users_for_95"] == double["users_for_95"]
    assert "mechanism='auto'" in rows


@pytest.mark.parametrize(("items", "ran"), [(1, "Matching"), (40, "Steered")])
def test_card_and_explanation_are_about_the_mechanism_that_a_look_chose(items, ran) -> None:
    # Lists of one item fill 4,000 items; those of 40 have fewer users than items, of 40 holders each.
    users, all_items = (20_000, 4_000) if items == 1 else (4_000, 4_000)
    rows = [(user, (7 * user + step) % all_items) for user in range(users) for step in range(items)]
    privacy = dpsel.ApproxDP(epsilon=6.0, delta=1e-6)
    made = dpsel.select_partitions(rows, privacy=privacy, max_items_per_user=10)
    kept = 10 if ran == "Matching" else 30
    assert f"released by {ran}" in str(made)
    text = Page(made.card().to_html()).text
    assert f"at most {kept} count" in text
    assert f"After its noisy look{ran}" in text.replace("\n", "")
    rest = dpsel.ApproxDP(**{name: made.report["look"]["rest"][name] for name in ("epsilon", "delta")})
    named = dpsel.Matching(screening=True) if ran == "Matching" else dpsel.Steered(reach=3)
    plan = dpsel.plan(privacy=rest, max_items_per_user=10, mechanisms=named).rows[0]
    row = dpsel.explain(made).rows[0]
    assert (row["items_per_user"], row["users_for_95"]) == (kept, plan["users_for_95"])


def test_public_items_are_no_part_of_the_least_number() -> None:
    made = release(min_users=10, public_items=["nobody"])
    assert "users per item that is not public" in str(made)
    assert "never fewer than 10, public ones apart" in Page(made.card().to_html()).text


def test_a_least_number_is_explained() -> None:
    rows = {row["change"]: row for row in dpsel.explain(release(min_users=400)).rows}
    assert rows["without min_users"]["users_for_95"] < rows["as it was"]["users_for_95"]
    assert "the data was not looked at" in " ".join(str(dpsel.explain(release())).split())


def test_only_selections_are_explained() -> None:
    counts = dpsel.top_k_from_counts([900, 20], k=1, privacy=dpsel.PureDP(epsilon=1.0))
    for wrong in (counts, 5):
        with pytest.raises(InvalidParameterError, match="select_partitions"):
            dpsel.explain(wrong)


# Plots.


def test_a_plot_shows_released_weights_and_the_threshold(tmp_path) -> None:
    made = release(with_weights=True, mechanism=dpsel.WeightedGaussian(), public_items=["water"])
    axes = made.plot(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 0
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert sorted(labels) == ["milk", "tea"]
    threshold = made.report.rounds[0]["threshold"]
    assert any(list(line.get_xdata()) == [threshold, threshold] for line in axes.get_lines())
    assert len(made.plot(most=1).get_yticklabels()) == 1
    assert release(with_weights=True).plot() is not None
    with pytest.raises(InvalidParameterError, match=r"counts=0\.2, or with_weights=True"):
        release().plot()
    with pytest.raises(InvalidParameterError, match="this release has none; ask for counts"):
        dpsel.top_k_from_counts([900, 20], k=1, privacy=dpsel.PureDP(epsilon=1.0)).plot()


#: Long items of strangers, with what would be a formula that is none.
ITEMS = [f"{'a long item of many words ' * 20}{number} $\\frac$\n\x1b" for number in range(40)]
PURE = dpsel.PureDP(epsilon=1.0)


def counted(most: int) -> list[tuple[int, str]]:
    return [(user, item) for place, item in enumerate(ITEMS[:most]) for user in range(200 + 9 * place)]


def by_counts(counts: object, published: object, **options: object) -> object:
    return dpsel.top_k_from_counts(counts, k=3, privacy=PURE, publish_counts=published, **options)


def by_users(most: int, **options: object) -> object:
    return dpsel.select_partitions(counted(most), privacy=PRIVACY, max_items_per_user=most, **options)


DRAWN = {
    "users": lambda: by_users(40, counts=0.5, mechanism=dpsel.Steered()),
    "rows": lambda: by_users(9, counts=dpsel.Counts(0.5, count="rows", max_rows_per_item=3)),
    "both": lambda: by_users(9, counts=0.3, with_weights=True, mechanism=dpsel.Steered()),
    "nothing": lambda: release(counts=0.3, exclude=["tea", "milk"]),
    "Laplace": lambda: by_counts({item: 10**9 * at for at, item in enumerate(ITEMS[:3], 2)}, PURE),
    "Gauss": lambda: by_counts([2, 3, 4], dpsel.ZCDP(rho=0.1, delta=1e-6)),
    "free": lambda: by_counts([900, 20, 3], "free", mechanism=dpsel.Gamma()),
    "rows of a top-k": lambda: dpsel.select_top_k(
        counted(3), k=2, domain=ITEMS[:3], privacy=PURE, counts=PURE
    ),
}


@pytest.mark.parametrize("given", [True, False], ids=["given axes", "own axes"])
@pytest.mark.parametrize("name", DRAWN)
def test_no_label_of_a_plot_touches_another(name, given) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = DRAWN[name]()
    axes = made.plot(ax=Figure(figsize=(4, 3), layout="constrained").subplots() if given else None)
    canvas = FigureCanvasAgg(axes.figure)
    canvas.draw()
    assert len(axes.get_yticklabels()) == min(30, len(made))
    for labels in (axes.get_yticklabels(), axes.get_xticklabels()):
        inside = [label.get_window_extent() for label in labels if label.get_visible() and label.get_text()]
        assert not [1 for at, box in enumerate(inside) for other in inside[at + 1 :] if box.overlaps(other)]
    if not given:
        (legend,) = axes.figure.legends
        assert not legend.get_window_extent().overlaps(axes.get_window_extent())
        assert axes.get_window_extent().width > axes.figure.bbox.width / 4
    assert "noisy number of" in "".join(text.get_text() for text in canvas.figure.findobj(match=_is_text))


def _is_text(artist: object) -> bool:
    return hasattr(artist, "get_text")


def test_plots_differ_in_dashes_too() -> None:
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=[1, 10, 100])
    lines = plan.plot().get_lines()
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 3
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 3


def test_each_of_many_curves_has_a_style_of_its_own() -> None:
    from dpsel._plot import STYLES

    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=[1, 10, 100], items_per_user=[1, 5, 20, 50])
    lines = plan.plot().get_lines()
    assert len(lines) > len(STYLES)
    assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}) == len(lines)


def test_labels_that_begin_alike_differ() -> None:
    rows = [(user, f"{'a long item ' * 9}{item:02}") for item in range(20) for user in range(300)]
    made = dpsel.select_partitions(rows, privacy=PRIVACY, max_items_per_user=20, counts=0.5)
    labels = [label.get_text() for label in made.plot().get_yticklabels()]
    assert len(set(labels)) == len(made) > 1
    assert max(map(len, labels)) < 35


def test_changes_are_those_of_what_a_look_chose() -> None:
    """Rows of another mechanism would say that a larger budget asks for more users."""
    rows = [(user, (user + step) % 4_000) for user in range(20_000) for step in range(3)]
    privacy = dpsel.ApproxDP(epsilon=6.0, delta=1e-6)
    release = dpsel.select_partitions(rows, privacy=privacy, max_items_per_user=30)
    assert release.report["look"]["lists"] == "short"
    needed = {row["change"]: row["users_for_95"] for row in dpsel.explain(release).rows}
    more = dpsel.ApproxDP(epsilon=6.0, delta=1e-5)
    planned = dpsel.plan(privacy=more, max_items_per_user=30, mechanisms=dpsel.Matching(screening=True))
    assert needed["delta x 10"] == planned.rows[0]["users_for_95"]
    assert needed["max_items_per_user=10"] < needed["as it was"]
