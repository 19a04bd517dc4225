"""Writes docs/real.md: real Batsim beside the embedded simulator, case by case.

    python -m batsched_studies.real_batsim

It needs ``batsim`` on PATH and nothing else; a minute or two.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from batsched_py.report.comparing.job_differences import MEANING
from batsched_studies.filled_page import DOCS, filled, line
from batsched_studies.real_batsim.cases import CASES, Case
from batsched_studies.real_batsim.comparison import Comparison, compared

PAGE = DOCS / "real.md"
TEXT = Path(__file__).with_name("template.md")
NOT_KNOWN = "The cause is not known"


def result(case: Case, folder: Path) -> Comparison:
    """Run a case on both sides, in a folder of its own, and compare what they leave.

    Raises :class:`~batsched_py.errors.BatschedError` for a side that does not come to its end.
    """
    embedded, batsim = (case.run(side, folder / side) for side in ("embedded", "batsim"))
    return compared(embedded, batsim)


def row(case: Case, compared: Comparison) -> str:
    """Return the line of a case."""
    here, there = compared.messages
    return line(
        case.name,
        case.told,
        f"{compared.jobs:,}",
        "**all**" if compared.equal == compared.jobs else f"{compared.equal:,}",
        f"{here:,}" if here == there else f"{here:,} / {there:,}",
        "" if compared.all_equal else f"{_differences(compared)}. {case.note or NOT_KNOWN}.",
    )


def _differences(compared: Comparison) -> str:
    """Return what differs, in words."""
    jobs = [f"{MEANING[kind]}: {count:,}" for kind, count in sorted(compared.kinds.items())]
    beside = ", ".join(f"`{name}`" for name in compared.others_beside)
    return "; ".join([*jobs, beside] if beside else jobs)


def page(tell: Callable[[str], None], cases: Sequence[Case] = CASES) -> str:
    """Return the whole page; ``tell`` hears of each case as it is done."""
    results = _results(tell, cases)
    return filled(
        TEXT,
        {
            "date": datetime.now(UTC).date().isoformat(),
            "batsim": _said("--version").removeprefix("v"),
            "simgrid": _said("--simgrid-version").removesuffix(".0"),
            "ours": version("batsched_py"),
            "cases": str(len(cases)),
            "jobs": f"{sum(it.jobs for it in results):,}",
            "all_equal": str(sum(it.all_equal for it in results)),
            "equal_jobs": f"{sum(it.equal for it in results):,}",
            "same_schedule": str(sum(it.same_schedule for it in results)),
            "table": "\n".join(map(row, cases, results)),
        },
    )


def _results(tell: Callable[[str], None], cases: Sequence[Case]) -> list[Comparison]:
    results = []
    with TemporaryDirectory(prefix="real-batsim-") as root:
        for number, case in enumerate(cases, start=1):
            folder = Path(root, str(number))
            results.append(result(case, folder))
            shutil.rmtree(folder)
            tell(f"{number} of {len(cases)}: {row(case, results[-1])}")
    return results


def _said(option: str) -> str:
    """Return what batsim says of its version."""
    done = subprocess.run(["batsim", option], capture_output=True, text=True, check=True)
    return done.stdout.strip()
