"""The logs of the page, and the printed numbers beside which they are put."""

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

ROOT = Path(__file__).parents[3]


PRINTED = read_published(Path(__file__).parent)
"""What the studies print."""
HERE: dict[str, str] = PRINTED["zakay"]["here"]
"""By log the file at hand that is nearest to the one of Zakay's thesis."""


@lru_cache
def printed_locality() -> dict[str, Any]:
    """Return the thesis's tables of similarity, stack depth and Hurst parameter."""
    path = ROOT / "tests" / "published" / "locality.toml"
    return read_toml(path)


def path_of(shared: Path, file: str) -> Path:
    """Return where a log is."""
    return shared / "swf" / f"{file}.swf.gz"


@lru_cache(maxsize=2)
def jobs_of(path: Path, **rules: str) -> Workload:
    """Return a log under the preset ``replay-feedback`` with changes; the last two are kept."""
    return load_workload(path, make_rules("replay-feedback", **rules))


@lru_cache(maxsize=2)
def rows_of(path: Path) -> SwfLog:
    """Return a log as it is; the last two are kept."""
    return read_swf(path)


def versions(log: str, study: str = "zakay", here: str | None = None) -> str:
    """Return two cells: the file used here and the study's, shortened to the difference."""
    file, theirs = here or HERE[log], PRINTED[study]["files"][log]
    return f"{file} | {'same' if file == theirs else theirs.removeprefix(f'{log}-')}"


def apart(ours: int, theirs: int) -> str:
    """Return how many more are ours."""
    return f"{ours - theirs:+d}" if ours != theirs else "0"
