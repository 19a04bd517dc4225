"""A report and a campaign's results that no campaign made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.report import Column, Figure, Report, Section, Table, Text, Verdict
from batsched_py.workload import Workload

EVIL = "</script><b id='out'>bold</b><!--"


def published_table() -> Table:
    frame = pd.DataFrame(
        {
            "log": ["KTH", "CTC", "SDSC"],
            "wait": [10949.46239, 325.5, 17.25],
            "wait_published": [11000.0, 300.0, None],
            "difference": [-0.0045951, 0.085, None],
            "hidden": [1 / 3, 2 / 3, 1.0],
        }
    )
    columns = (
        Column("log"),
        Column("wait", "Mean wait [s]", kind="ours"),
        Column("wait_published", "Mean wait [s]", 0, kind="published"),
        Column("difference", "Relative", 3, kind="difference"),
    )
    note = "Over *all* jobs that ran. " + EVIL
    return Table("waits", "Mean waits", frame, columns, note, marks=((1, "wait"),))


def chart_of_waits() -> alt.Chart:
    rows = [
        {"load": load, "wait": 20 + load**2 * factor, "policy": policy}
        for policy, factor in (("easy", 30), ("fcfs", 90))
        for load in np.linspace(0.5, 1.0, 20).tolist()
    ]
    marks = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=90)
    encoded = marks.encode(
        x=alt.X("load:Q", title="offered load", scale=alt.Scale(zero=False)),
        y=alt.Y("wait:Q", title="mean wait [h]"),
        color=alt.Color("policy:N", title="policy"),
        tooltip=["policy:N", "load:Q", "wait:Q"],
    )
    return encoded.properties(width="container", height=260).interactive()


def a_report() -> Report:
    return Report(
        title="Waits & users " + EVIL,
        source='A. Author, "On waits", Some Conference 2003',
        summary="Two policies on three logs. **EASY** waits less.\n\nSecond paragraph. " + EVIL,
        sections=(
            Section("Waits", (published_table(), Text("Words `between` them."))),
            Section(
                "Figures", (Figure("curve", "Waits by load", chart_of_waits(), "As in *fig. 3*."),)
            ),
        ),
        verdicts=(
            Verdict("EASY waits less than FCFS", True, "325 s against **917 s**.", "CTC"),
            Verdict("Slowdown is halved", False, "It falls by 12 %."),
            Verdict("On weekends too", None, "No run says."),
        ),
    )


def some_jobs(nb: int = 200, *, nb_res: int = 64, seed: int = 0) -> pd.DataFrame:
    """Jobs one after the other on processors of their own, so that nothing overlaps."""
    random = np.random.default_rng(seed)
    free = np.zeros(nb_res)
    submit = np.sort(random.uniform(0, nb * 400, nb))
    rows = []
    for number in range(nb):
        size = int(random.integers(1, nb_res // 3))
        first = int(random.integers(0, nb_res - size + 1))
        allocated = slice(first, first + size)
        start = max(float(submit[number]), float(free[allocated].max()))
        run = float(random.integers(60, 6000))
        free[allocated] = start + run
        rows.append(
            {
                "job_id": str(number),
                "workload_name": "w0",
                "submission_time": submit[number],
                "requested_number_of_resources": size,
                "final_state": "COMPLETED_SUCCESSFULLY",
                "starting_time": start,
                "execution_time": run,
                "finish_time": start + run,
                "allocated_resources": f"{first}-{first + size - 1}" if size > 1 else f"{first}",
                "user": str(number % 11),
                "lateness": float(number % 7) * 600,
                "measured": True,
            }
        )
    return pd.DataFrame(rows)


class MadeUp:
    """Results of a campaign of two policies and some replications."""

    what = "campaign"
    report_name: str | None = None

    def __init__(self, nb_replications: int = 3, *, nb_jobs: int = 200) -> None:
        self.name, self.title = "made_up", "A campaign that was made up"
        self.out = Path("/nowhere")
        self.file = self.out / "campaign.toml"
        self.metric: str | None = None
        self.axes = ["policy", "alpha", "replication"]
        self.nb_jobs = nb_jobs
        self.failures: list[tuple[Path, str]] = [(Path("runs/x"), "it broke " + EVIL)]
        rows = [
            self._row(policy, alpha, replication)
            for policy in ("easy", "creasy")
            for alpha in (600, 6000)
            for replication in range(nb_replications)
        ]
        self.runs = pd.DataFrame(rows)
        self.nb_planned = len(rows) + 2
        self.planned = [
            (Path(row["folder"]), {axis: row[axis] for axis in self.axes}) for row in rows
        ]

    def _row(self, policy: str, alpha: int, replication: int) -> dict[str, Any]:
        wait = 1000.0 + alpha / 3 + 10 * replication + (500 if policy == "easy" else 0)
        return {
            "policy": policy,
            "alpha": alpha,
            "replication": replication,
            "seed": 1000 + replication,
            "scheduler": policy,
            "folder": f"/nowhere/runs/{policy}_{alpha}_{replication}",
            "input": "/nowhere/log.swf",
            "nb_res": 64,
            "wall_time": 1.5,
            "host": "node-7",
            "nb_jobs": self.nb_jobs,
            "mean_waiting_time": wait,
            "mean_bounded_slowdown": wait / 77,
            "utilisation": 0.7 + replication / 100,
            "throughput_per_hour": 12.0,
            "jobs_per_session_think_20": None,
        }

    def settings(self, row: Any) -> dict[str, Any]:
        return {
            "run": {"scheduler": row["policy"], "scheduler_options": {"alpha": row["alpha"]}},
            "versions": {"python": "3.11.7", "batsched_py": "0.1.0"},
            "notes": ["a note " + EVIL],
            "metrics": {"overall": {"mean_waiting_time": 1}},
        }

    def workload(self, row: Any) -> Workload:
        raise OSError(f"{row['input']}: gone")

    def command(self, row: Any) -> str:
        return f"batsched-py simulate log.swf --scheduler {row['policy']} --seed {row['seed']}"

    def kept_jobs(self, row: Any) -> pd.DataFrame:
        seed = int(row["seed"]) + int(row["alpha"])
        return some_jobs(self.nb_jobs, seed=seed)
