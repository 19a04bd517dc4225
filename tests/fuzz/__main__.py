"""Look for faults in everything that reads what others wrote. Run by ``make fuzz``.

Each target has a process of its own, with a limit of memory, and a share of the time. Its line says
how many inputs it had, how many a second, how many lines of ours they reached, and how many
different faults they showed. What shows one is made small and kept in tests/fuzz/found.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path

from fuzz.contract import SECONDS, Target
from fuzz.fuzzer import Fault, Fuzzer, found, limit_memory, store
from fuzz.targets import TARGETS

_AT_ONCE = 2000
"""Inputs after which the limit of memory is set anew."""
_HUNG = 12 * SECONDS
"""A process that says nothing for so long is stuck where no signal interrupts it."""
_FORKS = multiprocessing.get_context("fork")  # the imports are done


class Work:
    """A process that feeds a target until its time is over."""

    def __init__(self, target: Target, seed: int, seconds: float, folder: Path) -> None:
        self.target = target
        self.faults: list[Fault] = []
        self.cases = _FORKS.RawValue("L", 0)
        self._beat = _FORKS.RawValue("d", time.monotonic())
        self._current = folder / f"{target.name}.current"
        self._begin = time.monotonic()
        self.pipe, theirs = _FORKS.Pipe(duplex=False)
        self.result: tuple[int, dict[str, int]] | None = None
        """Lines reached, and how many inputs showed each fault."""
        workplace = folder / target.name
        workplace.mkdir(exist_ok=True)
        self._process = _FORKS.Process(
            target=self._feed, args=(seed, seconds, theirs, workplace), daemon=True
        )
        self._process.start()
        theirs.close()

    def _feed(self, seed: int, seconds: float, pipe: Connection, workplace: Path) -> None:
        os.chdir(workplace)
        warnings.simplefilter("ignore")  # of numpy, about numbers that nobody has
        for data in self.target.seeds():
            self.target.check(data)  # imports what is needed, and is not measured
        fuzzer = Fuzzer(self.target, seed, pipe.send)
        nb_known = len(self.target.seeds()) + len(found(self.target.name))
        begin = time.monotonic()
        with suppress(KeyboardInterrupt):
            for number, data in enumerate(fuzzer.inputs()):
                if number % _AT_ONCE == 0:
                    limit_memory()
                self._current.write_bytes(data)
                self._beat.value = time.monotonic()
                fuzzer.feed(data)
                self.cases.value = fuzzer.nb_cases
                spent = time.monotonic() - begin - fuzzer.seconds_minimising
                if spent > seconds and number >= nb_known:
                    break
        assert fuzzer.lines is not None
        pipe.send((fuzzer.lines.count, fuzzer.causes))

    def receive(self) -> None:
        """Take what the process says; it has died if it says nothing."""
        try:
            said = self.pipe.recv()
        except EOFError:
            self._process.join()
            died = f"the process died with exit code {self._process.exitcode}"
            self.faults.append(Fault(died, died, self._current.read_bytes()))
            self.result = (0, {died: 1})
            return
        if isinstance(said, Fault):
            self.faults.append(said)
        else:
            self.result = said

    def end_if_hung(self) -> None:
        """End the process if an input keeps it for ever; what is being made small has its time."""
        if time.monotonic() - self._beat.value > _HUNG:
            self._process.kill()

    def line(self) -> str:
        """Return the line of the target, and one for each fault, with its input."""
        assert self.result is not None
        self._process.join()
        seconds = time.monotonic() - self._begin
        nb = self.cases.value
        lines, counts = self.result
        told = [
            f"{self.target.name:16} {nb:9,} cases {nb / seconds:7.0f} /s {lines:6,} lines "
            f"{len(self.faults):4} faults"
        ]
        for fault in self.faults:
            path = store(self.target.name, fault.data)
            told.append(f"    {fault.cause} ({counts.get(fault.cause, 1)} inputs): {path}")
            told += [f"        {line[:200]}" for line in fault.error.rstrip().splitlines()[-8:]]
        return "\n".join(told)


def run(
    targets: list[Target],
    seconds: float,
    jobs: int,
    seed: int,
    folder: Path,
    tell: Callable[[str], None],
) -> int:
    """Return the number of faults; ``seconds`` are for all together."""
    todo = deque(targets)
    share = seconds * min(jobs, len(targets)) / len(targets)
    works: list[Work] = []
    faults = 0
    while todo or works:
        while todo and len(works) < jobs:
            works.append(Work(todo.popleft(), seed, share, folder))
        try:
            ready = wait([work.pipe for work in works], timeout=1)
        except KeyboardInterrupt:  # those that run have got it too, and tell what they know
            todo.clear()
            continue
        for work in list(works):
            if work.pipe in ready:
                work.receive()
            work.end_if_hung()
            if work.result is not None:
                tell(work.line())
                faults += len(work.faults)
                works.remove(work)
    return faults


def main() -> int:
    """Return 1 if there are faults."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="for all targets together")
    parser.add_argument("--target", default="all", help=f"all, or of: {', '.join(TARGETS)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=None, help="the same finds the same")
    arguments = parser.parse_args()
    names = list(TARGETS) if arguments.target == "all" else arguments.target.split(",")
    if unknown := sorted(set(names) - set(TARGETS)):
        parser.error(f"no target {', '.join(unknown)}; there are: {', '.join(TARGETS)}")
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_memory_disk()) as folder:
        chosen = [TARGETS[name] for name in names]
        tell = partial(print, flush=True)
        faults = run(chosen, arguments.minutes * 60, arguments.jobs, seed, Path(folder), tell)
    return 1 if faults else 0


def _memory_disk() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


if __name__ == "__main__":
    sys.exit(main())
