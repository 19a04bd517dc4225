"""Recorded runs of batsched and pybatsim against our nearest policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from batsched_py import metrics
from batsched_py.decision_process import DecisionProcess
from batsched_py.protocol import messages as m
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.results.jobs_file import read_jobs
from batsched_py.run.simulate import simulate
from batsched_py.support.plugins import SCHEDULERS, load, make
from batsched_py.transport import Partner
from batsched_py.transport.conversation import Conversation
from batsched_py.transport.exchange_replay import first_difference, pairs
from batsched_py.transport.recording import Record, read_exchange
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_studies.conformance.published_schedules import (
    Schedule,
    differing,
    first_other,
    of_output,
    share,
)
from batsched_studies.filled_page import line

TWIN = f"{Path(__file__).parent / 'twins.py'}:ConservativeBySets"


@dataclass(frozen=True)
class Comparison:
    """A recorded run, our policy, and why the two differ."""

    run: str
    policy: str
    cause: str = ""
    label: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds by which estimates are longer than the walltimes."""
    without: str | None = None
    """A field of the recorded EXECUTE_JOB that is not compared."""

    @property
    def name(self) -> str:
        """The policy as the page writes it."""
        return self.label or f"`{self.policy}`"


BY_COUNT = "batsched plans processors by number, ours counts them; and it adds 5 s to walltimes"
CONTIGUOUS = (
    "pybatsim gives each job neighbouring processors: job 23 needs 8 and finds 0-1 and 10-15 "
)
CONTIGUOUS += "free. Whether this is all, we do not know"
MAPPING = "equal but for the field `mapping`, which batsched sends without need"
FIVE = "5 ms: the recorded scheduler takes them for each event; the order of starts is the same"
RANDOM300 = "40_random300_"
COMPARISONS = [
    Comparison("30_batsched_fcfs_small", "fcfs"),
    Comparison("30_batsched_fcfs_fast_small", "fcfs"),
    Comparison("30_batsched_easy_bf_small", "easy"),
    Comparison("30_batsched_easy_bf_fast_small", "easy_fixed"),
    Comparison("30_batsched_conservative_bf_small", "conservative"),
    Comparison("30_batsched_filler_small", "filler", MAPPING, without="mapping"),
    Comparison("31_pybatsim_easyBackfill_small", "easy"),
    Comparison("31_pybatsim_fillerSched_small", "filler", FIVE),
    Comparison(f"{RANDOM300}batsched_fcfs", "fcfs"),
    Comparison(f"{RANDOM300}batsched_fcfs_fast", "fcfs"),
    Comparison(f"{RANDOM300}batsched_easy_bf", "easy"),
    Comparison(
        f"{RANDOM300}batsched_easy_bf_fast", "easy",
        "batsched fixes the shadow time when the head is chosen, and has no extra nodes",
    ),
    Comparison(f"{RANDOM300}batsched_easy_bf_fast", "easy_fixed"),
    Comparison(f"{RANDOM300}batsched_filler", "filler", MAPPING, without="mapping"),
    Comparison(f"{RANDOM300}pybatsim_easyBackfill", "easy", CONTIGUOUS),
    Comparison(f"{RANDOM300}batsched_conservative_bf", "conservative", BY_COUNT),
    Comparison(
        f"{RANDOM300}batsched_conservative_bf", "conservative",
        "the processors by number are left", "`conservative`, walltimes 5 s longer", delay=5.0,
    ),
    Comparison(
        f"{RANDOM300}batsched_conservative_bf", TWIN, "the 5 s are left", "twin by number",
        {"delay": 0},
    ),
    Comparison(
        f"{RANDOM300}batsched_conservative_bf", TWIN, "", "twin by number, 5 s longer", {"delay": 5}
    ),
]  # fmt: skip
"""The runs with a counterpart, in the order of the page."""

NO_COUNTERPART = {
    "30_batsched_killer_small": "starts one job per message and kills it 10 s later",
    "30_batsched_killer2_small": "kills the running job at the next event, then starts another "
    "5 s later",
    "30_batsched_rejecter_small": "rejects every job",
    "30_batsched_sequencer_small": "one job at a time",
    "30_batsched_submitter": "submits jobs of its own",
}
"""Recorded runs whose scheduler tests Batsim; no policy of ours does the same."""


def folder(shared: Path, run: str) -> Path:
    """Return the folder of a recorded run."""
    return shared / "batsim_transcripts" / run


def exchange(shared: Path, run: str, without: str | None = None) -> list[tuple[Record, Record]]:
    """Return the recorded messages with their replies, ``without`` a field of EXECUTE_JOB."""
    found = pairs(read_exchange(folder(shared, run) / "exchange.jsonl"))
    if without is None:
        return found
    return [(message, _without(reply, without)) for message, reply in found]


def _without(reply: Record, name: str) -> Record:
    content = msgspec.json.decode(reply.raw)
    for event in content["events"]:
        if event["type"] == "EXECUTE_JOB":
            event["data"].pop(name, None)
    return Record(reply.n, reply.sender, msgspec.json.encode(content).decode())


def equal_replies(shared: Path, comparison: Comparison) -> tuple[int, int]:
    """Return how many replies are equal before the first that is not, and of how many."""
    recorded = exchange(shared, comparison.run, comparison.without)

    def scheduler(_: m.SimulationBegins) -> Partner:
        kind = load(SCHEDULERS, comparison.policy)
        policy = make(kind, comparison.policy, (), comparison.options)
        return DecisionProcess(policy, six_decimals=True).answer

    found = first_difference(recorded, Conversation(scheduler))
    if found is None:
        return len(recorded), len(recorded)
    return [message.n for message, _ in recorded].index(found.n), len(recorded)


def of_csv(path: Path) -> Schedule:
    """Return the schedule of a recorded ``jobs.csv``, without rejected jobs."""
    table = read_jobs(path)
    values = metrics.overall(table.only_ran)
    starts = zip(table.text_column("job_id"), table.start.tolist(), table.ran, strict=True)
    return Schedule(
        starts={job: start for job, start, ran in starts if ran},
        mean_wait=values["mean_waiting_time"] or 0.0,
        slowdown=values["mean_bounded_slowdown"] or 0.0,
        makespan=values["makespan"] or 0.0,
    )


def recorded_schedule(shared: Path, run: str) -> Schedule:
    """Return what the recorded scheduler did."""
    return of_csv(folder(shared, run) / "out_jobs.csv")


def our_schedule(shared: Path, comparison: Comparison) -> Schedule:
    """Simulate the input of a recorded run under our policy."""
    source = folder(shared, comparison.run)
    result = simulate(
        _workload(source / "workload0.json", comparison.delay),
        platform=next(source.glob("*.xml")),
        scheduler=comparison.policy,
        scheduler_options=comparison.options,
    )
    assert isinstance(result.output, EmbeddedOutput)
    return of_output(result.output)


def _workload(path: Path, delay: float) -> Workload:
    workload = load_workload(path, make_rules())
    for job in workload.jobs if delay else ():
        assert job.walltime is not None
        job.estimate = job.walltime + delay
    return workload


def row(shared: Path, comparison: Comparison) -> str:
    """Return the line of a comparison."""
    theirs = recorded_schedule(shared, comparison.run)
    ours = our_schedule(shared, comparison)
    different = differing(theirs, ours)
    return line(
        f"`{comparison.run}`",
        comparison.name,
        "" if comparison.delay else _said(*equal_replies(shared, comparison)),
        *(f"{schedule.mean_wait:.2f}" for schedule in (theirs, ours)),
        *(f"{schedule.slowdown:.4f}" for schedule in (theirs, ours)),
        share(theirs, different),
        len(different),
        first_other(theirs, ours, different, "g"),
        comparison.cause,
    )


def _said(equal: int, total: int) -> str:
    return f"all {total}" if equal == total else f"{equal} of {total}"


def table(shared: Path) -> list[str]:
    """Return the table of the recorded runs, a line each."""
    return [
        "| run | ours | equal replies | mean wait [s] | ours | mean bounded slowdown | ours "
        "| identical starts | others | first other start | cause |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---|---|",
        *(row(shared, comparison) for comparison in COMPARISONS),
    ]


def others(shared: Path) -> list[str]:
    """Return the table of the runs without a counterpart, a line each."""
    lines = ["| run | messages | what it does |", "|---|---:|---|"]
    for run, what in NO_COUNTERPART.items():
        lines.append(f"| `{run}` | {len(exchange(shared, run))} | {what} |")
    return lines


def in_one_block(shared: Path, run: str) -> tuple[int, int]:
    """Return how many jobs of a recorded run have neighbouring processors only, and of how many."""
    places = read_jobs(folder(shared, run) / "out_jobs.csv").text_column("allocated_resources")
    ran = [place for place in places if place]
    return sum(" " not in place for place in ran), len(ran)
