"""The figures of the study, as Vega-Lite charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.campaign.study_files import study_module
from batsched_py.report.document import Figure
from batsched_py.support.statistics import paired_ratio

if TYPE_CHECKING:
    from claims import Runs, Spread, Wait

CLAIMS: Any = study_module(Path(__file__).with_name("claims.py"))
MEASURES: Any = study_module(Path(__file__).with_name("measures.py"))
HOUR = 3600.0
USERS = {"resampled": "open resampling", "tbuos": "TBUOS"}
COLOURS = alt.Scale(domain=list(USERS.values()), range=["#c2571a", "#1f6fa8"])
DASHES = alt.Scale(domain=["easy", "fcfs"], range=[[1, 0], [5, 3]])
WIDTH, HEIGHT, COLUMNS = 320, 220, 2
STEPS = 60
"""At most so many per line of a distribution."""


def wait_distribution(runs: Runs) -> Figure | None:
    """Return the distribution of the mean wait over the seeds."""
    lines = []
    for (log, replay, system), own in runs.items():
        waits = CLAIMS.finite(CLAIMS.column(own.values(), CLAIMS.WAIT)) / HOUR
        if replay in USERS and system in ("easy", "fcfs") and len(waits) > 1:
            share = np.linspace(0, 1, min(len(waits), STEPS) + 1)
            steps = np.quantile(waits, share, method="inverted_cdf")
            names = {"log": log, "users": USERS[replay], "system": system}
            lines += [{**names, "wait": w, "share": s} for w, s in zip(steps, share, strict=True)]
    if not lines:
        return None
    chart = _lines(lines).encode(
        x=alt.X("wait:Q", title="mean wait of a run (h)", scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("share:Q", title="share of runs up to it", scale=alt.Scale(domain=[0, 1])),
        tooltip=[
            "users:N",
            "system:N",
            _number("wait", "mean wait (h)"),
            _number("share", "share"),
        ],
    )
    return Figure(
        "wait_distribution",
        "Mean waits over the seeds",
        _by_log(chart, lines),
        f"Of up to {STEPS} runs each step is one. Open resampling spreads far, TBUOS little: users "
        "who wait submit less. The thesis shows it as histograms (chapter 5).",
    )


def throughput_pairs(runs: Runs) -> Figure | None:
    """Return EASY's over FCFS's throughput, run by run."""
    points = []
    for (log, replay, system), easy in runs.items():
        fcfs = runs.get((log, replay, "fcfs"), {})
        if system == "easy" and replay in USERS:
            points += [
                {
                    "log": log,
                    "users": USERS[replay],
                    "seed": number,
                    "fcfs": fcfs[seed][CLAIMS.THROUGHPUT],
                    "easy": easy[seed][CLAIMS.THROUGHPUT],
                }
                for number, seed in enumerate(sorted(easy.keys() & fcfs.keys()), 1)
            ]
    if not points:
        return None
    axis = alt.Scale(zero=False, nice=False, padding=10)
    dots = (
        alt.Chart()
        .mark_circle(size=35, opacity=0.6)
        .encode(
            x=alt.X("fcfs:Q", title="FCFS (jobs/h)", scale=axis),
            y=alt.Y("easy:Q", title="EASY (jobs/h)", scale=axis),
            color=alt.Color("users:N", title="users", scale=COLOURS),
            tooltip=["users:N", "seed:O", _number("fcfs", "FCFS"), _number("easy", "EASY")],
        )
    )
    equal = alt.Chart().mark_line(color="#888888", strokeDash=[4, 3])
    equal = equal.encode(x="fcfs:Q", y="fcfs:Q")
    chart = alt.layer(equal, dots).properties(width=WIDTH, height=HEIGHT)
    return Figure(
        "throughput",
        "Throughput with FCFS and with EASY",
        _by_log(chart, points),
        "Each point is a seed, the same people with both policies; on the dashed line both do the "
        "same. Under TBUOS EASY does more; in open resampling it does so only as far as FCFS does "
        "not keep up. The thesis has it as a figure (chapter 5).",
    )


def ups_sweep(runs: Runs) -> Figure | None:
    """Return the throughput of UPS relative to EASY over the weight of the users' rank."""
    points = list(_ups_points(runs))
    if not points:
        return None
    title, scale = "throughput relative to EASY", alt.Scale(zero=False)
    x = alt.X("beside:Q", title="a_user", scale=alt.Scale(domain=[-0.03, 1.03], nice=False))
    base = alt.Chart().encode(x=x, color=alt.Color("users:N", title="users", scale=COLOURS))
    bars = base.mark_rule(strokeWidth=2).encode(
        y=alt.Y("low:Q", title=title, scale=scale), y2="high:Q", opacity=alt.value(0.5)
    )
    line = base.mark_line().encode(
        y=alt.Y("ratio:Q", title=title, scale=scale),
        strokeDash=alt.StrokeDash("rank:N", title="rank by", scale=_ranks([[1, 0], [5, 3]])),
    )
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(
        y=alt.Y("ratio:Q", title=title, scale=scale),
        shape=alt.Shape("rank:N", title="rank by", scale=_ranks(["circle", "diamond"])),
        tooltip=["users:N", "rank:N", "a_user:Q", *map(_number, ("ratio", "low", "high")), "n:Q"],
    )
    chart = alt.layer(bars, line, dots).properties(width=WIDTH, height=HEIGHT)
    return Figure(
        "ups",
        "UPS with a growing weight of the users' rank",
        _by_log(chart, points),
        "Ratio of mean throughputs over pairs of seeds, with its 95 % bootstrap interval. The "
        "thesis has it as figures (chapter 5): it grows with `a_user`, load is above recency, and "
        "without feedback nothing changes.",
    )


def _ups_points(runs: Runs) -> Iterator[dict[str, Any]]:
    for (log, replay, system), own in runs.items():
        easy = runs.get((log, replay, "easy"), {})
        seeds = sorted(own.keys() & easy.keys())
        if not system.startswith("ups ") or replay not in USERS or not seeds:
            continue
        sides = ([side[seed] for seed in seeds] for side in (own, easy))
        ratio = paired_ratio(*(CLAIMS.column(side, CLAIMS.THROUGHPUT) for side in sides))
        _, rank, a_user = system.split()
        yield {
            "log": log,
            "users": USERS[replay],
            "rank": rank,
            "a_user": float(a_user),
            "beside": float(a_user) + (0.01 if rank == "recency" else 0),  # bars side by side
            "ratio": ratio.value,
            "low": ratio.low,
            "high": ratio.high,
            "n": ratio.nb,
        }


def ratio_figure(spreads: Sequence[Spread]) -> Figure | None:
    """Return the largest over the smallest mean wait beside the thesis."""
    points = list(_ratio_points(spreads))
    if not points:
        return None
    y = alt.Y("log:N", title=None, axis=alt.Axis(labelLimit=240))
    colour = alt.Color("users:N", title="users", scale=COLOURS)
    offset = alt.YOffset("users:N", scale=alt.Scale(domain=list(USERS.values())))
    base = alt.Chart(alt.Data(values=_whole(points))).encode(y=y, yOffset=offset, color=colour)
    title = "largest over smallest mean wait"
    scale = alt.Scale(type="log", nice=False, domainMin=1)
    bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=alt.X("low:Q", title=title, scale=scale), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=80).encode(
        x=alt.X("ratio:Q", title=title, scale=scale),
        shape=alt.Shape("from:N", title=None, scale=_published(["circle", "diamond"])),
        opacity=alt.condition("datum.from == 'ours'", alt.value(1), alt.value(0.6)),
        tooltip=["log:N", "users:N", "from:N", _number("ratio"), "seeds:Q"],
    )
    lines = len({(point["log"], point["users"]) for point in points})
    chart = (
        alt.layer(bars, dots)
        .properties(width="container", height=22 * max(lines, 2))
        .interactive(bind_y=False)
    )
    return Figure(
        "ratios_beside_thesis",
        "Largest over smallest mean wait with EASY",
        chart,
        "With the 95 % bootstrap interval over the runs, whose upper end is the ratio at most.",
    )


def _ratio_points(spreads: Sequence[Spread]) -> Iterator[dict[str, Any]]:
    for spread in spreads:
        if spread.system != "easy" or spread.which != "all" or spread.replay not in USERS:
            continue
        place = {"log": spread.log, "users": USERS[spread.replay]}
        inside = {"low": spread.ratio_low, "high": spread.ratio_high, "seeds": spread.seeds}
        yield {**place, **inside, "ratio": spread.ratio, "from": "ours"}
        if spread.thesis is not None:
            yield {**place, "ratio": spread.thesis, "from": "thesis"}


def wait_figure(waits: Sequence[Wait]) -> Figure | None:
    """Return the average waits of chapter 4 beside the thesis."""
    points = []
    for wait in waits:
        place = {"log": wait.log, "users": wait.replay}
        points.append({**place, "wait": wait.ours / HOUR, "from": wait.system})
        if wait.thesis is not None and wait.replay != "fluid 5":
            points.append({**place, "wait": wait.thesis / HOUR, "from": "thesis"})
    if not points:
        return None
    names = [*CLAIMS.EASY, "thesis"]
    chart = (
        alt.Chart()
        .mark_point(filled=True, size=70, opacity=0.8)
        .encode(
            x=alt.X("wait:Q", title="average wait (h)", scale=alt.Scale(zero=True)),
            y=alt.Y("users:N", title=None, sort=list(CLAIMS.REPLAYS)),
            color=alt.Color("from:N", title=None, scale=alt.Scale(domain=names, range=_THREE)),
            shape=alt.Shape(
                "from:N",
                title=None,
                scale=alt.Scale(domain=names, range=["circle", "square", "diamond"]),
            ),
            tooltip=["log:N", "users:N", "from:N", _number("wait", "wait (h)")],
        )
        .properties(width=WIDTH, height=130)
    )
    return Figure(
        "waits_beside_thesis",
        "Average waits with EASY, ours beside the thesis",
        _by_log(chart, points, x="independent"),
        "`rigid` is open replay; the models of chapter 4 below it.",
    )


def queue_figure(runs: Runs) -> Figure | None:
    """Return for how much of the time how many jobs wait."""
    users = {"rigid": "open replay", "fluid": "fluid"} | USERS
    lines = []
    for (log, replay, system), own in runs.items():
        if replay not in users or system not in ("easy", "fcfs"):
            continue
        names = {"log": log, "users": users[replay], "system": system}
        for length in MEASURES.LENGTHS:
            shares = CLAIMS.finite(CLAIMS.column(own.values(), f"queue_above_{length}"))
            if len(shares) and shares.mean() > 0:
                lines.append({**names, "length": max(length, 0.5), "share": shares.mean()})
    if not lines:
        return None
    domain = [name for name in users.values() if any(line["users"] == name for line in lines)]
    colours = dict(zip(users.values(), ("#8a6d00", "#3a8a4d", *COLOURS.range), strict=True))
    scale = alt.Scale(domain=domain, range=[colours[name] for name in domain])
    chart = _lines(lines, "monotone", scale).encode(
        x=alt.X("length:Q", title="waiting jobs", scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("share:Q", title="share of time with more", scale=alt.Scale(domain=[0, 1])),
        tooltip=["users:N", "system:N", "length:Q", _number("share", "share of time")],
    )
    return Figure(
        "queue",
        "Length of the queue",
        _by_log(chart, lines),
        "Share of the time, up to the last submission, in which more than so many jobs wait (half "
        "a job stands for none); mean over the seeds. Huge queues for much of the time are those "
        "of FCFS without feedback, as in the thesis (chapter 4).",
    )


_THREE = ["#1f6fa8", "#3a8a4d", "#c2571a"]


def _lines(lines: Sequence[Any], interpolate: str = "step-after", scale: Any = COLOURS) -> Any:
    return (
        alt.Chart()
        .mark_line(interpolate=interpolate, strokeWidth=2)
        .encode(
            color=alt.Color("users:N", title="users", scale=scale),
            strokeDash=alt.StrokeDash("system:N", title="system", scale=DASHES),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def _by_log(chart: Any, lines: Sequence[Mapping[str, Any]], x: str = "independent") -> Any:
    """Return a chart for each log, in two columns."""
    logs = list(dict.fromkeys(line["log"] for line in lines))
    data = alt.Data(values=_whole(lines))
    header = alt.Header(labelFontWeight="bold", labelLimit=WIDTH)
    facet = alt.Facet("log:N", title=None, sort=logs, header=header)
    faceted = chart.interactive().facet(facet=facet, columns=COLUMNS, data=data)
    return faceted.resolve_scale(x=x, y="shared" if x == "shared" else "independent")


def _whole(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as JSON takes them: no numpy, no nan."""
    frame = pd.DataFrame(lines)
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


def _number(name: str, title: str = "") -> Any:
    return alt.Tooltip(f"{name}:Q", title=title or name, format=".4~g")


def _ranks(values: list[Any]) -> Any:
    return alt.Scale(domain=["load", "recency"], range=values)


def _published(values: list[Any]) -> Any:
    return alt.Scale(domain=["ours", "thesis"], range=values)
