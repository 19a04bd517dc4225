"""A folder with a campaign file, and the command that runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from batsched_py.campaign import run_campaign
from batsched_py.campaign.campaign_folder import CampaignResults, open_results
from batsched_py.report.forms import publish
from helpers.calling import Called, command


def count_runs(done: Called) -> tuple[int, int]:
    """Return how many runs a call had, and how many of them were done before."""
    counted = re.search(r"(\d+) runs?, (\d+) of them done", done.stderr)
    assert counted, done.stderr
    return int(counted[1]), int(counted[2])


class CampaignFolder:
    """``test.toml`` and the Python files beside it; results go to ``out``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.out = path / "out"

    def write(self, text: str, **modules: str) -> None:
        """Write the campaign file, and Python files by their names without suffix."""
        (self.path / "test.toml").write_text(text)
        for name, code in modules.items():
            (self.path / f"{name}.py").write_text(code)

    def run(self, *arguments: str) -> Called:
        """Call the command, without report unless ``--report`` is given."""
        line = ("campaign", "test.toml", "-e", "out", "--no-report")
        return command(self.path, *line, *arguments)

    def results(self) -> CampaignResults:
        """Return what is in ``out``."""
        return open_results(self.out)


SLOW = """
import os, pathlib, time
class Slow:
 def schedule(self, now, queue, machine):
  pathlib.Path('part').write_text(str(os.getpid()))
  pathlib.Path('part').rename('worker')
  time.sleep(600)
  return iter(())
"""
"""A policy that does not end, and writes which process it is in to the file ``worker``."""


def files_of_runs(out: Path) -> dict[str, bytes]:
    """Return what does not tell when and where a run was made."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.glob("runs/*/*")
        if path.suffix == ".csv" or path.name == "settings.json"
    }


class Here(Executor):
    """Calls at once what is submitted, in this process: most tests are not about workers."""

    def __init__(self, jobs: int) -> None:
        """Take the number of jobs as workers do; one runs at a time."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def in_this_process(it_is: bool = True) -> Iterator[None]:
    """Run campaigns without workers, if ``it_is`` so: most tests are not about these."""
    workers = Here if it_is else run_campaign.LocalWorkers
    with (
        patch.object(run_campaign, "LocalWorkers", workers),
        patch.object(publish, "LocalWorkers", workers),
    ):
        yield
