"""The page docs/validation/shutdown.md: joules, waits and switches of batsched and of our rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from batsched_py import Workload, simulate
from batsched_py.files.readers import csv_rows, read_text
from batsched_py.workload.batsim.batsim_workload import read_workload
from batsched_studies.filled_page import DOCS, WrittenPage, fill_template, format_lines

PAGE = DOCS / "validation" / "shutdown.md"
DATA = "shutdown"
POWER = (
    "idle_watts=95,computing_watts=190.738,asleep_watts=9.75,off_seconds=6.1,off_joules=616,"
    "on_seconds=151.52,on_joules=18967"
)
"""The host of Batsim's energy_platform_homogeneous_no_net_128.xml."""
PERIOD = "period=300"
INERTIAL = f"rule=inertial,{PERIOD},growth=one,load_bound=500"
ONE_JOB = """
[[nodes]]
count = 24
[[partitions]]
name = "all"
max_running_jobs_per_user = 1
"""
"""A machine file with which one job runs at a time, as under batsched's ``sleeper``."""


class Compared(NamedTuple):
    """A variant of batsched, and what comes nearest to it here."""

    variant: str
    folder: str
    scheduler: str
    shutdown: str | None
    here: str = ""
    """Ours in words."""


VARIANTS = [
    Compared("easy_bf", "s_easy", "easy", None),
    Compared("opportunistic", "s_opp", "easy", f"idle_time=0,{PERIOD}", "T = 0"),
    Compared("inertial", "s_inertial", "easy", INERTIAL, "inertial"),
    Compared(
        "inertial, T = 0", "s_inertial_os", "easy", f"{INERTIAL},idle_time=0", "inertial, T = 0"
    ),
    Compared(
        "proportional", "s_prop", "easy", f"rule=proportional,{PERIOD},awake=8", "proportional"
    ),
    Compared("energy_bf", "s_bf", "conservative", "idle_time=0", "T = 0"),
    Compared("sleeper", "s_sleeper", "fcfs", "idle_time=0", "T = 0"),
]


class Numbers(NamedTuple):
    """What a schedule costs."""

    megajoules: float
    wait: float
    """Mean of the jobs that ran (seconds)."""
    switches: int
    """Of single machines."""


def read_peer(folder: Path) -> Numbers:
    """Return what Batsim's tables have for a variant of batsched.

    Batsim's own mean wait has the rejected jobs in it, as zeros.
    """
    (summary,) = _read_table(folder / "o_schedule.csv")
    waits = [
        float(job["waiting_time"])
        for job in _read_table(folder / "o_jobs.csv")
        if job["allocated_resources"]
    ]
    switches, joules = int(summary["nb_machine_switches"]), float(summary["consumed_joules"])
    return Numbers(joules / 1e6, sum(waits) / len(waits), switches)


def _read_table(path: Path) -> list[dict[str, str]]:
    header, *rows = csv_rows(read_text(path).splitlines(), path)
    return [dict(zip(header, row, strict=True)) for row in rows]


def read_jobs(path: Path) -> Workload:
    """Return batsched's workload; its first job comes at 0, where its periods begin.

    batsched plans each job 5 s longer than its walltime.
    """
    load = read_workload(path)
    first = min(job.submit_time for job in load.jobs)
    for job in load.jobs:
        job.submit_time -= first
        job.walltime = (job.walltime or 0.0) + 5
    return load


def simulate_as(compared: Compared, jobs: Workload) -> Numbers:
    """Return what the same jobs cost with the rule that comes nearest."""
    with TemporaryDirectory() as folder:
        machine = Path(folder, "one_job.toml")
        machine.write_text(ONE_JOB)
        options: dict[str, Any] = {"machine": machine} if compared.variant == "sleeper" else {}
        result = simulate(
            jobs.copy(),
            scheduler=compared.scheduler,
            power=POWER,
            shutdown=compared.shutdown,
            speed_factor=0.1,  # Batsim's hosts have 100 Mflop/s
            progress=False,
            **options or {"nodes": 24},
        )
    metrics = result.metrics
    joules, wait = metrics["energy"], metrics["mean_waiting_time"]
    return Numbers(joules / 1e6, wait, int(metrics["nb_switches"]))


def compare(shared: Path) -> dict[str, tuple[Numbers, Numbers]]:
    """Return the numbers of batsched and ours by variant."""
    peers = shared / "power_cases" / "peers"
    jobs = read_jobs(peers / "energy_small.json")
    return {
        each.variant: (read_peer(peers / each.folder), simulate_as(each, jobs)) for each in VARIANTS
    }


def make_page(numbers: Mapping[str, tuple[Numbers, Numbers]]) -> WrittenPage:
    """Return the page with its data."""
    lines, rows = [], []
    for each in VARIANTS:
        both = numbers[each.variant]
        ours = f"`{each.scheduler}`" + (f", {each.here}" if each.here else "")
        cells = (
            f"{a:,.{digits}f} / {b:,.{digits}f}"
            for a, b, digits in zip(*both, (2, 0, 0), strict=True)
        )
        lines.append((each.variant, ours, *cells))
        rows += [
            (each.variant, who, *some) for who, some in zip(("batsched", "here"), both, strict=True)
        ]
    header = ("variant", "program", "megajoules", "mean wait (s)", "switches")
    text = fill_template(Path(__file__).with_name("template.md"), {"table": format_lines(lines)})
    return WrittenPage(text, {DATA: [header, *rows]})
