"""Which keys do other libraries release from the same rows, how fast? Makes the table of docs/compare.md.

    python -m benches.peers_keys                   all; needs Linux, a package index, and Java for Tumult
    python -m benches.peers_keys opendp dpsel      some; figures of the others stay
    python -m benches.peers_keys --limits          the keys at other limits, one release each

Each library is installed once into a virtual environment of its own in `bench-data/peer-venvs`, in the
version named here. dpsel is built there for release, from this tree, each time. A run is a process of its
own. It does the job on the shipped rows, which is not timed, and then the job that is. Its program is in
`benches/keys/`. Libraries are interleaved. Figures go to `docs/images/peers_keys.json`: processor seconds,
which other work on the machine disturbs little, and seconds by the clock.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import functools
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
#: Limits at which every library runs besides that of the case, for the best one of each.
LIMITS = (1, 3, 10, 50)
#: Seconds that one run may take; a library that takes longer has no figure.
PATIENCE = 1800


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
    "dpsel": Peer("dpsel", (str(ROOT),)),
    "opendp": Peer("OpenDP", ("opendp[polars]==0.16.0",)),
    "pipelinedp": Peer("PipelineDP", ("pipeline-dp==0.3.1",)),
    "pydp": Peer("PyDP", ("python-dp==1.1.5",)),
    "smartnoise": Peer("SmartNoise SQL", ("smartnoise-sql==1.0.10",)),
    "tumult": Peer("Tumult Analytics", ("tmlt.analytics==0.21.0",)),
}
CASES = {
    "quotations": Case("594 lines", 4.0, 1e-5, 20),
    "text": Case("10,000 users", 2.0, 1e-6, 20),
}


def rows_of(name: str) -> list[tuple[str, str]]:
    """The distinct rows of a case."""
    if name == "text":
        rows = demo_data.generate("text", users=10_000, items="str", seed=1)
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


@functools.cache
def interpreter(name: str) -> str:
    """The Python that has the library; that of dpsel is built from this tree once in a run."""
    folder = DATA / "peer-venvs" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = folder / "ready"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
    if not ready.exists() or name == "dpsel":
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS[name].packages], check=True)
        ready.touch()
    return str(python)


def one_run(name: str, python: str, case: str, limit: int | None = None) -> dict[str, Any]:
    """What one process of a library says, at the limit of the case or at another one."""
    program = Path(__file__).parent / "keys" / f"{name}_keys.py"
    chosen = CASES[case]._replace(**({"limit": limit} if limit else {}))
    words = [written("quotations"), written(case), chosen.epsilon, chosen.delta, chosen.limit]
    done = subprocess.run(
        [python, program, *map(str, words)],
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
    pythons = {name: interpreter(name) for name in names}
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for case in CASES:
        waiting = list(names)
        for _ in range(repeats):
            for name in list(waiting):
                try:
                    runs.setdefault((name, case), []).append(one_run(name, pythons[name], case))
                    print(name, case, runs[name, case][-1], flush=True)
                except subprocess.TimeoutExpired:
                    waiting.remove(name)
    found: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for name in names:
        found[name] = {
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "python": platform.python_version(),
            "version": runs[name, "quotations"][0]["version"],
        } | {case: summary(runs.get((name, case), [])) for case in CASES}
    FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def swept(names: list[str]) -> dict[str, Any]:
    """The figures, with the keys of these libraries at other limits."""
    found: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    for name in names:
        # Keys, unlike times, do not depend on how dpsel was built.
        python = sys.executable if name == "dpsel" else interpreter(name)
        for case, chosen in CASES.items():
            keys = {limit: one_run(name, python, case, limit)["keys"] for limit in LIMITS}
            keys[chosen.limit] = found[name][case]["keys"]
            print(name, case, keys, flush=True)
            found[name][case]["keys_of_limit"] = {str(limit): keys[limit] for limit in sorted(keys)}
        FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def summary(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The medians of the runs of a library on a case."""
    if not runs:
        return None
    times = [name for name in ("seconds", "processor", "session") if name in runs[0]]
    return {"runs": len(runs), "keys": statistics.median_low([run["keys"] for run in runs])} | {
        name: round(statistics.median([run[name] for run in runs]), 3) for name in times
    }


def table(found: dict[str, Any]) -> str:
    """The figures as Markdown."""
    heads = [head for case in CASES.values() for head in (f"{case.title}: keys", "seconds")]
    lines = [
        f"| library | lines of code | {' | '.join(heads)} |",
        "|---|---:|" + "---:|" * len(heads),
    ]
    for name, peer in PEERS.items():
        if name in found:
            cells = [cell for case in CASES for cell in cells_of(found[name][case])]
            lines.append(
                f"| {peer.title} {found[name]['version']} | {lines_of(name)} | {' | '.join(cells)} |"
            )
    return "\n".join(lines) + f"\n\n*{source_of(found)}*\n"


def cells_of(figures: dict[str, Any] | None) -> tuple[str, str]:
    """The number of keys of a case, and the processor time."""
    if figures is None:
        return "", f"none in {PATIENCE} seconds"
    return f"{figures['keys']:,}", f"{figures['processor']:.2f}"


def source_of(found: dict[str, Any]) -> str:
    """When the figures were measured, and how."""
    dates = sorted({each["date"] for each in found.values()})
    runs = sorted({each[case]["runs"] for each in found.values() for case in CASES if each[case]})
    sessions = {
        name: each["text"]["session"] for name, each in found.items() if "session" in (each["text"] or {})
    }
    starts = "".join(
        f" {PEERS[name].title}'s session took {seconds:.0f} processor seconds to start."
        for name, seconds in sessions.items()
    )
    return (
        f"Measured on {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, "
        f"medians of {' to '.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} runs: "
        f"`python -m benches.peers_keys`.{starts}"
    )


def filled(page: str, found: dict[str, Any]) -> str:
    """The page with the table between its marks."""
    return between(page, (START, END), table(found))


def between(page: str, marks: tuple[str, str], text: str) -> str:
    """The page with the text between two marks."""
    start, end = marks
    before, rest = page.split(start)
    return f"{before}{start}\n{text}\n{end}{rest.split(end)[1]}"


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("libraries", nargs="*", help=", ".join(PEERS))
    parser.add_argument("--repeats", type=int, default=3, help="runs of each library [default: 3]")
    parser.add_argument("--limits", action="store_true", help="the keys at other limits, one release each")
    parser.add_argument("--page", action="store_true", help="only fill in the page, from the figures")
    chosen = parser.parse_args()
    names = [] if chosen.page else chosen.libraries or list(PEERS)
    found = swept(names) if chosen.limits else measured(names, chosen.repeats)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
