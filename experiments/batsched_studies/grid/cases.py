"""The runs of the study with their grid sites, policies and results."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from batsched_py.report.kit import SEED, Quantity, Runs, options_of
from batsched_py.units import HOUR
from batsched_py.workload.grid_sites import parse_sites

DOCUMENTED = "as documented"
"""The interpretation of all runs that do not name one."""
QUANTITIES = (
    Quantity("W", "mean_turnaround_time_by_width", "AWRT by width (h)", 1 / HOUR),
    Quantity("RC", "mean_turnaround_time_by_area", "AWRT by resource consumption (h)", 1 / HOUR),
    Quantity("AWWT", "mean_waiting_time_by_width", "AWWT by width (h)", 1 / HOUR),
    Quantity("count", "multi_site_job_share", "multi-site jobs per 10,000", 10_000),
    Quantity("share", "multi_site_area_share", "share of squashed area (%)", 100),
    Quantity("area", "multi_site_area", "squashed area of multi-site jobs (processor h)", 1 / HOUR),
)
SYNTHETIC = ("syn_org", "syn_max64", "syn_max128")
WEIGHTS = {"W": "by width", "RC": "by resource consumption"}
"""The weights of AWRT: the width ``w`` (eq. 7.1), or ``w (e - s)`` (section 7.3.3)."""
_OPTIONS: dict[str, Any] = {"adaptive": False, "lower_bound": 0, "fragments": "unlimited"}
"""Options that are labels, and their defaults."""


def read(frame: pd.DataFrame) -> Runs:
    """Return the runs of a campaign by their labels, with the quantities of the study.

    Labels are ``workload``, ``sites``, ``reading``, ``nb_sites``; the policy's ``scenario``,
    ``reservation``, ``adaptive``, ``lower_bound``, ``fragments``; and ``p``, the per cent by which
    a job runs longer on several sites. The seeds of a synthetic workload are replications. Runs in
    which jobs were refused are left out, because they do less work.
    """
    whole = frame[frame["nb_rejected"] == 0]
    rows = [run | _labels(run) for run in whole.to_dict("records")]
    return Runs(pd.DataFrame(rows), QUANTITIES)


def _labels(run: Mapping[Any, Any]) -> dict[str, Any]:
    options = options_of(run, "scheduler_options")
    scenario = options.get("scenario", "sharing")
    default = "none" if scenario == "multi_site" else "easy"
    reading = run.get("reading")
    labels = {name: options.get(name, value) for name, value in _OPTIONS.items()}
    return labels | {
        "scenario": scenario,
        "reservation": options.get("reservation", default),
        "p": round(100 * options.get("overhead", 0)),
        "nb_sites": len(parse_sites(run["sites"])),
        "reading": reading if isinstance(reading, str) else DOCUMENTED,
        "multi_site_area": run["multi_site_area_share"] * run["squashed_area"],
        SEED: run.get("seed", 0),
    }


def select_one_machine(runs: Runs) -> Runs:
    """Return the runs on one machine that has all processors of the grid, with EASY."""
    return runs.where(nb_sites=1, scenario="sharing", reservation="easy")


def mean(runs: Runs, name: str) -> float:
    """Return the mean of a quantity over the job sets of a workload; nan without runs."""
    return float(runs.values(name).mean())


def change(ours: Runs, base: Runs, name: str) -> float | None:
    """Return by how many per cent a quantity differs from ``base``; None if a side has no runs."""
    return ours.change(name, base).value if ours and base else None


def list_workloads(runs: Runs, kind: str) -> list[str]:
    """Return the workloads of a kind (``org``, ``max64``, ...) in the order of the runs."""
    return [name for name in runs.labels("workload") if name.endswith(f"_{kind}")]


def find_crossing(
    ours: Runs, base: Runs, name: str, otherwise: float | None = None
) -> float | None:
    """Return the overhead (%) up to which ``ours`` is better than ``base``, by interpolation.

    Without a crossing it is the least or the largest overhead that was run; without runs it is
    ``otherwise``.
    """
    if not ours or not base:
        return otherwise
    level = mean(base, name)
    gaps = [(p, mean(of_p, name) - level) for p, of_p in ours.by("p").items()]
    if gaps[0][1] >= 0:
        return float(gaps[0][0])
    for (p, gap), (next_p, next_gap) in pairwise(gaps):
        if next_gap >= 0:
            return float(p + (next_p - p) * -gap / (next_gap - gap))
    return float(gaps[-1][0])
