"""The report of the study: values here and in the thesis, figures, and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import altair as alt

from batsched_py.report import CampaignResults, Figure, Part, Report
from batsched_py.report.kit import Chart, Runs, inline_data, numbers, scale_of, slug
from batsched_py.support import palette
from batsched_studies.grid import TEXTS, cases, claims, tables
from batsched_studies.grid.cases import QUANTITIES, mean, select_one_machine


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
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
    return TEXTS.report(_parts(runs), claims.judge_claims(runs), summary, results.title)


def _parts(runs: Runs) -> Iterator[tuple[str, Iterable[Part | None]]]:
    if len(runs.labels("reading")) > 1:
        yield "Interpretations compared with the thesis", tables.make_reading_tables(runs)
    documented = runs.where(reading=cases.DOCUMENTED)
    of_jobs = (tables.make_multi_site_table(documented, key) for key in ("count", "share"))
    yield "Multi-site jobs", of_jobs
    yield "Configurations", draw_configurations(documented)
    yield (
        "Local processing and job sharing",
        (
            tables.make_scenario_table(documented),
            *draw_scenarios(documented),
            tables.make_sharing_table(documented),
        ),
    )
    bounds, adaptive = tables.make_bound_table(documented), tables.make_adaptive_table(documented)
    yield "Lower bounds and fragments", (bounds, *draw_bounds(documented))
    yield "Adaptive multi-site", (adaptive, *draw_adaptive(documented))


TITLES = {quantity.name: quantity.title for quantity in QUANTITIES}
COLOURS = {
    "m64": palette.VERMILION,
    "m64-8": palette.ORANGE,
    "m128": palette.GREEN,
    "m256": palette.BLUE,
    "m256-5": palette.SKY,
    "m384": palette.PURPLE,
}
"""The colours of the configurations of table 7.1; others have the default colours."""
SIZE = {"width": "container", "height": 320}
Rows = list[dict[str, Any]]


def draw_configurations(runs: Runs) -> Iterator[Figure | None]:
    """Yield figures of AWRT by overhead for each workload, a line for each configuration."""
    multi = runs.where(scenario="multi_site", adaptive=False, lower_bound=0, fragments="unlimited")
    if len(multi.labels("sites")) < 2:
        return
    for workload in multi.labels("workload"):
        of_workload = multi.where(workload=workload)
        rows = list(_line(of_workload, "sites", "W"))
        yield _figure("configurations", workload, rows, "W", runs.where(workload=workload))


def draw_scenarios(runs: Runs) -> Iterator[Figure | None]:
    """Yield figures of AWRT by overhead, of multi-site jobs and of job sharing."""
    for workload in runs.labels("workload"):
        of_workload = runs.where(workload=workload)
        if not of_workload.where(scenario="local"):
            continue
        grid = of_workload.where(sites=of_workload.where(scenario="local").labels("sites")[0])
        multi = grid.where(scenario="multi_site")
        rows = [row | {"line": "multi-site"} for row in _line(multi, "sites", "W")]
        ends = (min(row["p"] for row in rows), max(row["p"] for row in rows)) if rows else ()
        shared = mean(grid.where(scenario="sharing"), "W")
        rows += [{"line": "job sharing", "p": p, "awrt": shared} for p in ends]
        yield _figure("scenarios", workload, rows, "W", of_workload)


def draw_bounds(runs: Runs) -> Iterator[Figure | None]:
    """Yield figures of AWRT by overhead, a line for each lower bound of a fragment's size."""
    multi = runs.where(scenario="multi_site", adaptive=False, fragments="unlimited")
    if len(multi.labels("lower_bound")) < 2 or runs.where(adaptive=True):
        return
    for (sites, workload), of_place in multi.groups("sites", "workload"):
        if len(of_place.labels("p")) > 2:
            rows = list(_line(of_place, "lower_bound", "RC"))
            base = runs.where(workload=workload)
            yield _figure("bounds", workload, rows, "RC", base, sites=sites)


def draw_adaptive(runs: Runs) -> Iterator[Figure | None]:
    """Yield figures of AWRT by overhead, adaptive and not, for each configuration and workload."""
    for (sites, workload), of_place in runs.where(scenario="multi_site").groups(
        "sites", "workload"
    ):
        ours, others = (of_place.where(adaptive=is_so) for is_so in (True, False))
        if len(ours.labels("p")) > 2:
            rows = [row | {"line": "adaptive"} for row in _line(ours, "sites", "W")]
            for row in _line(others, "lower_bound", "W"):
                rows.append(row | {"line": f"lower bound {row['line']}"})
            base = runs.where(workload=workload)
            yield _figure("adaptive", workload, rows, "W", base, sites=sites)


def _line(runs: Runs, label: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the points of a line for each value of a label."""
    for value in runs.labels(label):
        for p, of_p in runs.where(**{label: value}).by("p").items():
            yield {"line": str(value), "p": p, "awrt": mean(of_p, name)}


def _figure(
    key: str, workload: str, rows: Rows, name: str, of_workload: Runs, **texts: Any
) -> Figure | None:
    if not rows:
        return None
    reference = select_one_machine(of_workload)
    level = mean(reference, name) if reference else None
    chart = _chart(rows, TITLES[name], level)
    given = {"workload": workload, **texts}
    return TEXTS.figure(key, chart, slug(key, *texts.values(), workload), **given)


def _chart(rows: Rows, title: str, reference: float | None) -> Chart:
    """Return lines of points, and the level of one machine across."""
    lines = list(dict.fromkeys(str(row["line"]) for row in rows))
    scale = scale_of(COLOURS, lines) if set(lines) <= set(COLOURS) else alt.Undefined
    base = alt.Chart(inline_data(rows)).encode(
        x=alt.X("p:Q", title="overhead (%)"),
        y=alt.Y("awrt:Q", title=title, scale=alt.Scale(zero=False)),
        color=alt.Color("line:N", title=None, scale=scale, sort=lines),
        tooltip=["line:N", *numbers("p", "awrt")],
    )
    layers = [base.mark_line(strokeWidth=1.5), base.mark_point(filled=True, size=35)]
    if reference is not None:
        level = alt.Chart(inline_data([{"awrt": reference}]))
        layers.append(level.mark_rule(strokeDash=[5, 3], color=palette.BLACK).encode(y="awrt:Q"))
    return alt.layer(*layers).properties(**SIZE)
