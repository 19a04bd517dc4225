"""Two campaigns: which runs are paired, and the differences of their metrics."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from batsched_py.report.comparing.campaigns import CampaignComparison
from batsched_py.report.comparing.job_means import estimate_means, estimate_ratios, make_sums
from batsched_py.report.comparing.run_pairing import pair_runs
from batsched_py.support.statistics import paired_difference, paired_ratio

SCHEDULERS = {"easy": "easy", "EASY": "easy", "fcfs": "fcfs", "ups": "ups", "sjf": "list"}
SEEDS = {0: 11, 1: 12, 2: 13, 3: 14, 4: 15}
REPLICATED = {"replication": list(SEEDS)}


class Campaign:
    """As much of a campaign's results as is compared."""

    def __init__(self, axes: dict[str, list[Any]], shift: float = 0.0, **fixed: Any) -> None:
        self.name = "made"
        self.file = Path("made.toml")
        self.axes = [name for name, values in axes.items() if len(values) > 1]
        self.failures: list[Any] = []
        rows = []
        for values in product(*axes.values()):
            labels = dict(zip(axes, values, strict=True))
            seed = SEEDS.get(labels.get("replication", -1), 0)
            scheduler = SCHEDULERS.get(labels.get("policy", "easy"), "easy")
            waits = 100.0 * (1 + len(scheduler)) + seed + labels.get("nodes", 0) + shift
            row = {"scheduler": scheduler, "seed": seed, "nodes": None, **labels, **fixed}
            row |= {"input": "log", "wall_time": 1.0, "version": "1", "git_revision": "x"}
            row |= {"mean_waiting_time": waits, "utilisation": 0.5, "of_study": waits * 2}
            rows.append(row)
        self.runs = pd.DataFrame(rows)
        self.nb_planned = len(rows)
        self.provenance: list[dict[str, Any]] = [{}]
        """Of the runs in turn."""

    def settings(self, row: Any) -> dict[str, Any]:
        provenance = self.provenance[row.name % len(self.provenance)]
        return {"input": {"name": row["input"], "sha256": "12" * 32}, "provenance": provenance}


def compared(a: Campaign, b: Campaign) -> CampaignComparison:
    return CampaignComparison(a, b, ("one", "two"))  # type: ignore[arg-type]


def row(comparison: CampaignComparison, group: str, metric: str = "mean_waiting_time") -> Any:
    rows = comparison.differences.set_index(["group", "metric"])
    return rows.loc[(group, metric)]


POLICIES = {"policy": ["easy", "fcfs"]}
AXES = {**POLICIES, **REPLICATED}
BOTH, ALL = {"easy", "fcfs"}, {"all runs"}
MACHINES = {"machine": ["small", "large"]}
FOUR = {"easy, small", "easy, large", "fcfs, small", "fcfs, large"}
NODES = {"nodes": [1, 2]}
FIRST_TWO, LAST_TWO = {"replication": [0, 1]}, {"replication": [2, 3]}


def policy(*values: str, **axes: Any) -> dict[str, Any]:
    return {"policy": [*values], **axes}


@pytest.mark.parametrize(
    ("a", "b", "pairs", "alone", "groups", "note"),
    [
        (POLICIES, POLICIES, 2, (0, 0), BOTH, "by policy"),
        (AXES, AXES, 10, (0, 0), BOTH, ""),
        (AXES, policy("fcfs", "ups", replication=[0, 1]), 2, (8, 2), ALL, "by policy and seed"),
        (POLICIES, policy("EASY", "fcfs"), 2, (0, 0), BOTH, "'easy' in A is 'EASY' in B"),
        (policy("easy", **REPLICATED), policy("fcfs", **REPLICATED), 5, (0, 0), ALL, "by seed"),
        (policy("easy"), policy("fcfs", "ups"), 2, (0, 0), {"fcfs", "ups"}, "that is compared"),
        (POLICIES | MACHINES, POLICIES, 4, (0, 0), FOUR, "only A has this axis, of 2 values"),
        ({"nodes": [64, 128]}, {"nodes": [64.0, 256.0]}, 1, (1, 1), ALL, "by nodes"),
        (POLICIES | {"speed": [1.0]}, policy("EASY", "fcfs", speed=[2.0]), 2, (0, 0), BOTH, "by"),
        (POLICIES, policy("ups", "sjf"), 0, (2, 2), set(), "by policy"),
        (NODES | FIRST_TWO, NODES | LAST_TWO, 0, (4, 4), set(), "no seed in common"),
    ],
)
def test_runs_are_paired_by_the_axes_that_both_have(
    a: dict[str, Any],
    b: dict[str, Any],
    pairs: int,
    alone: tuple[int, int],
    groups: set[str],
    note: str,
) -> None:
    pairing = pair_runs(Campaign(a), Campaign(b))  # type: ignore[arg-type]
    assert len(pairing.runs) == pairs
    assert (len(pairing.only_a), len(pairing.only_b)) == alone
    assert set(pairing.runs["group"]) == groups
    assert note in " ".join(pairing.notes)


def test_differences_are_paired_by_seed() -> None:
    comparison = compared(Campaign(AXES), Campaign(AXES, shift=50.0))
    easy = row(comparison, "easy")
    # 511 to 515 in A: the seeds' spread cancels, so the difference is exact
    assert (easy["a"], easy["b"], easy["pairs"]) == (513, 563, 5)
    assert easy["difference"] == 50
    assert easy[["low", "high", "size"]].isna().all()
    assert easy["ratio"] == pytest.approx(563 / 513)
    assert easy["ratio_low"] < easy["ratio"] < easy["ratio_high"]
    assert row(comparison, "easy", "utilisation")["size"] == 0
    assert row(comparison, "fcfs", "of_study")["difference"] == 100
    assert "wall_time" not in comparison.metrics


def test_replications_without_spread_give_exact_differences_and_no_interval() -> None:
    """Users who draw nothing: each replication of easy is the same, those of fcfs are not."""
    a, b = Campaign(AXES), Campaign(AXES)
    for runs, wait in ((a.runs, 100.1), (b.runs, 100.3)):
        runs.loc[runs["policy"] == "easy", ["mean_waiting_time", "of_study"]] = [wait, 7.0]
    b.runs.loc[b.runs["policy"] == "fcfs", "mean_waiting_time"] += [10.0, 20.0, 40.0, 15.0, 30.0]
    comparison = compared(a, b)
    easy, fcfs = row(comparison, "easy"), row(comparison, "fcfs")
    assert easy["difference"] == pytest.approx(0.2)
    assert easy[["low", "high", "size", "ratio_low", "ratio_high"]].isna().all()
    assert easy["ratio"] == pytest.approx(100.3 / 100.1)
    assert fcfs["low"] < fcfs["difference"] < fcfs["high"]
    assert "10 of 10 pairs" in comparison.summary
    first, second, *rest = comparison.differences.to_dict("records")
    assert [first["group"], second["group"]] == ["easy", "fcfs"]
    assert not any(other["differing"] for other in rest)


def test_the_other_way_round_turns_the_signs() -> None:
    a, b = Campaign(AXES), Campaign(AXES)
    b.runs["mean_waiting_time"] += np.arange(10) ** 2
    there, back = compared(a, b), compared(b, a)
    for group in POLICIES["policy"]:
        row_there, row_back = row(there, group), row(back, group)
        assert row_there["difference"] == -row_back["difference"]
        assert row_there["low"] == pytest.approx(-row_back["high"])
        assert row_there["ratio"] == pytest.approx(1 / row_back["ratio"])
        assert row_there["size"] == pytest.approx(row_back["size"])


@pytest.mark.parametrize("nb", [4, 10, 40])
def test_intervals_are_those_of_the_statistics_module(nb: int) -> None:
    """Of a mean the same; a ratio's error is linearised here, a jackknife there."""
    rng = np.random.default_rng(nb)
    a = rng.lognormal(3, 0.5, nb)
    b = a * rng.lognormal(0.2, 0.1, nb)
    ours, theirs = estimate_means(make_sums((b - a)[:, None]))[0], paired_difference(b, a)
    assert ours.value == pytest.approx(theirs.value)
    assert [ours.low, ours.high] == pytest.approx([theirs.low, theirs.high], nan_ok=True)
    ours, theirs = (
        estimate_ratios(make_sums(a[:, None]), make_sums(b[:, None]))[0],
        paired_ratio(b, a),
    )
    assert ours.value == pytest.approx(theirs.value)
    assert [ours.low, ours.high] == pytest.approx([theirs.low, theirs.high], rel=0.02, nan_ok=True)
