"""Whether all published values of an infrastructure together may come from some order of events.

The runs of a replay with shaken order of events and the paper's run are exchangeable if the paper
had some order of events. The three replays are independent, so the place of the paper's run among
the n + 1 runs of each is equally likely to be any of (n + 1) ** 3. The test is exact: `p` is the
share of these places that are as far out as the paper's, and can be as small as 1 / (n + 1) ** 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.report import Part, Verdict
from batsched_py.support.statistics import FEWEST
from batsched_studies.replay_feedback import TEXTS, interpretations, tables

METRICS = ("makespan", "mean_waiting_time", "max_waiting_time", "additional_lateness")
"""The tested metrics; mean and relative lateness follow from additional lateness."""
LEVEL = 0.05
_DIGIT = 0.01
"""The last printed digit of all values."""

Values = NDArray[np.float64]


def measure_distances(values: Values) -> Values:
    """Return the squared distance of each row from all others, shape (n,) for values (n, k).

    It is Mahalanobis's, with mean and covariance of the other rows. The variance of rounding to
    :data:`_DIGIT` is added, without which equal values would have none.
    """
    distances, rounding = [], _DIGIT**2 / 12 * np.eye(values.shape[1])
    for at in range(len(values)):
        others = np.delete(values, at, axis=0)
        covariance = np.atleast_2d(np.cov(others, rowvar=False)) + rounding
        away = values[at] - others.mean(axis=0)
        distances.append(float(away @ np.linalg.solve(covariance, away)))
    return np.array(distances)


def compute_joint_p(distances: Sequence[Values]) -> float:
    """Return the share of all places with a sum of distances of at least that of the first rows.

    ``distances`` has those of the runs of each replay, the paper's first.

    >>> compute_joint_p([np.array([9.0, 1.0, 2.0]), np.array([1.0, 5.0])])  # 9+1; 9+5
    0.3333333333333333
    """
    sums = np.zeros(1)
    for of_replay in distances:
        sums = np.add.outer(sums, of_replay)
    paper = sum(float(of_replay[0]) for of_replay in distances)
    return float(np.mean(sums >= paper - 1e-9 * abs(paper)))


def list_tests(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per log, size, infrastructure and division of waits with enough shaken runs."""
    made: list[dict[str, Any]] = []
    runs = tables.read(runs)
    runs = runs[runs["shake"].notna() & runs["first"].isna() & runs[tables.DRAWN].isna()]
    if runs.empty:
        return pd.DataFrame()
    runs = interpretations.divide_by_all(runs)
    for (log, size), of_log in tables.group_by_log(runs):
        for name in tables.INFRASTRUCTURES:
            of_name = of_log[of_log["infrastructure"] == name]
            divided = (of_name["nb_ran"] < of_name["nb_jobs"]).any()
            for waits in interpretations.WAITS if divided else ("that ran",):
                row = {"infrastructure": name, "waits": waits if divided else "all"}
                found = _test(log, name, of_name, interpretations.WAITS[waits])
                if found:
                    made.append({"log": log, "size": size, **row, **found})
    return pd.DataFrame(made)


def _test(log: str, name: str, runs: pd.DataFrame, mean_wait: str) -> dict[str, Any]:
    """Return the test of an infrastructure; empty if there are too few runs of any replay."""
    distances: dict[str, Values] = {}
    for replay in tables.REPLAYS:
        of_replay = runs[runs["replay"] == replay]
        columns = []
        for metric in METRICS:
            paper = tables.find_published_value(log, (name, replay), metric)
            if paper is not None:
                unit, _ = tables.METRICS[metric]
                column = mean_wait if metric == "mean_waiting_time" else metric
                ours = pd.to_numeric(of_replay[column]) / tables.UNITS[unit]
                columns.append(np.round([paper, *ours], 2))
        if not columns or len(of_replay) < FEWEST:
            return {}
        distances[replay] = measure_distances(np.column_stack(columns))
    ranks = {
        f"{replay}_rank": f"{int((of[1:] < of[0]).sum())} of {len(of) - 1}"
        for replay, of in distances.items()
    }
    least = 1 / np.prod([float(len(of)) for of in distances.values()])
    p = compute_joint_p(list(distances.values()))
    return {"nb_runs": len(runs) // len(distances), "p": p, "least": least, **ranks}


def make_parts(tests: pd.DataFrame) -> Iterator[Part | None]:
    """Yield the table of the tests."""
    yield TEXTS.table("joint", tests)


def judge_orders(tests: pd.DataFrame) -> Iterator[Verdict]:
    """Yield whether the published values of each infrastructure may be of some order of events."""
    for test in tests.to_dict("records"):
        limit = LEVEL / len(tables.INFRASTRUCTURES)
        effect = f"p {test['p']:.2g}, {test['nb_runs']} orders"
        where = f"{test['log']}, {test['size']} sizes"
        name = tables.escape_stars(str(test["infrastructure"]))
        texts: dict[str, Any] = {str(key): value for key, value in test.items()}
        texts |= {"infrastructure": name, "limit": limit, "effect": effect}
        yield TEXTS.verdict("orders", test["p"] >= limit, where, **texts)
