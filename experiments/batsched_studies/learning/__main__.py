"""Trains the agents of the study: ``python -m batsched_studies.learning --log-dir LOGS``."""

from __future__ import annotations

import argparse
import os
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from batsched_py.files.readers import is_file
from batsched_studies.learning.training import Training, train

HERE = Path(__file__).parent


class OfLog(NamedTuple):
    """The trainings on a log."""

    log: str
    weeks: int
    """The first ones, on which agents are trained."""
    nb_seeds: int


LOGS = {
    "sample": OfLog("sample", 5, 2),
    "kth": OfLog("KTH-SP2-1996-2.1-cln", 28, 10),
    "sp2": OfLog("SDSC-SP2-1998-4.2-cln", 62, 5),
    "hpc2n": OfLog("HPC2N-2002-2.2-cln", 108, 5),
}
"""By the names of the campaign files."""
REWARDS = {"priority": ("slowdown", "response"), "start": ("naive",)}
USERS = ("rigid", "feedback")


def list_trainings(name: str, log_dir: Path) -> list[Training]:
    """Return the trainings on a log."""
    log, _, nb_seeds = LOGS[name]
    file = log if name == "sample" else str(log_dir / f"{log}.swf.gz")
    kinds = REWARDS if name == "kth" else {"priority": REWARDS["priority"]}
    return [
        Training(log=file, users=users, reward=reward, decides=decides, seed=seed)
        for decides, rewards in kinds.items()
        for seed, users, reward in product(range(1, nb_seeds + 1), USERS, rewards)
        if decides == "priority" or seed <= 5
    ]


def _train(name: str, training: Training) -> None:
    file = HERE / "agents" / name / f"{training.name}.json"
    if not is_file(file):
        train(training, LOGS[name].weeks, {}).save(file)
        print(file, flush=True)


if __name__ == "__main__":  # not in the processes that train
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(LOGS), help=f"some of {', '.join(LOGS)}")
    parser.add_argument("--log-dir", type=Path, default=Path("logs"), help="folder of logs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    tasks = [
        (name, each) for name in arguments.names for each in list_trainings(name, arguments.log_dir)
    ]
    with get_context("spawn").Pool(arguments.jobs) as pool:
        pool.starmap(_train, tasks, chunksize=1)
