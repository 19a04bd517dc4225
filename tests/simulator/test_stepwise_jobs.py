"""Jobs that are more than one duration, in small cases drawn by hand."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batsched_py.errors import DeadlockError, ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.simulator.engine import Options, Outcome
from batsched_py.simulator.platform.hosts import Platform
from helpers.parallel_tasks_twin import Start, Twin, star, stars
from helpers.scripted_schedulers import (
    FINISHED,
    GIGA,
    Make,
    Timetable,
    composed,
    compute,
    delay,
    ends,
    execute,
    job,
    kill,
    register_job,
    register_profile,
    simulate,
    tell,
    workload,
)

Profiles = dict[str, dict[str, Any]]

# One job ------------------------------------------------------------------------------------------


def each(cpu: float, com: float) -> dict[str, Any]:
    return {"type": "parallel_homogeneous", "cpu": cpu, "com": com}


def total(cpu: float, com: float) -> dict[str, Any]:
    return {"type": "parallel_homogeneous_total", "cpu": cpu, "com": com}


def parallel(cpu: list[float], com: list[float]) -> dict[str, Any]:
    return {"type": "parallel", "cpu": cpu, "com": com}


class Case(NamedTuple):
    """A job: its profile, made of ``PARTS``, how it ends, and its walltime and return code.

    None as return code: 0, or -1 at the walltime. ``places`` has a digit for each executor, the
    place of its machine.
    """

    main: dict[str, Any]
    end: tuple[str, float]
    walltime: float | None = None
    return_code: int | None = None
    size: int = 1
    alloc: str = "0"
    places: str | None = None


SUCCESS, FAILED, WALLTIME, KILLED = "SUCCESSFULLY", "FAILED", "WALLTIME_REACHED", "KILLED"
WORDS = {"type": "send", "msg": {}, "sleeptime": 3}
LISTENS = {"type": "recv", "timeout": "a"}
TOTAL = total(12 * GIGA, 0)
PARALLEL = parallel([GIGA, 4 * GIGA], [0] * 4)
PARTS: Profiles = {
    "a": delay(2),
    "b": compute(3),
    "bad": delay(2, ret=7),
    "late": delay(2, ret=-4),
    "nothing": compute(0),
    "words": WORDS,
    "total": TOTAL,
    "talk": each(0, 1e8),
    "two a, failing": composed("a", repeat=2, ret=3),
    "four bad": composed("bad", repeat=4, ret=6),
}
CASES: dict[str, Case] = {
    "a computation that equals it is done": Case(compute(5), (SUCCESS, 5), 5),
    "one that is longer is cut": Case(compute(5), (WALLTIME, 4), 4),
    "a failure": Case(compute(5, ret=42), (FAILED, 5), None, 42),
    "an inner ret stops after its repeats": Case(
        composed("two a, failing", "a"), (FAILED, 4), None, 3
    ),
    "a negative ret is Batsim's walltime": Case(composed("late", "a"), (WALLTIME, 2), None, -4),
    "a delay that equals what is left is cut": Case(composed("b", "a"), (WALLTIME, 5), 5),
    "a computation that equals what is left is done": Case(composed("a", "b"), (SUCCESS, 5), 5),
    "done at the last instant, what computes next is cut": Case(
        composed("b", repeat=2), (WALLTIME, 3), 3
    ),
    "the walltime is over all repeats": Case(composed("a", repeat=10**30), (WALLTIME, 7), 7),
    "and inside: a walltime reached is not a failure of a part": Case(
        composed("two a, failing", "a", ret=5), (WALLTIME, 3), 3
    ),
    "a failure inside stops the outside, whose own ret does not matter": Case(
        composed("four bad", "a", ret=5), (FAILED, 2), None, 7
    ),
    "they fail with their ret, after their time": Case(WORDS | {"ret": 2}, (FAILED, 3), None, 2),
    "unheard, it goes on with the profile for that": Case(LISTENS, (SUCCESS, 2)),
    "or fails afterwards with its ret": Case(LISTENS | {"ret": 3}, (FAILED, 2), None, 3),
    "a total is shared by all machines": Case(TOTAL, (SUCCESS, 3), size=4, alloc="0-3"),
    "as are all totals that a job is composed of": Case(
        composed("total", repeat=2), (SUCCESS, 8), size=4, alloc="0-2"
    ),
    "two executors on a machine share it": Case(compute(3), (SUCCESS, 6), size=2, places="00"),
    "a total of executors, not of machines": Case(
        TOTAL, (SUCCESS, 9), size=4, alloc="0-1", places="0001"
    ),
    "delays do not share": Case(delay(3), (SUCCESS, 3), size=2, places="00"),
}


def run(case: Case, platform: Platform | None = None) -> Outcome:
    load = workload(PARTS | {"main": case.main}, job("j", "main", case.walltime, case.size))
    mapping = {str(at): place for at, place in enumerate(case.places or "")}
    scheduler = Timetable({0: [execute("w0!j", case.alloc, mapping=mapping or None)]})
    return simulate(scheduler, load, platform=platform)


@pytest.mark.parametrize("sentence", CASES)
def test_alone(sentence: str) -> None:
    case = CASES[sentence]
    outcome = run(case)
    assert ends(outcome) == {"j": case.end}
    usual = -1 if case.end[0] == WALLTIME else 0
    assert outcome.jobs[0].return_code == (usual if case.return_code is None else case.return_code)


FLOPS, BYTES = st.sampled_from([0.0, 1e8, 1e9, 2.3e9]), st.sampled_from([0.0, 1e7, 1e8])
MIXES = st.lists(
    st.one_of(
        st.builds(delay, st.sampled_from([0.5, 2.0, 3.1])),
        st.builds(delay, st.just(1.0), ret=st.just(7)),
        st.builds(each, FLOPS, BYTES),
        st.builds(total, FLOPS, BYTES),
        st.builds(
            parallel,
            st.lists(FLOPS, min_size=2, max_size=2),
            st.lists(BYTES, min_size=4, max_size=4),
        ),
        st.just(WORDS),
    ),
    min_size=2,
    max_size=6,
)


def lasts(part: dict[str, Any], platform: Platform) -> float:
    """Return how long two executors take for a part, by the slow twin of parallel tasks."""
    if "cpu" not in part:
        return float(part.get("delay", part.get("sleeptime", 0)))
    cpu, com = part["cpu"], part["com"]
    if part["type"] != "parallel":
        shared_by = 2 if part["type"].endswith("total") else 1
        cpu, com = [cpu / shared_by] * 2, [0, com / shared_by, com / shared_by, 0]
    (end,) = Twin(platform).ends([Start(0, [0, 1], cpu, com)])
    assert end is not None
    return end


@given(
    MIXES, stars(st.sampled_from([0.0, 1e-4, 0.3])), st.integers(1, 3), st.sampled_from([inf, 4.2])
)
def test_delays_computations_and_messages_in_one_job(
    parts: list[dict[str, Any]], platform: Platform, repeat: int, walltime: float
) -> None:
    """One part after the other, of which half are a profile inside that is repeated."""
    names = [f"p{at}" for at in range(len(parts))]
    inner, outer = names[::2], names[1::2]
    profiles = dict(zip(names, parts, strict=True)) | {"in": composed(*inner, repeat=repeat)}
    load = workload(
        profiles | {"main": composed("in", *outer)},
        job("j", "main", None if walltime == inf else walltime, 2),
    )
    time, state = 0.0, SUCCESS
    for part in (profiles[name] for name in inner * repeat + outer):
        time += lasts(part, platform)
        assume(abs(time - walltime) > 1e-6)
        if time > walltime or part.get("ret"):
            time, state = min(time, walltime), FAILED if time < walltime else WALLTIME
            break
    outcome = simulate(Timetable({0: [execute("w0!j", "0-1")]}), load, platform=platform)
    assert ends(outcome) == {"j": (state, pytest.approx(time, abs=1e-6))}


def test_one_machine_too_many_for_composed_jobs_that_are_not_all_totals() -> None:
    with pytest.raises(ProtocolError, match="was given 2"):
        run(Case(composed("total", "a"), (FAILED, 0), alloc="0-1"))


def test_executors_that_do_not_fit() -> None:
    """A profile for two executors, a job of three, or a registered one of one."""
    with pytest.raises(ProtocolError, match="it has 3"):
        run(Case(PARALLEL, (FAILED, 0), size=3, alloc="0-2"))
    plan = [
        register_profile("p", PARALLEL),
        register_job("j", "p"),
        execute("dyn!j", "0"),
        FINISHED,
    ]
    with pytest.raises(ProtocolError, match="for 2 executors"):
        simulate(Timetable({0: plan}), options=Options(dynamic_jobs=True))


SHARING = Options(compute_sharing=True)
SHARED: dict[str, tuple[dict[str, tuple[str, float]], dict[str, float]]] = {
    "two computations slow each other": ({"a": ("one", 0), "b": ("three", 0)}, {"a": 2, "b": 4}),
    "delays neither slow nor are slowed": ({"a": ("three", 0), "d": ("wait", 0)}, {"a": 3, "d": 2}),
}


@pytest.mark.parametrize("sentence", SHARED)
def test_jobs_that_share_a_host(sentence: str) -> None:
    jobs, expected = SHARED[sentence]
    profiles = {
        "one": compute(1),
        "three": compute(3),
        "wait": delay(2),
    }
    load = workload(profiles, *(job(name, profile) for name, (profile, _) in jobs.items()))
    plan: dict[float, list[Make]] = {}
    for name, (_, start) in jobs.items():
        plan.setdefault(start, []).append(execute(f"w0!{name}", "0"))
    outcome = simulate(Timetable(plan), load, SHARING)
    assert ends(outcome) == {name: (SUCCESS, end) for name, end in expected.items()}


def test_the_walltime_of_a_job_that_is_slowed() -> None:
    """One second of work takes two beside another job, and is cut after 1.5."""
    load = workload({"p": compute(1)}, job("a", "p", 1.5), job("b", "p"))
    outcome = simulate(Timetable({0: [execute("w0!a", "0"), execute("w0!b", "0")]}), load, SHARING)
    assert ends(outcome) == {"a": (WALLTIME, 1.5), "b": (SUCCESS, 1.75)}


@pytest.mark.parametrize(("leads_to", "released"), [("x", True), ("y", True), ("z", False)])
def test_a_profile_is_released_with_the_first_job_that_has_it(
    leads_to: str, released: bool
) -> None:
    """Or has it as a part: in Batsim 4.2.0 no job comes to it any more by a ``recv`` profile."""
    profiles = {
        **{name: delay(1) for name in "xyz"},
        "has y": composed("y"),
        "recv": {"type": "recv", "regex": "a", "timeout": leads_to},
        "later": composed("x", "x", "recv"),
    }
    jobs = [job("a", "x"), job("b", "has y"), job("c", "later"), job("d", "z")]
    plan: dict[float, list[Make]] = {
        0: [execute("w0!a", "0"), execute("w0!b", "1"), execute("w0!c", "2")],
        9: [execute("w0!d", "0")],
    }
    if released:
        with pytest.raises(ProtocolError, match=f"leads to '{leads_to}'"):
            simulate(Timetable(plan), workload(profiles, *jobs))
    else:
        assert ends(simulate(Timetable(plan), workload(profiles, *jobs)))["c"] == (SUCCESS, 3)


# Killed -------------------------------------------------------------------------------------------


def part(name: str, progress: float) -> dict[str, Any]:
    return {"profile_name": name, "progress": progress}


def inside(name: str, index: int, current: dict[str, Any]) -> dict[str, Any]:
    return {"profile_name": name, "current_task_index": index, "current_task": current}


NESTED: Profiles = {
    "main": composed("a", "in"),
    "in": composed("a", "b", repeat=5),
    "a": delay(2),
    "b": compute(4),
    "listen": composed("a", "r"),
    "r": {"type": "recv", "timeout": "", "success": "a"},
    "endless": compute(1e299),
    "send": {"type": "send", "msg": {"a": 1}, "sleeptime": 5},
    "talks": compute(1, com=1),
}
NO_PART = {"current_task_index": -1}
# Each as in Batsim 4.2.0: -2 if a computation was killed.
KILLS: dict[str, tuple[str, float, dict[str, Any], int]] = {
    "in a nested delay": ("main", 3, inside("main", 1, inside("in", 0, part("a", 0.5))), -1),
    "in a nested computation": ("main", 5, inside("main", 1, inside("in", 1, part("b", 0.25))), -2),
    "counted over repeats": ("main", 15, inside("main", 1, inside("in", 4, part("a", 0.5))), -1),
    "in a computation": ("b", 1, part("b", 0.25), -2),
    "while it waits": ("listen", 7, inside("listen", 1, NO_PART | {"profile_name": "r"}), -1),
    "while it sends": ("send", 2, NO_PART | {"profile_name": "send"}, -1),
}


def killed_at(time: float, profile: str, platform: Platform | None = None, nb: int = 1) -> Any:
    """Kill a job of ``nb`` hosts; return its return code, and how much of it was done."""
    scheduler = Timetable({0: [execute("w0!j", f"0-{nb - 1}")], time: [kill("w0!j")]})
    outcome = simulate(scheduler, workload(NESTED, job("j", profile, size=nb)), platform=platform)
    assert (ends(outcome), outcome.end) == ({"j": (KILLED, time)}, time)
    (killed,) = scheduler.events(m.JobKilled)
    return outcome.jobs[0].return_code, killed.job_progress["w0!j"]


@pytest.mark.parametrize("sentence", KILLS)
def test_killed(sentence: str) -> None:
    profile, time, progress, return_code = KILLS[sentence]
    assert killed_at(time, profile) == (return_code, progress)


@pytest.mark.parametrize(("time", "progress"), [(1, 0.0), (2, 0.0), (2.5, 0.5)])
def test_killed_during_the_latency(time: float, progress: float) -> None:
    """Nothing is done while the first message is under way, here for two seconds."""
    _, done = killed_at(time, "talks", star("SPLITDUPLEX", None, False, 1.0), nb=2)
    assert done == part("talks", pytest.approx(progress, abs=1e-12))


# Messages -----------------------------------------------------------------------------------------


class Talk(NamedTuple):
    """A job that listens: its profile ``r``, the messages by time, and its end.

    ``yes`` takes 10 s, ``no`` 20, ``late`` 30.
    """

    fields: dict[str, Any]
    messages: dict[float, list[str]]
    end: tuple[str, float]
    walltime: float | None = None
    main: str = "r"


LISTEN = {"regex": "go.*", "success": "yes", "failure": "no", "polltime": 2}
IMPATIENT = LISTEN | {"timeout": "late"}
TALKS: dict[str, Talk] = {
    "a message that is there is taken at once": Talk(LISTEN, {0: ["go"]}, (SUCCESS, 10)),
    "the whole message has to match": Talk(LISTEN, {0: ["let go"]}, (SUCCESS, 20)),
    "it looks every two seconds": Talk(LISTEN, {3: ["go"]}, (SUCCESS, 14)),
    "at the instant of a look it is for the next": Talk(LISTEN, {4: ["go"]}, (SUCCESS, 16)),
    "times count from the first look": Talk(LISTEN, {6: ["go"]}, (SUCCESS, 17), main="later"),
    "a second message does not put off the first": Talk(
        LISTEN, {2.5: ["go"], 3.5: ["no"]}, (SUCCESS, 14)
    ),
    "polltime is 5 ms if not given": Talk({}, {0.001: ["go"]}, (SUCCESS, 0.005)),
    "looking without end is looking at once": Talk({"polltime": 1e-320}, {3: ["go"]}, (SUCCESS, 3)),
    "without a message it goes on at once": Talk(IMPATIENT, {1: ["go"]}, (SUCCESS, 30)),
    "the wait counts for what follows": Talk(LISTEN, {5.5: ["go"]}, (WALLTIME, 16), 16),
    "a look at the very walltime is too late": Talk(LISTEN, {5.5: ["go"]}, (WALLTIME, 6), 6),
}
TALKERS: Profiles = {
    "yes": delay(10),
    "no": delay(20),
    "late": delay(30),
    "five": delay(5),
    "later": composed("five", "r"),
    "twice": composed("r", repeat=2),
    "keep": composed("yes", "no", "late"),
}


@pytest.mark.parametrize("sentence", TALKS)
def test_messages(sentence: str) -> None:
    """What is said at 0 is said before the job starts."""
    talk = TALKS[sentence]
    plan: dict[float, list[Make]] = {
        time: [tell("w0!j", text) for text in texts] for time, texts in talk.messages.items()
    }
    plan.setdefault(0, []).append(execute("w0!j", "0"))
    load = workload(
        TALKERS | {"r": {"type": "recv", **talk.fields}}, job("j", talk.main, talk.walltime)
    )
    assert ends(simulate(Timetable(plan), load)) == {"j": talk.end}


def test_work_and_look_for_a_message_and_work_again() -> None:
    """What leads to itself with time in between goes on for as long as it takes.

    It listens until something is said at 1000.5. If it is killed, its progress is not too deep to
    be sent.
    """
    profiles: Profiles = {
        "main": composed("a", "r"),
        "r": {"type": "recv", "timeout": "main", "success": "b"},
        "a": delay(1),
        "b": delay(5),
        "keep": composed("b"),
    }
    load = workload(profiles, job("j", "main", 2000))
    plan = {0: [execute("w0!j", "0")], 1000.5: [tell("w0!j", "x")]}
    assert ends(simulate(Timetable(plan), load)) == {"j": (SUCCESS, 1001 + 5)}
    scheduler = Timetable({0: [execute("w0!j", "0")], 1000.25: [kill("w0!j")]})
    simulate(scheduler, load)
    (killed,) = scheduler.events(m.JobKilled)
    current, depth = killed.job_progress["w0!j"], 0
    while "current_task" in current:
        current, depth = current["current_task"], depth + 1
    assert 0 < depth <= 103


def test_deadlock_names_the_job_that_waits_for_a_message() -> None:
    load = workload({"r": {"type": "recv"}, "a": delay(3)}, job("deaf", "r"), job("done", "a"))
    plan = {0: [execute("w0!deaf", "0"), execute("w0!done", "1")]}
    with pytest.raises(DeadlockError, match=r"at 3.*w0!deaf") as seen:
        simulate(Timetable(plan), load)
    assert seen.value.waiting == ["w0!deaf"]


LEADS: dict[str, tuple[str, str]] = {
    "to one that never was": ("never", "leads to 'never'"),
    "to itself": ("r", "'r' leads to itself"),
    "to itself, before other work": ("between", "100 deep"),
    "to itself, with work that takes no time": ("at once", "'r' leads to itself"),
}


@pytest.mark.parametrize("sentence", LEADS)
def test_leads(sentence: str) -> None:
    target, message = LEADS[sentence]
    profiles = PARTS | {
        "r": {"type": "recv", "timeout": target},
        "at once": composed("nothing", "r"),
        "between": composed("a", "r", "a"),
        "other": {"type": "recv", "timeout": "r"},
    }
    with pytest.raises(ProtocolError, match=message):
        simulate(Timetable({0: [execute("w0!j", "0")]}), workload(profiles, job("j", "r")))


def test_leads_to_a_composed_profile_that_was_registered() -> None:
    """On which Batsim crashes, as it does if a job has it."""
    plan = [
        register_profile("a", delay(1)),
        register_profile("c", composed("a")),
        register_profile("r", {"type": "recv", "timeout": "c"}),
        register_job("j", "r"),
        execute("dyn!j", "0"),
        FINISHED,
    ]
    with pytest.raises(ProtocolError, match="composed profile 'c'"):
        simulate(Timetable({0: plan}), options=Options(dynamic_jobs=True))
