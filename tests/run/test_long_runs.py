"""Long runs with users: little memory for jobs that ended, and output files as of few jobs."""

from __future__ import annotations

import csv
import json
import pickle
import tracemalloc
from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InvariantError, ProtocolError
from batsched_py.files.packed_rows import PackedBatches
from batsched_py.model.user_model import EndedJob
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.results.columns_beyond_batsim import UsersTable
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.run.result import Result
from batsched_py.run.simulate import simulate
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.ended_jobs import FinishedJobs
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.jobs import JobRegistry, SimulatedJob, State
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.simulator.profiles import Profile
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.batsim.batsim_workload import read_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG


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
        make_homogeneous(3), [], Options(dynamic_jobs=True, **({"profile_reuse": True} | options))
    )
    return simulator.run(process.answer)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few jobs were many."""
    monkeypatch.setattr("batsched_py.simulator.ended_jobs.IN_MEMORY", 20)
    monkeypatch.setattr("batsched_py.simulator.ended_jobs.BATCH", 8)


# Jobs that ended -------------------------------------------------------------------------------


def ended(number: int, state: State = State.FORGOTTEN) -> SimulatedJob:
    description = m.JobDescription(f"dyn!{number}", 1.5 * number, 2, "p", user="u")
    return SimulatedJob(description, Profile(7.0), state, 2.0, 0.1 + number, 3 << 200, "DONE", -1)


def fields(job: SimulatedJob) -> Any:
    """Return a job without its profile, as values that can be compared."""
    description, _, *ended = msgspec.structs.astuple(job)
    return (*msgspec.structs.astuple(description), *ended)


@pytest.mark.parametrize("count", [0, 5, 23, 24, 25, 100])
def test_ended_jobs_are_a_list(count: int, little_memory: None) -> None:
    """Whether they are packed or not: all fields, in order, more than once, by number."""
    jobs = FinishedJobs()
    for number in range(count):
        jobs.append(ended(number))
    expected = [fields(ended(number)) for number in range(count)]
    assert len(jobs) == count
    assert list(map(fields, jobs)) == list(map(fields, jobs)) == expected
    assert [fields(jobs[at]) for at in range(-count, count)] == expected * 2
    assert list(map(fields, jobs[3:9])) == expected[3:9]


def test_a_job_whose_end_was_not_told_stays_an_object(little_memory: None) -> None:
    """The scheduler may still set its metadata."""
    jobs = FinishedJobs()
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


def test_only_data_can_be_packed() -> None:
    with pytest.raises(InvariantError, match="expected plain data"):
        PackedBatches[list[Any]]().append([Lock()])


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


@pytest.mark.parametrize("options", [{}, {"shake": 3}])
def test_files_are_the_same_with_little_memory(
    options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    def files() -> tuple[str, str, Any]:
        result = simulate(SAMPLE_LOG, users="feedback", speed_factor=0.5, **options)
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


def test_memory_grows_little_with_the_jobs_that_ended(little_memory: None) -> None:
    """Names and packed rows remain; kept as objects they were some 700 bytes a job."""
    assert memory_per_job(lambda nb: run(Loops(nb)), peak=False, nb_jobs=3000) < 250


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


def test_memory_grows_little_with_what_jobs_were(
    little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither profiles, messages to jobs nor timers remain, which took some 2700 bytes a job."""
    monkeypatch.setattr("batsched_py.simulator.agenda.FEW_ENTRIES", 16)

    def simulated(nb_jobs: int) -> Outcome:
        simulator = Simulator(make_homogeneous(2), (), Options(dynamic_jobs=True))
        return simulator.run(OneByOne(nb_jobs))

    assert memory_per_job(simulated, peak=True, nb_jobs=2000) < 400


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
        assert registry.find_job(name, "EXECUTE_JOB").description is job
        if number < 199:
            completed = m.JobCompleted(
                timestamp=1.0,
                job_id=name,
                job_state="COMPLETED_SUCCESSFULLY",
                return_code=0,
                alloc=NO_PROCESSORS,
            )
            registry.forget_ended([completed])
    assert list(registry.jobs) == ["dyn!199"]
    for number in (0, 150, 198):
        message = f"KILL_JOB: job dyn!{number} is completed or rejected"
        with pytest.raises(ProtocolError, match=message):
            registry.find_job(f"dyn!{number}", "KILL_JOB")
    with pytest.raises(ProtocolError, match="there is no job 'dyn!200'"):
        registry.find_job("dyn!200", "KILL_JOB")
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
