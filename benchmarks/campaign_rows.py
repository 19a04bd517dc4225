"""Rows of campaigns: a run in a worker that has had others, and a whole campaign with report."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle
from pathlib import Path

import floor
from measuring import Bench, Measured, child, cpu, our_command, row
from process_rows import by_the_floor

from batsched_py.campaign.campaign_options import CampaignOptions
from batsched_py.campaign.run_campaign import PlannedCampaign
from batsched_py.campaign.run_task import perform
from batsched_py.workload.logs.log_archive import find_log

RUN = """
name = "measured"
keep = "metrics"
replications = 3
[run]
log = "{log}"
scheduler = "easy"
users = "feedback"
"""
BOOTSTRAP = RUN + '"user_options.resampled" = true\n'
SHORT = '"user_options.long_weeks" = 3\n"user_options.edge_weeks" = 1\n'
"""For the sample log, which has two months."""
_folders = map("campaign-{}".format, count())


def in_a_campaign(bench: Bench, log: Path, text: str) -> Measured:
    """Measure a run of a campaign, after others, beside the floor's loop on the same log."""
    folder = bench.folder / next(_folders)
    folder.mkdir()
    file = folder / "measured.toml"
    file.write_text(text.format(log=log))
    runs = cycle(PlannedCampaign(file, CampaignOptions(out=str(folder / "out"))).runs)
    jobs = floor.read(log)
    perform(next(runs).task)  # what is read and compiled for the first one
    return bench.paired(
        lambda: cpu(lambda: floor.easy(jobs, floor.Scanned(jobs))),
        lambda: cpu(lambda: perform(next(runs).task)),
        lambda least, ours: f"{1e3 * ours:.0f} ms beside {1e3 * least:.0f}",
    )


@row("campaign-sample", "a run of the sample log in a campaign against the floor's loop", wanted=8)
def _(bench: Bench) -> Measured:
    return in_a_campaign(bench, find_log("sample"), RUN)


@row("campaign-bootstrap", "a resampled run in a campaign against the floor's loop", wanted=10)
def _(bench: Bench) -> Measured:
    short = SHORT if bench.log == find_log("sample") else ""
    return in_a_campaign(bench, bench.log, BOOTSTRAP + short)


def whole(bench: Bench) -> Callable[[], float]:
    """Return what runs the study `replay_feedback` with its report: 18 runs, 9 if it is quick."""
    options = ["--log", str(bench.log), "--jobs", "1", *(["--quick"] if bench.quick else [])]

    def run() -> float:
        out = bench.folder / next(_folders)
        return child(bench, our_command("campaign", "replay_feedback", *options, "-e", out)).seconds

    return run


@row("campaign-whole", "18 runs with their report against the floor's process", wanted=107)
def _(bench: Bench) -> Measured:
    return bench.paired(
        lambda: by_the_floor(bench, bench.log).seconds,
        whole(bench),
        lambda least, ours: f"{ours:.1f} s beside {least:.2f}",
        rounds=1,
    )
