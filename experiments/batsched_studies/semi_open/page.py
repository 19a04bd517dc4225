"""Writes docs/validation/semi-open.md and its pictures: the models of chapter 6 of Zakay's thesis.

python -m batsched_studies.semi_open
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

import altair as alt

from batsched_py.figures.chart_files import write_chart
from batsched_py.report.formatting import WORDS
from batsched_py.report.kit import inline_data
from batsched_py.support import palette
from batsched_studies.filled_page import DOCS, Row, WrittenPage, fill_template, format_lines
from batsched_studies.semi_open import reopening, tables
from batsched_studies.semi_open.verdicts import make_verdict_rows
from batsched_users.analytic.reopen_queue import solve_constant

PAGE = DOCS / "validation" / "semi-open.md"
IMAGES = DOCS / "images"
TEXT = Path(__file__).with_name("template.md")
WIDTH, HEIGHT = 200, 150
NAMES = {reopening.EXPONENTIAL: "e^-r", reopening.HYPERBOLA: "hyperbola"}
FIELDS = {
    "throughput": "throughput",
    "jobs_per_user": "jobs per user",
    "mean_response": "turnaround time",
    "throughput_per_user": "throughput per user",
}


def make_page(measured: reopening.Measured) -> WrittenPage:
    """Return docs/validation/semi-open.md and its data."""
    claims = list(make_verdict_rows(measured))
    rows = {
        "mixed": list(tables.make_mixed_rows()),
        "constant": list(tables.make_constant_rows(measured)),
        "think": list(tables.make_think_rows(measured)),
        "adaptive": list(tables.make_adaptive_rows(measured)),
    }
    parts = {
        **summarise_claims(claims),
        "users": f"{reopening.USERS:,}",
        "seeds": len(reopening.SEEDS),
        "difference": ceil(100 * max(tables.list_differences(rows["adaptive"]))),
    }
    data = {f"semi-open-{name}": [tables.HEADERS[name], *rows[name]] for name in rows}
    head = ("claim", "verdict", "numbers", "interpretation")
    return WrittenPage(fill_template(TEXT, parts), data | {"semi-open-claims": [head, *claims]})


def summarise_claims(claims: Sequence[Row]) -> dict[str, str]:
    """Return how many claims hold, and the lines of those that do not."""
    others = [claim[:2] for claim in claims if claim[1] != WORDS[True]]
    holding = f"{len(claims) - len(others)} of {len(claims)}"
    return {"holding": holding, "claims": format_lines(others)}


def draw_pictures(measured: reopening.Measured, folder: Path) -> None:
    """Draw all pictures of the page, and write them into a folder."""
    charts = {
        "mixed": draw_mixed(),
        "constant": draw_constant(),
        "adaptive": draw_adaptive(measured),
        "bias": draw_bias(measured),
    }
    for name, chart in charts.items():
        write_chart(chart, folder / f"semi_open_{name}.png")


def draw_mixed() -> Any:
    """Draw turnaround time and throughput over the number of closed users, by open rate."""
    points = [
        {
            "users": state.nb_users,
            "of": f"{rate:g}",
            "turnaround time": state.closed_response,
            "throughput": state.throughput,
        }
        for rate in (0.0, 0.25, 0.5, 0.75)
        for state in tables.solve_mixed(30, rate)
    ]
    return _panels(points, "users", "closed users", ("turnaround time", "throughput"), "open rate")


def draw_constant() -> Any:
    """Draw the exact values over a constant probability to continue."""
    points = []
    for percent in range(49):
        exact = solve_constant(reopening.OPEN_RATE, percent / 100)
        row = {title: getattr(exact, field) for field, title in FIELDS.items()}
        points.append({"p": percent / 100, "of": "exact", **row})
    return _panels(points, "p", "p", tuple(FIELDS.values()), "")


def draw_adaptive(measured: reopening.Measured) -> Any:
    """Draw the four metrics over the open rate, for both adaptive probabilities to continue."""
    points = [
        {"rate": rate, "of": NAMES[model], **_row(measured, reopening.Case(model, open_rate=rate))}
        for model in reopening.ADAPTIVE
        for rate in reopening.RATES
    ]
    return _panels(points, "rate", "open rate", tuple(FIELDS.values()), "p")


def draw_bias(measured: reopening.Measured) -> Any:
    """Draw the run times of jobs after which users continue, and after which they leave."""
    points = [
        {
            "rate": rate,
            "of": f"{NAMES[model]}, {name}",
            "run time": reopening.mean(
                measured, reopening.Case(model, open_rate=rate), field
            ).value,
        }
        for model in reopening.ADAPTIVE
        for field, name in (("last_run_time", "last"), ("continued_run_time", "continued"))
        for rate in reopening.RATES
    ]
    return _panels(points, "rate", "open rate", ("run time",), "jobs")


def _row(measured: reopening.Measured, case: reopening.Case) -> dict[str, float]:
    return {title: reopening.mean(measured, case, field).value for field, title in FIELDS.items()}


def _panels(
    points: list[dict[str, Any]],
    x: str,
    title: str,
    shown: tuple[str, ...],
    legend: str,
) -> Any:
    """Return a panel for each of ``shown`` over ``x``, a line for each value of ``of``."""
    of = list(dict.fromkeys(point["of"] for point in points))
    colour = alt.Color(
        "of:N",
        title=legend or None,
        scale=alt.Scale(domain=of, range=list(palette.CATEGORIES[: len(of)])),
        legend=None if len(of) == 1 else alt.Legend(),
    )
    panels = []
    for name in shown:
        rows = [{"x": point[x], "of": point["of"], "y": point[name]} for point in points]
        chart = alt.Chart(inline_data(rows)).mark_line(point=alt.OverlayMarkDef(size=15))
        chart = chart.encode(
            x=alt.X("x:Q", title=title),
            y=alt.Y("y:Q", title=name),
            color=colour,
        )
        panels.append(chart.properties(width=WIDTH, height=HEIGHT))
    return alt.concat(*panels, columns=2)
