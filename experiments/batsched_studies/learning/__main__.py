"""Trains the agents of the study: ``python -m batsched_studies.learning --log-dir LOGS``."""

from __future__ import annotations

import argparse
import os
from multiprocessing import get_context
from pathlib import Path

from batsched_studies.learning.trainings import LOGS, list_trainings, train_to_file

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
        pool.starmap(train_to_file, tasks, chunksize=1)
