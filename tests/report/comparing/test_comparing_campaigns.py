"""Two campaigns: which runs are paired, and the differences of their metrics."""

from __future__ import annotations

from itertools import product
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from batsched_py.report.comparing.campaigns import CampaignComparison
from batsched_py.report.comparing.job_means import (
    estimate_differences,
    estimate_means,
    estimate_ratios,
    make_sums,
)
from batsched_py.report.comparing.run_pairing import pair_runs
from batsched_py.report.document import Text
from batsched_py.support.statistics import paired_difference, paired_ratio, student

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


def texts(comparison: CampaignComparison) -> list[str]:
    parts = [part for section in comparison.report().sections for part in section.parts]
    return [part.markdown for part in parts if isinstance(part, Text)]


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


def test_a_setting_of_the_whole_campaign_does_not_hide_that_a_value_was_renamed() -> None:
    a = Campaign(POLICIES, speed_factor=1.0)
    b = Campaign({"policy": ["EASY", "fcfs"]}, speed_factor=2.0)
    assert len(pair_runs(a, b).runs) == 2  # type: ignore[arg-type]


def test_equal_campaigns_are_identical() -> None:
    comparison = compared(Campaign(AXES), Campaign(AXES))
    assert comparison.identical
    assert comparison.changed.empty
    assert comparison.summary.endswith("identical: all metrics of all 10 runs are equal.")
    assert [section.title for section in comparison.report().sections] == ["What was compared"]


def test_a_run_too_many_is_not_identical() -> None:
    comparison = compared(Campaign(POLICIES), Campaign({"policy": ["easy", "fcfs", "ups"]}))
    assert not comparison.identical
    assert comparison.summary == "0 of 2 pairs of runs differ; 1 runs are only in B."


def test_differences_are_paired_by_seed() -> None:
    comparison = compared(Campaign(AXES), Campaign(AXES, shift=50.0))
    easy = row(comparison, "easy")
    # 511 to 515 in A: the seeds' spread cancels, so the difference is exact
    assert (easy["a"], easy["b"], easy["pairs"]) == (513, 563, 5)
    assert easy["difference"] == 50
    assert easy[["low", "high", "size"]].isna().all()
    assert "identical" not in " ".join(texts(comparison))
    assert easy["ratio"] == pytest.approx(563 / 513)
    assert easy["ratio_low"] < easy["ratio"] < easy["ratio_high"]
    assert row(comparison, "easy", "utilisation")["size"] == 0
    assert row(comparison, "fcfs", "of_study")["difference"] == 100
    assert "wall_time" not in comparison.metrics


def test_one_pair_has_no_interval_and_is_sorted_by_its_relative_difference() -> None:
    comparison = compared(Campaign({"nodes": [1, 900]}), Campaign({"nodes": [1, 900]}, shift=50))
    changed = comparison.changed[comparison.changed["metric"] == "mean_waiting_time"]
    assert changed["group"].tolist() == ["nodes 1", "nodes 900"]
    assert all(map(isnan, changed["low"]))
    assert "larger than their interval" not in comparison.summary


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
    assert comparison.summary == (
        "10 of 10 pairs of runs differ. Of 6 differences (groups and metrics), 1 are larger than "
        "their interval; 1 are exact: the same in all pairs of runs, with no interval."
    )
    assert "In 1 of 2 groups, the replications are identical" in " ".join(texts(comparison))
    first, second, *rest = comparison.differences.to_dict("records")
    assert [first["group"], second["group"]] == ["easy", "fcfs"]
    assert not any(other["differing"] for other in rest)


def test_noise_in_the_last_digits_is_no_spread() -> None:
    a, b = Campaign(REPLICATED), Campaign(REPLICATED)
    a.runs["mean_waiting_time"] = [1e6, 1e6 + 1e-5, 1e6, 1e6, 1e6]
    b.runs["mean_waiting_time"] = 1e6 + 0.5
    assert isnan(row(compared(a, b), "all runs")["size"])


FILES = {"log.swf": "12" * 6, "patient.py": "a" * 12}
KNOWN = {"code": "c" * 64, "files": FILES}
EDITED = {"code": "c" * 64, "files": FILES | {"patient.py": "b" * 12}}


@pytest.mark.parametrize(
    ("of_b", "expected"),
    [
        ([KNOWN], {}),
        ([EDITED], {"file patient.py": ["a" * 12, "b" * 12]}),  # between the campaigns
        # between runs of B
        ([KNOWN, EDITED], {"file patient.py": ["a" * 12, f"{'a' * 12}, {'b' * 12}"]}),
        ([KNOWN | {"code": "d" * 64}], {"code": ["c" * 12, "d" * 12]}),  # the package changed
        ([{}], {}),  # runs of an older version say nothing
    ],
)
def test_files_and_code_that_changed_are_settings_that_differ(
    of_b: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    a, b = Campaign(POLICIES), Campaign(POLICIES)
    a.provenance, b.provenance = [KNOWN], of_b
    comparison = compared(a, b)
    (settings,) = (table.frame for table in comparison.report().tables if table.name == "settings")
    changed = settings[settings["differs"] == "yes"].set_index("setting")
    assert {name: changed.loc[name, ["a", "b"]].tolist() for name in changed.index} == expected
    assert comparison.identical
    for name in expected:
        assert comparison.summary.endswith(f"runs are equal; they differ in {name}.")


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


def test_nothing_in_common_is_said() -> None:
    comparison = compared(Campaign(POLICIES), Campaign({"policy": ["ups", "sjf"]}))
    assert not comparison.identical
    assert comparison.summary.startswith("No run of A (2) has a counterpart in B (2)")
    tables = {table.name: table.frame for table in comparison.report().tables}
    assert tables["only_in_one"]["labels"].tolist() == ["easy", "fcfs", "ups", "sjf"]


def test_a_metric_that_is_not_defined_is_left_out() -> None:
    a, b = Campaign(AXES), Campaign(AXES, shift=1)
    b.runs.loc[0, "mean_waiting_time"] = None
    a.runs.loc[:4, "of_study"] = None
    comparison = compared(a, b)
    assert row(comparison, "easy")["pairs"] == 4
    assert ("easy", "of_study") not in comparison.differences.set_index(["group", "metric"]).index
    comparison.report()


def test_few_pairs_have_no_interval() -> None:
    """The differences of four pairs are not the same, and no interval says that they are."""
    four = {"replication": [0, 1, 2, 3]}
    a, b = Campaign(four), Campaign(four)
    b.runs["mean_waiting_time"] += [1.0, 2.0, 3.0, 4.0]
    comparison = compared(a, b)
    waits = row(comparison, "all runs")
    assert waits["difference"] == 2.5
    assert not waits["exact"]
    assert waits[["low", "high", "size"]].isna().all()
    assert comparison.summary == "4 of 4 pairs of runs differ."


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


def test_users_drawn_whole_give_the_wider_interval_when_their_jobs_are_alike() -> None:
    of_user = np.repeat(np.arange(10), 50)
    values = make_sums((of_user * 10.0)[:, None])
    jobs, users = estimate_means(values)[0], estimate_means(values.sum_by(of_user))[0]
    assert jobs.value == users.value == 45
    assert jobs.nb == 500
    assert users.nb == 10
    # 50 alike jobs count as one: the interval is sqrt(50) as wide, and has t of 10 for that of 500
    widening = 50**0.5 * (499 / 9 / 50) ** 0.5 * student(9) / student(499)
    assert (users.high - users.low) / (jobs.high - jobs.low) == pytest.approx(widening)


@pytest.mark.parametrize(("nb", "by_user", "each_once"), [(8, 0.82, 0.92), (100, 0.91, 0.94)])
def test_intervals_over_users_hold_the_mean_as_often_as_the_page_says(
    nb: int, by_user: float, each_once: float
) -> None:
    """Users have one to hundreds of jobs, and differ by a factor of 1.6: 1,000 samples each."""
    rng, inside = np.random.default_rng(nb), np.zeros(2)
    for _ in range(1000):
        of_user = np.repeat(np.arange(nb), np.maximum(1, rng.lognormal(3, 1, nb).astype(int)))
        of_jobs = rng.lognormal(0, 0.5, nb)[of_user] * rng.exponential(1, len(of_user))
        users = make_sums(of_jobs[:, None]).sum_by(of_user)
        found = (estimate_means(users)[0], estimate_means(users.average_units())[0])
        inside += [one.low <= np.exp(0.125) <= one.high for one in found]
    assert inside / 1000 == pytest.approx([by_user, each_once], abs=0.03)


def test_two_independent_samples_have_the_interval_of_their_difference() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 3, 4000), rng.normal(10, 4, 4000)
    interval = estimate_differences(make_sums(a[:, None]), make_sums(b[:, None]))[0]
    half = 1.96 * (9 / 4000 + 16 / 4000) ** 0.5
    assert interval.value == pytest.approx(float(b.mean() - a.mean()))
    assert interval.high - interval.low == pytest.approx(2 * half, rel=0.02)
