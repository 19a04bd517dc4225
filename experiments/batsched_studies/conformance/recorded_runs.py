"""Recorded runs of batsched and pybatsim compared with the most similar of our policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from batsched_py import metrics
from batsched_py.decision_process import DecisionProcess
from batsched_py.plugins.plugins import SCHEDULERS, load, make
from batsched_py.protocol import messages as m
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.results.jobs_file import read_jobs
from batsched_py.run.simulate import simulate
from batsched_py.transport import Partner
from batsched_py.transport.conversation import Conversation
from batsched_py.transport.exchange_replay import Turn, find_first_difference, read_turns
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_studies.conformance import published_schedules
from batsched_studies.filled_page import Row


@dataclass(frozen=True)
class Comparison:
    """A recorded run, our policy, and why the two differ (a name in ``CAUSES``)."""

    run: str
    policy: str
    """A name, or ``file.py:Class`` of this folder."""
    cause: str = ""
    label: str = ""
    """The policy as the table has it; its name if empty."""
    options: dict[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds by which estimates are longer than the walltimes."""
    without: str | None = None
    """A field of the recorded EXECUTE_JOB that is not compared."""

    @property
    def scheduler(self) -> str:
        """The policy as the option ``--scheduler`` expects it: a name, or ``FILE.py:CLASS``."""
        in_a_file = ".py:" in self.policy
        return str(Path(__file__).parent / self.policy) if in_a_file else self.policy


RUNS = [Comparison(**compared) for compared in published_schedules.COMPARISONS["recorded"]["runs"]]
"""The runs that one of our policies can repeat, in the order of the table."""


def find_folder(shared: Path, run: str) -> Path:
    """Return the folder of a recorded run."""
    return shared / "batsim_transcripts" / run


def read_exchange(shared: Path, run: str, without: str | None = None) -> list[Turn]:
    """Read the recorded messages and replies; ``without`` is a field of EXECUTE_JOB to ignore."""
    turns = read_turns(find_folder(shared, run) / "exchange.jsonl")
    if without is not None:
        for turn in turns:
            for event in turn.reply.events if turn.reply else ():
                if isinstance(event, m.ExecuteJob):
                    setattr(event, without, None)
    return turns


def count_equal_replies(shared: Path, comparison: Comparison) -> tuple[int, int]:
    """Return how many replies are equal before the first difference, and the number of replies."""
    recorded = read_exchange(shared, comparison.run, comparison.without)

    def scheduler(_: m.SimulationBegins) -> Partner:
        kind = load(SCHEDULERS, comparison.scheduler)
        policy = make(kind, comparison.scheduler, (), comparison.options)
        return DecisionProcess(policy, six_decimals=True).answer

    difference = find_first_difference(recorded, Conversation(scheduler))
    if difference is None:
        return len(recorded), len(recorded)
    return [turn.n for turn in recorded].index(difference.n), len(recorded)


def read_recorded_schedule(shared: Path, run: str) -> published_schedules.Schedule:
    """Read the schedule that the recorded scheduler made, without rejected jobs."""
    table = read_jobs(find_folder(shared, run) / "out_jobs.csv")
    values = metrics.overall(table.only_ran)
    starts = zip(table.text_column("job_id"), table.start.tolist(), table.ran, strict=True)
    return published_schedules.Schedule(
        starts={job: start for job, start, ran in starts if ran},
        mean_wait=values["mean_waiting_time"] or 0.0,
        slowdown=values["mean_bounded_slowdown"] or 0.0,
        makespan=values["makespan"] or 0.0,
    )


def simulate_recorded_run(shared: Path, comparison: Comparison) -> published_schedules.Schedule:
    """Simulate the workload of a recorded run under our policy, and return the schedule."""
    source = find_folder(shared, comparison.run)
    workload = load_workload(source / "workload0.json", make_rules())
    for job in workload.jobs if comparison.delay else ():
        assert job.walltime is not None
        job.estimate = job.walltime + comparison.delay
    result = simulate(
        workload,
        platform=next(source.glob("*.xml")),
        scheduler=comparison.scheduler,
        scheduler_options=comparison.options,
    )
    assert isinstance(result.output, EmbeddedOutput)
    return published_schedules.make_schedule(result.output)


HEADER = (
    *("run", "policy", "equal_replies", "replies", "recorded_mean_wait_s", "mean_wait_s"),
    *("recorded_mean_bounded_slowdown", "mean_bounded_slowdown", "identical_starts_percent"),
    *("other_starts", "first_other_start", "cause"),
)
"""The columns of the table of recorded runs."""


def make_row(shared: Path, comparison: Comparison) -> Row:
    """Return the cells that compare a recorded run with our policy."""
    theirs = read_recorded_schedule(shared, comparison.run)
    ours = simulate_recorded_run(shared, comparison)
    different = published_schedules.find_different_starts(theirs, ours)
    return (
        *(comparison.run, comparison.label or comparison.policy),
        *(("", "") if comparison.delay else count_equal_replies(shared, comparison)),
        *(f"{schedule.mean_wait:.2f}" for schedule in (theirs, ours)),
        *(f"{schedule.slowdown:.4f}" for schedule in (theirs, ours)),
        *(published_schedules.format_share(theirs, different), len(different)),
        published_schedules.describe_first_difference(theirs, ours, different, "g"),
        published_schedules.CAUSES.get(comparison.cause, ""),
    )


def make_rows(shared: Path) -> list[Row]:
    """Return a row for each recorded run that one of our policies can repeat."""
    return [make_row(shared, comparison) for comparison in RUNS]


def count_contiguous_jobs(shared: Path, run: str) -> tuple[int, int]:
    """Return how many jobs of a recorded run got adjacent processors, and how many jobs ran."""
    places = read_jobs(find_folder(shared, run) / "out_jobs.csv").text_column("allocated_resources")
    ran = [place for place in places if place]
    return sum(" " not in place for place in ran), len(ran)
