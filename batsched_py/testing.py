"""Tests a policy with small schedules that are drawn as text.

A drawing shows everything: what is submitted, and what is expected::

    from batsched_py.testing import assert_drawing

    def test_a_short_job_overtakes():
        assert_drawing(
            MyPolicy(),
            '''
                |0    5    10   15
            A 3 |##########
            B 4 | .........#####
            C 1 |  ########
            ''',
            processors=4,
        )

A row is a job: its name, its number of processors, and behind ``|`` a character per second (or per
``seconds_per_column``): a space before its submission, ``.`` while it waits, ``#`` while it runs,
then ``-`` for what is left of its walltime; ``~`` there means that it has no walltime, ``x`` that
the policy rejects it, ``w`` that its user withdraws it then. Behind ``w`` may be ``#``, ``-`` and
``~``, as if it ran. A row without a name is a scale for the eye. Jobs that are submitted at the
same time come in the order of their names::

    A 3 |##########
    B 4 | ....w####
    C 1 |  ########

Processors that were switched have rows that begin with ``@``, those of equal history a common one:
``z`` is asleep, ``s`` being switched off or on. Here B waits until two of three have been woken::

    A 1 |####
    B 2 |         ...##
    @0  |    szzzzsss
    @1  |szzzzzzzzsss
    @2  |szzzzzzzzzzzzz

For longer schedules there are :class:`DrawnJob`, :func:`workload`, :func:`run` and :func:`starts`,
and :func:`check_machine` for drawn (random) ones. Nothing here needs pytest.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from textwrap import dedent
from typing import Any, NamedTuple

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import UsageError
from batsched_py.model.policy import Scheduler, may_dilate
from batsched_py.model.user_model import EndedJob, UserModel, Withdraw
from batsched_py.options.option_values import one_of
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.protocol.batsim_jobs_columns import NEVER_RAN, REJECTED, WITHDRAWN
from batsched_py.results.machine_power import find_spells
from batsched_py.schedulers.shutdown.rules import make_rule
from batsched_py.schedulers.shutdown.settings import parse_power, parse_shutdown
from batsched_py.simulator.ended_jobs import merge_forms
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.jobs import SimulatedJob
from batsched_py.simulator.platform.hosts import add_pstates, make_grid, make_homogeneous
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.grid_sites import HOME, nb_processors, parse_sites
from batsched_py.workload.processor_power import PowerGroup
from batsched_py.workload.workload import REFERENCE_SPEED

__all__ = [
    "DrawnJob",
    "assert_drawing",
    "check_machine",
    "drawing",
    "run",
    "starts",
    "workload",
]

_ROW = re.compile(r" *(?P<name>\S*) +(?P<size>\d+) *\|(?P<line>.*)")
_LINE = re.compile(
    r"(?P<before> *)(?P<waits>\.*)(?:(?P<sign>[xw])|(?P<withdrawn>w?)(?P<runs>#+)(?P<rest>-*|~)) *"
)
_SIGNS = {"asleep": "z", "switching_off": "s", "switching_on": "s"}
_STARTS, _IS_REJECTED, _IS_WITHDRAWN = "starts", "is rejected", "is withdrawn"
Fate = tuple[str, float | None]
"""What happens to a waiting job, and when (seconds; None: at any time)."""


class DrawnJob(NamedTuple):
    """A job: submission, size, run time, and walltime (default: the run time; None: no limit).

    Times are in seconds. ``finish`` is the recorded end, for user models; ``home`` is the name of
    a site.
    """

    submit: float
    size: int
    run: float
    walltime: float | None = -1
    user: str | None = None
    finish: float | None = None
    home: str | None = None


def workload(
    jobs: Sequence[DrawnJob],
    processors: int,
    profile: str = "parallel_homogeneous",
    names: Sequence[str] = (),
) -> Workload:
    """Return the jobs as a workload for a machine of ``processors`` processors.

    Their ids are ``names``, or 0000, 0001, ... in the order given. ``profile`` is the Batsim type
    of their profiles, ``parallel_homogeneous`` or ``delay`` (a job of run time 0 has the former);
    raises :class:`UsageError` for any other.
    """
    one_of("profile", profile, ("parallel_homogeneous", "delay"))
    made, profiles = [], {}
    for number, job in enumerate(jobs):
        content: dict[str, Any] = {"type": profile, "delay": job.run}
        if profile != "delay" or not job.run:
            content = {"type": "parallel_homogeneous", "cpu": job.run * REFERENCE_SPEED, "com": 0}
        profiles[f"r{job.run}"] = content
        walltime = job.run if job.walltime == -1 else job.walltime
        made.append(
            WorkloadJob(
                id=names[number] if names else f"{number:04d}",
                submit_time=job.submit,
                size=job.size,
                profile=f"r{job.run}",
                walltime=walltime or None,
                user=job.user,
                finish_time=job.finish,
                extra={} if job.home is None else {HOME: job.home},
            )
        )
    return Workload(name="test", nb_res=processors, jobs=made, profiles=profiles)


def run(
    load: Workload,
    scheduler: Scheduler,
    users: UserModel | None = None,
    speed: float = 1.0,
    shake: int | None = None,
    each_event: bool = False,
    sites: str | None = None,
    power: str | None = None,
    shutdown: str | None = None,
) -> Outcome:
    """Simulate ``load`` on its machine, or on the ``sites``, such as ``west:96,east:128@1.5``.

    With ``users`` their jobs run instead of the workload's. ``speed`` multiplies that of the
    processors; ``shake`` and all others are those of :func:`batsched_py.simulate`, where the sites
    have as many processors as the machine of ``load``.
    """
    parts = () if sites is None else parse_sites(sites)
    options = Options(
        dynamic_jobs=users is not None or may_dilate(scheduler, parts),
        profile_reuse=True,
        shake=shake,
        each_event=each_event,
        switching=power is not None,
    )
    if parts and nb_processors(parts) != load.nb_res:
        raise UsageError(
            f"sites {sites}: {nb_processors(parts)} processors, but the workload is for "
            f"{load.nb_res}"
        )
    machine = make_grid(parts, speed) if parts else make_homogeneous(load.nb_res, speed)
    each, rule = parse_power(power), parse_shutdown(shutdown)
    switching = rule and make_rule(rule)
    groups = () if each is None else (PowerGroup(ProcessorSet.interval(0, load.nb_res), each),)
    simulator = Simulator(add_pstates(machine, groups), [load] if users is None else [], options)
    process = DecisionProcess(
        scheduler, users, sites=parts, speed_factor=speed, power=groups, shutdown=switching
    )
    outcome = simulator.run(process.answer)
    if (sleepers := process.machine.sleepers) is not None:
        outcome.changes = sleepers.changes
    return outcome


def starts(outcome: Outcome) -> list[float | None]:
    """Return the start times (seconds) in the order of the job ids, None for a job without one."""
    return [time if what == _STARTS else None for what, time in map(_find_fate, _by_id(outcome))]


def check_machine(outcome: Outcome) -> None:
    """Assert that every job that ran was alone on its processors, after its submission."""
    ran = [job for job in outcome.jobs if job.final_state not in NEVER_RAN]
    for job in ran:
        assert len(job.alloc) == job.description.size
        assert job.alloc.bounds[-1] <= outcome.nb_processors
        assert job.start_time >= job.description.submit_time
        for other in ran:
            together = job.start_time < other.finish_time and other.start_time < job.finish_time
            assert job is other or not together or not job.alloc & other.alloc, (job, other)


def assert_drawing(
    scheduler: Scheduler,
    expected: str,
    *,
    processors: int,
    seconds_per_column: float = 1.0,
    **options: Any,
) -> None:
    """Run the jobs of a drawing under ``scheduler``; assert that it gives the drawn schedule.

    Options of :func:`run` may follow. Raises :class:`AssertionError` with both drawings and the
    starts that differ, and :class:`UsageError` for a text that is not a drawing.
    """
    lines = [line for line in dedent(expected).splitlines() if line.strip()]
    scales = [line for line in lines if line.lstrip()[0] == "|"]  # lines without a job
    sleep = [line for line in lines if line.lstrip()[0] == "@"]
    rows = [_read(line, seconds_per_column) for line in lines if line not in (*scales, *sleep)]
    if not rows:
        raise UsageError("the drawing has no rows: expected at least one, such as 'A 3 | ..####--'")
    names = [name for name, _, _ in rows]
    load = workload([job for _, job, _ in rows], processors, names=names)
    withdrawals = {name: time for name, _, (what, time) in rows if what == _IS_WITHDRAWN}
    users = _DrawnUsers(load, withdrawals) if withdrawals else None
    outcome = run(load, scheduler, users, **options)
    got = dict(zip(sorted(names), map(_find_fate, _by_id(outcome)), strict=True))
    wrong = [
        f"{name} {_describe(got[name])}, expected: {_describe(fate)}"
        for name, _, fate in rows
        if got[name] != fate
    ]
    drawn = dict(_draw_rows(outcome, seconds_per_column))
    for line in sleep:
        label, _, signs = line.strip().partition("|")
        if (shown := drawn.get(label.strip(), "").partition("|")[2]) != signs:
            wrong.append(f"{label.strip()} is {shown!r}, expected: {signs!r}")
    if wrong:
        raise AssertionError(
            "\n".join(
                (
                    f"{type(scheduler).__name__} gives another schedule on {processors} processors",
                    "expected:",
                    *lines,
                    "got:",
                    *scales,
                    *(drawn.pop(name) for name in names),
                    *drawn.values(),
                    *wrong,
                )
            )
        )


def drawing(outcome: Outcome, seconds_per_column: float = 1.0) -> str:
    """Draw a schedule, times rounded to columns: jobs in the order of their ids, then sleep."""
    return "\n".join(row for _, row in _draw_rows(outcome, seconds_per_column))


def _draw_rows(outcome: Outcome, seconds: float) -> list[tuple[str, str]]:
    """Return the names of jobs, and of processors that were switched, each with its row."""
    jobs = _by_id(outcome)
    names = [job.description.id.rpartition("!")[2] for job in jobs]
    width = max(map(len, names), default=0)
    digits = max((len(str(job.description.size)) for job in jobs), default=0)
    rows = [
        (name, f"{name:{width}} {job.description.size:{digits}} |{_line(job, seconds)}")
        for name, job in zip(names, jobs, strict=True)
    ]
    lines: dict[int, str] = {}
    for begin, end, processors, state in find_spells(outcome.changes, outcome.end):
        first, last = round(begin / seconds), round(end / seconds)
        for number in processors:
            lines[number] = f"{lines.get(number, ''):{first}}{_SIGNS[state] * (last - first)}"
    alike: dict[str, list[int]] = {}
    for number, line in sorted(lines.items()):
        alike.setdefault(line, []).append(number)
    for line, same in alike.items():
        label = f"@{to_text(ProcessorSet.of(same))}"
        rows.append((label, f"{label:{width + digits + 1}} |{line}"))
    return rows


class _DrawnUsers:
    """Users who submit the jobs of a drawing and withdraw some of them, at the drawn times."""

    def __init__(self, load: Workload, withdrawals: Mapping[str, float | None]) -> None:
        self.profiles = load.profiles
        jobs = sorted(load.jobs, key=lambda job: (job.submit_time, job.id))
        acts: list[tuple[float, WorkloadJob | Withdraw]] = [(job.submit_time, job) for job in jobs]
        acts += [(time or 0.0, Withdraw(name)) for name, time in withdrawals.items()]
        self._acts = deque(sorted(acts, key=lambda act: act[0]))

    def next_submission(self) -> float:
        return self._acts[0][0] if self._acts else inf

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        while self.next_submission() <= now:
            yield self._acts.popleft()[1]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        pass


def _by_id(outcome: Outcome) -> list[SimulatedJob]:
    return sorted(merge_forms(outcome.jobs), key=lambda job: job.description.id)


def _find_fate(job: SimulatedJob) -> Fate:
    if job.final_state == REJECTED:
        return _IS_REJECTED, None
    if job.final_state == WITHDRAWN:
        return _IS_WITHDRAWN, job.finish_time
    return _STARTS, job.start_time


def _line(job: SimulatedJob, seconds: float) -> str:
    wanted = job.description
    sign = {REJECTED: "x", WITHDRAWN: "w"}.get(job.final_state, "")
    start = job.finish_time if sign else job.start_time
    limit = job.finish_time if wanted.walltime is None else start + wanted.walltime
    submit, begin, end, latest = (
        round(time / seconds) for time in (wanted.submit_time, start, job.finish_time, limit)
    )
    waits = " " * submit + "." * (begin - submit)
    rest = "~" if wanted.walltime is None else "-" * (latest - end)
    return f"{waits}{sign}" if sign else f"{waits}{'#' * (end - begin)}{rest}"


def _read(row: str, seconds: float) -> tuple[str, DrawnJob, Fate]:
    """Return name and job of a row, and what should happen to it."""
    job = _ROW.fullmatch(row)
    line = _LINE.fullmatch(job["line"]) if job else None
    if job is None or line is None:
        raise UsageError(
            f"{row!r} is not a row of a drawing: expected a row such as 'A 3 | ..####--'"
        )
    submit = len(line["before"]) * seconds
    left = submit + len(line["waits"]) * seconds
    drawn = DrawnJob(submit, int(job["size"]), seconds)
    if line["sign"] == "x":
        return job["name"], drawn, (_IS_REJECTED, None)
    if line["sign"] == "w":
        return job["name"], drawn, (_IS_WITHDRAWN, left)
    run_time = len(line["runs"]) * seconds
    walltime = None if line["rest"] == "~" else run_time + len(line["rest"]) * seconds
    drawn = drawn._replace(run=run_time, walltime=walltime)
    return job["name"], drawn, (_IS_WITHDRAWN if line["withdrawn"] else _STARTS, left)


def _describe(fate: Fate) -> str:
    what, time = fate
    return what if time is None else f"{what} at {time:.15g} s"
