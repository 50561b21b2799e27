"""Who may touch what: rules of ARCHITECTURE.md and CONTRIBUTING.md that are read off the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from circles import circles

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "rust" / "core" / "src"
#: The crates without the binding.
CRATES = [path for path in (ROOT / "rust").glob("*/src") if path.parent.name != "python"]

#: Files and folders that are compiled for unit tests only.
UNIT_TESTS = {"testing", "tests"}


def shipped_code(path: Path) -> str:
    """A source file without comments and without its unit tests, which stand at its end."""
    return re.split(r"#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+ \{", re.sub(r"//[^\n]*", "", path.read_text()))[
        0
    ]


def is_shipped(path: Path) -> bool:
    return not UNIT_TESTS & {path.stem, path.parent.name}


def uses(path: Path) -> set[str]:
    """Rooms that a file names, its unit tests left out."""
    code = shipped_code(path)
    paths = set(re.findall(r"\b(?:crate|dpsel_\w+)::(\w+)", code))
    for group in re.findall(r"\b(?:crate|dpsel_\w+)::\{([^;]*)\};", code):
        paths |= set(re.findall(r"(?:^|,)\s*(\w+)", group))
    return {name for name in paths if name[0].islower()}


def files(module: str) -> list[Path]:
    found = [path for crate in CRATES for path in (crate / module).rglob("*.rs")]
    assert found, module
    return found


def test_weighting_does_not_know_noise() -> None:
    found = {name for path in files("weighting") for name in uses(path)}
    assert not found & {"noise", "threshold", "mechanisms"}


def test_noise_does_not_know_weighting() -> None:
    """The grid is in `numeric`."""
    assert not {name for path in files("noise") for name in uses(path)} & {"weighting", "bounding"}


def test_only_random_opens_the_systems_generator() -> None:
    for path in (path for crate in CRATES for path in crate.rglob("*.rs")):
        if path.parent.name != "random":
            assert "getrandom" not in path.read_text(), path
    for manifest in ROOT.glob("rust/*/Cargo.toml"):
        assert not re.search(r"^(rand|rand_\w+|fastrand|oorandom)\b", manifest.read_text(), re.MULTILINE)


def test_no_unsafe_and_no_panic_in_the_crates() -> None:
    for path in (ROOT / "rust").glob("*/src/**/*.rs"):
        if not is_shipped(path):
            continue
        code = shipped_code(path)
        assert not re.search(r"\bunsafe\b|\btodo!|\bunimplemented!|\.unwrap\(\)|\bdbg!", code), path


def shipped_lines(path: Path) -> list[str]:
    """The lines of a source file without its unit tests, with comments."""
    return re.split(r"#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+ \{", path.read_text())[0].splitlines()


#: A value for what is not there. `unwrap_or(Err(...))` is an error, and so none.
FALLBACK = re.compile(
    r"unwrap_or\((?!Err\()|unwrap_or_default|(try_from|try_into|to_[iu]\d+)\(.*\)\.(unwrap_or_else|map_or)\("
)


def unexplained(lines: list[str]) -> list[str]:
    """Fallbacks without a comment of their own, in the four lines above, that starts with "Otherwise:"."""
    found, explained_at = [], -10
    for number, line in enumerate(lines):
        code = line.split("//")[0]
        if "// Otherwise: " in line:
            explained_at = number
        if FALLBACK.search(code):
            if number - explained_at > 4:
                found.append(f"{number + 1}: {code.strip()}")
            explained_at = -10
    return found


def test_every_value_for_what_is_not_there_has_its_reason() -> None:
    """An unreachable branch is an error or cannot be written; the others say why their value is right."""
    for path in sorted((ROOT / "rust").glob("*/src/**/*.rs")):
        if is_shipped(path):
            assert not unexplained(shipped_lines(path)), path


def test_the_rule_about_fallbacks_finds_them() -> None:
    bare = ["let n = u32::try_from(n).unwrap_or(0);"]
    assert unexplained(bare) == ["1: let n = u32::try_from(n).unwrap_or(0);"]
    assert not unexplained(["// Otherwise: none.", *bare])
    assert len(unexplained(["// Otherwise: none.", *bare, *bare])) == 1
    assert not unexplained(["caught(run).unwrap_or(Err(FAILED))"])
    assert unexplained(["u8::try_from(n).map_or(7, u16::from)"])


def test_no_arm_for_the_rest_grants_something() -> None:
    """A new variant of an enum is met by the compiler, not by `_`."""
    libs = [(crate / "lib.rs").read_text() for crate in CRATES]
    assert all("deny(clippy::wildcard_enum_match_arm)" in lib for lib in libs)
    allowed = re.findall(r"allow\(clippy::wildcard_enum_match_arm[^\]]*\]\s*pub mod (\w+);", "".join(libs))
    # Arrow has many types, of which these two read and write some.
    assert sorted(allowed) == ["ingest", "release"]
    for path in (ROOT / "rust").glob("*/src/**/*.rs"):
        assert not re.search(r"(?<!\w)_ => (true|Ok\(\(\)\))", shipped_code(path)), path
        if path.relative_to(ROOT / "rust").parts[2] not in ("ingest", "release"):
            assert "wildcard_enum_match_arm" not in path.read_text() or path.name == "lib.rs", path


def test_what_a_mechanism_can_do_has_no_default_that_grants_something() -> None:
    """Every mechanism says it itself; two answers are "no" unless it does, and that refuses a call."""
    traits = {"mechanisms/mechanism.rs": "Mechanism", "top_k/mechanism.rs": "TopKMechanism"}
    for file, name in traits.items():
        body = (CORE / file).read_text().split(f"pub trait {name} {{")[1].split("\n}\n")[0]
        assert "fn calibrate" in body
        defaults = re.findall(r"fn (\w+)\([^;{]*\{\s*([^}]*?)\s*\}", re.sub(r"//[^\n]*", "", body))
        assert set(defaults) <= {("finds_domain", "false"), ("has_free_counts", "false")}, name


def test_a_mechanism_is_matched_on_in_its_registry_alone() -> None:
    """Whatever differs between mechanisms is an answer of their types, so a new one touches no other file."""
    for path in (ROOT / "rust").glob("*/src/**/*.rs"):
        if is_shipped(path):
            assert not re.search(r"\b(MechanismSpec|TopKSpec)::[A-Z]", shipped_code(path)), path
    for file, name in (("mechanisms", "Mechanism"), ("top_k", "TopKMechanism")):
        registry = (CORE / file / "registry.rs").read_text()
        listed = re.findall(r'^    "(\w+)" => \w+,$', registry, re.MULTILINE)
        folders = {
            path.parent.name
            for path in [*(CORE / file).glob("*/mod.rs"), *(CORE / file).glob("published/*/mod.rs")]
            if re.search(rf"impl {name} for", path.read_text())
        }
        assert set(listed) == folders


def test_a_mechanism_answers_what_the_page_on_contributing_says() -> None:
    pattern = r"fn properties\(&self\) -> Properties \{\s*Properties \{(.*?)\}"
    pages = [ROOT / "CONTRIBUTING.md", CORE / "mechanisms" / "published" / "one_item" / "mod.rs"]
    shown, answered = (re.findall(pattern, page.read_text(), re.DOTALL) for page in pages)
    fields = [[re.sub(r"\s", "", part) for part in found.split(",")] for found in (*shown, *answered)]
    assert len(fields) == 2
    assert fields[0] == [field for field in fields[1] if field]


def test_the_binding_does_not_compute() -> None:
    """Arithmetic on scales, weights or probabilities belongs to the core."""
    for path in (ROOT / "rust" / "python" / "src").rglob("*.rs"):
        code = re.sub(r"//[^\n]*", "", path.read_text())
        assert not re.search(r"\.(exp|ln|sqrt|powf|powi|erf|erfc)\(", code), path


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_the_reference_does_not_import_what_it_checks() -> None:
    for path in (ROOT / "tests" / "reference").glob("*.py"):
        assert "dpsel" not in imports(path), path


PACKAGE = ROOT / "python" / "dpsel"

#: The rooms of the Python package: a folder or a file each. A room uses itself and those before it.
ROOMS = [
    "exceptions",
    "_protocols",
    "_core",
    "_arguments",
    "_lazy",
    "_optional",
    "_tables",
    "_core_calls",
    "quoting",
    "outputs",
    "_plot",
    "formats",
    "accounting",
    "mechanisms",
    "typing",
    "item_table",
    "_restored",
    "progress",
    "_request",
    "_ingest",
    "_filter",
    "release",
    "budget",
    "_scratch",
    "series",
    "selection",
    "column_domains",
    "top_k",
    "_namespace",
    "polars",
    "pandas",
    "planning",
    "comparison",
    "auditing",
    "demo_data",
    "__init__",
    "spark",
    "testing",
    "cli",
]


def python_files() -> dict[str, Path]:
    """Every file of the package by its dotted name in there; the package itself is `__init__`."""
    paths = [*PACKAGE.rglob("*.py"), PACKAGE / "_core.pyi"]
    names = {path: path.relative_to(PACKAGE).with_suffix("").parts for path in paths}
    return {
        ".".join(name[:-1] if len(name) > 1 and name[-1] == "__init__" else name): path
        for path, name in names.items()
    }


def imported_files(path: Path, known: set[str]) -> set[str]:
    """The files of the package that a file imports: at its top, in functions, and for type checkers."""
    named = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative imports hide what is imported"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            submodules = {name for name in inside if name.removeprefix("dpsel.") in known}
            named |= submodules or {node.module}
            if len(submodules) < len(inside):
                named.add(node.module)
    names = {name.removeprefix("dpsel.") for name in named if name.startswith("dpsel.")}
    return (names & known) | ({"__init__"} & known if "dpsel" in named else set())


def python_imports() -> dict[str, set[str]]:
    found = python_files()
    return {name: imported_files(path, set(found)) for name, path in found.items()}


def test_no_circle_of_python_files() -> None:
    assert circles(python_imports()) == []


def test_a_python_room_uses_only_rooms_before_it() -> None:
    graph = python_imports()
    assert {name.split(".")[0] for name in graph} == set(ROOMS)
    for name, used in graph.items():
        allowed = ROOMS[: ROOMS.index(name.split(".")[0]) + 1]
        above = {other for other in used if other.split(".")[0] not in allowed}
        assert not above, f"{name} uses {sorted(above)}"


def test_the_search_for_circles_finds_them() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]
    assert circles({"a": {"a"}}) == [{"a"}]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_imports_are_seen_wherever_they_stand(tmp_path) -> None:
    path = tmp_path / "file.py"
    path.write_text(
        "from dpsel import _core, a\nimport dpsel.b.c\n"
        "def f():\n    from dpsel.d import g\n"
        "if TYPE_CHECKING:\n    from dpsel import Public\n"
    )
    known = {"_core", "a", "b", "b.c", "d", "e", "__init__"}
    assert imported_files(path, known) == {"_core", "a", "b.c", "d", "__init__"}


def test_the_core_is_called_in_one_file() -> None:
    """Besides, `spark` hands out its pieces of a release."""
    callers = {name for name, used in python_imports().items() if "_core" in used}
    assert {name for name in callers if name.split(".")[0] != "spark"} == {"_core_calls"}


def test_the_command_line_uses_public_names_only() -> None:
    for name, used in python_imports().items():
        if name.split(".")[0] == "cli":
            private = {other for other in used if other.startswith("_") and other != "__init__"}
            hidden = {other for other in used if "._" in other and not other.startswith("cli.")}
            assert not private | hidden, name


def test_importing_the_package_imports_no_table_library() -> None:
    import subprocess
    import sys

    script = (
        "import sys, dpsel; "
        "optional = 'numpy', 'pandas', 'polars', 'pyarrow', 'duckdb', 'matplotlib', 'pyspark'; "
        "print([m for m in optional if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_random_generator_in_python() -> None:
    package = ROOT / "python" / "dpsel"
    for path in package.rglob("*.py"):
        # The audit chooses tables at random, never a release.
        if not {"demo_data", "auditing"} & set(path.parts):
            assert not imports(path) & {"random", "secrets", "numpy"}, path
