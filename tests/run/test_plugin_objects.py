"""Policies and user models as classes, instances and factories, as a notebook has them."""

from __future__ import annotations

import hashlib
import inspect
import linecache
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pytest

from batsched_py import (
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
from batsched_py.errors import PluginError, UsageError
from batsched_py.plugins import plugins
from batsched_py.run.plugin_objects import make_name
from batsched_py.run.settings import Settings
from helpers.calling import command


class Greedy:
    """Start whatever fits, in submission order, and count the passes."""

    def __init__(self, *, most: int = 1000) -> None:
        self.most = most
        self.passes = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start at most so many at once."""
        self.passes += 1
        for job in list(queue)[: self.most]:
            if job.size <= machine.free:
                yield Start(job)


class Reversed:
    """The jobs of a log from the last to the first, an hour apart."""

    def __init__(self, workload: Workload, *, gap: float = 3600.0) -> None:
        self.profiles: Mapping[str, dict[str, Any]] = workload.profiles
        self._jobs = list(workload.jobs)
        self._gap = gap
        self._due = 0.0

    def next_submission(self) -> float:
        """Return the next full hour."""
        return self._due if self._jobs else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the last job."""
        self._due = now + self._gap
        return [self._jobs.pop()]

    def job_ended(self, now: float, job: WorkloadJob, state: str) -> None:
        """Do not care."""


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
    with pytest.raises(UsageError, match="made already"):
        simulate("sample", scheduler=policy, scheduler_options={"most": 2})


def test_a_factory_takes_the_options() -> None:
    made: list[Greedy] = []

    def factory(*, most: int) -> Greedy:
        made.append(Greedy(most=most))
        return made[-1]

    result = simulate("sample", scheduler=factory, scheduler_options={"most": 7}, first=50)
    assert [policy.most for policy in made] == [7]
    assert result.settings["run"]["scheduler"].startswith("Greedy (source ")
    assert result.settings["run"]["scheduler"] != own(Greedy)  # the factory is in it
    simulate("sample", scheduler=partial(Greedy, most=3), first=50)


def test_users_are_made_of_the_workload() -> None:
    by_class = simulate("sample", users=Reversed, user_options={"gap": 60}, first=50)
    assert by_class.settings["run"]["users"] == own(Reversed)
    assert by_class.jobs["submission_time"].tolist() != []
    assert sorted(by_class.jobs["submission_time"]) == [60.0 * number for number in range(50)]

    def factory(workload: Workload, gap: float) -> UserModel:
        return Reversed(workload, gap=gap)

    by_factory = simulate("sample", users=factory, user_options={"gap": 60.0}, first=50)
    assert by_factory.jobs_csv() == by_class.jobs_csv()
    assert by_factory.settings["run"]["users"].startswith("Reversed (source ")


def test_a_class_that_is_called_rigid_has_users() -> None:
    rigid = type("rigid", (Reversed,), {})
    assert simulate("sample", users=rigid, first=5).measured["overall"]["nb_jobs"] == 5


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


def test_no_source_is_said() -> None:
    globals_: dict[str, Any] = {"__name__": "no_such_module"}
    exec("class Mine:\n    def schedule(self, now, queue, machine): return ()", globals_)
    assert make_name(globals_["Mine"]) == "Mine (source unknown)"


class NoPolicy:
    """Has nothing."""


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        (NoPolicy, "no method 'schedule'"),
        (NoPolicy(), "expected a name"),
        (3, "expected a name"),
        (lambda: None, "returned None"),
        (lambda: NoPolicy(), "no method 'schedule'"),
        (lambda: Greedy, "expected an instance"),
        (lambda *, depth: Greedy(), "needs the option 'depth'"),
    ],
)
def test_what_is_no_policy_is_refused(scheduler: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate("sample", scheduler=scheduler, first=5)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(PluginError, match="'mots' \\(did you mean 'most'"):
        simulate("sample", scheduler=Greedy, scheduler_options={"mots": 1})


def test_an_instance_is_no_user_model() -> None:
    model = Reversed(Workload(name="x", nb_res=1, jobs=[], profiles={}))
    with pytest.raises(UsageError, match=r"users.*expected a name"):
        simulate("sample", users=model)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"scheduler": Greedy}, {"users": Reversed}])
def test_another_process_needs_a_file(given: dict[str, Any]) -> None:
    (kind,) = given.values()
    with pytest.raises(UsageError, match=rf"path/to/file\.py:{kind.__name__}"):
        simulate("sample", backend="socket", **given)


def test_a_campaign_needs_a_file(tmp_path: Path) -> None:
    """By the class itself, and by what a run of it is named."""
    name = own(Greedy)
    with pytest.raises(UsageError, match=r"file: path/to/file\.py:Greedy"):
        PlannedRun({}, Settings(scheduler=Greedy)).settings.run()  # type: ignore[arg-type]
    with pytest.raises(PluginError, match=r"path/to/file\.py:Greedy"):
        plugins.load(plugins.SCHEDULERS, name)
    (tmp_path / "x.toml").write_text(f'[run]\nscheduler = "{name}"\n')
    assert read_campaign(tmp_path / "x.toml").runs
    done = command(tmp_path, "campaign", "x.toml", "-e", "out")
    assert done.returncode == 2
    assert "x.toml:2" in done.stderr
    assert "path/to/file.py:Greedy" in done.stderr
