"""The tables of the report; each function returns None if the runs have nothing for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import nan
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pandas as pd

from batsched_py.campaign.study_files import study_module
from batsched_py.report.document import Column, Table
from batsched_py.support.statistics import Interval, beside, paired_ratio, quantiles

c = study_module(Path(__file__).with_name("cases.py"))

QUANTILES = ("low", "median", "high")
"""2.5 %, 50 % and 97.5 % of the replications."""


def _table(
    name: str,
    title: str,
    rows: Sequence[dict[str, Any]],
    columns: Iterable[Column],
    note: str,
    marks: Iterable[tuple[int, str]] = (),
) -> Table | None:
    if not rows:
        return None
    return Table(name, title, pd.DataFrame(list(rows)), tuple(columns), note, tuple(marks))


def as_published(cases: pd.DataFrame, numbers: dict[str, Any]) -> Table | None:
    """Return the quantiles of the replications beside the published ones."""
    rows = list(_as_published(cases, numbers))
    shown = [
        *(Column("scheduler"), Column("nodes", "cores"), Column("think"), Column("metric")),
        *(Column(f"ours_{q}", f"ours {q}", kind="ours") for q in QUANTILES),
        *(Column(f"published_{q}", f"paper {q}", kind="published") for q in QUANTILES),
        Column("difference", "difference (%)", 0, "difference"),
        Column("spreads", "in spreads", 1, "difference"),
    ]
    note = (
        "Low, median and high are the 2.5, 50 and 97.5 % quantiles over the replications; "
        "workload in 10^9 core-seconds, ASD without unit, all else in seconds. AWRT is weighted "
        "by area. The difference is that of our median from the published one; in spreads: "
        "published minus ours in units of half the distance of our two quantiles. **Bold**: the "
        "published median is between our quantiles."
    )
    marks = [(at, "spreads") for at, row in enumerate(rows) if row["within"]]
    return _table(
        "as_published", "The paper's cases: quantiles over replications", rows, shown, note, marks
    )


def _as_published(cases: pd.DataFrame, numbers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for scheduler, nodes, think, printed in c.printed(numbers):
        own = c.values(cases, reading=c.STATED, scheduler=scheduler, nodes=nodes, think=think)
        for metric in c.METRICS if len(own) else ():
            if metric.name not in printed:
                continue
            low, middle, high = printed[metric.name]
            found = beside(own[metric.name], middle)
            row = {"scheduler": scheduler, "nodes": nodes, "think": think, "metric": metric.title}
            row |= {"ours_low": found.low, "ours_median": found.ours, "ours_high": found.high}
            row |= {"published_low": low, "published_median": middle, "published_high": high}
            row |= {"difference": 100 * found.difference, "spreads": found.spreads}
            yield row | {"within": found.within, "replications": found.nb}


def schedulers(cases: pd.DataFrame, numbers: dict[str, Any]) -> Table | None:
    """Return EASY in relation to FCFS."""
    rows = []
    for key in _places(cases, "nodes", "think"):
        place = {"reading": c.STATED, **key}
        ratios = _ratios(cases, place | {"scheduler": "easy"}, place | {"scheduler": "fcfs"})
        paper = [_printed(numbers, name, key["nodes"], key["think"]) for name in ("easy", "fcfs")]
        if ratios:
            rows.append(key | _ratio_row(ratios, paper))
    return _ratio_table("schedulers", "EASY / FCFS", ("nodes", "think"), rows)


def think_times(cases: pd.DataFrame, numbers: dict[str, Any]) -> Table | None:
    """Return think times that grow with responses in relation to two hours."""
    rows = []
    for key in _places(cases, "scheduler", "nodes"):
        place = {"reading": c.STATED, **key}
        ratios = _ratios(cases, place | {"think": "lin"}, place | {"think": "c120"})
        paper = [
            _printed(numbers, key["scheduler"], key["nodes"], name) for name in ("lin", "c120")
        ]
        if ratios:
            rows.append(key | _ratio_row(ratios, paper))
    return _ratio_table("think_times", "lin / c120", ("scheduler", "nodes"), rows)


def equal_work(cases: pd.DataFrame, numbers: dict[str, Any]) -> Table | None:
    """Return ``lin`` in relation to constant think times at equal work."""
    rows = []
    for key in _places(cases, "reading", "scheduler", "nodes"):
        own = c.at_equal_work(cases, **key)
        if own.empty:
            continue
        ratios = {
            metric.name: paired_ratio(own[metric.name], own[f"{metric.name}_constant"])
            for metric in c.QUALITY
        }
        printed: list[dict[str, float]] = [{}, {}]
        if (key["scheduler"], key["nodes"]) == ("fcfs", 128):  # lin and c120 do the same work there
            printed = [_printed(numbers, "fcfs", 128, name) for name in ("lin", "c120")]
        rows.append(key | _ratio_row(ratios, printed) | {"replications": len(own)})
    note = (
        "Ratios of means over pairs of equal replications. The constant think times of a "
        "replication give each metric as a function of the work (straight lines between them), "
        "read at the work of lin. Below 1: users who think longer after long responses get better "
        "metrics for the same work. The paper's are lin / c120, whose work is the same in that "
        "case. **Bold**: the 95 % bootstrap interval does not hold 1."
    )
    return _ratio_table(
        "equal_work",
        "lin / constant think times at equal work",
        ("reading", "scheduler", "nodes"),
        rows,
        note,
    )


def _places(cases: pd.DataFrame, *keys: str) -> list[dict[str, Any]]:
    """Return the combinations of these keys that have runs, in the order of the cases."""
    found = [dict(zip(c.CASE, key, strict=True)) for key, _ in c.groups(cases)]
    chosen = [tuple(key[name] for name in keys) for key in found]
    return [dict(zip(keys, place, strict=True)) for place in dict.fromkeys(chosen)]


def _ratios(
    cases: pd.DataFrame, ours: dict[str, Any], base: dict[str, Any]
) -> dict[str, Interval] | None:
    first, second = c.pairs(cases, ours, base)
    if first.empty:
        return None
    return {m.name: paired_ratio(first[m.name], second[m.name]) for m in c.METRICS}


def _printed(numbers: dict[str, Any], scheduler: str, nodes: int, think: str) -> dict[str, float]:
    """Return the published medians of a case by metric."""
    own = numbers["cases"].get(scheduler, {}).get(str(nodes), {}).get(think, {})
    return {name: found[1] for name, found in own.items()}


def _ratio_row(
    ratios: dict[str, Interval], paper: Sequence[dict[str, float]]
) -> dict[str, float | None]:
    row: dict[str, float | None] = {}
    for name, ratio in ratios.items():
        row |= {name: ratio.value, f"{name}_low": ratio.low, f"{name}_high": ratio.high}
        ours, base = (printed.get(name) for printed in paper)
        row[f"{name}_published"] = ours / base if ours and base else None
    return row


def _ratio_table(
    name: str,
    title: str,
    keys: Sequence[str],
    rows: Sequence[dict[str, Any]],
    note: str = (
        "Ratios of means over pairs of equal replications; the paper's are ratios of its medians. "
        "**Bold**: the 95 % bootstrap interval does not hold 1."
    ),
) -> Table | None:
    titles = {"nodes": "cores"}
    columns = [Column(key, titles.get(key, key)) for key in keys]
    for metric in c.METRICS if rows else ():
        if metric.name in rows[0]:
            columns.append(Column(metric.name, metric.title, 2, "ours"))
    for metric in c.METRICS:
        if any(row.get(f"{metric.name}_published") for row in rows):
            columns.append(
                Column(f"{metric.name}_published", f"{metric.title} paper", 2, "published")
            )
    marks = [
        (at, metric.name)
        for at, row in enumerate(rows)
        for metric in c.METRICS
        if not row.get(f"{metric.name}_low", nan) <= 1 <= row.get(f"{metric.name}_high", nan)
        and metric.name in row
    ]
    return _table(name, title, rows, columns, note, marks)


def all_cases(cases: pd.DataFrame) -> Table | None:
    """Return all cases: medians; the quantiles are in the file."""
    rows = []
    metrics = ("jobs", *(metric.name for metric in (*c.METRICS, *c.FURTHER)))
    for key, own in c.groups(cases):
        row = dict(zip(c.CASE, key, strict=True)) | {"replications": len(own)}
        for metric in metrics:
            low, middle, high = quantiles(own[metric])
            row |= {metric: middle, f"{metric}_low": low, f"{metric}_high": high}
        rows.append(row)
    columns = [
        *(
            Column("scheduler"),
            Column("nodes", "cores"),
            Column("think"),
            Column("replications", "runs"),
        ),
        *(Column("jobs", decimals=0), Column("work", "workload", 3)),
        *(Column(metric.name, metric.title, 0) for metric in c.QUALITY[:3]),
        *(Column("asd", "ASD", 1), Column("bsld", "BSLD", 1)),
        Column("awrt_printed", "AWRT printed", 0),
    ]
    if cases["reading"].nunique() > 1:
        columns.insert(0, Column("reading"))
    note = (
        "Medians over the replications (the file has the 2.5 and 97.5 % quantiles too): workload "
        "in 10^9 core-seconds, times in seconds, BSLD: slowdown bounded by 10 s. AWRT as the "
        "paper prints it, sum(p m r) / sum(m), is a square of seconds (here in 10^6 s^2); no "
        "number of the paper is of that size: its AWRT are the usual ones, sum(p m r) / sum(p m)."
    )
    return _table("cases", "Medians of all cases", rows, columns, note)


def user_time(cases: pd.DataFrame, numbers: dict[str, Any]) -> Table | None:
    """Return the time of users that the published numbers need, and what there is of it."""
    rows = []
    for scheduler, nodes, think, printed in c.printed(numbers):
        needed = c.needed(nodes, think, printed)
        own = c.values(cases, reading=c.STATED, scheduler=scheduler, nodes=nodes, think=think)
        ours = float(own["busy"].median()) if len(own) else nan
        row = {"scheduler": scheduler, "nodes": nodes, "think": think}
        row |= {"work": printed["work"][1], "art": printed["art"][1]}
        row |= {"jobs": needed.jobs, "cycle": needed.cycle, "needed": needed.weeks}
        row |= {"share": 100 * needed.share, "ours": ours}
        rows.append(row | {"ours_share": 100 * ours / c.ACTIVE_WEEKS})
    columns = [
        *(Column("scheduler"), Column("nodes", "cores"), Column("think")),
        Column("work", "workload", 3, "published"),
        Column("art", "ART", 0, "published"),
        Column("jobs", "jobs", 0, "published"),
        Column("cycle", "cycle", 0, "published"),
        Column("needed", "needed", 1, "published"),
        Column("share", "needed (%)", 0, "published"),
        Column("ours", "ours", 1, "ours"),
        Column("ours_share", "ours (%)", 0, "ours"),
    ]
    note = (
        "Published medians; jobs: workload over the mean area of a job by the paper's tables of "
        "probabilities and run times, cores cut to the machine; cycle: ART and the think time "
        "after it (s); needed: jobs x cycle in user-weeks, and as a part of the "
        f"{c.ACTIVE_WEEKS:.0f} active user-weeks that ten users have in ten weeks with p_a = 0.5, "
        "nights and weekends included. Ours: the same of our runs."
    )
    return _table("user_time", "Time of users that the numbers need", rows, columns, note)


def independent(cases: pd.DataFrame, numbers: dict[str, Any]) -> Table | None:
    """Return our medians beside those of a second simulation of the same set-up."""
    readings = {"p_a 0.5": c.STATED, "p_a 1": "p_a 1"}
    rows = []
    for label, schedulers_ in numbers["independent"]["cases"].items():
        for scheduler, thinks in schedulers_.items():
            for think, printed in thinks.items():
                place = {"reading": readings[label], "scheduler": scheduler, "nodes": 1024}
                own = c.values(cases, **place, think=think)
                if own.empty:
                    continue
                row = {"p_a": float(label.split()[1]), "scheduler": scheduler, "think": think}
                for metric in c.METRICS:
                    row[metric.name] = float(own[metric.name].median())
                    row[f"{metric.name}_other"] = printed[metric.name]
                rows.append(row)
    columns = [Column("p_a"), Column("scheduler"), Column("think")]
    for metric in c.METRICS:
        columns.append(Column(metric.name, metric.title, kind="ours"))
        columns.append(Column(f"{metric.name}_other", f"{metric.title} other", kind="published"))
    note = (
        "Medians at 1024 cores, ours beside *other*: "
        f"{' '.join(numbers['independent']['source'].split())}. Units as above."
    )
    return _table("independent", "The same set-up, simulated twice", rows, columns, note)


def readings(cases: pd.DataFrame, numbers: dict[str, Any]) -> Table | None:
    """Return how near each reading comes to the published medians."""
    names = list(dict.fromkeys(cases["reading"]))
    if len(names) < 2:
        return None
    rows = [row for name in names if (row := _reading(cases, name, numbers))]
    columns = [
        *(Column("reading"), Column("within"), Column("of")),
        *(Column(m.name, m.title, 2, "difference") for m in c.METRICS),
        *(Column("busy", "busy", 1, "ours"), Column("needed", "needed", 1, "published")),
    ]
    note = (
        "Over the paper's cases: how many of its medians are between our 2.5 and 97.5 % quantiles; "
        "the geometric mean of our medians over the paper's; the user-weeks spent in responses and "
        "thinking, and those that the paper's numbers need (means over the cases). A reading that "
        "explained the paper would have 1.00 everywhere."
    )
    return _table("readings", "Other readings of the set-up", rows, columns, note)


def _reading(cases: pd.DataFrame, name: str, numbers: dict[str, Any]) -> dict[str, Any] | None:
    ratios: dict[str, list[float]] = {metric.name: [] for metric in c.METRICS}
    within, busy, needed = [], [], []
    for scheduler, nodes, think, printed in c.printed(numbers):
        own = c.values(cases, reading=name, scheduler=scheduler, nodes=nodes, think=think)
        if own.empty:
            continue
        for metric in c.METRICS:
            if metric.name in printed:
                found = beside(own[metric.name], printed[metric.name][1])
                ratios[metric.name].append(1 + found.difference)
                within.append(found.within)
        busy.append(float(own["busy"].median()))
        needed.append(c.needed(nodes, think, printed).weeks)
    if not busy:
        return None
    means = {key: geometric_mean(own) if own else nan for key, own in ratios.items()}
    row = {"reading": name, "within": sum(within), "of": len(within), **means}
    return row | {"busy": sum(busy) / len(busy), "needed": sum(needed) / len(needed)}
