"""Each run gives what it gives alone, whatever plug-ins do to what they are given or import."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from batsched_py import Rules, Workload, simulate
from batsched_py.plugins import plugins
from batsched_py.workload.load import load_workload
from batsched_users.models.rigid import Rigid

POLICIES = """
import os, random, sys
from itertools import count

import numpy as np

import helper
from batsched_py import Start

class First:
    def __init__(self, *, weights=None):
        self.weights = weights or [1]

    def order(self, jobs):
        return jobs

    def schedule(self, now, queue, machine):
        for job in self.order(list(queue)):
            if job.size <= machine.free:
                yield Start(job)


class WritesExtra(First):
    def order(self, jobs):
        for job in jobs:
            job.extra["seen"] = job.extra.get("seen", 0) + 1
            job.extra["behaviour"] = "rare"
            job.extra["tags"].append("seen")
            job.extra["deep"]["list"][0] += 1
        return sorted(jobs, key=lambda job: -len(job.extra["tags"]))


class CountsBeside(First):
    def order(self, jobs):
        helper.COUNTS[0] += 1
        return jobs[:: -1 if helper.COUNTS[0] % 4 else 1]


class DrawsGlobally(First):
    def order(self, jobs):
        random.shuffle(jobs)
        return jobs if np.random.random() < 0.5 else jobs[::-1]


class ChangesOptions(First):
    def order(self, jobs):
        self.weights.append(len(self.weights))
        return jobs[:: -1 if len(self.weights) % 3 else 1]


class MovesAway(First):
    def __init__(self, **options):
        super().__init__(**options)
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "elsewhere"))

    def order(self, jobs):
        os.chdir("/")
        return jobs
"""
USERS = """
from batsched_users.models.rigid import Rigid

class Scales(Rigid):
    def __init__(self, workload):
        super().__init__(workload)
        for profile in workload.profiles.values():
            profile["delay"] *= 1 + len(profile["steps"])
            profile["steps"].append(1)
        for job in workload.jobs:
            job.size = 1
            job.extra["tags"].append("scaled")
            job.extra["deep"]["list"].insert(0, 100)
        workload.rules["profile"] = "changed"
        workload.notes.append("changed")
"""
POLICY_NAMES = [
    line.split("(")[0][6:].strip(":") for line in POLICIES.split("\n") if "class " in line
]
OPTIONS = {"weights": [1]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with plug-ins and a workload, which is the working directory."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "helper.py").write_text("COUNTS = [2]\n")
    for name, text in {"helper": "COUNTS = [0]\n", "policies": POLICIES, "models": USERS}.items():
        (tmp_path / f"{name}.py").write_text(text)
    jobs = [
        {
            "id": str(n),
            "subtime": 10 * n,
            "res": 1 + n % 4,
            "profile": f"p{n % 5}",
            "walltime": 1000,
            "tags": ["a"] * (n % 3),
            "deep": {"list": [n % 7]},
        }
        for n in range(60)
    ]
    profiles = {f"p{n}": {"type": "delay", "delay": 20 + 31 * n, "steps": []} for n in range(5)}
    workload = {"nb_res": 4, "jobs": jobs, "profiles": profiles}
    (tmp_path / "w.json").write_text(json.dumps(workload))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def of_notebook(workload: Workload, which: list[str]) -> dict[str, bytes]:
    """Return the jobs of runs of one workload by policy and users; all are made once more."""
    found: dict[str, bytes] = {}
    for name in [*which, *which]:
        policy, _, users = name.partition(" ")
        result = simulate(
            workload,
            scheduler=f"policies.py:{policy}",
            scheduler_options=OPTIONS,
            users=f"models.py:{users}" if users else "rigid",
        )
        jobs = result.jobs_csv().encode()
        assert found.setdefault(name, jobs) == jobs, name
    return found


def test_a_run_gives_what_it_gives_alone(folder: Path) -> None:
    names = [policy + users for policy in POLICY_NAMES for users in ("", " Scales")]
    forward: dict[str, bytes] = {}
    for name in names:
        forward |= of_notebook(load_workload("w.json", Rules()), [name])
    assert len(set(forward.values())) > len(POLICY_NAMES)  # they differ
    import helper  # type: ignore[import-not-found]  # as a notebook has it

    helper.COUNTS[0] = 5
    loaded = load_workload("w.json", Rules())
    assert of_notebook(loaded, names[::-1]) == forward
    some = sorted(forward)[::3]
    with ThreadPoolExecutor(4) as pool:
        found = dict(ChainMap(*pool.map(lambda name: of_notebook(loaded, [name]), some)))
    assert found == {name: forward[name] for name in some}
    assert sys.modules["helper"] is helper
    assert helper.COUNTS == [5]
    assert OPTIONS == {"weights": [1]}


def test_a_package_is_imported_anew_in_each_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a package, and a policy that a package registers."""
    package = folder / "some_package"
    package.mkdir()
    (package / "__init__.py").write_text("COUNTS = [0]\n")
    text = POLICIES.replace("import helper", "from some_package import COUNTS")
    (package / "policies.py").write_text(text.replace("helper.COUNTS", "COUNTS"))
    entry = EntryPoint("packaged", "some_package.policies:CountsBeside", plugins.SCHEDULERS)
    monkeypatch.setattr(plugins, "list_names", lambda group: {"packaged": entry})
    import some_package  # type: ignore[import-not-found]

    expected = of_notebook(load_workload("w.json", Rules()), ["CountsBeside"])["CountsBeside"]
    for policy in ["packaged", f"{package / 'policies.py'}:CountsBeside"] * 2:
        assert simulate("w.json", scheduler=policy).jobs_csv().encode() == expected
    assert sys.modules["some_package"] is some_package
    assert some_package.COUNTS == [0]


@pytest.mark.parametrize(
    ("do", "note"),
    [
        (lambda stop: os.chdir("/"), "working directory to /"),
        (lambda stop: threading.Thread(target=stop, name="waits", daemon=True).start(), "(waits)"),
        (lambda stop: random.random(), "generator of random,"),
        (lambda stop: np.random.random(), "generator of numpy.random,"),
        (lambda stop: None, None),
    ],
)
def test_what_a_plug_in_does_to_the_process_is_undone_and_noted(
    folder: Path, do: Callable[[Callable[[], object]], object], note: str | None
) -> None:
    states = random.getstate(), str(np.random.get_state())
    stop = threading.Event()

    def users(workload: Workload) -> Rigid:
        do(stop.wait)
        return Rigid(workload)

    result = simulate("w.json", users=users)
    stop.set()
    found = [line for line in result.notes if "a plug-in" in line]
    assert [note in line for line in found if note] == [True] * (note is not None)
    assert len(found) == (note is not None)
    assert os.getcwd() == str(folder)
    assert (random.getstate(), str(np.random.get_state())) == states
