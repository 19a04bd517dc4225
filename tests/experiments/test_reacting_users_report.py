"""The report of the study: verdicts on made-up runs, tables, and that the files expand."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from batsched_py.campaign.spec import find_campaign, read_campaign
from batsched_py.plugins import load_file

STUDY = Path(__file__).parents[2] / "experiments" / "reacting_users"
REPORT = load_file(f"{STUDY / 'report.py'}:report")
MODULE: Any = sys.modules[REPORT.__module__]
CLAIMS = MODULE._sibling("claims")
PUBLISHED = MODULE.tomllib.loads((STUDY / "published.toml").read_text())
KTH = "KTH-SP2-1996-2.1-cln"
NUMBERS = ["i", "ii", "iii", "iv", "v", "vi"]


class FakeResults:
    """Made-up runs."""

    def __init__(self, out: Path, rows: list[dict[str, Any]]) -> None:
        self.out = out
        self.runs = pd.DataFrame(rows)


def made(replay: str, system: str, seed: int = 1, log: str = KTH, **values: Any) -> dict[str, Any]:
    row = {"log": log, "replay": replay, "system": system, "seed": seed, "nb_jobs": 100}
    row |= {"throughput_to_last_submission": 1.0, "mean_waiting_time": 60.0}
    row |= {"mean_activity_length": 86_400.0, "backlog_growth": 0.0}
    return row | {"utilisation_to_last_submission": 0.5} | values


def throughput(
    replay: str, system: str, values: Sequence[float], **more: Any
) -> list[dict[str, Any]]:
    return [
        made(replay, system, seed, throughput_to_last_submission=value, nb_jobs=100 * value, **more)
        for seed, value in enumerate(values)
    ]


def effects(rows: list[dict[str, Any]], claim: str, metric: str = "throughput") -> list[Any]:
    found = CLAIMS.effects(CLAIMS.read(rows))
    return [e for e in found if e.claim == claim and e.metric.startswith(metric)]


def verdict(rows: list[dict[str, Any]], claim: str) -> bool | None:
    runs = CLAIMS.read(rows)
    found = CLAIMS.verdicts(CLAIMS.effects(runs), CLAIMS.spreads(runs, PUBLISHED))
    holds: bool | None = found.get((claim, KTH))
    return holds


@pytest.mark.parametrize(
    ("easy", "fcfs", "holds"),
    [
        ([1.2, 1.3, 1.2], [1.0, 1.0, 1.1], True),
        ([1.0, 1.1, 0.9], [1.0, 1.0, 1.0], False),  # one seed more, one less
        ([1.2, 1.0, 1.0], [1.0, 1.0, 1.0], False),  # more in the mean, by one standard error
        ([0.9, 0.8, 0.9], [1.0, 1.0, 1.0], False),
        ([1.1], [1.0], True),
        ([1.0], [1.0], False),
    ],
)
def test_more_is_more_by_two_standard_errors(
    easy: list[float], fcfs: list[float], holds: bool
) -> None:
    rows = throughput("tbuos", "easy", easy) + throughput("tbuos", "fcfs", fcfs)
    assert verdict(rows, "iii") is holds


def test_systems_are_compared_seed_by_seed() -> None:
    rows = throughput("tbuos", "easy", [1.1, 2.2, 7.0]) + throughput("tbuos", "fcfs", [1.0, 2.0])
    (effect,) = effects(rows, "iii")
    assert (effect.seeds, effect.above) == (2, 2)
    assert (effect.least, effect.mean, effect.most) == pytest.approx((1.1, 1.1, 1.1))
    assert effect.error == pytest.approx(0, abs=1e-9)


def test_saturated_open_runs_do_not_count() -> None:
    rows = throughput("resampled", "easy", [1.0, 1.0, 1.0])
    rows += throughput("resampled", "fcfs", [1.0, 1.01, 0.5])
    for row in rows:
        row["nb_jobs"] = 100
    rows[-1]["backlog_growth"] = 1.5
    every, stable = effects(rows, "i")
    assert (every.which, every.seeds, every.saturated, every.holds) == ("all", 3, 1, False)
    assert (stable.which, stable.seeds, stable.saturated, stable.holds) == ("stable", 2, 0, True)
    assert verdict(rows, "i") is True
    rows[-1]["backlog_growth"] = 1.0  # not more than one job a week
    assert verdict(rows, "i") is False


def test_nothing_is_said_where_all_open_runs_are_saturated() -> None:
    rows = throughput("resampled", "easy", [1.0]) + throughput("resampled", "fcfs", [0.5])
    rows[1]["backlog_growth"] = 20.0
    assert verdict(rows, "i") is None


def test_nothing_is_said_where_only_what_stays_was_run() -> None:
    rows = [made("rigid", "easy"), made("rigid", "ups 1"), made("rigid", "easy twice")]
    assert (verdict(rows, "v"), verdict(rows, "vi")) == (None, None)


def test_open_replay_with_other_jobs_is_an_error_of_ours() -> None:
    rows = [made("rigid", "easy"), made("rigid", "fcfs", nb_jobs=101)]
    assert verdict(rows, "i") is False


@pytest.mark.parametrize(
    ("jobs", "activity", "holds"), [(100, 1.1, True), (100, 1.01, False), (99, 1.1, False)]
)
def test_feedback_has_the_same_jobs_and_other_activities(
    jobs: int, activity: float, holds: bool
) -> None:
    rows = [
        made("adjusted", "easy"),
        made("adjusted", "fcfs", nb_jobs=jobs, mean_activity_length=activity * 86_400),
    ]
    assert verdict(rows, "ii") is holds


def waits(replay: str, most: float, seeds: int) -> list[dict[str, Any]]:
    return [
        made(replay, "easy", seed, mean_waiting_time=100 * most if seed == 7 else 100.0)
        for seed in range(seeds)
    ]


@pytest.mark.parametrize(
    ("open_", "tbuos", "seeds", "holds"),
    [(6.0, 2.0, 30, True), (2.0, 2.5, 30, False), (6.0, 2.0, 29, None)],
)
def test_spread_of_the_waits_needs_thirty_seeds(
    open_: float, tbuos: float, seeds: int, holds: bool | None
) -> None:
    assert verdict(waits("resampled", open_, seeds) + waits("tbuos", tbuos, seeds), "iv") is holds


def test_spread_with_and_without_saturated_runs_beside_the_thesis() -> None:
    rows = waits("resampled", 6.0, 30)
    rows[7]["backlog_growth"] = 2.0
    every, stable = CLAIMS.spreads(CLAIMS.read(rows), PUBLISHED)
    assert (every.seeds, every.ratio, every.thesis) == (30, 6.0, 6.59)
    assert (stable.which, stable.seeds, stable.ratio) == ("stable", 29, 1.0)
    (few,) = CLAIMS.spreads(CLAIMS.read(rows[:5]), PUBLISHED)
    assert (few.seeds, few.thesis) == (5, None)


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ({"ups 0": 1.0, "ups 0.5": 1.1, "ups 1": 1.2}, True),
        ({"ups 0": 1.0, "ups 0.5": 1.1, "ups 1": 1.05}, False),  # does not grow
        ({"ups 0": 0.9, "ups 0.5": 1.1, "ups 1": 1.2}, False),  # less than EASY
        ({"ups 0": 1.0, "ups 0.5": 1.0, "ups 1": 1.0}, False),
    ],
)
def test_ups_grows_with_its_weight_of_users(values: dict[str, float], holds: bool) -> None:
    rows = throughput("tbuos", "easy", [1.0, 1.0])
    for system, value in values.items():
        rows += throughput("tbuos", system, [value, value])
    assert verdict(rows, "v") is holds
    assert verdict([*rows, made("rigid", "easy"), made("rigid", "ups 1")], "v") is holds
    changed = made("rigid", "ups 1", throughput_to_last_submission=1.1)
    assert verdict([*rows, made("rigid", "easy"), changed], "v") is False


def test_large_machine() -> None:
    rows = throughput("tbuos", "easy", [1.0]) + throughput("tbuos", "easy twice", [1.3])
    assert verdict(rows, "vi") is True
    rows += throughput("resampled", "easy", [1.0]) + throughput("resampled", "easy twice", [1.3])
    assert verdict(rows, "vi") is False


def test_waits_beside_the_thesis() -> None:
    rows = [
        made("rigid", "easy", mean_waiting_time=1000.0),
        made("fluid", "easy", mean_waiting_time=800.0),
        made("fluid", "fcfs", mean_waiting_time=9.0),
        made("fluid", "easy strict", mean_waiting_time=900.0),
        made("fluid 5", "easy", mean_waiting_time=700.0),
    ]
    rigid, fluid, strict, other = CLAIMS.waits(CLAIMS.read(rows), PUBLISHED)
    assert (rigid.ours, rigid.thesis, rigid.ours_to_rigid, rigid.thesis_to_rigid) == (
        *(1000, 8755, 1, 1),
    )
    assert (fluid.ours, fluid.thesis, fluid.ours_to_rigid) == (800, 6389, 0.8)
    assert (strict.system, strict.ours, strict.thesis) == ("easy strict", 900, 6389)
    assert (other.replay, other.ours, other.thesis) == ("fluid 5", 700, 6389)
    assert strict.ours_to_rigid is None, "open replay is not there with this system"
    assert fluid.thesis_to_rigid == pytest.approx(0.73, abs=0.005)  # as the thesis's numbers give


def test_published_numbers_have_the_printed_orderings() -> None:
    """A check of the transcription: what the text says of the two tables."""
    table = PUBLISHED["waits"]
    traces = list(table["rigid"])
    assert len(traces) == 8
    assert [t for t in traces if table["fluid"][t] >= table["rigid"][t]] == ["Intrepid"]
    assert [t for t in traces if table["adjusted"][t] >= table["rigid"][t]] == ["Intrepid"]
    slower = [t for t in traces if table["distribution"][t] < table["rigid"][t]]
    assert slower == ["CEA", "CM5"]
    ratios = PUBLISHED["ratios"]
    assert len(ratios["tbuos"]) == 8
    assert all(ratios["tbuos"][t] < ratios["resampled"][t] for t in ratios["resampled"])
    assert set(PUBLISHED["logs"].values()) <= set(traces) | {"CTC"}


@pytest.mark.parametrize(
    ("file", "runs", "replays"),
    [
        ("campaign", 3 * 6 * 30, {"resampled", "tbuos", "fluid"}),
        ("real", 2 * 2 * 3 * 30, {"resampled", "tbuos"}),
        ("systems", 2 * 2 * 5 * 4, {"resampled", "tbuos"}),
        ("waits", 6 * 5 * 3, {"rigid", "adjusted", "distribution", "fluid", "fluid 5"}),
    ],
)
def test_campaign_files_expand(file: str, runs: int, replays: set[str]) -> None:
    campaign = read_campaign(find_campaign(str(STUDY / f"{file}.toml")))
    assert len(campaign.runs) == runs
    assert {run.labels["replay"] for run in campaign.runs} == replays
    assert all(run.settings.users == str(run.labels["replay"]).split()[0] for run in campaign.runs)
    assert {str(run.labels["system"]) for run in campaign.runs} <= set(CLAIMS.SYSTEMS)
    for run in campaign.runs:
        weight = run.settings.scheduler_options.get("a_user")
        assert run.settings.scheduler == str(run.labels["system"]).split()[0]
        assert weight is None or run.labels["system"] == f"ups {weight:g}"
        strict = run.labels["system"] == "easy strict"
        assert (run.settings.scheduler_options.get("extra_nodes") == "none") == strict
        assert (run.settings.node_factor == 2) == (run.labels["system"] == "easy twice")


def all_claims() -> list[dict[str, Any]]:
    """Return runs with which all claims hold, on a log found by its path."""
    rows = waits("resampled", 6.0, 30) + waits("tbuos", 2.0, 30)
    more = {"fcfs": 0.8, "ups 0": 1.0, "ups 0.5": 1.1, "ups 1": 1.2, "easy twice": 1.3}
    for system, value in more.items():
        rows += throughput("tbuos", system, [value] * 3)
        rows.append(made("resampled", system))
    rows += [made("fluid", "easy"), made("fluid", "fcfs", mean_activity_length=100_000.0)]
    rows += [made("rigid", "easy")]
    return [row | {"log": f"/logs/{KTH}.swf.gz"} for row in rows]


def test_report_writes_and_prints_tables_and_verdicts(tmp_path: Path) -> None:
    text = io.StringIO()
    paths = REPORT(FakeResults(tmp_path, all_claims()), Console(file=text, width=80))
    assert {path.name for path in paths} == {
        *("levels.csv", "effects.csv", "spreads.csv", "waits.csv", "tables.md"),
    }
    page = (tmp_path / "tables.md").read_text()
    for number in NUMBERS:
        assert f"- ({number}) {CLAIMS.TITLES[number]}. {KTH}: holds.\n" in page
        assert f"## ({number}) {CLAIMS.TITLES[number]}\n" in page
    assert "holds." in text.getvalue()
    assert "DOES NOT" not in page
    assert "| fluid | easy | 60 | 6389 | 1.00 | 0.73 |" in page
    with (tmp_path / "effects.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["claim"] for row in rows} == set(NUMBERS) - {"iv"}
    assert {row["holds"] for row in rows} == {"True"}


def test_report_of_few_runs_leaves_out_the_rest(tmp_path: Path) -> None:
    rows = [made("tbuos", "easy"), made("tbuos", "fcfs", throughput_to_last_submission=1.5)]
    paths = REPORT(FakeResults(tmp_path, rows))
    assert {path.name for path in paths} == {"levels.csv", "effects.csv", "tables.md"}
    page = (tmp_path / "tables.md").read_text()
    assert "DOES NOT HOLD" in page
    assert page.count("\n## ") == 2
