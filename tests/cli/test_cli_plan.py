"""``dpsel plan``: a table, JSON or a plot, from parameters alone."""

from __future__ import annotations

import json

import pytest
from cli_support import names

PLAN = ("plan", "--epsilon", "1", "--delta", "1e-8", "--max-items-per-user", "1,10,100")


def test_the_table_has_a_line_for_every_limit(dpsel_run):
    run = dpsel_run(*PLAN)
    assert (run.code, run.err) == (0, "")
    assert all(any(limit in line.split() for line in run.out.splitlines()) for limit in ("1", "10", "100"))


def test_json_has_the_answers_before_the_rounds(dpsel_run):
    run = dpsel_run(*PLAN, "--json", "--mechanism", "sips")
    for row in json.loads(run.out)["rows"]:
        names = list(row)
        assert names[-1] == "rounds"
        assert names.index("users_for_95") < names.index("keep") < names.index("request")


def test_json_has_an_entry_for_every_mechanism_and_limit(dpsel_run):
    run = dpsel_run(*PLAN, "--json", "--mechanism", "count-laplace", "--mechanism", "weighted-gaussian")
    assert run.code == 0
    assert len(json.loads(run.out)["rows"]) == 6


def test_keep_probabilities_for_numbers_of_users(dpsel_run):
    few, many = (dpsel_run(*PLAN, "--json", "--users", users).out for users in ("7", "7,5000"))
    assert few != many
    assert "5000" in many


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--rho", "1"), "either"),
        (("--users", "none"), "--users"),
        (("--users", "0"), "--users"),
        (("--max-items-per-user", "1,x"), "--max-items-per-user"),
        (("--epsilon", "0"), "epsilon"),
        (("--mechanism", "magic"), "magic"),
        (("--rounds", "3"), "use --mechanism 'sips(rounds=3)'"),
        (("--mechanism", "steered", "--rounds=3"), "use --mechanism 'steered(rounds=3)'"),
        (("--mechanism", "joint"), "belongs to `dpsel plan-top-k`"),
        (("--items-per-user", "0"), "--items-per-user"),
    ],
)
def test_what_does_not_apply_is_refused(dpsel_run, options, words):
    run = dpsel_run(*PLAN, *options)
    assert run.code == 2
    assert words in run.error


def test_users_with_fewer_items_make_an_item_visible_sooner(dpsel_run):
    options = ("plan", "--epsilon", "1", "--delta", "1e-8", "--max-items-per-user", "100", "--json")
    worst, typical = (
        json.loads(dpsel_run(*options, *more).out)["rows"][0]["users_for_95"]
        for more in ((), ("--items-per-user", "10"))
    )
    assert typical < worst


def test_laplace_has_no_zcdp_guarantee(dpsel_run):
    run = dpsel_run(
        "plan", "--rho", "1", "--delta", "1e-8", "--max-items-per-user", "1", "--mechanism", "count-laplace"
    )
    assert run.code == 2
    assert "zcdp" in run.error.lower()


def test_a_plot_is_an_image(dpsel_run, folder):
    assert dpsel_run(*PLAN, "--plot", "keep.png").code == 0
    assert (folder / "keep.png").read_bytes().startswith(b"\x89PNG")


def test_an_unknown_image_format_leaves_nothing(dpsel_run, folder):
    run = dpsel_run(*PLAN, "--plot", "keep.xyz")
    assert run.code == 2
    assert "--plot" in run.error
    assert names(folder) == set()
