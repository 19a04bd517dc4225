"""Look for faults in everything that reads what others wrote. Run by ``make fuzz``.

Each target has a process of its own, with a limit of memory, and a share of the time. Its line says
how many inputs it had. The first fault ends its search: the input that shows it is made small and
kept in tests/fuzz/found.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fuzz.contract import Target
from fuzz.searching import Outcome, Search, limit_memory, store
from fuzz.targets import TARGETS

_GRACE = 330.0
"""Seconds for making an input small (hypothesis takes 300 at most); longer, a process has died."""
_known: dict[str, Target] = {}
_FORKS = multiprocessing.get_context("fork")  # the imports are done


def _begin(targets: list[Target]) -> None:
    """Let a process know the targets, which cannot be sent to it."""
    _known.update({target.name: target for target in targets})


def _search(name: str, seed: int, seconds: float, folder: Path) -> Outcome:
    target = _known[name]
    workplace = folder / target.name
    workplace.mkdir()
    os.chdir(workplace)
    warnings.simplefilter("ignore")  # of numpy, about numbers that nobody has
    for data in target.examples():
        target.check(data)  # imports what is needed, and is not measured
    limit_memory()
    return Search(target, _current(target, folder)).run(seed, seconds)


def _current(target: Target, folder: Path) -> Path:
    return folder / f"{target.name}.current"


def run(
    targets: list[Target],
    seconds: float,
    jobs: int,
    seed: int,
    folder: Path,
    tell: Callable[[str], None],
) -> int:
    """Return the number of faults; ``seconds`` are for all together."""
    share = seconds * min(jobs, len(targets)) / len(targets)
    faults = 0
    with _FORKS.Pool(jobs, _begin, (targets,), maxtasksperchild=1) as pool:
        works = [pool.apply_async(_search, (it.name, seed, share, folder)) for it in targets]
        for target, work in zip(targets, works, strict=True):
            try:
                outcome = work.get(timeout=share + _GRACE)
            except multiprocessing.TimeoutError:
                died = "the process died, or something keeps it for ever"
                outcome = Outcome(0, died, _current(target, folder).read_bytes())
            rate = outcome.nb_cases / share
            tell(f"{target.name:16} {outcome.nb_cases:9,} cases {rate:7.0f} /s")
            if outcome.fault:
                faults += 1
                tell(f"    a fault, shown by {store(target.name, outcome.data)}")
                tell(f"    {outcome.data[:300]!r}")
                for line in outcome.fault.rstrip().splitlines()[-12:]:
                    tell(f"        {line[:200]}")
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
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory) as folder:
        chosen = [TARGETS[name] for name in names]
        tell = partial(print, flush=True)
        faults = run(chosen, arguments.minutes * 60, arguments.jobs, seed, Path(folder), tell)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
