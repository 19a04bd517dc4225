"""Tables 1 and 2 of Madon et al. 2024 as a whole: no row may be further away than ties explain."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from batsched_py.campaign.campaign_file import PlannedRun, find_campaign, read_campaign
from batsched_py.run.simulate import simulate
from batsched_py.support.shipped_files import studies_folder
from batsched_py.workload.swf import read_swf

DAY = 86_400.0
CAMPAIGN = read_campaign(find_campaign("replay_feedback"))
LOGS = {"KTH": "KTH-SP2-1996-2.1-cln", "SDSC": "SDSC-SP2-1998-4.reconstructed"}


@cache
def overall(path: Path, index: int) -> dict[str, float]:
    """Return the metrics of one run of the campaign, simulated once per process."""
    settings = CAMPAIGN.runs[index].settings
    nodes = None
    if settings.node_factor is not None:
        nodes = round(read_swf(path).max_processors * settings.node_factor)
    result = simulate(
        path,
        scheduler=settings.scheduler,
        users=settings.users,
        sessions=settings.sessions,
        nodes=nodes,
        speed_factor=settings.speed_factor,
    )
    metrics: dict[str, float] = result.metrics["overall"]
    return metrics


def published(log: str, table: str, run: PlannedRun) -> list[float] | None:
    data = tomllib.loads((studies_folder() / "replay_feedback/published.toml").read_text())
    rows: dict[str, list[float]] = data[table][log]
    return rows.get(f"{run.labels['infrastructure']} {run.labels['replay']}")


def name(index: int) -> str:
    labels = CAMPAIGN.runs[index].labels
    return f"{labels['infrastructure']} {labels['replay']}"


@pytest.mark.parametrize("index", range(18), ids=name)
def test_kth(shared: Path, index: int) -> None:
    """Makespan within 3 %, mean lateness within 6 % or 0.35 days."""
    ours = overall(shared / f"swf/{LOGS['KTH']}.swf.gz", index)
    run = CAMPAIGN.runs[index]
    table1, table2 = (published("KTH", table, run) for table in ("table1", "table2"))
    assert table1 is not None
    assert ours["makespan"] / DAY == pytest.approx(table1[0], rel=0.03)
    assert ours["mean_waiting_time"] / DAY == pytest.approx(table1[1], rel=0.06, abs=0.005)
    if table2 is not None:
        assert ours["mean_lateness"] / DAY == pytest.approx(table2[0], rel=0.06, abs=0.35)


RIGID = [i for i, run in enumerate(CAMPAIGN.runs) if run.labels["replay"] == "rigid"]


@pytest.mark.parametrize("index", RIGID, ids=name)
def test_sdsc_rigid(shared: Path, index: int) -> None:
    """Makespan within 0.5 %, mean wait within 3 % (0.01 days are the printed digits)."""
    ours = overall(shared / f"swf/{LOGS['SDSC']}.swf.gz", index)
    table1 = published("SDSC", "table1", CAMPAIGN.runs[index])
    assert table1 is not None
    assert ours["makespan"] / DAY == pytest.approx(table1[0], rel=0.005)
    assert ours["mean_waiting_time"] / DAY == pytest.approx(table1[1], rel=0.03, abs=0.005)


@pytest.mark.parametrize("replay", ["a0", "a60"])
def test_ranking(shared: Path, replay: str) -> None:
    """Earliest to latest: perf*2, infra*2, easy, infra/2, perf/2."""
    lateness = {
        run.labels["infrastructure"]: overall(shared / f"swf/{LOGS['KTH']}.swf.gz", index)[
            "mean_lateness"
        ]
        for index, run in enumerate(CAMPAIGN.runs)
        if run.labels["replay"] == replay and run.labels["infrastructure"] != "fcfs"
    }
    assert sorted(lateness, key=lateness.__getitem__) == [
        "perf*2",
        "infra*2",
        "easy",
        "infra/2",
        "perf/2",
    ]
