"""A released tree as people see it: indented, the largest first among siblings, and cut with a line."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError
from dpsel.release._tree import largest_nodes

OPTIONS = {
    "privacy": dpsel.ApproxDP(epsilon=4.0, delta=1e-6),
    "max_items_per_user": 40,
    "mechanism": "steered",
    "insecure_test_key": bytes(32),
}
COUNTS = dpsel.Counts(share=0.5, max_counted_items=40)
#: Of the parts, which stand in the order of their keys, the last has most users.
SIZES = {"a": 300, "a/x": 200, "a/y": 280, "b": 900, "b/x-1": 500, "b/x": 400, "b/x/deep": 390}


def rows(sizes: dict[str, int] = SIZES) -> list[tuple[int, str]]:
    return [(user, path) for path, users in sizes.items() for user in range(users)]


def tree(**options) -> dpsel.Release:
    return dpsel.select_partitions(rows(), levels="/", **(OPTIONS | options))


def labels(release: dpsel.Release) -> list[str]:
    lines = str(release).split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith("---")) + 1
    return [re.match(r" *\S+", line).group() for line in lines[start:]]


def test_siblings_with_numbers_are_sorted_by_them() -> None:
    assert labels(tree(counts=COUNTS)) == ["b", "  x-1", "  x", "    deep", "a", "  y", "  x"]


def test_siblings_without_numbers_are_sorted_by_their_keys() -> None:
    assert labels(tree()) == ["a", "  x", "  y", "b", "  x", "    deep", "  x-1"]


def test_columns_make_the_same_tree_in_a_notebook() -> None:
    parts = [(user, *path.split("/")) for user, path in rows()]
    made = {"user": [each[0] for each in parts]} | {
        name: [each[at] if len(each) > at else None for each in parts] for at, name in enumerate("klm", 1)
    }
    release = dpsel.select_partitions(
        pa.table(made), user="user", item=list("klm"), levels=True, counts=COUNTS, **OPTIONS
    )
    assert labels(release) == labels(tree(counts=COUNTS))
    cells = re.findall(r"<tr><td>(.*?)</td>", release._repr_html_())
    assert [cell.replace("\u00a0", " ") for cell in cells] == labels(release)
    assert "k / l / m" in str(release)


@pytest.mark.parametrize("counts", [None, COUNTS])
def test_a_large_tree_is_cut_and_says_how_much_is_left(counts) -> None:
    sizes = {f"{top}/{part}": 500 - 20 * top for top in range(6) for part in range(6)}
    release = dpsel.select_partitions(rows(sizes), levels="/", counts=counts, **OPTIONS)
    assert len(release) == 42
    assert len(labels(release)) == 20 + 1
    assert str(release).endswith("\nand 22 more nodes")


@pytest.mark.parametrize("most", [1, 2, 3, 6, 7, 100])
def test_what_stands_above_a_node_is_shown_before_it(most) -> None:
    release = tree(counts=COUNTS)
    table = release.to_table()
    columns = {name: table.column(name) for name in table.columns}
    nodes = largest_nodes(release.report["request"], columns, most)
    assert len(nodes) == min(most, len(release))
    paths = [columns["item"][node.place] for node in nodes]
    for place, path in enumerate(paths):
        assert all(above in paths[:place] for above in (path.rpartition("/")[0],) if above)
        assert nodes[place].depth == path.count("/")


def test_a_value_that_begins_with_spaces_is_no_child() -> None:
    printed = str(tree(public_items=["b/  c", "  z"])).split("\n")
    assert any(line.startswith('"  z"') for line in printed)
    assert any(line.startswith('  "  c"') for line in printed)


def test_what_is_no_tree_is_printed_as_before() -> None:
    release = dpsel.select_partitions(rows(), counts=COUNTS, **OPTIONS)
    assert len(str(release).split("\n")) == 5
    empty = dpsel.select_partitions(rows({"a": 1}), levels="/", **OPTIONS)
    assert len(empty) == 0
    assert "---" not in str(empty)


def test_a_plot_indents_the_nodes_below_one(tmp_path) -> None:
    pytest.importorskip("matplotlib", reason="an extra")
    axes = tree(counts=COUNTS).plot(tmp_path / "tree.svg")
    axes.figure.canvas.draw()
    found = {}
    for label, depth in zip(axes.get_yticklabels()[::-1], [0, 1, 1, 2, 0, 1, 1], strict=True):
        found.setdefault(depth, set()).add(round(label.get_window_extent().x0))
    assert [len(starts) for starts in found.values()] == [1, 1, 1]
    starts = {depth: starts.pop() for depth, starts in found.items()}
    assert starts[0] + 5 < starts[1]
    assert starts[1] + 5 < starts[2]
    assert [label.get_text() for label in axes.get_yticklabels()][::-1] == [
        label.strip() for label in labels(tree(counts=COUNTS))
    ]
    (points,) = axes.containers
    assert list(points.lines[0].get_ydata()) == list(range(7))
    with pytest.raises(InvalidParameterError, match="noisy numbers or weights"):
        tree().plot()


def test_a_plot_of_a_tree_has_as_many_nodes_as_asked() -> None:
    pytest.importorskip("matplotlib", reason="an extra")
    assert [each.get_text() for each in tree(counts=COUNTS).plot(most=2).get_yticklabels()] == ["x-1", "b"]
