"""One target fed with inputs, as long as there is time."""

from __future__ import annotations

import gc
import hashlib
import random
import re
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import batsched_py
import batsched_users
from fuzz.contract import LONGEST, MEGABYTES, Target, TooSlow, in_time
from fuzz.mutations import Mutator
from fuzz.reached_lines import ReachedLines

FOUND = Path(__file__).parent / "found"
_OURS = (*batsched_py.__path__, *batsched_users.__path__)
_SLOW = 0.5
"""Inputs that take longer (seconds) are not kept to make others of."""
_MINIMISING = 10.0
"""Seconds for making an input small that shows a fault."""


class Fault(NamedTuple):
    """A promise that was broken."""

    cause: str
    """What happened and where: faults of the same cause are one."""
    error: str
    data: bytes


class Fuzzer:
    """Feeds a target; faults are told to ``report``, each cause once."""

    def __init__(
        self, target: Target, seed: int, report: Callable[[Fault], None], *, guided: bool = True
    ) -> None:
        self.target = target
        self.nb_cases = 0
        self.causes: dict[str, int] = {}
        """How many inputs showed each fault."""
        self.lines = ReachedLines() if guided else None
        self.seconds_minimising = 0.0
        self._corpus = list(target.seeds())
        self._reasons: set[str] = set()
        self._report = report
        self._mutator = Mutator(target.form, target.tokens, random.Random(f"{target.name} {seed}"))

    def inputs(self) -> Iterator[bytes]:
        """Yield the seeds, what was found before, and then other inputs without end."""
        yield from [*self._corpus, *found(self.target.name)]
        while True:
            data = self._mutator.mutated(self._corpus)
            if len(data) <= LONGEST:
                yield data

    def feed(self, data: bytes) -> None:
        """Feed one input; what reaches new lines, or is refused for a new reason, is kept."""
        before, begin = self.lines and self.lines.count, time.monotonic()
        reason, error = self._outcome(data)
        self.nb_cases += 1
        if error is not None:
            cause = cause_of(error)
            known = cause in self.causes
            self.causes[cause] = self.causes.get(cause, 0) + 1
            if not known:
                small = self._minimised(data, cause)
                told = "".join(traceback.format_exception(error, limit=-6))
                self._report(Fault(cause, told, small))
            return
        is_new = template(reason) not in self._reasons or (
            self.lines and self.lines.count != before
        )
        if is_new and time.monotonic() - begin < _SLOW and self.nb_cases > len(self.target.seeds()):
            self._corpus.append(data)
        self._reasons.add(template(reason))

    def _outcome(self, data: bytes) -> tuple[str, BaseException | None]:
        try:
            with in_time(), self.lines or nullcontext():
                return self.target.check(data), None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return "", error

    def _minimised(self, data: bytes, cause: str) -> bytes:
        """Return a shorter input with the same fault, as far as one is found in time."""
        if cause == TooSlow.__name__:
            return data
        begin, size = time.monotonic(), len(data) // 2
        while size and time.monotonic() - begin < _MINIMISING:
            at = 0
            while at < len(data) and time.monotonic() - begin < _MINIMISING:
                shorter = data[:at] + data[at + size :]
                error = self._outcome(shorter)[1]
                if error is not None and cause_of(error) == cause:
                    data = shorter
                else:
                    at += size
            size //= 2
        self.seconds_minimising += time.monotonic() - begin
        return data


def template(reason: str) -> str:
    """Return a message without what differs from input to input."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[-\d.e+]*\d|[^\x20-\x7e]", "", reason)[:200]


def cause_of(error: BaseException) -> str:
    """Return the kind of an error and the place of ours that raised it."""
    if isinstance(error, AssertionError):
        return f"promise: {template(str(error))[:80]}"
    if isinstance(error, TooSlow | MemoryError):
        return type(error).__name__
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_OURS)]
    at = 0 if isinstance(error, RecursionError) else -1
    place = f" in {Path(frames[at].filename).stem}.{frames[at].name}" if frames else ""
    return type(error).__name__ + place


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
