"""The trainings of the study, and the files of their agents."""

from __future__ import annotations

from itertools import product
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


def train_to_file(name: str, training: Training) -> None:
    """Train an agent, unless its file is there."""
    file = HERE / "agents" / name / f"{training.name}.json"
    if not is_file(file):
        train(training, LOGS[name].weeks).save(file)
        print(file, flush=True)
