"""Draws when users submit: users of KTH-SP2, and the models that replay them under EASY.

python -m batsched_studies.user_models.pictures --shared ../shared

Writes ``docs/images/users_of_log.png``, the picture of the reference page of user models.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py import load_workload, simulate
from batsched_py.figures.chart_files import write_chart
from batsched_py.support import palette
from batsched_py.workload.conversion_rules import make_rules
from batsched_studies.filled_page import DOCS
from batsched_users.measures.job_columns import (
    JobColumns,
    columns_of_jobs_file,
    columns_of_workload,
)
from batsched_users.measures.marginals import jobs_by_hour_of_week

TARGET = DOCS / "images" / "users_of_log.png"
LOG = "KTH-SP2-1996-2.1-cln"

MODELS = ("feedback", "adjusted", "distribution", "fluid", "resampled", "tbuos")


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    path = parser.parse_args().shared / "swf" / f"{LOG}.swf.gz"
    rules = "replay-feedback"
    recorded = measure_hours(columns_of_workload(load_workload(path, make_rules(rules))))
    hours = {}
    for model in MODELS:
        result = simulate(path, users=model, rules=rules)
        with tempfile.TemporaryDirectory() as folder:
            result.write(Path(folder) / "out")
            hours[model] = measure_hours(columns_of_jobs_file(Path(folder) / "out_jobs.csv"))
    write_chart(draw_weeks(recorded, hours), TARGET)
    print(f"wrote {TARGET}")


def measure_hours(jobs: JobColumns) -> Any:
    """Return the percentage of the submissions in each hour of the week; shape (168,)."""
    return jobs_by_hour_of_week(jobs) / len(jobs) * 100


def draw_weeks(recorded: Any, hours: dict[str, Any]) -> Any:
    """Draw the hours of each user model over those that were recorded, two panels a row."""
    most = max(recorded.max(), *(shares.max() for shares in hours.values()))
    axis: Any = alt.Axis(values=[*range(12, 168, 24)], labelExpr=_DAY, grid=False, ticks=False)
    scale: Any = alt.Scale(domain=[0, 168], nice=False)
    panels = []
    for model, shares in hours.items():
        frame = pd.DataFrame({"hour": np.arange(169)})
        frame["recorded"] = np.append(recorded, recorded[-1])
        frame["model"] = np.append(shares, shares[-1])
        base = alt.Chart(frame).encode(x=alt.X("hour:Q", title=None, axis=axis, scale=scale))
        y: dict[str, Any] = {
            "title": "% of the jobs, per hour",
            "scale": alt.Scale(domain=[0, most]),
        }
        area = base.mark_area(interpolate="step-after", color="#bbbbbb").encode(
            y=alt.Y("recorded:Q", **y)
        )
        line = base.mark_line(interpolate="step-after", color=palette.BLUE, strokeWidth=2)
        drawn = area + line.encode(y=alt.Y("model:Q", **y))
        panels.append(drawn.properties(title=model, width=300, height=130))
    return alt.concat(*panels, columns=2)


_DAY = "['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'][floor(datum.value / 24)]"


if __name__ == "__main__":
    main()
