"""SWF logs of simulated jobs: fields by hand, round trips, headers, the command."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batsched_py import simulate
from batsched_py.errors import OutputError
from batsched_py.plugins.plugins import SCHEDULERS, list_names
from batsched_py.results.swf_export import write_result_log
from batsched_py.run.result import Result
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.clock import find_clock
from batsched_py.workload.logs.log_archive import find_log
from batsched_py.workload.logs.swf import SwfLog, read_swf
from batsched_py.workload.machine_file import read_machine
from every_policy import OPTIONS
from helpers.calling import call

Job = tuple[str, float, int, float, float | None, str | None]


def log_of(*jobs: Job, **fields: Any) -> Workload:
    """A workload of (id, submission, size, run time, walltime, user) on 4 processors."""
    profiles = {
        f"r{run}": {"type": "parallel_homogeneous", "cpu": run * 1e9, "com": 0}
        for *_, run, _, _ in jobs
    }
    made = [
        WorkloadJob(id=name, submit_time=at, size=size, profile=f"r{run}", walltime=wall, user=user)
        for name, at, size, run, wall, user in jobs
    ]
    return Workload(name="hand.json", nb_res=4, jobs=made, profiles=profiles, **fields)


def export(result: Result, path: Path) -> None:
    write_result_log(result.table_as_written(), result.settings, path)


def written(result: Result, path: Path) -> SwfLog:
    export(result, path)
    log = read_swf(path)
    assert log.notes == []  # in order, and the machine is known
    return log


def columns(log: SwfLog, *names: str) -> list[list[float]]:
    return np.column_stack([log.column(name) for name in names]).tolist()


# Fields -----------------------------------------------------------------------------------------


def test_fields_by_hand(tmp_path: Path) -> None:
    """One waits, one is killed, one takes no time, one is too wide; lines are by submission."""
    result = simulate(
        log_of(
            ("7", 0, 4, 10, 100, "3"),
            ("2", 2.25, 2, 30, 20, "5"),  # killed by its walltime
            ("3", 2.5, 1, 0, None, "-1"),
            ("9", 3, 5, 10, 60, None),
        ),
        scheduler="fcfs",
    )
    log = written(result, tmp_path / "hand.swf")
    ran = ("job_number", "submit_time", "wait_time", "run_time", "allocated_processors")
    assert columns(log, *ran) == [
        [7, 0, 0, 10, 4],
        [2, 2.25, 7.75, 20, 2],
        [3, 2.5, 7.5, 0, 1],
        [9, 3, -1, -1, -1],
    ]
    asked = ("requested_processors", "requested_time", "status", "user")
    assert columns(log, *asked) == [[4, 100, 1, 3], [2, 20, 0, 5], [1, -1, 1, -1], [5, 60, 5, -1]]
    other = ("average_cpu_time", "used_memory", "requested_memory", "group", "executable")
    rest = ("queue", "partition", "preceding_job", "think_time")
    assert (np.array(columns(log, *other, *rest)) == -1).all()


@pytest.mark.parametrize(
    ("ids", "users", "numbers"),
    [
        (("12", "5"), ("9", "0"), ([12, 5], [9, 0])),
        (("a", "5"), ("9", "0"), ([1, 2], [9, 0])),  # one text: all count anew
        (("0", "5"), ("07", "7"), ([1, 2], [1, 2])),  # 07 and 7 are two users
        (("1", "2"), (None, "b"), ([1, 2], [-1, 1])),  # nobody is not counted
        (("m:2", "m:10"), ("m:1", "m:1"), ([1, 2], [1, 1])),
    ],
)
def test_numbers(
    tmp_path: Path, ids: tuple[str, str], users: tuple[str, str], numbers: tuple[list[int], ...]
) -> None:
    jobs = [(name, at, 1, 5.0, None, who) for name, at, who in zip(ids, (0, 1), users, strict=True)]
    log = written(simulate(log_of(*jobs)), tmp_path / "log.swf")
    assert (log.column("job_number").tolist(), log.column("user").tolist()) == numbers
    mapped = any("users are numbered" in text for _, text in log.header)
    assert mapped == (users != ("9", "0"))


# Round trips ------------------------------------------------------------------------------------


def test_replay_of_the_log_is_the_same_schedule(tmp_path: Path) -> None:
    """The sample log, replayed as it was simulated, to the byte; the same run has the same log."""
    first = simulate(find_log("sample"), first=500)
    paths = [tmp_path / name for name in ("a.swf", "b.swf.gz", "c.swf.gz")]
    for path in paths:
        export(first, path)
    plain, one, two = (path.read_bytes() for path in paths)
    assert (plain, one) == (gzip.decompress(one), two)
    assert simulate(paths[0]).jobs_csv() == first.jobs_csv()


MACHINES = {
    "a queue of each kind of node": """
field = "queue"
nodes = [{ name = "thin", count = 12, cores = 4 }, { name = "fat", count = 2, cores = 8 }]
partitions = [
    { name = "batch", number = 1, nodes = "0-11", max_walltime = "7 days" },
    { name = "all", number = 2, nodes = "0-13" },
]
""",
    "partitions in nodes": """
processors = "nodes"
nodes = [{ name = "n", count = 16, cores = 4 }]
partitions = [{ name = "one", number = 1 }]
""",
    "whole nodes": """
field = "queue"
nodes = [{ name = "n", count = 16, cores = 4 }]
partitions = [{ name = "one", number = 2, whole_nodes = true }]
""",
}
TIES = "may take them in another order"


def replay(
    folder: Path, source: Any, log: Path = Path("made.swf"), **settings: Any
) -> tuple[Result, Result, list[str]]:
    """Return a run, the rigid replay of its log under the same settings, and what was lost."""
    first = simulate(source, **settings)
    path = folder / log
    file = settings.get("machine")
    machine = None if file is None else read_machine(file)
    notes = write_result_log(
        first.table_as_written(),
        first.settings,
        path,
        machine=machine,
        exact=first.table,
        fields=first.fields_of_jobs,
    )
    header = [value for key, value in read_swf(path).header if key == "Note"]
    assert set(notes) <= set(header)
    again = simulate(path, **settings | {"users": "rigid", "user_options": {}})
    return first, again, notes


@pytest.mark.parametrize("machine", [None, *MACHINES])
@pytest.mark.parametrize("policy", sorted(list_names(SCHEDULERS)))
def test_a_replay_gives_the_same_schedule(tmp_path: Path, policy: str, machine: str | None) -> None:
    """Under every policy, with and without partitions, unless the log says that it may not."""
    options = OPTIONS.get(policy, {})
    settings: dict[str, Any] = {"scheduler": policy, "scheduler_options": options, "first": 60}
    settings["users"] = "feedback" if machine in (None, "whole nodes") else "rigid"
    if policy == "grid":
        if machine is not None:
            pytest.skip("grid takes sites in place of a machine file")
        settings |= {"sites": "64"}
    elif machine is not None:
        (tmp_path / "m.toml").write_text(MACHINES[machine])
        settings["machine"] = str(tmp_path / "m.toml")
    first, again, notes = replay(tmp_path, "sample", **settings)
    assert [note for note in notes if settings["users"] == "rigid" or TIES not in note] == []
    if not notes:
        starts = [run.jobs.set_index("job_id")["starting_time"] for run in (first, again)]
        assert starts[0].dropna().to_dict() == starts[1].dropna().to_dict()


def test_what_policies_saw_of_jobs_is_in_it(tmp_path: Path) -> None:
    """Also where another process was the back end."""
    (tmp_path / "m.toml").write_text(MACHINES["a queue of each kind of node"])
    machine = str(tmp_path / "m.toml")
    source = read_swf(find_log("sample"))
    replay(tmp_path, "sample", first=60, machine=machine)
    log = read_swf(tmp_path / "made.swf")
    known = {row[0]: row for row in columns(source, "job_number", "group", "queue")}
    seen = columns(log, "job_number", "group", "queue")
    assert seen == [known[number] for number, _, _ in seen]
    outside = simulate("sample", first=60, machine=machine, backend="socket")
    described = read_machine(machine)
    other = tmp_path / "other.swf"
    write_result_log(outside.table_as_written(), outside.settings, other, machine=described)
    assert (read_swf(other).data == log.data).all()


def _with(**fields: Any) -> Workload:
    workload = log_of(("1", 0, 4, 10, 100, "3"), ("2", 1, 4, 10, 60, "5"))
    for name, value in fields.items():
        setattr(workload.jobs[1], name, value)
    return workload


@pytest.mark.parametrize(
    ("workload", "settings", "lost"),
    [
        pytest.param(_with(user="ann"), {}, "users are numbered", id="name of a user"),
        pytest.param(_with(id="b"), {}, "jobs are numbered", id="id"),
        pytest.param(_with(estimate=12.0), {}, "the estimate of 1 jobs", id="estimate"),
        pytest.param(_with(walltime=15.0), {}, "the walltime of 1 jobs", id="rule of walltimes"),
        pytest.param(_with(size=9), {}, "1 rejected jobs", id="rejected"),
        pytest.param(_with(submit_time=1.23456789), {}, "the submit time of 1", id="microseconds"),
        pytest.param(_with(extra={"reserved_start": 50}), {}, "reserved_start", id="extra field"),
        pytest.param(_with(extra={"group": 4}), {}, "the group of 1 jobs", id="group not kept"),
        pytest.param(_with(), {"speed_factor": 2.0}, "the run time of 2 jobs", id="speed"),
        pytest.param(_with(), {"sites": "4,4@2", "scheduler": "grid"}, "the hosts", id="sites"),
    ],
)
def test_what_a_log_cannot_carry_is_named(
    tmp_path: Path, workload: Workload, settings: dict[str, Any], lost: str
) -> None:
    _, _, notes = replay(tmp_path, workload, **settings)
    assert any(lost in note for note in notes), notes


# Header -----------------------------------------------------------------------------------------


def test_the_header_says_what_it_is(tmp_path: Path) -> None:
    sample = find_log("sample")
    options = {"sessions": "max:20"}
    result = simulate(
        sample, users="feedback", user_options=options, scheduler="creasy", seed=11, shake=3
    )
    log = written(result, tmp_path / "log.swf")
    header = dict(log.header)
    assert header["Version"] == "2.2"
    assert header["MaxProcs"] == header["MaxNodes"] == "64"
    assert header["MaxJobs"] == header["MaxRecords"] == str(len(log)) == "3430"
    workload = load_workload(sample, make_rules())
    assert find_clock(log)[:2] == (workload.unix_start_time, "Europe/Paris")
    for clock in ((1e9, "-03:30"), (None, "UTC")):
        job = ("1", 0.0, 1, 1.0, None, "u")
        one = log_of(job, unix_start_time=clock[0], time_zone=clock[1])
        one.name = "two\nlines \N{GREEK SMALL LETTER OMEGA}"  # names do not break lines
        alone = written(simulate(one), tmp_path / "one.swf")
        assert find_clock(alone)[:2] == clock
        assert any("two lines \\u03c9" in line for line in alone.header_lines)
    notes = "\n".join(text for key, text in log.header if key == "Note")
    assert f"{sample.name} (SHA-256 {result.settings['input']['sha256']}), 3430 jobs" in notes
    for statement in ("SYNTHETIC", '{"sessions":"max:20"}, seed 11', "creasy", "order, seed 3"):
        assert statement in notes


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "new" / "made.swf.gz"
    run = ("simulate", "sample", "--first", 50, "-e", tmp_path / "out", "--swf")
    assert call(monkeypatch, *run, made) == 0
    assert f"wrote {made}" in capsys.readouterr().out
    assert len(read_swf(made)) == 50
    before = made.read_bytes()
    assert call(monkeypatch, "simulate", made, "-e", tmp_path / "out", "--swf", made) == 2
    assert f"{made}: " in capsys.readouterr().err
    assert made.read_bytes() == before
    wrong = made / "log.swf"  # is refused before the work
    out = tmp_path / "other"
    assert call(monkeypatch, "simulate", "sample", "-e", out, "--swf", wrong) == 1
    assert f"{wrong} cannot be written" in capsys.readouterr().err
    assert not list(tmp_path.glob("other*"))
    with pytest.raises(OutputError):
        export(simulate(log_of(("1", 0, 4, 10, None, "3"))), wrong)
    assert [path.name for path in made.parent.iterdir()] == [made.name]
