"""All metrics by name, with unit, jobs, source and the papers' short names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from batsched_py.metrics import lateness, machine, saturation, slowdown, users, waiting
from batsched_py.results.job_table import JobTable

RAN = "jobs that ran"
ALL = "all jobs"
OF_USERS = "jobs of known users"

COUNTS = ("nb_jobs", "nb_ran", "nb_rejected")
"""What :func:`overall` gives before the metrics."""


class Metric(msgspec.Struct, frozen=True):
    """A metric: how it is computed, in which unit, over which jobs, and where it is from."""

    compute: Callable[[JobTable], float]
    unit: str
    denominator: str
    source: str = ""
    short: tuple[str, ...] = ()
    """What papers call it; not unique."""
    needs_machine: bool = False
    """Whether it is defined only with :attr:`JobTable.nb_processors`."""
    of_machine: bool = False
    """Whether it is over all jobs of a table, and not only :attr:`JobTable.only_measured`."""

    @property
    def formula(self) -> str:
        """The first line of the docstring."""
        return (self.compute.__doc__ or "").partition("\n")[0].replace("``", "")

    def value(self, table: JobTable) -> float | None:
        """Return the metric of those jobs of a table that it is over, None if not defined."""
        rows = table if self.of_machine else table.only_measured
        if not len(rows.submit) or (self.denominator == RAN and not rows.ran.any()):
            return None
        if self.needs_machine and rows.nb_processors is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # what is not finite becomes None
            value = self.compute(rows)
        return value if np.isfinite(value) else None


_MADON = "Madon et al. 2024, section 4"
_STREIT = "Streit 2003"
_SCHLAGKAMP = "Schlagkamp 2015"
_SHMUELI = "Shmueli and Feitelson 2009"
_ZAKAY = "Zakay, PhD thesis"
_CLASSES = f"{_SHMUELI} (classes of run time)"
_ARRIVAL = f"{_ZAKAY}, chapter 2 (Arrival)"
_PER_JOB = f"{_STREIT}, section 3.4 (per job)"
_NAMED = f"{_STREIT}, section 3.4 (named only)"

_ALL = (
    # As they were first, in this order, so that _run.json only grows at its end
    Metric(machine.makespan, "s", RAN, _MADON, of_machine=True),
    Metric(
        waiting.mean_waiting_time,
        "s",
        RAN,
        f"{_MADON}; {_STREIT}, eq. 3.1; {_SCHLAGKAMP}",
        ("AWT",),
    ),
    Metric(waiting.max_waiting_time, "s", RAN, _MADON),
    Metric(
        waiting.mean_turnaround_time,
        "s",
        RAN,
        f"{_MADON}; {_STREIT}, eq. 3.2; {_SCHLAGKAMP}",
        ("ART",),
    ),
    Metric(
        slowdown.mean_slowdown,
        "1",
        RAN,
        f"{_MADON}; {_PER_JOB}; {_SCHLAGKAMP}",
        ("SLD", "ASD"),
    ),
    Metric(
        slowdown.mean_bounded_slowdown,
        "1",
        RAN,
        'Feitelson, "Metrics for parallel job scheduling and their convergence", JSSPP 2001',
        ("BSLD",),
    ),
    Metric(lateness.mean_lateness, "s", ALL, _MADON),
    Metric(lateness.relative_lateness, "1", ALL, _MADON),
    Metric(lateness.additional_lateness, "s", ALL, _MADON),
    # Waiting and turnaround
    Metric(waiting.mean_waiting_time_by_width, "s", RAN, f"{_STREIT}, eq. 7.2", ("AWWT",)),
    Metric(
        waiting.mean_turnaround_time_by_width,
        "s",
        RAN,
        f"{_STREIT}, eq. 3.3 and 7.1",
        ("ARTwW", "AWRT"),
    ),
    Metric(
        waiting.mean_turnaround_time_by_area,
        "s",
        RAN,
        f"{_STREIT}, sections 5.1.3 and 7.3.3",
        ("ARTwA", "AWRT"),
    ),
    Metric(
        waiting.area_turnaround_per_job,
        "processor s^2",
        RAN,
        f"{_STREIT}, section 7.3.1 (text)",
        ("AWRT",),
    ),
    Metric(
        waiting.area_turnaround_per_processor,
        "s^2",
        RAN,
        f"{_SCHLAGKAMP} (as printed)",
        ("AWRT",),
    ),
    Metric(waiting.mean_turnaround_time_to_1_min, "s", RAN, _CLASSES),
    Metric(waiting.mean_turnaround_time_1_to_10_min, "s", RAN, _CLASSES),
    Metric(waiting.mean_turnaround_time_over_10_min, "s", RAN, _CLASSES),
    # Slowdowns
    Metric(
        slowdown.mean_slowdown_by_width,
        "1",
        RAN,
        f"{_STREIT} (formula by analogy)",
        ("SLDwW",),
    ),
    Metric(slowdown.mean_slowdown_by_area, "1", RAN, f"{_STREIT}, eq. 3.4", ("SLDwA",)),
    Metric(slowdown.mean_bounded_slowdown_60, "1", RAN, _PER_JOB),
    Metric(
        slowdown.mean_bounded_slowdown_60_feitelson,
        "1",
        RAN,
        f"Feitelson, quoted in {_PER_JOB}",
    ),
    Metric(
        slowdown.mean_bounded_slowdown_60_keleher,
        "1",
        RAN,
        f"Keleher and Perkovic, quoted in {_PER_JOB}",
    ),
    Metric(
        slowdown.mean_per_processor_slowdown_60,
        "1",
        RAN,
        _PER_JOB,
        ("ppSLD_60",),
    ),
    # The machine
    Metric(machine.last_end, "s", RAN, f"{_STREIT}, eq. 3.5; Batsim's summary", of_machine=True),
    Metric(
        machine.squashed_area,
        "processor s",
        RAN,
        f"{_STREIT}, footnote of section 7.3.1; {_SCHLAGKAMP}",
        of_machine=True,
    ),
    Metric(machine.total_completion_time, "s", RAN, _NAMED),
    Metric(
        machine.total_idle_time, "processor s", RAN, _NAMED, needs_machine=True, of_machine=True
    ),
    Metric(
        machine.mean_busy_processors,
        "processors",
        RAN,
        f"{_MADON} (there on windows)",
        of_machine=True,
    ),
    Metric(
        machine.utilisation,
        "1",
        RAN,
        f"{_STREIT}, eq. 3.6; {_ZAKAY}",
        ("UTIL",),
        needs_machine=True,
        of_machine=True,
    ),
    Metric(
        machine.utilisation_to_last_submission,
        "1",
        RAN,
        f"{_ZAKAY} (our reading)",
        needs_machine=True,
        of_machine=True,
    ),
    Metric(
        machine.loss_of_capacity,
        "1",
        RAN,
        f"{_STREIT}, eq. 3.7",
        ("LOC",),
        needs_machine=True,
        of_machine=True,
    ),
    Metric(machine.throughput_per_hour, "jobs/h", RAN, f"{_SHMUELI}; {_NAMED}"),
    Metric(machine.mean_queue_length, "jobs", RAN, f"{_ZAKAY}, chapter 4 (there the distribution)"),
    # Users
    Metric(users.sessions_per_user, "sessions", OF_USERS, _ARRIVAL),
    Metric(users.jobs_per_session_arrival_60, "jobs", OF_USERS, _ARRIVAL),
    Metric(users.jobs_per_session_think_20, "jobs", OF_USERS, _SHMUELI),
    Metric(users.mean_session_length_arrival_60, "s", OF_USERS, _ARRIVAL),
    Metric(users.mean_activity_length, "s", OF_USERS, _ZAKAY),
    Metric(users.active_weeks_per_user, "weeks", OF_USERS, f"{_ZAKAY}, chapter 5"),
    Metric(users.throughput_per_user, "jobs/h", OF_USERS, f"{_ZAKAY}, chapter 6"),
    # Users who stop at a horizon; too many users
    Metric(
        machine.throughput_to_last_submission,
        "jobs/h",
        RAN,
        f"{_ZAKAY}, chapter 5 (our reading)",
    ),
    Metric(saturation.backlog_growth, "jobs/week", RAN, f"{_ZAKAY}, chapter 3", of_machine=True),
)

METRICS: dict[str, Metric] = {metric.compute.__name__: metric for metric in _ALL}

_PER_USER = ("mean_waiting_time", "mean_lateness", "relative_lateness", "additional_lateness")


def overall(table: JobTable) -> dict[str, float | int | None]:
    """Return every metric of the whole table, None where it is not defined, and the counts.

    Counts and metrics are over :attr:`JobTable.only_measured`, those of the machine over all jobs.
    """
    rows = table.only_measured
    ran = int(rows.ran.sum())
    counts = (len(rows.submit), ran, len(rows.submit) - ran)
    values: dict[str, float | int | None] = dict(zip(COUNTS, counts, strict=True))
    return values | {name: metric.value(table) for name, metric in METRICS.items()}


def per_user(
    table: JobTable, names: Sequence[str] = _PER_USER
) -> dict[str, dict[str, float | int | None]]:
    """Return metrics of each user's own jobs, by user in order of first appearance.

    All are over :attr:`JobTable.only_measured`: none is about the machine as a whole.
    """
    table = table.only_measured
    rows: dict[str, list[int]] = {}
    for row, user in enumerate(table.user):
        rows.setdefault(user, []).append(row)
    rows.pop("", None)
    result = {}
    for user, own in rows.items():
        part = table.select(np.asarray(own))
        ran = int(part.ran.sum())
        values: dict[str, float | int | None] = {"nb_jobs": len(own), "nb_ran": ran}
        result[user] = values | {name: METRICS[name].value(part) for name in names}
    return result
