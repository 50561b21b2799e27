"""The numbers behind the pictures of the pages Learn and Understand, from plans and from one real release.

`docs/images/learn.json` holds them. `python website/pictures.py --write` makes them again.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import dpsel
from dpsel import demo_data

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "images" / "learn.json"
#: Most pictures speak of this call: a million users, ten items each.
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-8)
LIMIT = 10
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DELTAS = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
LIMITS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
#: The release that the pictures of Steered follow. The key is fixed, or every run would draw another one.
KEY = bytes([7]) * 32
STEERED: dict[str, Any] = {"privacy": dpsel.ApproxDP(epsilon=4.0, delta=1e-5), "max_items_per_user": 20}
#: Words of the corpus whose weights a picture shows.
WORDS = ("the", "when", "which", "love")


def found() -> dict[str, Any]:
    """All numbers, as JSON can hold them."""
    numbers = {"keep": keep(), "noise": noise(), "needed": needed(), "steered": steered()}
    return json.loads(json.dumps(numbers))


def planned(privacy: dpsel.ApproxDP, limit: int, mechanism: Any = "auto", **more: Any) -> dict[str, Any]:
    """The one row of a plan."""
    return dpsel.plan(privacy=privacy, max_items_per_user=limit, mechanisms=mechanism, **more).rows[0]


def keep() -> dict[str, Any]:
    """Release probabilities of an item by its number of users."""
    users = list(range(1, 201))
    row = planned(PRIVACY, LIMIT, users=users, items_per_user=LIMIT)
    return {"mechanism": row["mechanism"], "users": users, "probability": list(row["keep"].values())}


def noise() -> dict[str, Any]:
    """Scale and threshold of one round of Gaussian noise."""
    row = planned(PRIVACY, LIMIT, dpsel.WeightedGaussian())
    return {"scale": row["scale"], "threshold": row["threshold"], "users_for_50": row["users_for_50"]}


def speed() -> dict[str, dict[str, float]]:
    """Seconds of each program, by the kind of rows: the first series of the page on performance."""
    lines = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split("<!-- speed -->\n\n")[1]
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines.split("\n\n")[0].splitlines()
    )
    columns = [(at, name.split(":")[0].strip("`")) for at, name in enumerate(head) if name.endswith(": s")]
    return {row[0]: {name: float(row[at].split(" ")[0]) for at, name in columns} for row in rows}


def keys() -> dict[str, dict[str, tuple[int, int]]]:
    """For each table and library the keys at the common limit, and at the best one: `benches.peers_keys`."""
    stored = json.loads((ROOT / "docs" / "images" / "peers_keys.json").read_text(encoding="utf-8"))
    titles = {
        "quotations": "594 lines, ε = 4, δ = 1e-5",
        "text": "10,000 users, ε = 2, δ = 1e-6",
    }
    names = {
        "dpsel": "dpsel", "opendp": "OpenDP", "pipelinedp": "PipelineDP", "pydp": "PyDP",
        "smartnoise": "SmartNoise", "tumult": "Tumult",
    }  # fmt: skip
    return {
        title: {
            name: (stored[key][case]["keys"], max(stored[key][case]["keys_of_limit"].values()))
            for key, name in names.items()
        }
        for case, title in titles.items()
    }


def needed() -> dict[str, Any]:
    """Users that an item needs for a release probability of 95 %, against each parameter."""

    def users(epsilon: float, delta: float, limit: int, mechanism: Any = "auto", **more: Any) -> int:
        row = planned(dpsel.ApproxDP(epsilon=epsilon, delta=delta), limit, mechanism, **more)
        return int(row["users_for_95"])

    steered, counts = dpsel.Steered(), dpsel.CountGaussian()
    small = [min(LIMIT, limit) for limit in LIMITS]
    return {
        "epsilon": [users(epsilon, 1e-8, LIMIT, items_per_user=LIMIT) for epsilon in EPSILONS],
        "delta": [users(1.0, delta, LIMIT, items_per_user=LIMIT) for delta in DELTAS],
        "limit_full": [users(1.0, 1e-8, limit, steered) for limit in LIMITS],
        "limit_ten": [
            users(1.0, 1e-8, limit, steered, items_per_user=each)
            for limit, each in zip(LIMITS, small, strict=True)
        ],
        "limit_counts": [users(1.0, 1e-8, limit, counts) for limit in LIMITS],
    }


def words_of_lines() -> list[tuple[str, str]]:
    """The rows of the corpus: a line, and each of its words."""
    with demo_data.quotations().open(newline="", encoding="utf-8") as lines:
        rows = [(row["line"], row["text"].lower()) for row in csv.DictReader(lines)]
    return sorted({(line, word) for line, text in rows for word in re.findall(r"[a-z]+", text)})


def steered() -> dict[str, Any]:
    """Scores and importances of all words after every round of a real release.

    No public function shows them, because they are not private. The plain Python form of the mechanism in
    `tests/reference` computes them from the release key, which is known here. It has to release the same
    words.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    from reference import mechanisms, prf
    from reference import steered as plain
    from support import rounds_of

    rows = words_of_lines()
    with_key: dict[str, Any] = {**STEERED, "insecure_test_key": KEY, "mechanism": dpsel.Steered()}
    release = dpsel.select_partitions(rows, **with_key)
    rounds = rounds_of(release)
    kept = mechanisms.bound(mechanisms.sets_of(rows), STEERED["max_items_per_user"], KEY)
    sums: list[dict[Any, int]] = []
    pasts: list[plain.Before] = []
    released = plain.select(kept, rounds, KEY, sums, pasts)
    if sorted(released) != release.items:
        raise AssertionError("the plain form of Steered released other words")
    unit = 2**30
    lines = {word: sum(1 for _, each in rows if each == word) for word in {word for _, word in rows}}
    scores: dict[str, list[float]] = {word: [] for word in lines}
    weights: dict[str, list[float]] = {word: [] for word in lines}
    importances: dict[str, list[int]] = {word: [] for word in lines}
    total = dict.fromkeys(lines, 0)
    for number, (round_, sum_, past) in enumerate(zip(rounds, sums, pasts, strict=True)):
        for item, importance in past.importances.items():
            word = item[1]
            importances[word].append(importance)
            weights[word].append(round(sum_.get(item, 0) / unit, 5))
            if importance:
                noisy = plain.noise("gaussian", round_.scale, prf.noise_word(KEY, number, word))
                total[word] += sum_.get(item, 0) + noisy
                scores[word].append(round(total[word] / unit, 4))
    return {
        "lines": {word: lines[word] for word in sorted(lines, key=lambda word: (-lines[word], word))[:400]},
        "scores": {word: each for word, each in sorted(scores.items()) if lines[word] > 1},
        "weights": {word: weights[word] for word in WORDS},
        "importances": {word: importances[word] for word in WORDS},
        "futility": [round(each.futility_bound / unit, 4) for each in rounds[:-1]],
        "path": [round(each.expected_path / unit, 4) for each in rounds[:-1]],
        "threshold": round(rounds[-1].threshold / unit, 4),
        "released": sorted(released),
    }
