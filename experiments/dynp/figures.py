"""The figure of the study: SLDwA by month of submission, static policies and dynP.

Source of the values: Streit 2003, Tables A.1 to A.4 and A.9 to A.12 have them as numbers. Colours
are of Okabe and Ito's palette, safe for the colour-blind; policies differ by marker as well.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from batsched_py.files import write_whole

if TYPE_CHECKING:
    from measures import Measured

STYLES = {
    "fcfs": ("FCFS", "#CC79A7", "o"),
    "sjf": ("SJF", "#0072B2", "s"),
    "ljf": ("LJF", "#E69F00", "^"),
    "advanced full": ("dynP, advanced, full", "#000000", "D"),
}
"""Label, colour and marker by policy; others are not drawn."""
DPI = 120
MONTHS_APART = 16
"""From so many months on only every second one is labelled."""


def draw_figures(runs: Iterable[Measured], out: Path) -> list[Path]:
    """Write ``LOG_monthly.png`` of each log with two policies or more; return the files."""
    logs: dict[str, dict[str, Measured]] = {}
    for run in runs:
        if run.policy.key in STYLES and run.policy.plain and run.estimates == "user" and run.months:
            own = logs.setdefault(run.log, {})
            if not run.policy.legacy_fcfs_list_order or run.policy.key not in own:
                own[run.policy.key] = run
    paths = []
    for log, own in logs.items():
        if len(own) < 2:
            continue
        picture = io.BytesIO()
        # Software names the version of matplotlib; without it the bytes depend on data only.
        draw(log, own).savefig(picture, dpi=DPI, metadata={"Software": None})
        paths.append(out / f"{log}_monthly.png")
        write_whole(paths[-1], picture.getvalue())
    return paths


def draw(log: str, runs: dict[str, Measured]) -> Figure:
    """Return the figure of one log; ``runs`` are by policy."""
    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = figure.subplots()
    months = sorted({month for run in runs.values() for month in run.months})
    for policy, (label, colour, marker) in STYLES.items():
        if policy not in runs:
            continue
        run = runs[policy]
        places = [at for at, month in enumerate(months) if month in run.months]
        values = [run.months[months[at]].sldwa for at in places]
        legacy = " (legacy list order)" if run.policy.legacy_fcfs_list_order else ""
        axes.plot(places, values, marker=marker, markersize=5, color=colour, label=label + legacy)
    step = 2 if len(months) >= MONTHS_APART else 1
    axes.set_xticks(range(0, len(months), step), months[::step], rotation=45, ha="right")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("month of submission")
    axes.set_ylabel("SLDwA (log scale)")
    axes.set_title(log)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
