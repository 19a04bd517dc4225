"""Long runs with users: little memory for jobs that ended, and output files as of few jobs."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable, Iterable
from math import inf
from typing import Any

import msgspec
import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InvariantError, ProtocolError
from batsched_py.model.user_model import EndedJob
from batsched_py.processors.sets import NO_PROCESSORS
from batsched_py.protocol import messages as m
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.run.result import Result
from batsched_py.run.simulate import simulate
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.ended_jobs import FinishedJobs
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.jobs import JobRegistry, SimulatedJob, State
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.simulator.profiles import Profile
from batsched_py.workload import WorkloadJob
from batsched_py.workload.logs.sample_log import SAMPLE_LOG


class Loops:
    """Users, a fixed number, who submit their next job a minute after the last one ended."""

    def __init__(self, nb_jobs: int, nb_users: int = 5) -> None:
        self.profiles = {"p": {"type": "parallel", "cpu": [5e10], "com": [0]}}
        self.left, self.at = nb_jobs, 0
        self.due = [0.0] * nb_users

    def next_submission(self) -> float:
        return min(self.due) if self.left else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        user = self.due.index(min(self.due))
        self.due[user] = inf
        self.at, self.left = self.at + 1, self.left - 1
        job = {"id": str(self.at), "submit_time": now, "size": 1, "profile": "p"}
        return [WorkloadJob(**job, walltime=1e8, user=str(user))]

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


def ended(number: int, state: State = State.FORGOTTEN) -> SimulatedJob:
    description = m.JobDescription(f"dyn!{number}", 1.5 * number, 2, "p", user="u")
    return SimulatedJob(description, Profile(7.0), state, 2.0, 0.1 + number, 3 << 200, "DONE", -1)


def fields(job: SimulatedJob) -> Any:
    """Return a job without its profile, as values that can be compared."""
    description, _, *ended = msgspec.structs.astuple(job)
    return (*msgspec.structs.astuple(description), *ended)


@pytest.mark.parametrize("count", [0, 23, 24, 25, 100])
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


def test_results_can_be_sent_to_other_processes(little_memory: None) -> None:
    """A process pool pickles them; the copy goes on by itself."""
    result = Result(EmbeddedOutput(run(Loops(100))), {}, 0.0)
    copied = pickle.loads(pickle.dumps(result))
    assert copied.jobs_csv() == result.jobs_csv()
    assert copied.output.schedule_csv() == result.output.schedule_csv()
    assert copied.measured == result.measured
    jobs = pickle.loads(pickle.dumps(result.output.outcome.jobs))
    jobs.append(ended(100))
    assert len(jobs) == len(list(jobs)) == 101
    assert len(result.output.outcome.jobs) == 100


def test_files_are_the_same_with_little_memory(request: pytest.FixtureRequest) -> None:
    def files() -> tuple[str, str, Any]:
        result = simulate(SAMPLE_LOG, users="feedback", speed_factor=0.5, shake=3)
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


@pytest.mark.parametrize(("reuse", "most"), [(True, 250), (False, 400)])
def test_memory_grows_little_with_the_jobs_that_ended(
    little_memory: None, monkeypatch: pytest.MonkeyPatch, *, reuse: bool, most: float
) -> None:
    """Names and packed rows remain; kept as objects, jobs and profiles were some 2700 bytes."""
    monkeypatch.setattr("batsched_py.simulator.agenda.FEW_ENTRIES", 16)  # for timers of walltimes

    def simulated(nb: int) -> Outcome:
        return run(Loops(nb), profile_reuse=reuse)

    assert memory_per_job(simulated, peak=not reuse, nb_jobs=2000) < most


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
    profile = {"type": "delay", "delay": 1}
    registration = {"timestamp": 0.0, "workload_name": "dyn", "profile": profile}
    for number in range(200):
        name = f"dyn!{number}"
        registry.add_profile(m.RegisterProfile(**registration, profile_name=f"p{number}"))
        job = m.JobDescription(name, 0.0, 1, f"p{number}")
        registry.add_job(m.RegisterJob(timestamp=0.0, job_id=name, job=job))
        assert registry.find_job(name, "EXECUTE_JOB").description is job
        if number < 199:
            end = {"job_state": "COMPLETED_SUCCESSFULLY", "return_code": 0, "alloc": NO_PROCESSORS}
            registry.forget_ended([m.JobCompleted(timestamp=1.0, job_id=name, **end)])
    assert list(registry.jobs) == ["dyn!199"]
    for number in (0, 150, 198):
        with pytest.raises(ProtocolError, match=f"dyn!{number} is completed"):
            registry.find_job(f"dyn!{number}", "KILL_JOB")
    with pytest.raises(ProtocolError, match="no job 'dyn!200'"):
        registry.find_job("dyn!200", "KILL_JOB")
    again = m.JobDescription("dyn!7", 0.0, 1, "p199")
    with pytest.raises(ProtocolError, match="'dyn!7' exists"):
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


@pytest.mark.parametrize("table_first", [True, False])
def test_the_files_of_many_jobs_are_those_of_few(
    little_memory: None, monkeypatch: pytest.MonkeyPatch, table_first: bool
) -> None:
    """Whether jobs are unpacked for each pass or kept; the table comes before the files or not."""
    few = simulate("sample", first=100)
    texts = few.jobs_csv(), few.output.schedule_csv()
    monkeypatch.setattr("batsched_py.results.embedded_output.IN_MEMORY", 20)
    many = simulate("sample", first=100)
    if table_first:
        assert many.measured == few.measured
    assert many.output.schedule_csv() == texts[1]
    assert (many.jobs_csv(), many.output.schedule_csv()) == texts
