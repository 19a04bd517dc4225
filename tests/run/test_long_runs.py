"""Long runs with users: memory for active jobs only, and output files as if all were kept."""

from __future__ import annotations

import csv
import errno
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InvariantError, OutputError, ProtocolError
from batsched_py.model.user_model import EndedJob
from batsched_py.protocol import messages as m
from batsched_py.results.columns_beyond_batsim import UsersTable
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.run.result import Result
from batsched_py.run.simulate import simulate
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.finished_jobs import FinishedJobs
from batsched_py.simulator.jobs import JobRegistry, SimulatedJob, State
from batsched_py.simulator.platform.hosts import homogeneous
from batsched_py.simulator.profiles import Profile
from batsched_py.support.name_set import UsedNames
from batsched_py.support.processor_sets import NO_PROCESSORS, ProcessorSet
from batsched_py.support.temporary_rows import Spool
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.batsim_workload import read_workload
from batsched_py.workload.sample_log import cached_sample_log
from helpers.waiting import LIMIT


class Loops:
    """Users, a fixed number, who submit their next job a minute after the last one ended."""

    def __init__(self, nb_jobs: int, nb_users: int = 5, **extra: Any) -> None:
        self.profiles = {"p": {"type": "delay", "delay": 50}}
        self.left, self.at, self.extra = nb_jobs, 0, extra
        self.due = [0.0] * nb_users

    def next_submission(self) -> float:
        return min(self.due) if self.left else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        user = self.due.index(min(self.due))
        self.due[user] = inf
        self.at, self.left = self.at + 1, self.left - 1
        extra = {name: value(self.at) for name, value in self.extra.items()}
        return [
            WorkloadJob(
                id=str(self.at), submit_time=now, size=1, profile="p", user=str(user), extra=extra
            )
        ]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.due[int(job.user or 0)] = now + 60


def run(users: Any, **options: Any) -> Outcome:
    process = DecisionProcess(Fcfs(), users)
    simulator = Simulator(
        homogeneous(3), [], Options(dynamic_jobs=True, **({"profile_reuse": True} | options))
    )
    return simulator.run(process.answer)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few jobs were many."""
    monkeypatch.setattr("batsched_py.simulator.engine.FinishedJobs", partial(FinishedJobs, 20, 8))
    for place in ("decision_process", "simulator.jobs"):
        monkeypatch.setattr(f"batsched_py.{place}.UsedNames", partial(UsedNames, 50))


# Names ---------------------------------------------------------------------------------------

NAMES = st.one_of(
    st.integers(0, 3000).map(str),
    st.integers(0, 3000).map(lambda number: f"dyn!{number:04d}"),
    st.sampled_from(["", "a", "12", "0", "00", "000", "dyn!1", "dyn!٣٣٣", "x²²²", "dyn!001"]),
)


@given(st.lists(NAMES), st.integers(0, 5))
def test_used_names_are_a_set(names: list[str], most_latest: int) -> None:
    """Also with names that look alike: leading zeros, digits of other scripts, too short ones."""
    used, twin = UsedNames(most_latest), set[str]()
    for name in names:
        assert (name in used) == (name in twin)
        assert used.add(name) == (name not in twin)
        twin.add(name)
        assert all(name in used for name in twin)


def test_running_numbers_take_an_entry_for_a_thousand() -> None:
    used = UsedNames(1000)
    for number in range(100_000):
        assert used.add(f"dyn!{number}")
    latest, masks, others = used.entries()
    assert (latest <= 1000, masks <= 101, others) == (True, True, 100)  # dyn!0 to dyn!99
    assert "dyn!99999" in used
    assert "dyn!100000" not in used


# Jobs that ended -------------------------------------------------------------------------------


def ended(number: int, state: State = State.FORGOTTEN) -> SimulatedJob:
    description = m.JobDescription(f"dyn!{number}", 1.5 * number, 2, "p", user="u")
    return SimulatedJob(description, Profile(7.0), state, 2.0, 0.1 + number, 3 << 200, "DONE", -1)


def fields(job: SimulatedJob) -> Any:
    """Return a job without its profile, as values that can be compared."""
    description, _, *ended = msgspec.structs.astuple(job)
    return (*msgspec.structs.astuple(description), *ended)


@pytest.mark.parametrize("sizes", [(20, 8), (8, 8), (1, 1)])
@pytest.mark.parametrize("count", [0, 5, 20, 21, 100])
def test_ended_jobs_are_a_list(count: int, sizes: tuple[int, int]) -> None:
    """Whether they are in memory or not: all fields, in order, more than once, by number."""
    jobs = FinishedJobs(*sizes)
    for number in range(count):
        jobs.append(ended(number))
    expected = [fields(ended(number)) for number in range(count)]
    assert len(jobs) == count
    assert list(map(fields, jobs)) == list(map(fields, jobs)) == expected
    assert [fields(jobs[at]) for at in range(-count, count)] == expected * 2
    assert list(map(fields, jobs[3:9])) == expected[3:9]
    with pytest.raises(IndexError):
        jobs[count]


@pytest.mark.parametrize("sizes", [(7, 8), (0, 8), (8, 0)])
def test_batches_are_whole(sizes: tuple[int, int]) -> None:
    """Where a batch is, is its number times its size."""
    with pytest.raises(InvariantError, match="expected 1 <= batch <= in_memory"):
        FinishedJobs(*sizes)


def test_a_job_whose_end_was_not_told_stays_an_object() -> None:
    """The scheduler may still set its metadata."""
    jobs = FinishedJobs(20, 8)
    open_job = ended(0, State.ENDED)
    for job in (open_job, *map(ended, range(1, 50))):
        jobs.append(job)
    assert jobs[0] is open_job
    open_job.metadata, open_job.state = "late", State.FORGOTTEN
    for number in range(50, 100):
        jobs.append(ended(number))
    assert jobs[0] is not open_job
    assert jobs[0].metadata == "late"
    assert [job.description.id for job in jobs] == [f"dyn!{number}" for number in range(100)]


FULL = OSError(errno.ENOSPC, "No space left on device")
BROKEN = OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize(
    ("called", "answer", "message"),
    [
        ("batsched_py.support.temporary_rows.TemporaryFile", FULL, "written: No space .*; TMPDIR"),
        ("os.pwrite", FULL, "written: No space left on device; TMPDIR"),
        ("os.pread", BROKEN, "read: Input/output error"),
        ("os.pread", [b""], "read: it ends after 0 bytes"),
    ],
)
def test_what_the_disk_refuses_is_said(called: str, answer: Any, message: str) -> None:
    spool = Spool()
    if called.startswith("os."):
        spool.append([0])
    with (
        patch(called, side_effect=answer),
        pytest.raises(OutputError, match=f"cannot be {message}"),
    ):
        spool[0] if called == "os.pread" else spool.append([1])
    spool.append([2])
    assert list(spool)[-1] == [2]


def test_only_data_can_be_written() -> None:
    with pytest.raises(InvariantError, match="expected plain data"):
        Spool().append([Lock()])


def test_a_little_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take and give less than asked for."""
    pwrite, pread = os.pwrite, os.pread
    monkeypatch.setattr("os.pwrite", lambda fd, data, at: pwrite(fd, data[:3], at))
    monkeypatch.setattr("os.pread", lambda fd, size, at: pread(fd, min(size, 5), at))
    spool = Spool()
    for number in range(5):
        spool.append(["row"] * number)
    assert list(spool) == [["row"] * number for number in range(5)]


def passes(script: str) -> None:
    """Run a script in a process of its own, which says nothing, in the end neither."""
    head = (
        "import os, random, resource\n"
        "from batsched_py.support.temporary_rows import Spool\nspool = Spool()\n"
    )
    # The scripts' limits are not for the files of who measures coverage.
    unmeasured = {name: of for name, of in os.environ.items() if not name.startswith("COV")}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", head + script],
        env=unmeasured,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert (ran.stderr, ran.returncode) == ("", 0)


@pytest.mark.process
@pytest.mark.parametrize("count", [2_000, 100_000])  # less and more than a buffer
def test_a_write_that_is_half_done(count: int) -> None:
    """The batches before it stay, what is written next goes to its place, the end is quiet."""
    passes(
        f"count = {count}"
        + """
from batsched_py.errors import OutputError
spool.append(list(range(100)))
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
try:
    spool.append(list(range(count)))
except OutputError as error:
    assert "cannot be written: File too large" in str(error), error
else:
    raise AssertionError("it fitted")
assert os.fstat(spool._file.fileno()).st_size == 5000  # a part of it is there
assert list(spool) == [list(range(100))]
spool.append(["next"])
assert list(spool) == [list(range(100)), ["next"]]
try:
    spool.append(list(range(count)))
except OutputError:
    pass  # and so it ends
"""
    )


@pytest.mark.process
def test_processes_after_a_fork() -> None:
    """Both read at once, and both go on, each in a file of its own."""
    passes("""
expected = [[number] * 1000 for number in range(50)]
for rows in expected:
    spool.append(rows)
def read():
    for number in random.choices(range(50), k=2000):
        assert spool[number] == expected[number]
(from_child, to_parent), (from_parent, to_child) = os.pipe(), os.pipe()
child = os.fork()
name = "parent" if child else "child"
os.close(to_parent if child else to_child)
read()
if child:
    os.read(from_child, 1)  # it has written
spool.append([name] * 10)
os.write(to_child if child else to_parent, b".")
if not child:
    os.read(from_parent, 1)  # it has written too
assert list(spool) == [*expected, [name] * 10]
if child:
    assert os.waitpid(child, 0)[1] == 0
""")


def test_results_can_be_sent_to_other_processes(little_memory: None) -> None:
    """A process pool pickles them; the copy goes on by itself."""
    result = Result(EmbeddedOutput(run(Loops(100))), {}, 0.0)
    sent = pickle.loads(pickle.dumps(result))
    expected = result.measured
    assert sent.measured == expected
    again = pickle.loads(pickle.dumps(result))  # with all that was computed
    for copied in (sent, again):
        assert copied.jobs_csv() == result.jobs_csv()
        assert copied.output.schedule_csv() == result.output.schedule_csv()
        assert copied.measured == expected
    copied = pickle.loads(pickle.dumps(result.output.outcome.jobs))
    copied.append(ended(100))
    assert len(copied) == len(list(copied)) == 101
    assert len(result.output.outcome.jobs) == 100
    assert list(pickle.loads(pickle.dumps(Spool()))) == []


@pytest.mark.parametrize("options", [{}, {"shake": 3}])
def test_files_are_the_same_with_little_memory(
    options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    def files() -> tuple[str, str, Any]:
        result = simulate(cached_sample_log(), users="feedback", speed_factor=0.5, **options)
        return result.jobs_csv(), result.output.schedule_csv(), result.measured

    expected = files()
    request.getfixturevalue("little_memory")
    assert files() == expected


def memory_per_job(simulated: Callable[[int], Outcome], *, peak: bool, nb_jobs: int) -> float:
    """Return the bytes that each of so many further jobs takes: at the most, or in the end."""

    def memory(nb: int) -> int:
        tracemalloc.start()
        outcome = simulated(nb)
        traced = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(outcome.jobs) == nb
        return traced[peak]

    memory(200)  # what is loaded once
    return (memory(1200 + nb_jobs) - memory(1200)) / nb_jobs


def test_memory_does_not_grow_with_the_jobs_that_ended(little_memory: None) -> None:
    """A few bytes for each remain; kept as objects and names they were some 700."""
    assert memory_per_job(lambda nb: run(Loops(nb)), peak=False, nb_jobs=3000) < 30


class OneByOne:
    """A scheduler of jobs of a second, one after the other, while a task of long lasts.

    Each is a parallel task with a profile of its own, a walltime, and a message to it.
    """

    LONG = "dyn!0"

    def __init__(self, nb_jobs: int) -> None:
        self._nb_jobs, self._at = nb_jobs, 0

    def __call__(self, message: m.Message) -> m.Message:
        now, told = message.now, message.events[0]
        if isinstance(told, m.SimulationBegins):
            return m.Message(now, [*self._start(now, 1e300), *self._start(now, 1e9)])
        if not isinstance(told, m.JobCompleted) or told.job_id == self.LONG:
            return m.Message(now, [])
        if self._at < self._nb_jobs:
            return m.Message(now, self._start(now, 1e9))
        finished = m.Notify(timestamp=now, type="registration_finished")
        return m.Message(now, [finished, m.KillJob(timestamp=now, job_ids=[self.LONG])])

    def _start(self, now: float, flops: float) -> list[m.Event]:
        number, self._at = self._at, self._at + 1
        name, profile = f"dyn!{number}", f"p{number:04d}"
        content = {"type": "parallel", "cpu": [flops], "com": [0]}
        job = m.JobDescription(name, now, 1, profile, 1e8)
        return [
            m.RegisterProfile(
                timestamp=now, workload_name="dyn", profile_name=profile, profile=content
            ),
            m.RegisterJob(timestamp=now, job_id=name, job=job),
            m.ToJobMsg(timestamp=now, job_id=name, msg="a message"),
            m.ExecuteJob(timestamp=now, job_id=name, alloc=ProcessorSet.of([0 if number else 1])),
        ]


def test_memory_does_not_grow_with_what_jobs_were(
    little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither profiles, messages to jobs nor timers remain, which took some 2700 bytes a job."""
    monkeypatch.setattr("batsched_py.simulator.agenda.FEW_ENTRIES", 16)
    monkeypatch.setattr(
        "batsched_py.protocol.dynamic_registration.UsedNames", partial(UsedNames, 50)
    )

    def simulated(nb_jobs: int) -> Outcome:
        simulator = Simulator(homogeneous(2), (), Options(dynamic_jobs=True))
        return simulator.run(OneByOne(nb_jobs))

    assert memory_per_job(simulated, peak=True, nb_jobs=2000) < 60


# What is said of jobs that have ended ----------------------------------------------------------


def test_an_ended_job_cannot_be_submitted_again(little_memory: None) -> None:
    users = Loops(300)
    wrapped = users.jobs_to_submit

    def again(now: float) -> Iterable[WorkloadJob]:
        if users.at == 250:
            users.at = 9
        return wrapped(now)

    users.jobs_to_submit = again  # type: ignore[method-assign]
    with pytest.raises(InvariantError, match="submitted job 10 twice"):
        run(users)


def test_decisions_on_ended_jobs_are_refused(little_memory: None) -> None:
    registry = JobRegistry(Options(dynamic_jobs=True))
    registration = {"timestamp": 0.0, "workload_name": "dyn", "profile": {"type": "delay"}}
    for number in range(200):
        name, profile = f"dyn!{number}", f"p{number}"
        content = {"type": "delay", "delay": 1}
        registry.add_profile(
            m.RegisterProfile(**registration | {"profile_name": profile, "profile": content})
        )
        job = m.JobDescription(name, 0.0, 1, profile)
        registry.add_job(m.RegisterJob(timestamp=0.0, job_id=name, job=job))
        assert registry.known(name, "EXECUTE_JOB").description is job
        if number < 199:
            completed = m.JobCompleted(
                timestamp=1.0,
                job_id=name,
                job_state="COMPLETED_SUCCESSFULLY",
                return_code=0,
                alloc=NO_PROCESSORS,
            )
            registry.told([completed])
    assert list(registry.jobs) == ["dyn!199"]
    for number in (0, 150, 198):
        message = f"KILL_JOB: job dyn!{number} is completed or rejected"
        with pytest.raises(ProtocolError, match=message):
            registry.known(f"dyn!{number}", "KILL_JOB")
    with pytest.raises(ProtocolError, match="there is no job 'dyn!200'"):
        registry.known("dyn!200", "KILL_JOB")
    again = m.JobDescription("dyn!7", 0.0, 1, "p199")
    with pytest.raises(ProtocolError, match="'dyn!7' exists already"):
        registry.add_job(m.RegisterJob(timestamp=0.0, job_id="dyn!7", job=again))


def test_profiles_of_their_own_have_names_of_their_own() -> None:
    """Without profile reuse, whatever the ids look like: ``a#1`` for 2 is not ``a`` for ``1#2``."""
    names = [("a#1", "2"), ("a", "1#2"), ("a", "1%232"), ("a#", "3"), ("a", "#3")]

    class Once(Loops):
        def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
            self.left = 0
            return [WorkloadJob(id=i, submit_time=now, size=1, profile=p) for p, i in names]

        def job_ended(self, now: float, job: EndedJob, state: str) -> None:
            pass

    users = Once(1)
    users.profiles = {name: {"type": "delay", "delay": 5} for name, _ in names}
    profiles = {job.description.profile for job in run(users, profile_reuse=False).jobs}
    assert len(profiles) == len(names)
    assert {"a#1#2", "a#%233"} <= profiles


# Columns that jobs carry -----------------------------------------------------------------------


def header(users: Any) -> str:
    return next(Result(EmbeddedOutput(run(users)), {}, 0.0).jobs_lines())


@pytest.mark.parametrize(
    ("extra", "columns"),
    [
        ({}, "lateness"),
        ({"batch": lambda at: None}, "lateness"),
        ({"batch": lambda at: at or None}, "lateness,batch"),
        (
            {"behaviour": lambda at: "x" if at == 7 else None, "think_time": lambda at: 5},
            "lateness,think_time,behaviour",
        ),
    ],
)
def test_columns_are_there_if_any_job_carries_them(
    extra: dict[str, Any], columns: str, little_memory: None
) -> None:
    """One job of a hundred is enough, and None is nothing."""
    assert header(Loops(100, **extra)).endswith(f"original_submission_time,{columns}\n")


def test_notes_say_how_many_are_rare() -> None:
    jobs = [
        WorkloadJob(
            id=str(number),
            submit_time=float(number),
            size=1,
            profile="p",
            extra={"behaviour": "rare"} if number < 2 else {},
        )
        for number in range(5)
    ]
    profiles = {"p": {"type": "delay", "delay": 5}}
    result = simulate(Workload(name="w", nb_res=2, jobs=jobs, profiles=profiles))
    (note,) = result.settings["notes"]
    assert note.startswith("2 jobs of rare behaviour")
    assert result.measured["overall"]["nb_jobs"] == 3


@pytest.mark.parametrize("members", [{"user": None, "session": None}, {}])
def test_null_is_no_user(members: dict[str, Any], tmp_path: Path) -> None:
    """A Batsim workload may say so; nobody is then called None."""
    job = {"subtime": 0, "res": 1, "profile": "p"}
    content = {
        "nb_res": 2,
        "jobs": [{"id": "1"} | job | members, {"id": "2"} | job | {"user": "None"}],
        "profiles": {"p": {"type": "delay", "delay": 5}},
    }
    path = tmp_path / "w.json"
    path.write_text(json.dumps(content))
    result = simulate(read_workload(path))
    assert result.table.user == ["", "None"]
    ours = [(row["user"], row["session"]) for row in csv.DictReader(result.jobs_lines())]
    assert ours == [("", ""), ("None", "")]
    assert result.measured["per_user"].keys() == {"None"}
    table = UsersTable()
    told = m.JobDescription("w0!1", 0.0, 1, "p", extra=dict(members))
    event = m.JobSubmitted(timestamp=0.0, job_id=told.id, job=told)
    table.observe(m.Message(0.0, [event]), m.Message(0.0, []))
    assert table.csv().splitlines()[1] == "1,w0,,,0.000000,0.000000"


@pytest.mark.parametrize("batch", [2, 100])
def test_users_table_has_the_same_columns(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row per job, once, in order of submission; a column if any job carries it.

    Job 3 was recorded, 4 s before it is submitted.
    """
    monkeypatch.setattr("batsched_py.results.columns_beyond_batsim._BATCH", batch)
    table = UsersTable()
    for number in (1, 2, 1, 3, 4, 5):
        of_number = {2: {"behaviour": "rare"}, 3: {"original_submission_time": -3}}
        extra = {"user": "u", **of_number.get(number, {})}
        job = m.JobDescription(f"dyn!{number}", 1.0, 1, "p", extra=extra)
        event = m.RegisterJob(timestamp=1.0, job_id=job.id, job=job)
        table.observe(m.Message(1.0, []), m.Message(1.0, [event]))
    head, *rows = table.csv().splitlines()
    assert head == "job_id,workload_name,user,session,original_submission_time,lateness,behaviour"
    late = {3: "-3.000000,4.000000"}
    assert rows == [
        f"{number},dyn,u,,{late.get(number, ',')},{'rare' if number == 2 else ''}"
        for number in range(1, 6)
    ]
