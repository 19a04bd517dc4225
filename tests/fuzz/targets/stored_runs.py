"""What simulations and campaigns leave, and others read: tables and descriptions."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from batsched_py.campaign.campaign_folder import open_results
from batsched_py.errors import InputError, UsageError
from batsched_py.protocol.batsim_jobs_columns import JOBS_COLUMNS
from batsched_py.protocol.own_job_fields import ADDED_COLUMNS
from batsched_py.results.whole_run import TABLES, NamedFile, add_seal
from batsched_py.run.result import Result
from batsched_py.run.simulate import simulate
from fuzz.contract import Target, each, refusing, same
from fuzz.targets.files import jobs
from helpers.campaigns import CampaignFolder

_JOBS_OF_5 = f"""{JOBS_COLUMNS}
15,w0,w0!d,0.000000,2,20.000000,0,REJECTED,,,,,,,,,
w0:15,placed,placed!w0:d*1.5+4.0,0.0,2,-1.0,1,COMPLETED_KILLED,2.0,9.0,11.0,2.0,11.0,1.2,2,0.0,
""".encode()
_WITHDRAWN = f"""{JOBS_COLUMNS},{",".join(ADDED_COLUMNS)},estimate,withdrawal_time
1,dyn,d,0.000000,2,-1.000000,0,WITHDRAWN,,,,7.000000,,,,,"",ann,,,,5.000000,7.000000
2,dyn,d,1.000000,2,20.000000,0,REJECTED,,,,,,,,,"",ann,,,,,3.000000
3,dyn,d,1.000000,2,20.000000,1,COMPLETED_SUCCESSFULLY,2.0,9.0,11.0,1.0,10.0,1.1,0-1,0.0,"",,,,,,
""".encode()
_SUMMARY_OF_5 = b"""{"batsim_version": "v5.0.0-rc2", "consumed_joules": 0.000000,
"makespan": 11.000000, "mean_slowdown": 1.000000, "nb_computing_machines": 4, "nb_jobs": 3}"""
_COLUMNS = "measured 0-3000000000 home -nan nb_computing_machines"
_KEYS = "planned labels settings provenance keep report time_zone"


@cache
def _run() -> dict[str, bytes]:
    """Return the files of a small run by the end of their name."""
    with TemporaryDirectory() as folder:
        paths = simulate(jobs(), progress=False).write(Path(folder, "out"))
        return {path.name.removeprefix("out_"): path.read_bytes() for path in paths}


def _load(data: bytes, name: str) -> None:
    """What is read of a run of which one file is ``data`` has metrics, and is the same written.

    It is read as one of Batsim, if ``data`` is not its description.
    """
    files = {**_run(), name: data}
    if name != "run.json":
        del files["run.json"]
    if name == "schedule.json":
        del files["schedule.csv"]
    for path in Path().glob("out_*"):
        path.unlink()
    for end, content in files.items():
        Path(f"out_{end}").write_bytes(content)
    with refusing(UsageError, f"out_{name}"), refusing(InputError, f"out_{name}"):
        result = Result.load("out")
        nb_jobs = len(result.table.submit)
        assert isinstance(repr(result), str)
        assert len(result.metrics), "no metrics"
        result.write("again")
    same(nb_jobs, len(Result.load("again").table.submit), "jobs")


def _check_description(data: bytes) -> None:
    """The description of a run that is damaged is refused; one that somebody has made up and sealed
    fits what it describes, or is refused too."""
    _load(_run()["run.json"], "run.json")
    files = {name: NamedFile.at(Path(f"out{name}")) for name in TABLES}
    each(partial(_load, name="run.json"), data, add_seal(data, files))


@cache
def _campaign() -> dict[Path, bytes]:
    """Return the files of a small campaign of one run."""
    with TemporaryDirectory() as folder:
        campaign = CampaignFolder(Path(folder))
        campaign.write("[run]\nfirst = 5\n")
        assert campaign.run().returncode == 0
        paths = [path for path in campaign.out.rglob("*") if path.is_file()]
        return {path.relative_to(campaign.out): path.read_bytes() for path in paths}


def _check_campaign(data: bytes) -> None:
    """The runs of a campaign that is read make a table, whether sealed by its writer or not."""
    folder = Path("campaign")
    for path, content in _campaign().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)

    def read(content: bytes) -> None:
        (folder / "campaign.json").write_bytes(content)
        with refusing(UsageError, folder), refusing(InputError, folder):
            results = open_results(folder)
            assert len(results.runs) <= results.nb_planned, "more runs than planned"
            assert results.axes is not None
            assert results.failures is not None

    each(read, data, *(() if b'"sha256"' in data else (add_seal(data),)))


def _of_run(name: str, *further: bytes) -> Target:
    def examples() -> list[bytes]:
        return [*([_run()[name]] if name in _run() else []), *further]

    return Target(name.replace(".", "_"), examples, partial(_load, name=name), _COLUMNS)


TARGETS = (
    _of_run("jobs.csv", _JOBS_OF_5, _WITHDRAWN),
    _of_run("schedule.csv"),
    _of_run("schedule.json", _SUMMARY_OF_5),
    Target("run_json", lambda: [_run()["run.json"]], _check_description, _KEYS),
    Target("campaign_json", lambda: [_campaign()[Path("campaign.json")]], _check_campaign, _KEYS),
)
