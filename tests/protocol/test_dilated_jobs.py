"""Jobs that run longer where they are placed: what is said on the wire, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import BatschedError, InvariantError, PluginError, ProtocolError
from batsched_py.model.decisions import Decision, Kill
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.protocol import messages as m
from batsched_py.protocol.dilated_jobs import (
    find_original,
    find_original_id,
    is_placed,
    make_placed_id,
)
from batsched_py.simulator.ended_jobs import merge_forms
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.jobs import SimulatedJob
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.grid_sites import parse_sites
from helpers.chain import Chain
from helpers.dilating import Dilating, Exchange, Placed
from helpers.messages import begins, submitted
from helpers.processors import processors

G = 10**9


def load(*jobs: WorkloadJob, nb_res: int = 8, **profiles: dict[str, Any]) -> Workload:
    return Workload(name="test", nb_res=nb_res, jobs=list(jobs), profiles=profiles)


def one(profile: dict[str, Any], size: int = 2, **fields: Any) -> Workload:
    job = WorkloadJob(id="a", submit_time=0.0, size=size, profile="p", **fields)
    return load(job, p=profile)


def ran(exchange: Exchange) -> dict[str, SimulatedJob]:
    """Return the jobs by their own ids; fails if one is there twice."""
    jobs = list(merge_forms(exchange.outcome.jobs))
    by_id = {job.description.id: job for job in jobs}
    assert len(by_id) == len(jobs)
    return by_id


def duration(exchange: Exchange) -> float:
    (job,) = ran(exchange).values()
    assert job.final_state == "COMPLETED_SUCCESSFULLY"
    return job.finish_time - job.start_time


@pytest.mark.parametrize("job_id", ["w0!15", "dyn!a:b", "w1!a,b (c)"])
def test_ids(job_id: str) -> None:
    assert is_placed(make_placed_id(job_id))
    assert find_original_id(make_placed_id(job_id)) == find_original_id(job_id) == job_id
    workload_name, _, name = make_placed_id(job_id).partition("!")
    assert "!".join(find_original(workload_name, name)) == job_id
    assert not is_placed(job_id)


# On the wire --------------------------------------------------------------------------------


def test_a_job_is_refused_and_another_form_of_it_runs() -> None:
    job = WorkloadJob(
        id="a", submit_time=5.0, size=2, profile="p", walltime=20, user="u", extra={"batch": 3}
    )
    policy = Dilating(Placed(1.5, 4.0))
    exchange = Exchange(load(job, p={"type": "delay", "delay": 10}), policy, sites="3,5")
    reply = next(reply for reply in exchange.replies if reply.now == 5)
    assert [event.tag for event in reply.events] == [
        "SET_JOB_METADATA",
        "REJECT_JOB",
        "REGISTER_PROFILE",
        "REGISTER_JOB",
        "EXECUTE_JOB",
        "NOTIFY",
    ]
    metadata, reject, profile, register, execute, notice = reply.events
    assert (metadata.job_id, metadata.metadata) == ("w0!a", "runs as placed!w0:a")
    assert reject.job_id == "w0!a"
    assert profile.profile == {"type": "delay", "delay": 19}
    form = register.job
    assert (profile.workload_name, profile.profile_name) == ("placed", form.profile)
    assert (form.id, form.submit_time, form.size, form.walltime) == ("placed!w0:a", 5, 2, 34)
    assert {"user": "u", "batch": 3, "dilation": 1.5, "transfer": 4}.items() <= form.extra.items()
    assert form.extra["home"] in ("site1", "site2")
    assert (execute.job_id, execute.alloc) == ("placed!w0:a", processors("0-1"))
    assert notice.type == "registration_finished"


def notices(exchange: Exchange) -> list[float]:
    """Return when registration was said to be finished; each time last in its reply."""
    for reply in exchange.replies:
        for event in reply.events[:-1]:
            assert not isinstance(event, m.Notify)
    events = (reply.events[-1] for reply in exchange.replies if reply.events)
    return [event.timestamp for event in events if isinstance(event, m.Notify)]


@pytest.mark.parametrize(
    ("jobs", "finished"),
    [
        ([J(0, 8, 10), J(3, 8, 10), J(5, 8, 10)], 30),  # the last one starts
        ([J(0, 8, 10), J(50, 1, 1)], 50),  # none waits at 15, but one is still to come
        ([J(0, 9, 10)], 0),  # wider than the machine
    ],
)
def test_registration_is_finished_once_nothing_can_be_dilated(
    jobs: list[J], finished: float
) -> None:
    assert notices(Exchange(workload(jobs, 8), Dilating())) == [finished]


@pytest.mark.parametrize("acknowledge", [True, False])
def test_an_echo_is_no_other_job(acknowledge: bool) -> None:
    exchange = Exchange(
        workload([J(0, 8, 10), J(3, 8, 10)], 8),
        Dilating(),
        acknowledge_dynamic_jobs=acknowledge,
        forward_profiles=True,
    )
    assert [job.start_time for job in ran(exchange).values()] == [0, 15]


# Profiles and speeds -------------------------------------------------------------------------

PROFILES: dict[str, dict[str, Any]] = {
    "delay": {"type": "delay", "delay": 10},
    "homogeneous": {"type": "parallel_homogeneous", "cpu": 10 * G, "com": 0},
    "total": {"type": "parallel_homogeneous_total", "cpu": 20 * G, "com": 0},
    "parallel": {"type": "parallel", "cpu": [10 * G, 5 * G], "com": [0, 0, 0, 0]},
}


@pytest.mark.parametrize("kind", PROFILES)
@pytest.mark.parametrize("speed", [1.0, 2.0])
@pytest.mark.parametrize(
    ("sites", "chosen"), [(None, "0-1"), ("4@0.5,4", "0-1"), ("4@0.5,4", "4-5")]
)
def test_a_job_runs_as_long_as_was_decided(
    kind: str, speed: float, sites: str | None, chosen: str
) -> None:
    """On slow and fast processors, of a machine that is twice as fast as that of the log."""
    policy = Dilating(Placed(1.5, 4.0, processors=processors(chosen)))
    exchange = Exchange(one(PROFILES[kind]), policy, sites=sites, speed=speed)
    recorded = 10 if kind == "delay" else 10 / speed
    assert duration(exchange) == pytest.approx(recorded * 1.5 + 4)


@pytest.mark.parametrize("kind", ["delay", "homogeneous", "total"])
def test_a_moldable_job_gets_another_size(kind: str) -> None:
    """Two processors asked for, four given: twice as fast, as the policy says."""
    exchange = Exchange(one(PROFILES[kind], walltime=11), Dilating(Placed(0.5, size=4)))
    (job,) = ran(exchange).values()
    assert (job.description.size, job.alloc, job.description.walltime) == (
        4,
        processors("0-3"),
        pytest.approx(5.5),
    )
    assert duration(exchange) == pytest.approx(5)


@pytest.mark.parametrize(
    ("profile", "placed", "message"),
    [
        ({"type": "composed", "seq": ["q"]}, Placed(2.0), "type 'composed'"),
        (PROFILES["parallel"], Placed(2.0, size=3), "is for 2"),
    ],
)
def test_what_cannot_be_dilated(profile: Any, placed: Placed, message: str) -> None:
    job = WorkloadJob(id="a", submit_time=0.0, size=2, profile="p")
    jobs = load(job, p=profile, q={"type": "delay", "delay": 5})
    with pytest.raises(InvariantError, match=f"job w0!a .*{message}"):
        Exchange(jobs, Dilating(placed))
    exchange = Exchange(jobs, Dilating(Placed()))  # as it is, any profile may run
    assert not any(isinstance(event, m.RegisterJob) for event in exchange.decisions)


# Walltimes -----------------------------------------------------------------------------------


@given(
    kind=st.sampled_from(["delay", "homogeneous", "total"]),
    run=st.integers(1, 10**5),
    more=st.sampled_from([-1, 0, 1]),
    dilation=st.floats(1e-5, 50) | st.sampled_from([1.1, 1.2, 1.3, 1 / 3]),
    transfer=st.just(0.0) | st.floats(0, 100),
    speed=st.sampled_from([1.0, 0.7, 3.0]),
    exact=st.booleans(),
)
def test_who_reached_its_walltime_still_does_and_nobody_else(
    kind: str, run: int, more: int, dilation: float, transfer: float, speed: float, exact: bool
) -> None:
    """A delay as long as its walltime is killed, a computation is not, with whatever digits."""
    profile = {
        "delay": {"type": "delay", "delay": run},
        "homogeneous": {"type": "parallel_homogeneous", "cpu": run * G, "com": 0},
        "total": {"type": "parallel_homogeneous_total", "cpu": 3 * run * G, "com": 0},
    }[kind]
    assume(run + more > 0 and (dilation, transfer) != (1, 0))
    policy = Dilating(Placed(dilation, transfer))
    jobs = one(profile, size=3, walltime=run + more)
    (job,) = ran(Exchange(jobs, policy, sites=f"8@{speed}", exact=exact)).values()
    killed = more < 0 or (more == 0 and kind == "delay")
    assert job.final_state == ("COMPLETED_WALLTIME_REACHED" if killed else "COMPLETED_SUCCESSFULLY")
    lasts = (run + min(more, 0)) * dilation + transfer
    assert job.finish_time == pytest.approx(lasts, rel=1e-9, abs=2e-6)
    registered = job.description.walltime
    assert registered is not None
    if not exact:
        assert registered == round(registered, 6) > 0


@pytest.mark.parametrize("walltime", [9, 10, 11])
def test_nothing_is_so_short_that_batsim_aborts(walltime: float) -> None:
    exchange = Exchange(
        one(PROFILES["delay"], walltime=walltime), Dilating(Placed(1e-9)), exact=False
    )
    (job,) = ran(exchange).values()
    assert job.finish_time == 1e-6
    assert job.final_state.endswith("SUCCESSFULLY" if walltime > 10 else "WALLTIME_REACHED")


def test_a_job_that_is_killed_is_killed_in_its_form() -> None:
    class Impatient(Dilating):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            for job in list(machine.releases()):
                yield Kill(job)
            yield from super().schedule(now, queue, machine)

    exchange = Exchange(workload([J(0, 8, 10), J(3, 8, 10)], 8), Impatient())
    jobs = ran(exchange)
    assert jobs["w0!0000"].final_state == "COMPLETED_KILLED"
    assert jobs["w0!0000"].finish_time == 3
    assert (jobs["w0!0001"].start_time, jobs["w0!0001"].finish_time) == (3, 18)


# Users ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_users_get_the_ends_of_their_own_jobs(reuse: bool, exact: bool) -> None:
    """Of size 9 is refused at once; that the others are refused in favour of forms is no end."""
    users = Chain([2, 9, 4], 2, run_time=10)
    policy = Dilating(Placed(1.5), j2=Placed(2.0, size=2))
    exchange = Exchange(
        [workload([], 8)], policy, users=users, exact=exact, profile_reuse=reuse, sites="8"
    )
    assert users.ends == [
        (15, "j0", 2, "COMPLETED_SUCCESSFULLY"),
        (17, "j1", 9, "REJECTED"),
        (39, "j2", 4, "COMPLETED_SUCCESSFULLY"),
    ]
    assert ran(exchange).keys() == {"dyn!j0", "dyn!j1", "dyn!j2"}
    assert notices(exchange) == [39]


# Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dilates", "error", "message"),
    [
        (lambda sites: False, InvariantError, "with a dilation"),
        (True, PluginError, "dilates is True"),
    ],
)
def test_a_policy_must_say_that_it_dilates(
    dilates: Any, error: type[Exception], message: str
) -> None:
    policy = Dilating()
    policy.dilates = dilates  # type: ignore[method-assign]
    with pytest.raises(error, match=message):
        Exchange(one(PROFILES["delay"]), policy)


def test_batsim_must_let_jobs_be_registered() -> None:
    with pytest.raises(ProtocolError, match="--enable-dynamic-jobs"):
        Exchange(one(PROFILES["delay"]), Dilating(), dynamic_jobs=False, profile_reuse=False)


def test_sites_that_do_not_fit() -> None:
    process = DecisionProcess(Dilating(), sites=parse_sites("3,4"))
    with pytest.raises(BatschedError, match="have 7 processors"):
        Simulator(make_homogeneous(8), [one(PROFILES["delay"])]).run(process.answer)


def test_a_profile_that_is_none() -> None:
    """A simulator may announce anything."""
    begun = begins(profiles={"w0": {"p": {"type": "delay", "delay": "x"}}})
    with pytest.raises(ProtocolError, match="profile 'p'"):
        DecisionProcess(Dilating()).answer(m.Message(0, [begun, submitted("1")]))
