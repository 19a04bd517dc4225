"""The report of ``flurry.toml``: mean lateness with and without the user of a flurry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from batsched_py.report import Column, Part, Verdict
from batsched_py.report.kit import columns, slug
from batsched_py.units import DAY
from batsched_studies.replay_feedback import PUBLISHED, TEXTS, tables, text_claims


def is_of_flurry(runs: pd.DataFrame) -> bool:
    """Return whether the runs are those of ``flurry.toml``."""
    return "flurry" in runs


def make_parts(runs: pd.DataFrame) -> Iterator[Part | None]:
    """Yield a table of mean lateness (d) for each log, in the order with the flurry."""
    for (log, _), of_log in tables.group_by_log(tables.read(runs)):
        days = of_log.assign(days=pd.to_numeric(of_log["mean_lateness"]) / DAY)
        frame = days.pivot_table("days", ["replay", "infrastructure"], "flurry").reset_index()
        frame = frame.sort_values(["replay", "with"])
        shown = [*columns("replay", "infrastructure")]
        shown += [Column(name, f"{name} the flurry (d)", 2, "ours") for name in ("with", "without")]
        yield TEXTS.table("flurry", frame, slug("flurry", log), columns=shown, log=log)


def judge_flurry(runs: pd.DataFrame) -> Iterator[Verdict]:
    """Yield whether FCFS has the same rank as on KTH if the user of the flurry is left out."""
    for (log, _), of_log in tables.group_by_log(tables.read(runs)):
        if PUBLISHED["logs"].get(log) == "SDSC":
            without = of_log[of_log["flurry"] == "without"]
            between: Any = PUBLISHED["claims"]["KTH"]["fcfs_between"]
            runs_of_log = text_claims.select_runs(without)
            yield from text_claims.judge_fcfs(log, runs_of_log, *between, key="flurry")
