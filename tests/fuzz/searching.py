"""One target fed with damaged inputs until one shows a fault, or the time is over."""

from __future__ import annotations

import gc
import hashlib
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import NamedTuple

import hypothesis

from fuzz.contract import MEGABYTES, Target, TooSlow, in_time
from fuzz.damaging import damaged

FOUND = Path(__file__).parent / "found"
_ROUND = 100
"""Inputs after which it is asked how late it is."""


class Outcome(NamedTuple):
    """What a search has found."""

    nb_cases: int
    fault: str = ""
    """What happened, and where; empty if all promises were kept."""
    data: bytes = b""
    """The input that shows the fault, made small."""


class Search:
    """Feeds a target; the same seed gives the same inputs."""

    def __init__(self, target: Target, current: Path | None = None) -> None:
        self._target = target
        self._current = current
        """A file for the input at hand: it is still there if the process dies."""
        self._data = b""
        self._nb_cases = 0

    def run(self, seed: int, seconds: float) -> Outcome:
        """Feed examples, what was found before, and damaged inputs for so long, or to a fault."""
        end = time.monotonic() + seconds
        try:
            for data in [*self._target.examples(), *found(self._target.name)]:
                self._feed(data)
            rounds = 0
            while time.monotonic() < end:
                self._round(seed * 1_000_000 + rounds)
                rounds += 1
        except (Exception, TooSlow) as error:
            told = "".join(traceback.format_exception(error, limit=-6))
            return Outcome(self._nb_cases, told, self._data)
        return Outcome(self._nb_cases)

    def _round(self, seed: int) -> None:
        """Raise what a damaged input showed; the last one that was fed is then the smallest."""

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=_ROUND,
            database=None,
            deadline=None,
            derandomize=False,
            report_multiple_bugs=False,
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=hypothesis.Verbosity.quiet,
        )
        @hypothesis.given(damaged(self._target))
        def feed(data: bytes) -> None:
            self._feed(data)

        feed()

    def _feed(self, data: bytes) -> None:
        self._data = data
        self._nb_cases += 1
        if self._current is not None:
            self._current.write_bytes(data)
        with in_time():
            self._target.check(data)


def found(name: str) -> list[bytes]:
    """Return the inputs that showed a fault of a target some day."""
    return [path.read_bytes() for path in sorted((FOUND / name).glob("*"))]


def store(name: str, data: bytes) -> Path:
    """Keep an input that showed a fault: from now on it is a test."""
    path = FOUND / name / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def limit_memory() -> None:
    """Let this process grow by so much, from now on, where it is known how large it is."""
    if sys.platform != "linux":
        return
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + (MEGABYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
