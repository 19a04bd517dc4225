"""The report of the study: the thesis's tables beside ours, figures, and a verdict on each claim.

All campaign files of the folder have this report: it shows what their runs allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batsched_py.report import CampaignResults, Part, Report
from batsched_py.report.kit import Runs
from batsched_studies.grid import TEXTS, cases, claims, figures, tables


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    if not len(results.runs):
        return TEXTS.report((), (), "No run is done yet.", results.title)
    runs = cases.read(results.runs)
    summary = TEXTS["summary"].format(
        runs=len(runs),
        logs=", ".join(runs.labels("log")),
        workloads=", ".join(runs.labels("workload")),
        sites=", ".join(runs.labels("sites")),
    )
    if refused := len(results.runs) - len(runs):
        summary += " " + TEXTS["refused"].format(runs=refused)
    return TEXTS.report(_parts(runs), claims.verdicts(runs), summary, results.title)


def _parts(runs: Runs) -> Iterator[tuple[str, Iterable[Part | None]]]:
    if len(runs.labels("reading")) > 1:
        yield "Readings beside the thesis", tables.readings(runs)
    documented = runs.where(reading=cases.DOCUMENTED)
    of_jobs = (tables.multi_site_jobs(documented, key) for key in ("count", "share"))
    yield "Multi-site jobs", of_jobs
    yield "Configurations", figures.configurations(documented)
    yield (
        "Local processing and job sharing",
        (
            tables.scenarios(documented),
            *figures.scenarios(documented),
            tables.sharing(documented),
        ),
    )
    yield "Lower bounds and fragments", (tables.bounds(documented), *figures.bounds(documented))
    yield "Adaptive multi-site", (tables.adaptive(documented), *figures.adaptive(documented))
