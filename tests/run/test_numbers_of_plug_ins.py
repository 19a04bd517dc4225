"""Numbers that plug-ins give: numpy's are as good as Python's; a wrong one loses no simulation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from batsched_py import (
    CallMeLater,
    EndedJob,
    Machine,
    Start,
    WaitingQueue,
    Workload,
    WorkloadJob,
    simulate,
)
from batsched_py.errors import InvariantError, UsageError, WorkloadError
from batsched_py.model.counters import read_counters
from helpers.calling import command

WORKLOAD = Workload(name="w", nb_res=4, jobs=[], profiles={})
KINDS: dict[str, Callable[[Any], Any]] = {
    "int64": np.int64,
    "uint8": np.uint8,
    "float32": np.float32,
    "float64": np.float64,
}


class Users:
    """Two users who submit four jobs each, with numbers of some kind."""

    def __init__(self, workload: Workload, *, number: Any = int, whole: Any = int) -> None:
        self.profiles = {"d": {"type": "delay", "delay": number(30)}}
        self._due: list[Any] = [number(10 * n) for n in range(8)]
        self._number, self._whole = number, whole
        self.nb_ended = 0

    def next_submission(self) -> Any:
        """Return when the next job is due."""
        return self._due[0] if self._due else self._number(inf) if self._number is float else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the next job."""
        n = int(self._due.pop(0)) // 10
        number, whole = self._number, self._whole
        yield WorkloadJob(
            id=str(n),
            submit_time=number(0),
            size=whole(1 + n % 3),
            profile="d",
            walltime=number(100),
            estimate=number(50),
            user=whole(n % 2),  # type: ignore[arg-type]
            original_submission_time=number(5),
            extra={"session": whole(n), "further": [number(1)], "think_time": number(2)},
        )

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Count."""
        self.nb_ended += 1

    def statistics(self) -> dict[str, Any]:
        """Return numbers of this kind."""
        return {"ended": self._whole(self.nb_ended), "inner": {"list": [self._number(1)]}}


class Policy:
    """First come, first served a little later, with numbers of some kind."""

    def __init__(self, *, number: Any = int, whole: Any = int) -> None:
        self._number, self._whole = number, whole
        self._called = False

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
        """Start on the lowest free processors."""
        if not self._called:
            self._called = True
            yield CallMeLater(self._number(5))
        for job in list(queue):
            if job.size <= machine.free:
                chosen = [self._whole(p) for p in machine.free_processors.lowest(job.size)]
                yield Start(job, chosen, self._number(2), self._number(1))

    def dilates(self, sites: Any) -> bool:
        """Return true."""
        return True

    def statistics(self) -> dict[str, Any]:
        """Return a number of this kind."""
        return {"called": self._number(self._called), "flag": np.bool_(self._called)}


def texts(result: Any) -> tuple[str, str, Any, Any]:
    """Return what a run leaves, without what differs between any two runs."""
    stored = json.loads(result.run_json())
    settings = stored["statistics"], stored["user_statistics"], stored["metrics"]
    return result.jobs_csv(), result.output.schedule_csv().partition(",")[0], *settings[:2]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_numpy_are_as_good_as_pythons(tmp_path: Path, kind: str) -> None:
    number = KINDS[kind]
    whole = np.int64 if "float" in kind else number

    def run(number: Any, whole: Any) -> Any:
        options = {"number": number, "whole": whole}
        return simulate(
            WORKLOAD,
            scheduler=lambda: Policy(**options),
            users=lambda workload: Users(workload, **options),
            record=tmp_path / "messages.jsonl",  # which writes them as JSON
        )

    expected = run(float if "float" in kind else int, int)
    assert texts(run(number, whole)) == texts(expected)
    assert set(expected.jobs["user"]) == {"0", "1"}
    assert expected.fault is None


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_numpy_in_a_workload_are_as_good_as_pythons(kind: str) -> None:
    def made(number: Any, whole: Any) -> Workload:
        users = Users(WORKLOAD, number=number, whole=whole)
        jobs = [job for n in range(8) for job in users.jobs_to_submit(n)]
        for n, job in enumerate(jobs):
            job.submit_time = number(10 * n)
            job.original_submission_time = None
        return Workload(name="w", nb_res=4, jobs=jobs, profiles=users.profiles)

    whole = np.int64 if "float" in kind else KINDS[kind]
    workload = made(KINDS[kind], whole)
    expected = made(float if "float" in kind else int, int)
    assert repr(workload) == repr(expected)
    assert msgspec.json.encode(workload) == msgspec.json.encode(expected)
    for job in expected.jobs:  # as in a notebook, after it was made
        job.size, job.walltime = whole(job.size), KINDS[kind](job.walltime)
    results = [simulate(load, scheduler="easy", progress=False) for load in (expected, workload)]
    assert results[0].jobs_csv() == results[1].jobs_csv()
    wrong = [msgspec.structs.replace(job, user=[]) for job in workload.jobs[1:]]
    with pytest.raises(WorkloadError, match=r"job 1 with user = \[\]: expected a text or None"):
        Workload(name="w", nb_res=4, jobs=wrong, profiles=workload.profiles)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user": 1.5}, "Wrong submitted job 1 with user = 1.5: expected a text or None"),
        ({"user": ["a"]}, "user = ['a']: expected a text or None"),
        ({"user": True}, "user = True"),
        ({"size": 1.5}, "size = 1.5: expected a whole number"),
        ({"size": np.float64(2)}, "size = np.float64(2.0): expected a whole number"),
        ({"size": True}, "size = True"),
        ({"walltime": "1 h"}, "walltime = '1 h': expected seconds or None"),
        ({"estimate": [1]}, "estimate = [1]"),
        ({"extra": None}, "extra = "),
    ],
)
def test_a_wrong_value_is_named_when_the_job_comes_in(
    changes: dict[str, Any], message: str
) -> None:
    class Wrong(Users):
        def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
            for job in super().jobs_to_submit(now):
                yield msgspec.structs.replace(job, **(changes if job.id == "1" else {}))

    with pytest.raises(InvariantError) as error:
        simulate(WORKLOAD, users=Wrong)
    assert message in str(error.value)


@pytest.mark.parametrize("wrong", ["q", None, [2], inf, -1, np.nan, True])
def test_a_wrong_dilation_is_named(wrong: Any) -> None:
    class Wrong(Policy):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
            for job in list(queue):
                yield Start(job, None, wrong, 1)

    with pytest.raises(InvariantError, match=r"was started with the dilation .* expected a number"):
        simulate(WORKLOAD, scheduler=Wrong, users=Users)


def test_options_with_numbers_of_numpy_are_stored() -> None:
    options = {"number": np.float64, "whole": int}
    with pytest.raises(UsageError, match="options are stored with the run"):
        simulate(WORKLOAD, users=Users, user_options=options)
    settings = {"scheduler": "dynp", "scheduler_options": {"slackness": np.float32(0.5)}}
    result = simulate("sample", first=np.int64(5), **settings)
    assert json.loads(result.run_json())["run"]["scheduler_options"] == {"slackness": 0.5}


WRONG = {
    "return None": "P.statistics() returned None: expected a dict of names and counters",
    "import numpy; return numpy.int64(3)": "P.statistics() returned np.int64(3)",
    "return {'x': object}": "P.statistics(): 'x' is <class 'object'>: expected a number",
    "1 / 0": "P.statistics() failed: ZeroDivisionError: division by zero (",
    "from batsched_py.errors import UsageError; raise UsageError('no')": (
        "P.statistics() failed: UsageError: no ("
    ),
    "raise SystemExit(0)": "P.statistics() failed: SystemExit: 0 (",
    "open('/no/such/file')": "P.statistics() failed: FileNotFoundError: [Errno 2]",
    "x = []; x.append(x); return {'x': x}": "P.statistics(): 'x' is [[...]]",
}
P = """
from batsched_py import Start

class P:
    def schedule(self, now, queue, machine):
        for job in list(queue):
            if job.size <= machine.free:
                yield Start(job)

    def statistics(self):
        {}
"""


@pytest.mark.parametrize("body", WRONG)
def test_wrong_counters_are_named(body: str) -> None:
    names: dict[str, Any] = {}
    exec(P.format(body), names)
    with pytest.raises(InvariantError) as error:
        read_counters(names["P"]())
    assert str(error.value).startswith(WRONG[body])


def test_a_simulation_is_not_lost_by_what_fails_at_its_end(tmp_path: Path) -> None:
    """By counters in ``simulate``, in Python and in a campaign; by ``measure`` there."""
    (tmp_path / "p.py").write_text(P.format("return {'x': object()}"))
    (tmp_path / "m.py").write_text("def measure(result): return {'x': 1 / 0}\n")
    line = "simulate sample --first 20 --scheduler p.py:P -e out"
    done = command(tmp_path, *line.split())
    assert done.returncode == 1
    error = done.stderr.strip().splitlines()[-1]
    assert error.startswith("batsched-py: error: P.statistics(): 'x' is <object object at ")
    whole = (tmp_path / "out_jobs.csv").read_bytes()
    assert whole.count(b"\n") == 21
    assert json.loads((tmp_path / "out_run.json").read_bytes())["statistics"] is None
    result = simulate("sample", first=20, scheduler=f"{tmp_path / 'p.py'}:P")
    assert result.fault in result.notes
    assert result.jobs_csv().encode() == whole

    head = 'name = "c"\nmeasure = "m.py:measure"\n[run]\nlog = ["sample"]\nfirst = 20\n'
    (tmp_path / "c.toml").write_text(f'{head}scheduler = ["p.py:P", "easy"]\n')
    done = command(tmp_path, "campaign", "c.toml", "-e", "c", "--jobs", "1", "--no-report")
    assert done.returncode == 1
    tables = sorted((tmp_path / "c" / "runs").glob("*/out_jobs.csv"))
    assert len(tables) == 2
    assert whole in [path.read_bytes() for path in tables]
    errors = "".join(path.with_name("error.txt").read_text() for path in tables)
    assert "P.statistics(): 'x' is" in errors
    assert "ZeroDivisionError: division by zero (" in errors
    assert not list((tmp_path / "c" / "runs").glob("*/out_run.json"))
