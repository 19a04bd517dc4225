"""Small tables that are computed from the jobs of several runs, or from a log, and then kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import CampaignResults
from batsched_py.report.kit import rows
from batsched_studies.replay_feedback import PUBLISHED, replays, session_graphs, tables

PAIRS = {"a0 - a60": ("a0", "a60"), "a60 - rigid": ("a60", "rigid")}
"""The differences of submission times in Fig. 7: which replay minus which other."""
WAYS: dict[str, Callable[[replays.Column], replays.Column]] = {
    "job by job": np.asarray,
    "sorted, by position": np.sort,
}
"""How the submission times of two replays may be subtracted, with what is done to both before."""
DIFFERENCES = ["log", "infrastructure", "difference", "way", "later", "earlier"]
GRAPHS = ["log", "sessions", "arity", "hours", "share", "ours"]


def read_differences(results: CampaignResults) -> pd.DataFrame:
    """Return the share of jobs that one replay submits later, and earlier, than another.

    A row per log, infrastructure, difference (:data:`PAIRS`) and way (:data:`WAYS`).
    """
    return results.derive(
        "differences", lambda of: pd.DataFrame(_compare_submissions(of), columns=DIFFERENCES)
    )


def read_graphs(results: CampaignResults) -> pd.DataFrame:
    """Return the largest arity of a60, and shares of think times, for logs of the paper (Fig. 6).

    A row per log and published share: ``ours`` of the think times are shorter than ``hours``.
    """
    return results.derive(
        "session_graphs", lambda of: pd.DataFrame(_measure_graphs(of), columns=GRAPHS)
    )


def _compare_submissions(results: CampaignResults) -> Iterator[dict[str, Any]]:
    for study in replays.read_studies(results):
        yield from compare_submissions(study)


def compare_submissions(study: replays.Study) -> Iterator[dict[str, Any]]:
    """Yield the rows of one log of :func:`read_differences`."""
    for name in replays.BY_LATENESS:
        for difference, (of, minus) in PAIRS.items():
            if (name, of) in study.replays and (name, minus) in study.replays:
                for way, arrange in WAYS.items():
                    ours = arrange(study.replays[name, of].submit)
                    other = arrange(study.replays[name, minus].submit)
                    yield {
                        "log": study.log,
                        "infrastructure": name,
                        "difference": difference,
                        "way": way,
                        "later": float(np.mean(ours > other)),
                        "earlier": float(np.mean(ours < other)),
                    }


def _measure_graphs(results: CampaignResults) -> Iterator[dict[str, Any]]:
    for study in replays.read_studies(results):
        replayed = {replay for _, replay in study.replays}
        if study.log in PUBLISHED["logs"] and replayed >= set(tables.REPLAYS[1:]):
            with suppress(replays.MissingError):
                graphs = session_graphs.build_graphs(study)
                shares = graphs.compute_shares().assign(log=study.log, arity=graphs.arity)
                yield from (row._asdict() for row in rows(shares))
