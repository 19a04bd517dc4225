"""Which part of a schedule is shown where the whole has too many jobs for one picture.

Frames have the columns of ``_jobs.csv``; all their jobs ran.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.support.step_functions import Intervals

_BISECTIONS = 40


def widest_window(ran: pd.DataFrame, most_jobs: int, most_rectangles: int) -> tuple[float, float]:
    """Return begin and end of the widest window around the longest queue that may be shown.

    A job on processors that are no neighbours has several rectangles. There is at least one job.
    """
    start, finish = ran["starting_time"].to_numpy(float), ran["finish_time"].to_numpy(float)
    pieces = _pieces(ran)
    middle = _fullest(ran)
    widest = float(max(middle - start.min(), finish.max() - middle))

    def fits(half: float) -> bool:
        inside = (start < middle + half) & (finish > middle - half)
        return bool(inside.sum() <= most_jobs and pieces[inside].sum() <= most_rectangles)

    half = widest
    if not fits(widest):
        least, most = 0.0, widest
        for _ in range(_BISECTIONS):
            half = (least + most) / 2
            least, most = (half, most) if fits(half) else (least, half)
        half = max(least, 1.0)
    return max(middle - half, float(start.min())), min(middle + half, float(finish.max()))


def jobs_inside(
    ran: pd.DataFrame, begin: float, end: float, most_jobs: int, most_rectangles: int
) -> pd.DataFrame:
    """Return the jobs that run in a window: the widest, if they are too many."""
    start, finish = ran["starting_time"], ran["finish_time"]
    at_once = (start == finish) & (start >= begin) & (start <= end)
    rows = ran[((start < end) & (finish > begin)) | at_once]
    widest = rows.sort_values("requested_number_of_resources", ascending=False, kind="stable")
    pieces = np.cumsum(_pieces(widest))
    return widest[(pieces <= most_rectangles) & (np.arange(len(rows)) < most_jobs)].sort_index()


def _pieces(jobs: pd.DataFrame) -> NDArray[np.int64]:
    """Return how many rectangles each job is at most."""
    return np.array([str(text).count(" ") + 1 for text in jobs["allocated_resources"]], dtype=int)


def _fullest(ran: pd.DataFrame) -> float:
    """Return when most jobs waited; when most processors were busy if none ever did."""
    submit, start = ran["submission_time"].to_numpy(float), ran["starting_time"].to_numpy(float)
    waiting = Intervals(submit, start)
    level = waiting.at(waiting.instants)
    if level.max() <= 0:
        size = ran["requested_number_of_resources"].to_numpy(float)
        waiting = Intervals(start, ran["finish_time"].to_numpy(float), size)
        level = waiting.at(waiting.instants)
    return float(waiting.instants[level.argmax()])
