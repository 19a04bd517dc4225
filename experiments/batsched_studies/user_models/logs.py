"""The logs that user-models.md measures, and the printed numbers to compare with."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from batsched_py.files.readers import read_toml
from batsched_py.report.kit import read_published
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.swf import SwfLog, read_swf

PRINTED = read_published(Path(__file__).parent)
"""The printed numbers of the studies."""
HERE: dict[str, str] = PRINTED["zakay"]["here"]
"""The available log file that is nearest to the one of Zakay's thesis, by log."""


@lru_cache
def read_printed_locality() -> dict[str, Any]:
    """Read the thesis's tables of similarity, stack depth and Hurst parameter."""
    return read_toml(Path(__file__).with_name("locality.toml"))


def find_path(shared: Path, file: str) -> Path:
    """Return the path of a log."""
    return shared / "swf" / f"{file}.swf.gz"


@lru_cache(maxsize=2)
def load_jobs(path: Path, **rules: str) -> Workload:
    """Return a log under the preset ``replay-feedback`` with changes; the last two are cached."""
    return load_workload(path, make_rules("replay-feedback", **rules))


@lru_cache(maxsize=2)
def read_log(path: Path) -> SwfLog:
    """Return a log without conversion; the last two are cached."""
    return read_swf(path)


def name_files(log: str, study: str = "zakay", here: str | None = None) -> tuple[str, str]:
    """Return the names of the file used here, and of the study's file."""
    return here or HERE[log], PRINTED[study]["files"][log]
