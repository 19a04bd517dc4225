"""Cost of the user models: microseconds a job under EASY, and ratios to rigid replay in one run.

Usage: python benchmarks/user_models.py [LOG [MODEL ...]]   (default: the sample log, all models)

A model's own share is timed too, on a machine without limits (no policy, no messages). Models that
draw users from the log take pools that fit short logs, so that the sample log will do.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from batsched_py import Workload, load_workload, simulate
from batsched_py.support.plugins import USERS, load, make, names
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.log_archive import find_log
from batsched_users.learning.ideal_machine import play

SHORT: dict[str, Any] = {"long_weeks": 3, "edge_weeks": 1}
OPTIONS: dict[str, dict[str, Any]] = {
    "resampled": SHORT,
    "tbuos": SHORT,
    "site": {"nb_users": 100, "weeks": 8},
    "weekly": {"nb_users": 100, "weeks": 26},
}


def alone(log: Workload, model: str) -> float:
    """Return the seconds a job that a model takes by itself, to be made included."""
    begin = time.perf_counter()
    users = make(load(USERS, model), model, (log,), OPTIONS.get(model, {}))
    nb_jobs = sum(1 for _ in play(users))
    return (time.perf_counter() - begin) / nb_jobs


def simulated(log: Workload, model: str) -> tuple[int, float]:
    """Return how many jobs were submitted, and the seconds a job of the loop under EASY."""
    result = simulate(log, users=model, user_options=OPTIONS.get(model, {}))
    nb_jobs = len(result.table.submit)
    return nb_jobs, result.wall_time / nb_jobs


def main(source: str = "sample", *models: str) -> None:
    """Print the figures of one log."""
    log = load_workload(find_log(source), Rules())
    _, rigid = simulated(log, "rigid")
    print(f"{log.name}: EASY, rigid {rigid * 1e6:.1f} us a job")
    for model in models or [name for name in names(USERS) if name != "population"]:
        nb_jobs, under_easy = simulated(log, model)
        print(
            f"  {model:13}{nb_jobs:8} jobs  alone {alone(log, model) * 1e6:6.1f} us  "
            f"under EASY {under_easy * 1e6:6.1f} us  ratio {under_easy / rigid:5.2f}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
