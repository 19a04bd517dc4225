"""Policies and user models as Python objects: classes, instances, factories and their numbers."""

from __future__ import annotations

import hashlib
import inspect
import json
import linecache
from collections.abc import Iterable, Iterator
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from batsched_py import (
    CallMeLater,
    Decision,
    Machine,
    Start,
    UserModel,
    WaitingQueue,
    Workload,
    WorkloadJob,
    simulate,
)
from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.planned_runs import PlannedRun
from batsched_py.errors import InvariantError, UsageError
from batsched_py.model.counters import read_counters
from batsched_py.run.plugin_objects import make_name
from batsched_py.run.settings import Settings
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_users.models.rigid import Rigid
from helpers.calling import command


class Greedy:
    """Start whatever fits, in submission order, and count the passes."""

    def __init__(self, *, most: int = 1000) -> None:
        self.most = most
        self.passes = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        self.passes += 1
        for job in list(queue)[: self.most]:
            if job.size <= machine.free:
                yield Start(job)


class Paced(Rigid):
    """The jobs of a log, an hour apart."""

    def __init__(self, workload: Workload, *, gap: float = 3600.0) -> None:
        for number, job in enumerate(workload.jobs):
            job.submit_time = gap * number
        super().__init__(workload)


def own(kind: type[Any]) -> str:
    """Return the name that the issue promises."""
    digest = hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()[:8]
    return f"{kind.__name__} (source {digest})"


def test_a_class_is_as_good_as_its_file(tmp_path: Path) -> None:
    file = tmp_path / "greedy.py"
    text = "from batsched_py import Start\n" + inspect.getsource(Greedy)
    for hint in (": WaitingQueue", ": Machine", " -> Iterator[Decision]"):
        text = text.replace(hint, "")
    file.write_text(text)
    options = {"most": 1}
    by_file = simulate("sample", scheduler=f"{file}:Greedy", scheduler_options=options, first=300)
    by_class = simulate("sample", scheduler=Greedy, scheduler_options=options, first=300)
    assert by_class.jobs_csv() == by_file.jobs_csv()
    assert by_class.jobs_csv() != simulate("sample", scheduler=Greedy, first=300).jobs_csv()
    assert by_class.settings["run"]["scheduler"] == own(Greedy)
    assert by_class.settings["run"]["scheduler_options"] == options
    made = simulate("sample", scheduler=partial(Greedy, most=1), first=300)
    assert made.jobs_csv() == by_file.jobs_csv()


def test_an_instance_is_used_as_it_is() -> None:
    policy = Greedy(most=1)
    result = simulate("sample", scheduler=policy, first=100)
    assert policy.passes > 100
    assert result.settings["run"]["scheduler"] == own(Greedy)
    assert any("as an instance" in note for note in result.settings["notes"])
    assert not any("before" in note for note in result.settings["notes"])
    again = simulate("sample", scheduler=policy, first=100)
    assert any("in a run before" in note for note in again.settings["notes"])
    other = simulate("sample", scheduler=Greedy(most=1), first=100)
    assert not any("before" in note for note in other.settings["notes"])
    with pytest.raises(UsageError, match="an object already"):
        simulate("sample", scheduler=policy, scheduler_options={"most": 2})


def test_users_are_made_of_the_workload() -> None:
    def factory(workload: Workload, gap: float) -> UserModel:
        return Paced(workload, gap=gap)

    options = {"user_options": {"gap": 60}, "first": 50}
    by_class = simulate("sample", users=Paced, **options)
    assert by_class.settings["run"]["users"] == own(Paced)
    assert sorted(by_class.jobs["submission_time"]) == [60.0 * number for number in range(50)]
    by_factory = simulate("sample", users=factory, **options)
    assert by_factory.jobs_csv() == by_class.jobs_csv()
    assert by_factory.settings["run"]["users"].startswith("Paced (source ")


def in_cell(text: str, name: str, globals_: dict[str, Any]) -> None:
    """Execute a cell as IPython does: its source is known by the name of its code."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), globals_)


def test_a_class_of_a_cell_is_known_by_its_text() -> None:
    """Python does not find it, as its module has no file."""
    text = "@mark\nclass Mine:\n    limit = 1\n    def schedule(self): ...\n"
    cell = f"A = 1\n{text}\nB = 2\n"
    globals_: dict[str, Any] = {"__name__": "no_such_module", "mark": lambda kind: kind}
    in_cell(cell, "<cell 1>", globals_)
    first = make_name(globals_["Mine"])
    assert first == f"Mine (source {hashlib.sha256(text.encode()).hexdigest()[:8]})"
    in_cell(cell.replace("limit = 1", "limit = 2"), "<cell 2>", globals_)
    assert make_name(globals_["Mine"]) != first
    exec("class Unknown:\n    def schedule(self, now, queue, machine): return ()", globals_)
    assert make_name(globals_["Unknown"]) == "Unknown (source unknown)"


@pytest.mark.parametrize("given", [{"scheduler": Greedy}, {"users": Paced}])
def test_another_process_needs_a_file(given: dict[str, Any]) -> None:
    (kind,) = given.values()
    with pytest.raises(UsageError, match=rf"path/to/file\.py:{kind.__name__}"):
        simulate("sample", backend="socket", **given)


def test_a_campaign_needs_a_file(tmp_path: Path) -> None:
    """By the class itself, and by what a run of it is named."""
    with pytest.raises(UsageError, match=r"to/file\.py:Greedy"):
        PlannedRun({}, Settings(scheduler=Greedy)).settings.run()  # type: ignore[arg-type]
    (tmp_path / "x.toml").write_text(f'[run]\nscheduler = "{own(Greedy)}"\n')
    assert read_campaign(tmp_path / "x.toml").runs
    done = command(tmp_path, "campaign", "x.toml", "-e", "out")
    assert done.returncode == 2
    assert "x.toml:2" in done.stderr
    assert "path/to/file.py:Greedy" in done.stderr


LOG = workload([J(10 * n, 1 + n % 3, 30, user=str(n % 2)) for n in range(8)], 4)


class Users(Rigid):
    """Replay the log of two users, with numbers of some kind."""

    def __init__(self, workload: Workload, *, number: Any = int, whole: Any = int) -> None:
        super().__init__(workload)
        self.profiles = {"r30": {"type": "delay", "delay": number(30)}}
        self.number, self.whole, self.count = number, whole, 0

    def next_submission(self) -> Any:
        time = super().next_submission()
        return self.number(time) if time < inf else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        number, whole = self.number, self.whole
        for job in super().jobs_to_submit(now):
            self.count += 1
            extra = {"session": whole(self.count), "further": [number(1)], "think_time": number(2)}
            times = {"walltime": number(100), "estimate": number(50)}
            recorded = {"submit_time": number(0), "original_submission_time": number(5)}
            numbers = {"size": whole(job.size), "user": whole(int(job.user or 0)), "extra": extra}
            yield msgspec.structs.replace(job, **times, **recorded, **numbers)

    def statistics(self) -> dict[str, Any]:
        return {"submitted": self.whole(self.count), "inner": {"list": [self.number(1)]}}


class Policy:
    """First come, first served a little later, with numbers of some kind."""

    def __init__(self, *, number: Any = int, whole: Any = int) -> None:
        self._number, self._whole = number, whole
        self._called = False

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
        if not self._called:
            self._called = True
            yield CallMeLater(self._number(5))
        for job in list(queue):
            if job.size <= machine.free:
                chosen = [self._whole(p) for p in machine.free_processors.lowest(job.size)]
                yield Start(job, chosen, self._number(2), self._number(1))

    def dilates(self, sites: Any) -> bool:
        return True

    def statistics(self) -> dict[str, Any]:
        return {"called": self._number(self._called), "flag": np.bool_(self._called)}


@pytest.mark.parametrize(
    ("number", "whole", "of_python"), [(np.uint8, np.uint8, int), (np.float32, np.int64, float)]
)
def test_numbers_of_numpy_are_as_good_as_pythons(
    tmp_path: Path, number: Any, whole: Any, of_python: Any
) -> None:
    def run(number: Any, whole: Any) -> Any:
        options = {"number": number, "whole": whole}
        return simulate(
            LOG,
            scheduler=lambda: Policy(**options),
            users=lambda workload: Users(workload, **options),
            record=tmp_path / "messages.jsonl",  # which writes them as JSON
        )

    expected, result = run(of_python, int), run(number, whole)
    assert result.jobs_csv() == expected.jobs_csv()
    assert set(expected.jobs["user"]) == {"0", "1"}
    ours, theirs = json.loads(result.run_json()), json.loads(expected.run_json())
    for name in ("statistics", "user_statistics"):
        assert ours[name] == theirs[name]
    with pytest.raises(UsageError, match="options"):
        simulate(LOG, users=Users, user_options={"number": number})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user": 1.5}, "Wrong submitted job 0001 with user = 1.5"),
        ({"user": True}, "user = True"),
        ({"size": np.float64(2)}, "size = np.float64(2.0)"),
        ({"walltime": "1 h"}, "walltime = '1 h'"),
        ({"extra": None}, "extra = "),
    ],
)
def test_a_wrong_value_is_named_when_the_job_comes_in(
    changes: dict[str, Any], message: str
) -> None:
    class Wrong(Users):
        def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
            for job in super().jobs_to_submit(now):
                yield msgspec.structs.replace(job, **(changes if job.id == "0001" else {}))

    with pytest.raises(InvariantError) as error:
        simulate(LOG, users=Wrong)
    assert message in str(error.value)


WRONG = {
    "return None": "P.statistics() returned None",
    "return {'x': object}": "P.statistics(): 'x' is <class 'object'>",
    "1 / 0": "P.statistics() failed: ZeroDivisionError: division by zero (",
    "raise SystemExit(0)": "P.statistics() failed: SystemExit: 0 (",
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


def test_a_simulation_is_not_lost_by_counters_that_fail_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(P.format("return {'x': object()}"))
    line = ["simulate", "sample", "--first", "20", "--scheduler", "p.py:P", "-e", "out"]
    done = command(tmp_path, *line)
    assert done.returncode == 1
    assert "P.statistics(): 'x' is" in done.stderr
    assert (tmp_path / "out_jobs.csv").read_bytes().count(b"\n") == 21
    assert json.loads((tmp_path / "out_run.json").read_bytes())["statistics"] is None
