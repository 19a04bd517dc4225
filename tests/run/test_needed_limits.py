"""What jobs and policies do not have: limits that are needed, and input that is not used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from batsched_py import Machine, WaitingQueue, Workload, WorkloadJob, simulate
from batsched_py.errors import UsageError
from batsched_py.plugins.plugins import SCHEDULERS, list_names, load
from batsched_py.run.result import Result
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from every_policy import OPTIONS
from helpers.endless import Users
from helpers.logs import swf_line, swf_text
from helpers.partitions import entry, partition


@pytest.mark.parametrize("preset", ["default", "replay-feedback"])
@pytest.mark.parametrize("name", list_names(SCHEDULERS))
def test_a_policy_runs_or_refuses_before_it_begins(name: str, preset: str) -> None:
    """Jobs of no or little time, too wide, withdrawn, and with and without a request."""
    began = False

    class Watched(load(SCHEDULERS, name)):  # type: ignore[misc]
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
            nonlocal began
            began = True
            yield from super().schedule(now, queue, machine)

    frame = pd.DataFrame(
        {
            "submit_time": range(8),
            "wait_time": 0,
            "run_time": [0, 0, 0.3, 20, 0, 20, 20, 20],
            "requested_processors": [1, 8, 1, 9, 1, 2, 8, 1],
            "requested_time": [-1, 0, 0.2, -1, -1, -1, 30, 30],
            "status": [1, 1, 1, 1, 5, 1, 1, 1],
        }
    )
    frame.attrs = {"MaxProcs": 8}
    options = {"scheduler_options": OPTIONS.get(name, {})}
    try:
        result = simulate(frame, scheduler=Watched, rules=preset, progress=False, **options)
    except UsageError:
        assert preset != "default"
        assert not began
    else:
        assert preset != "default" or len(result.table.submit) == 7
        assert preset != "default" or "dropped: withdrawn" in " ".join(result.settings["notes"])


def test_what_helps_is_named() -> None:
    """Jobs that are too wide are refused anyway, so they need no limit."""
    frame = pd.DataFrame(
        {"submit_time": 0, "run_time": [0, 0, 9], "requested_processors": [9, 1, 1]}
    )
    frame.attrs = {"MaxProcs": 8}
    of_study = {"scheduler": "conservative", "rules": "replay-feedback"}
    with pytest.raises(UsageError) as refused:
        simulate(frame, **of_study)
    assert "1 of 3 jobs" in str(refused.value)
    for helps in ({"least_walltime": 1}, {"walltime": "exact"}, {"drop": "zero-runtime"}):
        assert next(iter(helps)) in str(refused.value)
        assert simulate(frame, **of_study, **helps).table.ran.any()
    with pytest.raises(UsageError, match="walltime exact"):
        simulate(frame, **of_study, walltime="requested")


def test_of_jobs_that_users_make_up() -> None:
    """The jobs of the log have limits; that of the user has none and ends the run."""
    with pytest.raises(UsageError, match="job dyn!1 has"):
        simulate(workload([J(0, 1, 5)], 4), scheduler="planning", users=Users)


# Input that is not used --------------------------------------------------------------------------


NODES, MAIN = entry("nodes", name="n", count=4, cores=1), partition("main")


def with_extras(*extras: dict[str, Any], size: int = 4) -> Workload:
    """Return jobs of 40 s on four processors, a second after each other, one with each extra."""
    jobs = [
        WorkloadJob(
            id=str(at), submit_time=at, size=size, profile="p", walltime=50, extra=dict(extra)
        )
        for at, extra in enumerate(extras)
    ]
    profile = {"type": "delay", "delay": 40}
    return Workload(name="x", nb_res=4, jobs=jobs, profiles={"p": profile})


def starts(result: Result) -> list[Any]:
    return result.jobs.sort_values("job_id")["starting_time"].tolist()


def noted(result: Result, text: str) -> bool:
    return any(text in note for note in result.settings["notes"])


@pytest.mark.parametrize("policy", sorted(list_names(SCHEDULERS)))
def test_reservations_are_followed_or_noted(policy: str) -> None:
    """A policy says that it reads them if and only if they change what it does."""
    options = OPTIONS.get(policy, {})
    settings: dict[str, Any] = {"scheduler": policy, "scheduler_options": options}
    if policy == "grid":
        settings["sites"] = "4"
    asked = simulate(with_extras({}, {"reserved_start": 200}, {"reserved_end": 500}), **settings)
    plain = simulate(with_extras({}, {}, {}), **settings)
    is_noted = noted(asked, f"2 jobs ask for an advance reservation, which {policy} does not")
    assert is_noted == (starts(asked) == starts(plain))
    assert not noted(plain, "reservation")


def test_a_policy_on_partitions_is_asked_itself(tmp_path: Path) -> None:
    machine = tmp_path / "m.toml"
    machine.write_text(NODES + entry("outages", begin=900, end=901) + MAIN)
    for policy, is_noted in (("planning", False), ("easy", True)):
        result = simulate(with_extras({"reserved_start": 200}), scheduler=policy, machine=machine)
        assert noted(result, "advance reservation") == is_noted


def test_preceding_jobs_are_noted(tmp_path: Path) -> None:
    """Nothing follows them: with and without them each job starts at the same time."""
    first, second = swf_line(1), swf_line(2, 20)
    follows = second.replace("-1 -1 -1", "-1 1 60")
    paths = [tmp_path / name for name in ("plain.swf", "follows.swf")]
    for path, line in zip(paths, (second, follows), strict=True):
        path.write_text(swf_text(first, line))
    plain, following = (simulate(path, users="feedback") for path in paths)
    assert (noted(plain, "preceding"), noted(following, "preceding")) == (False, True)
    assert starts(plain) == starts(following)


@pytest.mark.parametrize("size", [None, 8])
def test_processors_in_use_beyond_a_machine_of_unknown_size(
    tmp_path: Path, size: int | None
) -> None:
    """The recorded schedule has three jobs of 8 processors at once."""
    jobs = [swf_line(number, 0, 100, 8) for number in (1, 2, 3)]
    source = tmp_path / "x.swf"
    source.write_text(swf_text(*jobs, processors=size or -1))
    note = "has 24 processors in use at once, more than the machine of 8"
    assert noted(simulate(source), note) == (size is None)


@pytest.mark.parametrize(
    ("extra", "machine", "note"),
    [
        ({"partition": "main"}, False, "1 jobs name a partition, but there is no machine file"),
        ({"partition": "other"}, True, "does not have, such as 'other': they go to its first, m"),
        ({"partition": "main"}, True, None),
        ({"home": "site1"}, False, "1 jobs name a home, but there are no sites"),
        ({"partition": 3}, False, None),
    ],
)
def test_names_of_places_that_there_are_not(
    tmp_path: Path, extra: dict[str, Any], note: str | None, *, machine: bool
) -> None:
    (tmp_path / "m.toml").write_text(NODES + MAIN)
    result = simulate(with_extras(extra), machine=tmp_path / "m.toml" if machine else None)
    assert not noted(result, "name a") if note is None else noted(result, note)
