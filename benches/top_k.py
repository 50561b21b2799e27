"""How long does a top-k take, beside the sampler of the paper in numpy, and how much memory?

    python -m benches.top_k
    python -m benches.top_k --items 1000 10000 --k 10 50 --peer-cells 2e6

Counts are Zipf (Poisson with mean 1e5 / rank, shuffled, seed 0). The programs are interleaved; figures are
medians.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benches import tables
from benches.top_k_numpy import joint

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, nargs="+", default=[1_000, 10_000, 166_000, 1_000_000])
    parser.add_argument("--k", type=int, nargs="+", default=[10, 50, 100, 200])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--peer-cells", type=float, default=2e7, help="largest d k for the numpy program")
    parser.add_argument("--memory-of", type=int, metavar="ITEMS", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_of:
        print(memory(args.memory_of, args.k[0], args.epsilon))
        return
    rows = [line(items, k, args) for items in args.items for k in args.k]
    names = [type(mechanism).__name__ for mechanism in mechanisms()]
    print(
        tables.markdown(
            (
                "items",
                "k",
                *(f"{name} ms" for name in names),
                "JointMatrix ms",
                "numpy ms",
                "numpy / Joint",
                "numpy / JointMatrix",
            ),
            rows,
        )
    )
    for items in args.items:
        command = [sys.executable, "-m", "benches.top_k", "--memory-of", str(items), "--k", "100"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print(f"{items:,} items: {output.strip()}")


def mechanisms() -> list[object]:
    import dpsel

    return [
        dpsel.Joint(),
        dpsel.JointSet(),
        dpsel.PermuteFlipJoint(),
        dpsel.PermuteFlipPeel(),
        dpsel.GumbelPeel(),
    ]


def zipf(items: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    counts = rng.poisson(1e5 / np.arange(1, items + 1))
    rng.shuffle(counts)
    return counts.astype(np.int64)


def line(items: int, k: int, args: argparse.Namespace) -> list[str]:
    import dpsel

    counts = zipf(items)
    programs: list[Callable[[], object]] = []
    for mechanism in mechanisms():
        privacy = dpsel.PureDP(epsilon=args.epsilon)
        if isinstance(mechanism, dpsel.GumbelPeel):
            privacy = dpsel.ApproxDP(epsilon=args.epsilon, delta=1e-6)
        ordered = mechanism.ordered
        programs.append(
            lambda mechanism=mechanism, privacy=privacy, ordered=ordered: dpsel.top_k_from_counts(
                counts, k=k, privacy=privacy, mechanism=mechanism, ordered=ordered
            )
        )
    seconds = [
        seconds_of(program) for program in zip(*[iter(programs * args.runs)] * len(programs), strict=True)
    ]
    medians = [statistics.median(run[at] for run in seconds) for at in range(len(programs))]
    peer = matrix = None
    if items * k <= args.peer_cells:
        rng = np.random.default_rng(1)
        matrix = statistics.median(seconds_by_matrix(counts, k, args.epsilon, 3))
        peer = statistics.median(
            seconds_of([lambda: joint(counts, k, args.epsilon, rng)])[0] for _ in range(3)
        )
    cells = [f"{1000 * median:.3f}" for median in medians]
    if peer is None or matrix is None:
        last = ["-"] * 4
    else:
        last = [
            f"{1000 * matrix:.1f}",
            f"{1000 * peer:.1f}",
            f"{peer / medians[0]:,.0f}",
            f"{peer / matrix:.1f}",
        ]
    return [f"{items:,}", str(k), *cells, *last]


def seconds_of(programs: tuple[Callable[[], object], ...] | list[Callable[[], object]]) -> list[float]:
    taken = []
    for program in programs:
        start = time.perf_counter()
        program()
        taken.append(time.perf_counter() - start)
    return taken


def seconds_by_matrix(counts: np.ndarray, k: int, epsilon: float, draws: int) -> list[float]:
    """Times of the published sampler in Rust, by the program of the crate `dpsel-bench`."""
    program = ["cargo", "run", "--release", "--quiet", "-p", "dpsel-bench", "--bin", "joint_by_matrix", "--"]
    text = " ".join(map(str, counts.tolist()))
    command = [*program, str(k), str(epsilon), str(draws)]
    output = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return [float(line) for line in output.split()]


def memory(items: int, k: int, epsilon: float) -> str:
    """Growth of the memory in use by a draw, in a process of its own; on Linux, which can reset the mark."""
    import dpsel

    counts = zipf(items)
    dpsel.top_k_from_counts([1, 2, 3], k=1, privacy=dpsel.PureDP(epsilon=epsilon))
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmHWM")
    dpsel.top_k_from_counts(counts, k=k, privacy=dpsel.PureDP(epsilon=epsilon))
    grown = status("VmHWM") - before
    return f"a draw of {k} adds {grown / 1e6:.1f} MB to counts of {counts.nbytes / 1e6:.1f} MB"


def status(field: str) -> int:
    """A figure of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main()
