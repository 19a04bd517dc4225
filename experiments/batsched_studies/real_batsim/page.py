"""Writes real-batsim.md: real Batsim compared with the embedded simulator, case by case.

    python -m batsched_studies.real_batsim

It needs ``batsim`` on PATH and nothing else; some minutes.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from batsched_py.report.comparing.job_differences import MEANING
from batsched_py.run.result import Result
from batsched_studies.filled_page import DOCS, Row, WrittenPage, fill_template, format_lines
from batsched_studies.real_batsim.cases import CASES, Case
from batsched_studies.real_batsim.comparison import Comparison, compare_sides, mean_wait

PAGE = DOCS / "validation" / "real-batsim.md"
TEXT = Path(__file__).with_name("template.md")
NOT_KNOWN = "unknown"


def compare_case(case: Case, folder: Path) -> Comparison:
    """Run a case with both simulators, in a folder of its own, and compare the outputs.

    Raises :class:`~batsched_py.errors.BatschedError` if a simulator fails.
    """
    embedded, batsim = (case.run(side, folder / side) for side in ("embedded", "batsim"))
    shaken = [run("embedded", folder / str(seed)) for seed, run in enumerate(case.shaken)]
    return compare_sides(embedded, batsim)._replace(
        shaken_waits=[mean_wait(Result.load(left.prefix)) for left in shaken]
    )


HEADER = (
    *("group", "case", "about", "jobs", "equal_jobs", "different_jobs", "other_different_outputs"),
    *("mean_wait_h_embedded", "mean_wait_h_batsim", "mean_wait_h_shaken", "cause"),
)


def make_row(case: Case, compared: Comparison) -> Row:
    """Return the cells of a case; mean waits only if the schedules differ."""
    waits: list[str] = []
    if not compared.same_schedule:
        waits = [f"{wait / 3600:.1f}" for wait in compared.waits]
        shaken = [wait / 3600 for wait in compared.shaken_waits]
        waits.append(f"{min(shaken):.1f} to {max(shaken):.1f}" if shaken else "")
    return (
        *(case.group, case.name, case.about, compared.jobs, compared.equal),
        "; ".join(f"{MEANING[kind]}: {count:,}" for kind, count in sorted(compared.kinds.items())),
        ", ".join(compared.others_beside),
        *(waits or ("", "", "")),
        "" if compared.all_equal else case.note or NOT_KNOWN,
    )


def summarise(results: Sequence[tuple[Case, Comparison]]) -> Iterator[Row]:
    """Yield for each group of cases how many of them, and of their jobs, are equal."""
    for group, members in groupby(results, key=lambda it: it[0].group):
        compared = [comparison for _, comparison in members]
        equal, jobs = (
            sum(of) for of in zip(*((it.equal, it.jobs) for it in compared), strict=True)
        )
        all_equal = sum(it.all_equal for it in compared)
        yield group, len(compared), all_equal, f"{jobs:,}", f"{equal:,}"


def make_page(report: Callable[[str], None], cases: Sequence[Case] = CASES) -> WrittenPage:
    """Return the page and its data; ``report`` gets a line of progress for each case."""
    compared = _results(report, cases)
    results = list(zip(cases, compared, strict=True))
    rows = [make_row(*result) for result in results]
    text = fill_template(
        TEXT,
        {
            "batsim": _batsim_version("--version").removeprefix("v"),
            "simgrid": _batsim_version("--simgrid-version").removesuffix(".0"),
            "cases": len(cases),
            "jobs": f"{sum(it.jobs for it in compared):,}",
            "all_equal": sum(it.all_equal for it in compared),
            "equal_jobs": f"{sum(it.equal for it in compared):,}",
            "same_schedule": sum(it.same_schedule for it in compared),
            "different": format_lines(
                (case.name, f"{it.equal:,} of {it.jobs:,}", *row[5:7], row[10])
                for (case, it), row in zip(results, rows, strict=True)
                if not it.all_equal
            ),
            "groups": format_lines(summarise(results)),
        },
    )
    return WrittenPage(text, {"real-batsim": [HEADER, *rows]})


def _results(report: Callable[[str], None], cases: Sequence[Case]) -> list[Comparison]:
    results = []
    with TemporaryDirectory(prefix="real-batsim-") as root:
        for number, case in enumerate(cases, start=1):
            folder = Path(root, str(number))
            results.append(compare_case(case, folder))
            shutil.rmtree(folder)
            state = "all equal" if results[-1].all_equal else "different"
            report(f"{number} of {len(cases)}: {case.name}: {state}")
    return results


def _batsim_version(option: str) -> str:
    """Return the version that batsim prints with an option."""
    done = subprocess.run(["batsim", option], capture_output=True, text=True, check=True)
    return done.stdout.strip()
