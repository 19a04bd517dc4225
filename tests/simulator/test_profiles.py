"""What a profile may be, and what is said about one that is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import ProtocolError, WorkloadError
from batsched_py.simulator.engine import Options
from batsched_py.simulator.profiles import parse_profiles
from batsched_py.workload.batsim.batsim_workload import read_workload
from batsched_py.workload.batsim.profile_types import PROFILE_TYPES
from helpers.scripted_schedulers import (
    Script,
    Timetable,
    composed,
    compute,
    delay,
    ends,
    execute,
    job,
    register_profile,
    simulate,
    workload,
)

HUGE = 10**400
"""JSON has integers that no float can hold."""

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no type": ({}, "of type None"),
    "a type that is not known": ({"type": "smpy"}, "of type 'smpy': the embedded simulator runs"),
    "a type that is no text": ({"type": ["delay"]}, r"of type \['delay'\]"),
    "for storages": ({"type": "data_staging"}, "of type 'data_staging', which only real Batsim"),
    "no delay": ({"type": "delay"}, "delay is missing, expected a number"),
    "a delay of nothing": (delay(0), "a delay of 0.0, expected more than 0"),
    "a negative delay": (delay(-1), "a delay of -1.0"),
    "a delay without end": (delay(float("inf")), "delay is inf, expected a number"),
    "a delay that is no number": (delay(float("nan")), "delay is nan, expected a number"),
    "a delay that no float can hold": (delay(HUGE), "expected a number"),
    "true is no number": ({"type": "delay", "delay": True}, "delay is True"),
    "nor is text": ({"type": "delay", "delay": "5"}, "delay is '5'"),
    "no flops": ({"type": "parallel_homogeneous"}, "cpu is missing"),
    "negative flops": (compute(-1), "cpu is -1000000000.0, expected at least 0"),
    "negative bytes": (compute(1, com=-1), "com is -1.0, expected at least 0"),
    "bytes that are text": (compute(1, com="1"), "com is '1', expected a number"),
    "a ret of text": (delay(1, ret="1"), "ret is '1', expected an integer"),
    "a ret with digits after the point": (delay(1, ret=1.5), "ret is 1.5, expected an integer"),
    "a ret of true": (delay(1, ret=True), "ret is True, expected an integer"),
    "one number for all executors": ({"type": "parallel", "cpu": 1, "com": [0]}, "cpu is no list"),
    "no matrix": ({"type": "parallel", "cpu": [1]}, "com is no list"),
    "text in the matrix": ({"type": "parallel", "cpu": [1], "com": ["0"]}, "com is no list"),
    "a negative entry": ({"type": "parallel", "cpu": [-1], "com": [0]}, "cpu is no list"),
    "a matrix that is not square": (
        {"type": "parallel", "cpu": [1, 1], "com": [0, 0, 0]},
        "2 values of cpu and 3 of com, expected n and n",
    ),
    "an endless entry": (
        {"type": "parallel", "cpu": [float("inf")], "com": [0]},
        "cpu is no list of numbers",
    ),
    "nothing to say": ({"type": "send"}, "msg is None, expected an object"),
    "text to say": ({"type": "send", "msg": "hello"}, "msg is 'hello', expected an object"),
    "a negative sleep": ({"type": "send", "msg": {}, "sleeptime": -1}, "sleeptime is -1.0"),
    "a pattern that is none": ({"type": "recv", "regex": "("}, r"regex '\('"),
    "a pattern that is no text": ({"type": "recv", "regex": 5}, "regex 5"),
    "a pattern without end": ({"type": "recv", "regex": "a{" + "9" * 30 + "}"}, "regex 'a{999"),
    "a pattern without bottom": ({"type": "recv", "regex": "(" * 5000 + ")" * 5000}, "regex"),
    "polls without a pause": ({"type": "recv", "polltime": 0}, "polltime is 0.0"),
    "leads to a number": ({"type": "recv", "success": 1}, "success is 1, expected a profile"),
    "composed of nothing": (composed(), r"seq is \[\]"),
    "composed without parts": ({"type": "composed"}, "seq is None"),
    "composed of a number": ({"type": "composed", "seq": 5}, "seq is 5"),
    "composed of text": ({"type": "composed", "seq": "ab"}, "seq is 'ab'"),
    "composed of lists": ({"type": "composed", "seq": [["a"]]}, r"seq is \[\['a'\]\]"),
    "composed of what is not there": (composed("a", "x"), r"seq is \['a', 'x'\]"),
    "repeated never": (composed("a", repeat=0), "repeat is 0, expected at least 1"),
    "repeated half": (composed("a", repeat=1.5), "repeat is 1.5, expected at least 1"),
    "repeated true": (composed("a", repeat=True), "repeat is True"),
    "composed of itself": (composed("a", "p"), "is composed of itself"),
    "composed of one that is composed of it": (composed("b"), "is composed of itself"),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_refused(sentence: str) -> None:
    profile, message = WRONG[sentence]
    profiles = {"p": profile, "a": delay(1), "b": composed("p")}
    with pytest.raises(WorkloadError, match=f"^profile '.*{message}"):
        parse_profiles(["p"], profiles)


def test_refused_where_it_comes_from() -> None:
    """When a workload is loaded, with its name, and when a profile is registered."""
    for profile in (delay(0), composed("p")):
        with pytest.raises(WorkloadError, match=r"^test: profile 'p'"):
            simulate(Timetable({}), workload({"p": profile}, job("j", "p")))
    with pytest.raises(ProtocolError, match=r"^REGISTER_PROFILE: profile 'p'"):
        simulate(Script([register_profile("p", delay(0))]), options=Options(dynamic_jobs=True))


def test_what_runs_here_is_a_type_of_batsim() -> None:
    with pytest.raises(WorkloadError, match="the embedded simulator runs ") as caught:
        parse_profiles(["p"], {"p": {"type": "smpi"}})
    runs = set(str(caught.value).partition("simulator runs ")[2].split(", "))
    assert {"delay", "composed"} < runs < PROFILE_TYPES.keys()


KEPT: dict[str, tuple[dict[str, dict[str, Any]], set[str]]] = {
    "those of jobs": ({"j": delay(1), "x": delay(1)}, {"j"}),
    "parts of composed ones, though no job has those": (
        {"j": delay(1), "x": delay(1), "c": composed("x")},
        {"j", "x"},
    ),
    "not what only a recv profile leads to": (
        {"j": {"type": "recv", "success": "x"}, "x": delay(1)},
        {"j"},
    ),
}


@pytest.mark.parametrize("sentence", KEPT)
def test_profiles_that_are_kept(sentence: str, tmp_path: Path) -> None:
    profiles, kept = KEPT[sentence]
    path = tmp_path / "workload.json"
    job = {"id": 1, "subtime": 0, "res": 1, "profile": "j"}
    path.write_text(json.dumps({"nb_res": 1, "jobs": [job], "profiles": profiles}))
    assert read_workload(path).profiles.keys() == kept


def test_two_to_the_sixtieth_parts_are_read_and_released_at_once() -> None:
    """Each profile is read once, however often others are composed of it; so it is released."""
    profiles = {
        f"{name}{at}": composed(f"a{at + 1}", f"b{at + 1}") for at in range(60) for name in "ab"
    }
    profiles |= {"a60": delay(1), "b60": delay(1), "r": {"type": "recv", "success": "a60"}}
    outcome = simulate(
        Timetable({0: [execute("w0!j", "0")]}), workload(profiles, job("j", "a0", 1000.5))
    )
    assert ends(outcome) == {"j": ("WALLTIME_REACHED", 1000.5)}


@pytest.mark.parametrize("downwards", [True, False], ids=["whole first", "parts first"])
@pytest.mark.parametrize(("deep", "fits"), [(100, True), (101, False), (100_000, False)])
def test_depth(deep: int, fits: bool, downwards: bool) -> None:
    """Composed profiles a hundred deep run; what is deeper is refused, not a crash."""
    names = [f"p{at:06d}" for at in range(deep + 1)]  # they are read in order of their names
    if not downwards:
        names.reverse()
    profiles = {names[at]: composed(names[at + 1]) for at in range(deep)} | {names[-1]: delay(1)}
    load = workload(profiles, job("j", names[0]))
    if fits:
        outcome = simulate(Timetable({0: [execute("w0!j", "0")]}), load)
        assert ends(outcome) == {"j": ("SUCCESSFULLY", 1)}
        return
    with pytest.raises(WorkloadError, match="more than 100 deep"):
        simulate(Timetable({}), load)
