"""Made-up results of a study's campaign: metrics by hand, of which one knows what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd

from batsched_py.errors import UsageError
from batsched_py.report import Report, Table

STUDIES = Path(__file__).parents[2] / "experiments" / "batsched_studies"


class MadeUpCampaign:
    """Finished runs of which only the metrics were kept, as a report takes them."""

    title = "Made up"

    def __init__(self, runs: Sequence[dict[str, Any]] | pd.DataFrame, study: str = "") -> None:
        self.runs = pd.DataFrame(runs)
        self.study = STUDIES / study
        self.file = self.study / "campaign.toml"

    def workload(self, run: Any) -> Any:
        raise UsageError(f"{run['log']} is not there")

    def derive(self, name: str, compute: Callable[[Self], pd.DataFrame]) -> pd.DataFrame:
        return compute(self)

    def kept_jobs(self, run: Any) -> pd.DataFrame | None:
        return None


def changed(runs: Sequence[dict[str, Any]], factor: float, column: str, **place: Any) -> Any:
    """Return the runs with a column multiplied in those with these labels."""
    there = [all(run[label] == value for label, value in place.items()) for run in runs]
    return [
        run | {column: run[column] * factor} if here else run
        for run, here in zip(runs, there, strict=True)
    ]


def table_of(report: Report, name: str) -> Table:
    (named,) = [table for table in report.tables if table.name == name]
    return named


def one_row(frame: pd.DataFrame, **labels: Any) -> Any:
    """Return the only row with these labels."""
    for label, value in labels.items():
        frame = frame[frame[label] == value]
    (at,) = range(len(frame))
    return frame.iloc[at]


def holds(report: Report) -> dict[str, bool | None]:
    """Return whether each claim holds, by its text, or by its number if it has one."""
    numbered = {verdict.claim: verdict.claim[1:].partition(")") for verdict in report.verdicts}
    return {
        (numbered[v.claim][0] if v.claim.startswith("(") else v.claim): v.holds
        for v in report.verdicts
    }
