"""Writes real-batsim.md: real Batsim compared with the embedded simulator, case by case.

    python -m batsched_studies.real_batsim

It needs ``batsim`` on PATH and nothing else; a minute or two.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from batsched_py.report.comparing.job_differences import MEANING
from batsched_py.run.result import Result
from batsched_studies.filled_page import DOCS, fill_template, format_line
from batsched_studies.real_batsim.cases import CASES, Case
from batsched_studies.real_batsim.comparison import Comparison, compare_sides, mean_wait

PAGE = DOCS / "validation" / "real-batsim.md"
TEXT = Path(__file__).with_name("template.md")
NOT_KNOWN = "The cause is not known"


def compare_case(case: Case, folder: Path) -> Comparison:
    """Run a case with both simulators, in a folder of its own, and compare the outputs.

    Raises :class:`~batsched_py.errors.BatschedError` if a simulator fails.
    """
    embedded, batsim = (case.run(side, folder / side) for side in ("embedded", "batsim"))
    shaken = [run("embedded", folder / str(seed)) for seed, run in enumerate(case.shaken)]
    return compare_sides(embedded, batsim)._replace(
        shaken_waits=[mean_wait(Result.load(left.prefix)) for left in shaken]
    )


def make_row(case: Case, compared: Comparison) -> str:
    """Return the table line of a case in which some outputs differ."""
    sentences = [_differences(compared), case.note or NOT_KNOWN, *_waits(compared)]
    return format_line(
        f"**{case.name}**: {'; '.join(filter(None, (case.group, case.about)))}",
        f"{compared.equal:,} of {compared.jobs:,}",
        " ".join(f"{sentence}." for sentence in sentences),
    )


def _differences(compared: Comparison) -> str:
    """Return the differences of a case as text."""
    jobs = [f"{MEANING[kind]}: {count:,}" for kind, count in sorted(compared.kinds.items())]
    beside = ", ".join(f"`{name}`" for name in compared.others_beside)
    return "; ".join([*jobs, beside] if beside else jobs)


def _waits(compared: Comparison) -> list[str]:
    """Return a sentence on the mean waits if the schedules differ."""
    if compared.same_schedule:
        return []
    here, there, *shaken = (wait / 3600 for wait in (*compared.waits, *compared.shaken_waits))
    sentence = f"Mean waiting times: embedded {here:.1f} h, Batsim {there:.1f} h"
    if shaken:
        seeds = f"{len(shaken)} seeds of `--shake`"
        sentence += f"; embedded with {seeds} {min(shaken):.1f} to {max(shaken):.1f} h"
    return [sentence]


def format_entry(case: Case) -> str:
    """Return the name of a case, and what it simulates."""
    return f"{case.name} ({case.about})" if case.about else case.name


def make_table_row(case: Case, compared: Comparison) -> str:
    """Return the table line of a case, or its list entry if all outputs are equal."""
    return format_entry(case) if compared.all_equal else make_row(case, compared)


def make_equal_row(group: str, equal: Sequence[tuple[Case, Comparison]]) -> str:
    """Return the table line that lists the cases of a group in which all outputs are equal."""
    entries = "; ".join(format_entry(case) for case, _ in equal)
    jobs = sum(compared.jobs for _, compared in equal)
    return format_line(f"{group}: {len(equal)} cases, {jobs:,} jobs", entries)


def make_page(tell: Callable[[str], None], cases: Sequence[Case] = CASES) -> str:
    """Return the page as Markdown; ``tell`` gets a line of progress for each case."""
    results = _results(tell, cases)
    done = list(zip(cases, results, strict=True))
    equal = [(case, compared) for case, compared in done if compared.all_equal]
    groups = groupby(equal, key=lambda it: it[0].group)
    return fill_template(
        TEXT,
        {
            "date": datetime.now(UTC).date().isoformat(),
            "batsim": _batsim_version("--version").removeprefix("v"),
            "simgrid": _batsim_version("--simgrid-version").removesuffix(".0"),
            "ours": version("batsched_py"),
            "cases": str(len(cases)),
            "jobs": f"{sum(it.jobs for it in results):,}",
            "all_equal": str(len(equal)),
            "equal_jobs": f"{sum(it.equal for it in results):,}",
            "same_schedule": str(sum(it.same_schedule for it in results)),
            "different": "\n".join(make_row(*it) for it in done if not it[1].all_equal),
            "equal": "\n".join(make_equal_row(group, list(them)) for group, them in groups),
        },
    )


def _results(tell: Callable[[str], None], cases: Sequence[Case]) -> list[Comparison]:
    results = []
    with TemporaryDirectory(prefix="real-batsim-") as root:
        for number, case in enumerate(cases, start=1):
            folder = Path(root, str(number))
            results.append(compare_case(case, folder))
            shutil.rmtree(folder)
            tell(f"{number} of {len(cases)}: {make_table_row(case, results[-1])}")
    return results


def _batsim_version(option: str) -> str:
    """Return the version that batsim prints with an option."""
    done = subprocess.run(["batsim", option], capture_output=True, text=True, check=True)
    return done.stdout.strip()
