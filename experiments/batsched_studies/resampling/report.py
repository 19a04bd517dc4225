"""The report of the study: figures 8 to 16 of the thesis as tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.report import CampaignResults, Figure, Part, Report, Table
from batsched_py.report.kit import Runs, inline_data, intervals, numbers, rows
from batsched_py.support import palette
from batsched_py.support.statistics import finite
from batsched_studies.choices import make_choice_table, merge_verdicts
from batsched_studies.resampling import TEXTS
from batsched_studies.resampling.claims import judge_choices, read
from batsched_studies.resampling.loads import FLURRY_METRICS, HOURS, list_flurries, list_loads
from batsched_studies.resampling.parts import MARGINALS, PARTS, compare_parts
from batsched_studies.resampling.positions import (
    ABOUT,
    HIGHER,
    KINDS,
    LOWER,
    QUANTITIES,
    place_logs,
    select_plain_runs,
)


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    runs = read(results.runs)
    found = place_logs(runs), list_loads(runs), list_flurries(runs)
    place, swept, flurry = map(pd.DataFrame, found)
    part = results.derive("parts", lambda results: pd.DataFrame(compare_parts(results, runs)))
    judged = judge_choices(place, part, swept, flurry)
    sections: dict[str, list[Part | None]] = {
        "The log among its variants": [
            make_choice_table(TEXTS, judged),
            _positions(place),
            *draw_histograms(runs, place),
        ],
        "Longer": [_parts(part)],
        "More and fewer users": [_sweep(swept), draw_stable_shares(swept), draw_hours(runs)],
        "Flurries": [_flurries(flurry), draw_flurry_ratios(flurry)],
    }
    return TEXTS.report(sections.items(), merge_verdicts(judged), TEXTS["summary"])


def _positions(place: pd.DataFrame) -> Table | None:
    if place.empty:
        return None
    titles = {quantity.name: quantity.title for quantity in QUANTITIES}
    shown = place.assign(
        what=place["metric"].map(titles),
        **{
            f"{share}_percent": 100 * place[share] for share in ("below", "below_low", "below_high")
        },
        place=place["where"].map(ABOUT),
        begin=place["kind"].map(KINDS),
    )
    marks = [
        (at, "place") for at, at_end in enumerate(place["where"].isin((LOWER, HIGHER))) if at_end
    ]
    return TEXTS.table("positions", shown, marks=marks)


def _parts(part: pd.DataFrame) -> Table | None:
    if part.empty:
        return None
    rows = []
    for (log, name), of_one in part.groupby(["log", "of"], sort=False):
        own = of_one.loc[of_one["part"] == 0, "distance"]
        row = {"log": log, "what": MARGINALS[str(name)], "variants": len(own)}
        row |= {"own": own.median(), "own_most": own.max()}
        for number in PARTS:
            row[f"part_{number}"] = of_one.loc[of_one["part"] == number, "distance"].median()
        rows.append(row)
    return TEXTS.table("parts", rows)


def _sweep(swept: pd.DataFrame) -> Table | None:
    if swept.empty:
        return None
    shares = {
        "stable_percent": "stable",
        "hours_percent": "apart_hours",
        "days_percent": "apart_days",
    }
    return TEXTS.table(
        "sweep", swept.assign(**{name: 100 * swept[share] for name, share in shares.items()})
    )


def _flurries(flurry: pd.DataFrame) -> Table | None:
    if flurry.empty:
        return None
    return TEXTS.table("flurries", flurry.assign(what=flurry["metric"].map(FLURRY_METRICS)))


WIDTH, HEIGHT, COLUMNS = 240, 140, 3
BINS = 30


def draw_histograms(runs: Runs, place: pd.DataFrame) -> Iterator[Figure | None]:
    """Yield for each metric a figure of its distribution over the variants of each log."""
    for quantity in QUANTITIES if len(place) else ():
        bars: list[dict[str, Any]] = []
        of_metric = place[(place["metric"] == quantity.name) & (place["kind"] == "variants")]
        for row in rows(of_metric):
            variants = select_plain_runs(runs.where(log=row.log, workload="variants"))
            shares, edges = np.histogram(finite(variants.values(quantity.name)), BINS)
            bars += [
                {"log": row.log, "from": low, "to": high, "share": share, "recorded": row.recorded}
                for low, high, share in zip(edges, edges[1:], shares / row.variants, strict=False)
            ]
        if not bars:
            continue
        base = alt.Chart().properties(width=WIDTH, height=HEIGHT)
        scale = alt.Scale(zero=False, nice=False)
        boxes = base.mark_bar(color=palette.BLUE, opacity=0.7).encode(
            x=alt.X("from:Q", title=quantity.title, scale=scale, bin="binned"),
            x2="to:Q",
            y=alt.Y("share:Q", title="share of the variants"),
            tooltip=numbers("from", "to", "share"),
        )
        log = base.mark_rule(color=palette.VERMILION, strokeWidth=2).encode(
            x="mean(recorded):Q", tooltip=numbers(recorded="log")
        )
        yield TEXTS.figure(
            "histograms",
            _by_log(alt.layer(boxes, log), bars),
            f"histograms_{quantity.name}",
            metric=quantity.title.capitalize(),
            bins=BINS,
        )


def draw_stable_shares(swept: pd.DataFrame) -> Figure | None:
    """Draw the share of stable runs over the utilisation."""
    if swept.empty:
        return None
    points: Any = swept[["log", "load", "utilisation", "stable"]].to_dict("records")
    base = alt.Chart(inline_data(points)).encode(
        x=alt.X("utilisation:Q", title="utilisation (%)", scale=alt.Scale(zero=False)),
        y=alt.Y("stable:Q", title="share of stable runs", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("log:N", title=None),
        order="load:Q",
        tooltip=["log:N", *numbers("load", "utilisation", "stable")],
    )
    chart = alt.layer(base.mark_line(), base.mark_point(filled=True, size=50))
    return TEXTS.figure("success", chart.properties(width="container", height=240).interactive())


def draw_hours(runs: Runs) -> Figure | None:
    """Draw the submissions by hour of the day, with the log's users and six times as many."""
    lines: list[dict[str, Any]] = []
    for log in runs.labels("log"):
        of_log = runs.where(log=log)
        workloads = {
            "log": of_log.where(workload="recorded"),
            "variants": select_plain_runs(of_log.where(workload="variants")),
            "six times": of_log.where(workload="variants", load=6.0),
        }
        if not len(workloads["six times"]) or HOURS[0] not in runs.frame:
            continue
        for name, some in workloads.items():
            for hour, column in enumerate(HOURS):
                shares = finite(some.values(column))
                if len(shares):
                    lines.append({"log": log, "of": name, "hour": hour, "share": shares.mean()})
    if not lines:
        return None
    styles = {"log": palette.RECORDED, "variants": palette.BLUE, "six times": palette.VERMILION}
    chart = alt.Chart().mark_line(interpolate="step-after", strokeWidth=2)
    chart = chart.encode(
        x=alt.X("hour:Q", title="hour of the day", scale=alt.Scale(domain=[0, 24], nice=False)),
        y=alt.Y("share:Q", title="share of the submissions"),
        color=alt.Color(
            "of:N", title=None, scale=alt.Scale(domain=[*styles], range=[*styles.values()])
        ),
        tooltip=["of:N", "hour:O", *numbers("share")],
    )
    return TEXTS.figure("clock", _by_log(chart.properties(width=2 * WIDTH, height=HEIGHT), lines))


def draw_flurry_ratios(flurry: pd.DataFrame) -> Figure | None:
    """Draw how the other users' waits and slowdowns grow with the rate of flurries."""
    if flurry.empty:
        return None
    shown = flurry[flurry["metric"].isin(("wait", "wait_99", "slowdown"))]
    points: Any = shown.assign(what=shown["metric"].map(FLURRY_METRICS)).to_dict("records")
    title = "ratio to none"
    base = alt.Chart().encode(
        x=alt.X("rate:Q", title="flurries a week"), color=alt.Color("what:N", title=None)
    )
    line = base.mark_line(point=True).encode(
        y=alt.Y("ratio:Q", title=title, scale=alt.Scale(zero=False)),
        tooltip=["what:N", *numbers("rate", "ratio", "low", "high")],
    )
    chart = alt.layer(line, *intervals(base, points, title, opacity=0.5))
    return TEXTS.figure(
        "flurry_ratios", _by_log(chart.properties(width=2 * WIDTH, height=200), points)
    )


def _by_log(chart: Any, lines: list[dict[str, Any]]) -> Any:
    """Return a chart for each log, side by side."""
    logs = list(dict.fromkeys(line["log"] for line in lines))
    facet = alt.Facet("log:N", title=None, sort=logs, header=alt.Header(labelFontWeight="bold"))
    faceted = chart.facet(facet=facet, columns=COLUMNS, data=inline_data(lines))
    return faceted.resolve_scale(x="independent", y="independent")
