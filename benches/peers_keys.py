"""Which keys do other libraries release from the same rows, how fast? Makes the table of docs/compare.md.

The page has the keys. Seconds are in the figures: they mean something only if the machine does nothing else.

    python -m benches.peers_keys                   all; needs a package index, and Java for Tumult
    python -m benches.peers_keys opendp dpsel      some; figures of the others stay

Each library is installed once into a virtual environment of its own in `bench-data/peer-venvs`, in the
version named here, and each run is a process of its own. Its program is in `benches/keys/`. Figures go to
`docs/images/peers_keys.json`. dpsel runs from this environment: `maturin develop --release` first.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, NamedTuple

from dpsel import demo_data

ROOT = Path(__file__).resolve().parents[1]
PAGE, FIGURES = ROOT / "docs" / "compare.md", ROOT / "docs" / "images" / "peers_keys.json"
DATA = Path(os.environ.get("DPSEL_BENCH_DATA", ROOT / "bench-data"))
START, END = "<!-- peers_keys: start -->\n", "<!-- peers_keys: end -->\n"
#: Seconds that one run may take; a library that takes longer has no figure.
PATIENCE = 600


class Peer(NamedTuple):
    """A library: its name for people, and what pip installs."""

    title: str
    packages: tuple[str, ...]


class Case(NamedTuple):
    """Rows, and the parameters that every library gets."""

    title: str
    epsilon: float
    delta: float
    limit: int


PEERS = {
    "dpsel": Peer("dpsel", ()),
    "opendp": Peer("OpenDP", ("opendp[polars]==0.16.0",)),
    "pipelinedp": Peer("PipelineDP", ("pipeline-dp==0.3.1",)),
    "pydp": Peer("PyDP", ("python-dp==1.1.5",)),
    "smartnoise": Peer("SmartNoise SQL", ("smartnoise-sql==1.0.10",)),
    "tumult": Peer("Tumult Analytics", ("tmlt.analytics==0.21.0",)),
}
CASES = {
    "quotations": Case("words of 594 lines (shipped)", 4.0, 1e-5, 20),
    "text": Case("words of 1,000 users (generated)", 2.0, 1e-6, 20),
}


def rows_of(name: str) -> list[tuple[str, str]]:
    """The distinct rows of a case."""
    if name == "text":
        rows = demo_data.generate("text", users=1_000, items="str", seed=1)
        return sorted({(str(user), str(item)) for user, item in rows})
    with demo_data.quotations().open(newline="", encoding="utf-8") as lines:
        texts = [(row["line"], row["text"].lower()) for row in csv.DictReader(lines)]
    return sorted({(line, word) for line, text in texts for word in re.findall(r"[a-z]+", text)})


def written(name: str) -> Path:
    """The CSV file of a case."""
    path = DATA / f"keys_{name}.csv"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as lines:
            csv.writer(lines).writerows([("user", "item"), *rows_of(name)])
    return path


def interpreter(name: str) -> str:
    """The Python that has the library."""
    if not PEERS[name].packages:
        return sys.executable
    folder = DATA / "peer-venvs" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS[name].packages], check=True)
        (folder / "ready").touch()
    return str(python)


def one_run(name: str, case: str) -> dict[str, Any]:
    """What one process of a library says."""
    program = Path(__file__).parent / "keys" / f"{name}_keys.py"
    chosen = CASES[case]
    words = [written(case), chosen.epsilon, chosen.delta, chosen.limit]
    done = subprocess.run(
        [interpreter(name), program, *map(str, words)],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{name} on {case}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def lines_of(name: str) -> int:
    """Lines of code between the marks of a program."""
    text = (Path(__file__).parent / "keys" / f"{name}_keys.py").read_text(encoding="utf-8")
    return len(text.split("# job\n")[1].split("# end\n")[0].strip().splitlines())


def measured(names: list[str], repeats: int) -> dict[str, Any]:
    """The figures, with those of other libraries as they were."""
    found: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for name in names:
        found[name] = {
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "python": platform.python_version(),
        }
        for case in CASES:
            found[name][case] = None
            try:
                runs = [one_run(name, case) for _ in range(repeats)]
            except subprocess.TimeoutExpired:
                continue
            found[name] |= {"version": runs[0]["version"], "runs": repeats}
            found[name][case] = {
                "keys": statistics.median_low([run["keys"] for run in runs]),
                "seconds": round(statistics.median([run["seconds"] for run in runs]), 2),
            }
            print(name, case, found[name][case], flush=True)
        FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def table(found: dict[str, Any]) -> str:
    """The figures as Markdown."""
    heads = [f"{case.title}: keys" for case in CASES.values()]
    lines = [
        f"| library | version | lines of code | {' | '.join(heads)} |",
        "|---|---|---:|" + "---:|" * len(CASES),
    ]
    for name, peer in PEERS.items():
        if name in found:
            cells = [keys_of(found[name][case]) for case in CASES]
            lines.append(
                f"| {peer.title} | {found[name]['version']} | {lines_of(name)} | {' | '.join(cells)} |"
            )
    dates = sorted({found[name]["date"] for name in found})
    runs = " or ".join(map(str, sorted({found[name].get("runs", 0) for name in found} - {0})))
    said = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    return (
        "\n".join(lines)
        + f"\n\n*Measured on {said}, medians of {runs} runs: `python -m benches.peers_keys`.*\n"
    )


def keys_of(figures: dict[str, Any] | None) -> str:
    """The number of keys of a case."""
    return f"none in {PATIENCE} seconds" if figures is None else f"{figures['keys']:,}"


def filled(page: str, found: dict[str, Any]) -> str:
    """The page with the table between its marks."""
    before, rest = page.split(START)
    return before + START + "\n" + table(found) + "\n" + END + rest.split(END)[1]


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("libraries", nargs="*", help=", ".join(PEERS))
    parser.add_argument("--repeats", type=int, default=3, help="runs of each library [default: 3]")
    parser.add_argument("--page", action="store_true", help="only fill in the page, from the figures")
    chosen = parser.parse_args()
    names = [] if chosen.page else chosen.libraries or list(PEERS)
    found = measured(names, chosen.repeats)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
