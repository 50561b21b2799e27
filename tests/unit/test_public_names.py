"""`import dpsel` loads hardly anything; every public name is there for people, tools and type checkers."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpsel
import dpsel.budget
import dpsel.release


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.split()


def for_type_checkers() -> dict[str, str]:
    """The names that type checkers see, and the module that each comes from."""
    tree = ast.parse(Path(dpsel.__file__).read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    assert isinstance(branch.test, ast.Name)
    assert branch.test.id == "TYPE_CHECKING"
    lines = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: line.module for line in lines for alias in line.names if alias.name != "*"}


def test_type_checkers_and_the_interpreter_see_the_same_names() -> None:
    seen = for_type_checkers()
    mechanisms = set(dpsel.mechanisms.__all__)
    assert set(dpsel.__all__) == set(seen) | mechanisms | {"__version__"}
    for name, module in seen.items():
        home = __import__(module, fromlist=[name])
        assert getattr(dpsel, name) is getattr(home, name)


def test_the_import_loads_only_the_compiled_module() -> None:
    loaded = run("import sys, dpsel; print(*(name for name in sys.modules if name.startswith('dpsel')))")
    assert set(loaded) == {"dpsel", "dpsel._core", "dpsel._core_calls", "dpsel.exceptions"}


def test_a_selection_loads_nothing_of_audits_comparisons_plans_and_budgets() -> None:
    loaded = set(
        run(
            "import sys, dpsel\n"
            "privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)\n"
            "dpsel.select_partitions([(1, 2)], privacy=privacy, max_items_per_user=3)\n"
            "print(*sys.modules)"
        )
    )
    assert "dpsel.selection" in loaded
    parts = (
        "auditing",
        "comparison",
        "planning",
        "top_k",
        "spark",
        "cli",
        "budget._budget",
        "release._check",
    )
    assert not {f"dpsel.{part}" for part in parts} & loaded
    assert not {"pathlib", "hashlib", "csv", "decimal", "fractions", "statistics", "html", "queue"} & loaded


def test_public_names_are_shown_in_a_fresh_process() -> None:
    shown = run("import dpsel; print(*dir(dpsel))")
    assert shown == dir(dpsel)
    assert set(dpsel.__all__) < set(shown)
    assert not [name for name in shown if name.startswith("_") and not name.startswith("__")]


@pytest.mark.parametrize("package", ["dpsel", "dpsel.budget", "dpsel.release"])
def test_a_star_import_brings_every_public_name(package) -> None:
    code = (
        f"import {package} as p; from {package} import *; print(all(name in globals() for name in p.__all__))"
    )
    assert run(code) == ["True"]


@pytest.mark.parametrize("name", ["demo_data", "exceptions", "mechanisms", "release"])
def test_submodules_need_no_import_of_their_own(name) -> None:
    assert run(f"import dpsel; print(dpsel.{name}.__name__)") == [f"dpsel.{name}"]


@pytest.mark.parametrize("package", [dpsel, dpsel.budget, dpsel.release])
def test_an_unknown_name_is_an_attribute_error(package) -> None:
    with pytest.raises(
        AttributeError, match=rf"module '{package.__name__}' has no attribute 'nonesuch'"
    ) as info:
        _ = package.nonesuch
    assert info.value.name == "nonesuch"
    assert info.value.obj is package


@pytest.mark.parametrize("given", [None, "500"])
def test_the_allocator_gives_memory_back_soon_and_the_environment_stays(given: str | None) -> None:
    code = "import os; before = dict(os.environ); import dpsel; assert os.environ == before"
    environment = {name: value for name, value in os.environ.items() if name != "MIMALLOC_PURGE_DELAY"}
    environment |= {"MIMALLOC_VERBOSE": "1"} | ({"MIMALLOC_PURGE_DELAY": given} if given else {})
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    assert f"option 'purge_delay': {given or 10} " in done.stderr
