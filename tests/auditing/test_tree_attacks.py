"""The attacks on trees: the shipped mechanism stands, needs most of its claim, and planted bugs fall."""

from __future__ import annotations

from hashlib import sha256
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import dpsel
from dpsel.auditing import _score_attacks as flat
from dpsel.auditing import _tree_attacks as attacks
from dpsel.auditing._scored import scored
from dpsel.auditing._search import Claim
from dpsel.auditing._tree_tables import TreeNeighbours, _cut, of_one_node, of_users
from dpsel.cli._app import cli
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel.auditing._search import LowerBounds
    from dpsel.auditing._tree_attacks import TreeAttack

#: The chance that a bound is too large. Keys are fixed, so a test fails always or never.
ALPHA = 1e-9
LEVELS = 3
FACTOR = 1.3
BUDGETS = [
    (flat.LOOSE, 1000, 3),
    (flat.ALONE, 1, 3),
    (flat.ALONE, 3, 3),
    (flat.LOOSE, 10, 2),
    (flat.CLEAR, 4, 32),
]


def keys() -> Iterator[bytes]:
    return (sha256(number.to_bytes(8, "big")).digest() for number in count())


@pytest.fixture(scope="module")
def on_nodes() -> LowerBounds:
    attack = attacks.on_nodes(dpsel.Steered(), flat.LOOSE, flat.LOOSE_BOUND, LEVELS)
    return attack.run(1_000_000, ALPHA, keys())


@pytest.mark.long("a million tables")
def test_trees_stand_and_need_most_of_what_they_claim(on_nodes) -> None:
    assert not on_nodes.refutes(Claim(flat.LOOSE.epsilon, flat.LOOSE.delta))
    assert on_nodes.epsilon >= 0.75 * flat.LOOSE.epsilon
    assert on_nodes.delta >= 0.45 * flat.LOOSE.delta


@pytest.mark.long("a million tables")
def test_a_claim_that_is_too_good_by_a_factor_falls(on_nodes) -> None:
    """The same as noise that is too small by this factor."""
    assert on_nodes.refutes(Claim(flat.LOOSE.epsilon / FACTOR, flat.LOOSE.delta))


@pytest.mark.long("hundreds of thousands of rows")
def test_a_user_moves_one_node_by_its_cap_and_no_more() -> None:
    attack = attacks.on_one_node(dpsel.Steered(), flat.CLEAR, flat.CLEAR_BOUND, LEVELS)
    assert attack is not None
    found = attack.run(1_000_000, ALPHA, keys())
    assert not found.refutes(attack.claim)
    assert found.epsilon >= 0.55 * attack.claim.epsilon


def on_cut_lines() -> tuple[TreeAttack, LowerBounds]:
    """The attack on lines of others that are cut, with a user of the highest node alone."""
    privacy, bound = flat.ALONE, 2
    tables = _cut(scored(dpsel.Steered(), privacy, bound), bound)
    attack = attacks.on_nodes(dpsel.Steered(), privacy, bound, bound + 1)
    assert tables in [each for each, _ in attack.tables]
    return attack, attack._test(attack.sampler(keys()), tables, 80_000, ALPHA)


def test_lines_that_are_cut_keep_what_stands_above() -> None:
    """A user of the highest node alone would else decide about the nodes of others below it."""
    _, found = on_cut_lines()
    assert found.samples > 1000
    assert found.epsilon < 0.5
    assert found.delta == 0


@pytest.mark.long("hundreds of thousands of rows")
def test_noise_that_is_too_small_by_a_factor_falls(monkeypatch) -> None:
    """The shipped release of a larger budget."""
    larger = dpsel.ApproxDP(epsilon=FACTOR * flat.LOOSE.epsilon, delta=FACTOR * flat.LOOSE.delta)
    attack = attacks.on_nodes(dpsel.Steered(), flat.LOOSE, 10, LEVELS)
    monkeypatch.setattr(
        attacks, "select_partitions", lambda users, **options: dpsel.select_partitions(
            users, **(options | {"privacy": larger})
        )
    )  # fmt: skip
    assert attack.run(400_000, ALPHA, keys()).refutes(attack.claim)


def test_nodes_below_one_that_its_user_alone_keeps_are_seen(monkeypatch) -> None:
    """What comes of lists that are cut without the highest node: half of the time nothing below it stays."""
    draws = Random(1)

    def select(users, **options):
        release = dpsel.select_partitions(users, **options)
        alone = {path for _, held in users for path in held if len(held) == 1 and "/" not in path}
        given_up = {top for top in alone if draws.random() < 0.5}
        return SimpleNamespace(items=[row for row in release.items if row[0].split("/")[0] not in given_up])

    monkeypatch.setattr(attacks, "select_partitions", select)
    attack, found = on_cut_lines()
    assert found.refutes(attack.claim)


def tables_of(privacy: dpsel.ApproxDP, bound: int, levels: int) -> list[TreeNeighbours]:
    rounds = scored(dpsel.Steered(), privacy, bound)
    claim = Claim(privacy.epsilon, privacy.delta)
    found = [*of_users(rounds, bound, levels, claim)]
    if bound > levels:
        found += of_one_node(rounds, bound, levels, claim)
    return [tables for tables, _ in found]


def nodes(paths: list[str]) -> set[str]:
    parts = [path.split("/") for path in paths]
    return {"/".join(each[:level]) for each in parts for level in range(1, len(each) + 1)}


@pytest.mark.parametrize(("privacy", "bound", "levels"), BUDGETS)
def test_tables_are_trees_that_differ_in_one_user(privacy, bound, levels) -> None:
    for tables in tables_of(privacy, bound, levels):
        without, added = (dict(tables.paths(1, with_user=side)) for side in (False, True))
        (user,) = added.keys() - without.keys()
        assert all(added[other] == without[other] for other in without)
        depths = {len(path.split("/")) for held in added.values() for path in held}
        assert max(depths) <= levels
        shared = nodes([path for paths in without.values() for path in paths])
        own = {node.rpartition("/")[2] for node in nodes(added[user]) - shared} - {"stem"}
        assert any(int(node) < tables.width for node in own) == ("of nobody else" in tables.name)


@pytest.mark.parametrize(("privacy", "bound", "levels"), BUDGETS)
def test_copies_share_the_nodes_in_demand_alone(privacy, bound, levels) -> None:
    for tables in tables_of(privacy, bound, levels):
        users, copies = tables.paths(3, with_user=True), 3
        one = len(users) // copies
        parts = [
            nodes([path for _, held in users[at * one : (at + 1) * one] for path in held]) for at in range(3)
        ]
        assert len({user for user, _ in users}) == len(users)
        both = parts[0] & parts[1]
        assert len(both) == tables.stem + tables.common
        masks = tables.masks([(path, path.count("/")) for path in sorted(set.union(*parts))], copies)
        assert masks == [(1 << tables.width) - 1] * copies


def test_a_user_of_nodes_in_lines_has_as_many_as_are_named() -> None:
    for tables in tables_of(flat.LOOSE, 1000, LEVELS):
        if tables.name.startswith("1,000 nodes"):
            ((_, paths),) = tables.paths(1, with_user=True)
            assert len(paths) == 334
            assert len(nodes(paths)) == 1000


@pytest.mark.parametrize("levels", [1, 0, 33, True, "3", 2.5])
def test_other_levels_are_refused(levels) -> None:
    with pytest.raises(InvalidParameterError, match="levels must be"):
        dpsel.audit("steered", levels=levels)


@pytest.mark.parametrize("named", [("sips",), ("steered", "joint"), ("counts",), ("quantile",)])
def test_mechanisms_without_lines_of_descent_are_refused(named) -> None:
    with pytest.raises(InvalidParameterError, match="levels= is for steered"):
        dpsel.audit(*named, levels=3)


def test_a_pure_claim_on_trees_is_refused() -> None:
    for named, reason in (((), "levels= is for steered"), (("steered",), "privacy must be ApproxDP for rel")):
        with pytest.raises(InvalidParameterError, match=reason):
            dpsel.audit(*named, levels=3, privacy=dpsel.PureDP(epsilon=1.0))


def test_levels_belong_to_mechanisms_on_the_command_line() -> None:
    asked = ["audit", "--levels", "3", "--callable", "m:f", "--epsilon", "1", "--max-items-per-user", "2"]
    assert "--levels is for mechanisms" in CliRunner().invoke(cli, asked).output
    assert CliRunner().invoke(cli, ["audit", "steered", "--levels", "1"]).exit_code == 2


@pytest.mark.long("a whole audit")
def test_the_command_line_audits_trees() -> None:
    done = CliRunner().invoke(cli, ["audit", "steered", "--levels", "2", "--max-items-per-user", "2"])
    assert done.exit_code == 0, done.output
    assert "steered, 2 levels" in done.output
