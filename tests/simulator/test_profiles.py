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

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a type that is not known": ({"type": "smpy"}, "type is 'smpy', expected one of composed"),
    "for storages": (
        {"type": "data_staging", "nb_bytes": 1},
        "'data_staging', which only real Batsim runs",
    ),
    "a delay of nothing": (delay(0), "delay = 0: expected seconds above 0"),
    "a delay that is no number": (delay(float("nan")), "delay = nan"),
    "negative flops": (compute(-1), "cpu = -1000000000.0: expected a number of at least 0"),
    "a ret with digits after the point": (delay(1, ret=1.5), "ret = 1.5: expected a whole number"),
    "one number for all executors": ({"type": "parallel", "cpu": 1, "com": [0]}, "cpu = 1"),
    "a matrix that is not square": (
        {"type": "parallel", "cpu": [1, 1], "com": [0, 0, 0]},
        "2 values of cpu and 3 of com, expected n and n",
    ),
    "text to say": ({"type": "send", "msg": "hello"}, "msg = 'hello': expected names and values"),
    "a pattern that is none": ({"type": "recv", "regex": "("}, r"regex '\('"),
    "polls without a pause": ({"type": "recv", "polltime": 0}, "polltime = 0"),
    "leads to a number": ({"type": "recv", "success": 1}, "success = 1: expected a text"),
    "composed of nothing": (composed(), r"seq = \[\]: expected names of profiles"),
    "composed of what is not there": (composed("a", "x"), "seq names 'x', which is not a profile"),
    "repeated never": (composed("a", repeat=0), "repeat = 0: expected a whole number, at least 1"),
    "composed of itself": (composed("a", "p"), "is composed of itself"),
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


def test_profiles_that_are_kept(tmp_path: Path) -> None:
    """Those of jobs and their parts; not what only a recv profile leads to."""
    profiles = {
        "j": composed("r", "part"),
        "part": delay(1),
        "r": {"type": "recv", "success": "x"},
        "x": delay(1),
        "unused": delay(1),
    }
    path = tmp_path / "workload.json"
    job = {"id": 1, "subtime": 0, "res": 1, "profile": "j"}
    path.write_text(json.dumps({"nb_res": 1, "jobs": [job], "profiles": profiles}))
    assert read_workload(path).profiles.keys() == {"j", "part", "r"}


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
@pytest.mark.parametrize(("deep", "fits"), [(100, True), (101, False), (5_000, False)])
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
