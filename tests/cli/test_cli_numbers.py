"""Numbers on the command line are written in digits, in every option."""

from __future__ import annotations

import click
import pytest
from cli_support import BUDGET, COLUMNS, instead

from dpsel.cli._app import every_command
from dpsel.cli._types import Real, RealRange, Whole, WholeRange

NUMBERS = (click.types.IntParamType, click.types.FloatParamType)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (command.name, param)
        for command in every_command().values()
        for param in command.params
        if isinstance(param.type, NUMBERS)
    ],
)
def test_no_number_has_an_underscore(command, option):
    assert isinstance(option.type, Real | RealRange | Whole | WholeRange), command
    with pytest.raises(click.BadParameter, match="'1_0' has an underscore; write digits alone"):
        option.type.convert("1_0", option, None)
    with pytest.raises(click.BadParameter, match="is a list, and one number is needed; leave the others out"):
        option.type.convert("1,2", option, None)


@pytest.mark.parametrize("option", ["--max-items-per-user", "--epsilon"])
def test_no_list_of_numbers_has_an_underscore(dpsel_run, tmp_path, option):
    rows = tmp_path / "rows.csv"
    rows.write_text("user,item\n1,tea\n")
    done = dpsel_run("compare", rows, *instead((*COLUMNS, *BUDGET), "--public-data", option, "1_0"))
    assert "is not a list of" in done.error


def test_a_plan_has_one_epsilon(dpsel_run):
    done = dpsel_run("plan", *instead(BUDGET, "--epsilon", "1,2"))
    assert "'--epsilon': (not quoted: it may be data) is a list, and one number is needed" in done.error


@pytest.mark.parametrize("number", ["5551234", "19840101", "37.5"])
def test_a_number_that_may_be_data_is_not_quoted(dpsel_run, number):
    for given in (("plan", "--json", number), ("select", "rows.csv", "--format", number)):
        done = dpsel_run(*given)
        assert done.code == 2
        assert number not in done.err + done.out


@pytest.mark.parametrize("name", sorted(every_command()))
def test_an_option_of_one_value_is_refused_twice(dpsel_run, folder, name):
    """Otherwise all but the last value would be dropped without a word."""
    options = [each for each in every_command()[name].params if isinstance(each, click.Option)]
    for option in (each for each in options if not (each.is_flag or each.multiple)):
        run = dpsel_run(*name.split(), option.opts[0], "1", option.opts[-1], "2")
        assert run.code == 2
        assert f"{option.opts[-1]} is given twice and takes one value; give it once" in run.error
    assert not list(folder.iterdir())
