"""Summarises session graphs in numbers, as in Fig. 6 of Madon et al. (FGCS 155, 2024)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import msgspec
import numpy as np

from batsched_py.files.csv_text import csv_of_rows
from batsched_py.units import HOUR
from batsched_users.sessions.session_graph import SessionGraph


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers on the sessions of one or many users: counts, sizes, paths and think times.

    Think times are in seconds, one for each edge of the graphs except edges from the fictive root.
    Shares and means are None without data.
    """

    users: int
    jobs: int
    sessions: int
    edges: int
    """Direct dependencies between sessions: the number of think times."""
    jobs_per_session_mean: float | None
    jobs_per_session_max: int
    single_job_share: float | None
    """Share of the sessions that have exactly one job, 0 to 1."""
    longest_path: int
    """Largest number of sessions on a chain of one user, the root not counted."""
    arity: int
    """Largest number of direct predecessors of a session (:meth:`SessionGraph.arity`)."""
    think_time_below_1h: float | None
    """Share of the think times shorter than an hour, 0 to 1."""
    think_time_below_10h: float | None
    think_time_mean: float | None
    think_time_p25: float | None
    """Quantile 0.25, between values by linear interpolation."""
    think_time_median: float | None
    think_time_p75: float | None
    think_time_p90: float | None
    think_time_max: float | None


def summarise_graphs(graphs: Iterable[SessionGraph]) -> Summary:
    """Summarise the session graphs of some users together; for one user, pass ``[graph]``."""
    graphs = list(graphs)
    nb_jobs = [len(session.jobs) for graph in graphs for session in graph.sessions]
    times = sorted(time for graph in graphs for time in graph.think_times())
    places = (0.25, 0.5, 0.75, 0.9)
    quantiles = np.quantile(times, places).round(6).tolist() if times else [None] * 4
    p25, median, p75, p90 = quantiles
    return Summary(
        users=len(graphs),
        jobs=sum(nb_jobs),
        sessions=len(nb_jobs),
        edges=len(times),
        jobs_per_session_mean=_share(sum(nb_jobs), len(nb_jobs)),
        jobs_per_session_max=max(nb_jobs, default=0),
        single_job_share=_share(nb_jobs.count(1), len(nb_jobs)),
        longest_path=max((graph.longest_path() for graph in graphs), default=0),
        arity=max((arity for graph in graphs for arity in graph.arity()), default=0),
        think_time_below_1h=_share(bisect_left(times, HOUR), len(times)),
        think_time_below_10h=_share(bisect_left(times, 10 * HOUR), len(times)),
        think_time_mean=_share(sum(times), len(times)),
        think_time_p25=p25,
        think_time_median=median,
        think_time_p75=p75,
        think_time_p90=p90,
        think_time_max=times[-1] if times else None,
    )


def format_table(graphs: Iterable[SessionGraph]) -> str:
    """Format the summary of each graph as CSV text, one line per user.

    The columns are ``user`` and the fields of :class:`Summary` but ``users``, which is always 1.
    Unknown values are empty.
    """
    fields = [name for name in Summary.__struct_fields__ if name != "users"]
    of_users = ((graph.user, summarise_graphs([graph])) for graph in graphs)
    rows = ([user, *(getattr(of_user, name) for name in fields)] for user, of_user in of_users)
    return csv_of_rows(["user", *fields], rows)


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
