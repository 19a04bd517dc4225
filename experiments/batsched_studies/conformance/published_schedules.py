"""Published schedules, job by job, compared with the schedules of our policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from batsched_py import metrics
from batsched_py.files.readers import read_toml
from batsched_py.protocol import messages as m
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.run.make_process import make_process
from batsched_py.run.stored_values import ProcessSettings
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.transport import Partner
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.swf import read_swf
from batsched_studies.filled_page import Row

LOGS = {"KTH-SP2": "KTH-SP2-1996-2", "SDSC-SP2": "SDSC-SP2-1998-4.1-cln"}
"""The published name of a log, and ours."""


class PassesOfPredictsim:
    """Runs a policy at the moments when the simulator predictsim would run it.

    It is between simulator and policy, and splits the message of an instant: one pass after every
    submission, then one after every end in the order of the starts. Jobs that end exactly at their
    estimate free their processors in the first pass, since predictsim's plan has them end there.
    """

    def __init__(self, answer: Partner) -> None:
        self._answer = answer
        self._estimates: dict[str, float] = {}
        self._expected: dict[str, float] = {}

    def __call__(self, message: m.Message) -> m.Message:
        """Return the policy's decisions on one message of the simulator."""
        decisions: list[Any] = []
        for part in self._parts(message):
            decisions += self._answer(m.Message(message.now, part)).events
        for decision in decisions:
            if type(decision) is m.ExecuteJob:
                estimate = self._estimates.pop(decision.job_id)
                self._expected[decision.job_id] = message.now + estimate
        return m.Message(message.now, decisions)

    def _parts(self, message: m.Message) -> list[list[m.Event]]:
        submitted = [event for event in message.events if type(event) is m.JobSubmitted]
        ended = [event for event in message.events if type(event) is m.JobCompleted]
        if not submitted and not ended:
            return [message.events]
        for event in submitted:
            self._estimates[event.job_id] = event.job.expected_run_time
        expected = {event.job_id: self._expected.pop(event.job_id) for event in ended}
        due = [event for event in ended if expected[event.job_id] == message.now]
        early = [event for event in ended if expected[event.job_id] != message.now]
        parts: list[list[m.Event]] = [[event] for event in [*submitted, *early]]
        if due and (submitted or ended[0] is not due[0]):
            parts[0] = [*due, *parts[0]]
        elif due:
            parts.insert(0, list(due))
        others = [event for event in message.events if event not in submitted + ended]
        parts[-1] += others
        return parts


PASSES = {"instant": "per instant", "event": "per event", "predictsim": "as predictsim"}
"""The moments at which a policy runs, and their names in the table."""


@dataclass(frozen=True)
class Variant:
    """A policy with its options, when it runs, and why it differs (a name in ``CAUSES``)."""

    policy: str
    options: dict[str, Any] = field(default_factory=dict)
    passes: str = "instant"
    cause: str = ""

    @property
    def label(self) -> str:
        """The policy and its options."""
        options = "".join(f" {key}={value}" for key, value in self.options.items())
        return f"{self.policy}{options}"


@dataclass
class Schedule:
    """The start of each job by its job number, and three metrics."""

    starts: dict[str, float]
    mean_wait: float
    slowdown: float
    makespan: float


COMPARISONS = read_toml(Path(__file__).with_name("comparisons.toml"))
CAUSES: dict[str, str] = COMPARISONS["causes"]
VARIANTS = {
    name: [Variant(**variant) for variant in variants]
    for name, variants in COMPARISONS["published"].items()
}
"""The compared policies by published file; the first one must have the same schedule."""


def read_published_schedule(shared: Path, site: str, name: str) -> Schedule:
    """Read the published schedule of a log under a policy."""
    log = read_swf(shared / "oracles" / "predictsim" / site / f"{name}.swf.gz")
    numbers = log.column("job_number").astype(int)
    submit, wait, run = (log.column(name) for name in ("submit_time", "wait_time", "run_time"))
    slowdown = np.maximum(1.0, (wait + run) / np.maximum(run, metrics.BOUND))
    return Schedule(
        starts=dict(zip(map(str, numbers), (submit + wait).tolist(), strict=True)),
        mean_wait=float(wait.mean()),
        slowdown=float(slowdown.mean()),
        makespan=float((submit + wait + run).max() - submit.min()),
    )


@cache
def _workload(path: Path, exact: bool) -> Workload:
    rules = make_rules("predictsim", walltime="exact" if exact else None)
    return load_workload(path, rules)


def simulate_variant(shared: Path, site: str, name: str, variant: Variant) -> Schedule:
    """Simulate the log of a published schedule under one of our policies."""
    workload = _workload(shared / "swf" / f"{LOGS[site]}.swf.gz", name.endswith("_exact"))
    process = make_process(
        ProcessSettings(scheduler=variant.policy, scheduler_options=dict(variant.options)), None
    )
    answer: Callable[[m.Message], m.Message] = process.answer
    if variant.passes == "predictsim":
        answer = PassesOfPredictsim(answer)
    options = Options(each_event=variant.passes == "event")
    simulator = Simulator(make_homogeneous(workload.nb_res), [workload], options)
    return make_schedule(EmbeddedOutput(simulator.run(answer)))


def make_schedule(output: EmbeddedOutput) -> Schedule:
    """Return the starts and the metrics of the jobs that ran in the embedded simulator."""
    table = output.table
    names = [job.description.id.partition("!")[2] for job in output.outcome.jobs]
    starts = zip(names, table.start.tolist(), strict=True)
    return Schedule(
        starts={name: start for name, start in starts if start == start},
        mean_wait=metrics.mean_waiting_time(table),
        slowdown=metrics.mean_bounded_slowdown(table),
        makespan=metrics.makespan(table),
    )


def find_different_starts(theirs: Schedule, ours: Schedule) -> list[str]:
    """Return the jobs with different starts in two schedules, by the earlier of both starts."""
    names = theirs.starts.keys() | ours.starts.keys()
    never = float("inf")

    def both(name: str) -> tuple[float, float]:
        return theirs.starts.get(name, never), ours.starts.get(name, never)

    different = [name for name in names if both(name)[0] != both(name)[1]]
    return sorted(different, key=lambda name: (min(both(name)), name))


def format_share(theirs: Schedule, different: list[str]) -> str:
    """Return the percentage of starts that are identical in both schedules, rounded down."""
    total = len(theirs.starts)
    same = total - len(different)
    return f"{same * 10_000 // total / 100:.2f}"


HEADER = (
    *("log", "schedule", "policy", "passes", "mean_wait_s", "mean_bounded_slowdown"),
    *("makespan_s", "identical_starts_percent", "other_starts", "first_other_start", "cause"),
)
"""The columns of the table of published schedules."""


def make_row(theirs: Schedule, ours: Schedule, variant: Variant) -> Row:
    """Return the cells that compare a policy with the published schedule."""
    different = find_different_starts(theirs, ours)
    return (
        *(variant.label, PASSES[variant.passes], *format_metrics(ours)),
        *(format_share(theirs, different), len(different)),
        describe_first_difference(theirs, ours, different, ".0f"),
        CAUSES.get(variant.cause, "") if different else "",
    )


def format_metrics(schedule: Schedule) -> Row:
    """Return the mean wait, the mean bounded slowdown and the makespan as text."""
    metrics_of = schedule.mean_wait, schedule.slowdown, schedule.makespan
    return tuple(f"{value:.{digits}f}" for value, digits in zip(metrics_of, (4, 6, 0), strict=True))


def describe_first_difference(
    theirs: Schedule, ours: Schedule, different: list[str], digits: str
) -> str:
    """Return the first job with different starts, and both starts (s); empty without such a job."""
    if not different:
        return ""
    name = different[0]
    return f"job {name}: {theirs.starts[name]:{digits}}, here {ours.starts[name]:{digits}}"


def make_rows(shared: Path, site: str, name: str) -> Iterator[Row]:
    """Yield the rows that compare our policies with one published schedule, which comes first."""
    theirs = read_published_schedule(shared, site, name)
    yield (site, name, "published", "", *format_metrics(theirs), "", "", "", "")
    for variant in VARIANTS[name]:
        yield site, name, *make_row(theirs, simulate_variant(shared, site, name, variant), variant)
