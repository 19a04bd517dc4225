"""What simulations and campaigns leave, and others read: tables and descriptions."""

from __future__ import annotations

import shutil
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.campaign_folder import Stored, StoredRun, open_results
from batsched_py.errors import InputError, UsageError
from batsched_py.protocol.batsim_jobs_columns import JOBS_COLUMNS
from batsched_py.results.whole_run import TABLES, NamedFile, add_seal
from batsched_py.run.result import Result
from batsched_py.run.simulate import simulate
from fuzz.contract import Target, reasons, refusing, same
from fuzz.targets.small_inputs import jobs


@cache
def _run() -> dict[str, bytes]:
    """Return the files of a small run by the end of their name."""
    with TemporaryDirectory() as folder:
        paths = simulate(jobs(), progress=False).write(Path(folder, "out"))
        return {path.name.removeprefix("out_"): path.read_bytes() for path in paths}


def _load(data: bytes, name: str) -> str:
    """What is read of a run of which one file is ``data`` has metrics, and is the same written.

    It is read as one of Batsim, if ``data`` is not its description.
    """
    for end, content in _run().items():
        Path(f"out_{end}").write_bytes(data if end == name else content)
    if name != "run.json":
        Path("out_run.json").unlink()
    Path("out_schedule.json").unlink(missing_ok=True)
    if name == "schedule.json":
        Path("out_schedule.csv").rename("out_schedule.json")
        Path("out_schedule.json").write_bytes(data)
    with refusing(UsageError, f"out_{name}"), refusing(InputError, f"out_{name}"):
        result = Result.load("out")
        nb_jobs = len(result.table.submit)
        assert isinstance(repr(result), str)
        metrics = result.metrics
        result.write("again")
    assert len(metrics), "no metrics"
    same(nb_jobs, len(Result.load("again").table.submit), "jobs")
    return ""


_BATSIM5_JOBS = f"""{JOBS_COLUMNS}
15,w0,w0!d,0.000000,2,20.000000,0,REJECTED,,,,,,,,,
1,w0,w0!d,0.0,2,20.0,1,COMPLETED_SUCCESSFULLY,1.0,9.0,10.0,1.0,10.0,1.1,0-1,-1.0,
w0:15,placed,placed!w0:d*1.5+4.0,0.0,2,-1.0,1,COMPLETED_KILLED,2.0,9.0,11.0,2.0,11.0,1.2,2,0.0,
"""
_BATSIM5_SUMMARY = b"""{"batsim_version": "v5.0.0-rc2", "consumed_joules": 0.000000,
"makespan": 11.000000, "mean_slowdown": 1.000000, "nb_computing_machines": 4, "nb_jobs": 3}"""


def check_description(data: bytes) -> str:
    """The description of a run that is damaged is refused; one that somebody has made up and sealed
    fits what it describes, or is refused too."""
    _load(_run()["run.json"], "run.json")
    files = {name: NamedFile.at(Path(f"out{name}")) for name in TABLES}
    return reasons(partial(_load, name="run.json"), (data, add_seal(data, files)))


@cache
def _campaign() -> bytes:
    """Return a small ``campaign.json``, of one run."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "campaign.toml")
        path.write_text('[run]\nlog = "sample"\n')
        (planned,) = read_campaign(path).runs
    stored = Stored(
        name="c",
        title="A campaign",
        file="campaign.toml",
        report=None,
        keep="jobs",
        provenance={"version": "1"},
        runs=[StoredRun(planned=planned, folder="runs/0", input="sample", command=["a", "b"])],
    )
    return msgspec.json.encode(stored)


@cache
def _finished_run() -> dict[str, bytes]:
    """Return the files of the run of that campaign."""
    result = simulate(jobs(), progress=False)
    provenance = {"provenance": {"version": "1", "hash": "0"}}
    names = dict(zip(TABLES, ("jobs.csv", "schedule.csv"), strict=True))
    files = {name: NamedFile.of(_run()[end]) for name, end in names.items()}
    return {**_run(), "run.json": add_seal(result.run_json(provenance), files)}


def check_campaign(data: bytes) -> str:
    """The runs of a campaign that is read make a table."""
    folder = Path("campaign/runs/0")
    folder.mkdir(parents=True, exist_ok=True)
    for end, content in _finished_run().items():
        (folder / f"out_{end}").write_bytes(content)
    try:
        contents = (data,) if b'"sha256"' in data else (data, add_seal(data))
        return reasons(_open_campaign, contents)
    finally:
        shutil.rmtree("campaign")


def _open_campaign(data: bytes) -> str:
    Path("campaign/campaign.json").write_bytes(data)
    with refusing(UsageError, "campaign"), refusing(InputError, "campaign"):
        results = open_results("campaign")
        assert len(results.runs) <= results.nb_planned, "more runs than planned"
        assert results.axes is not None
        assert results.failures is not None
    return ""


_COLUMNS = ("measured", "0-3000000000", "home", "-nan", "nb_computing_machines")
_KEYS = ("planned", "labels", "settings", "provenance", "keep", "report", "time_zone")

TARGETS = (
    Target(
        "jobs_csv",
        lambda: [_run()["jobs.csv"], _BATSIM5_JOBS.encode()],
        partial(_load, name="jobs.csv"),
        _COLUMNS,
    ),
    Target(
        "schedule_json",
        lambda: [_BATSIM5_SUMMARY],
        partial(_load, name="schedule.json"),
        _COLUMNS,
    ),
    Target(
        "schedule_csv",
        lambda: [_run()["schedule.csv"]],
        partial(_load, name="schedule.csv"),
        _COLUMNS,
    ),
    Target("run_json", lambda: [_run()["run.json"]], check_description, _KEYS),
    Target("campaign_json", lambda: [_campaign(), add_seal(_campaign())], check_campaign, _KEYS),
)
