"""The tables of the report; each function returns None if the runs have nothing for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from statistics import geometric_mean
from typing import Any

from batsched_py.report import Column, Table
from batsched_py.report.kit import Runs, cells, columns, printed, where_known
from batsched_py.support.statistics import Interval, beside, quantiles
from batsched_studies.dynamic_think_times import PUBLISHED, TEXTS
from batsched_studies.dynamic_think_times import cases as c

_TITLES = {metric.name: metric.title for metric in c.METRICS}


def as_published(runs: Runs) -> Table | None:
    """Return the quantiles of the replications beside the published ones."""
    rows = list(_as_published(runs))
    marks = [(at, "spreads") for at, row in enumerate(rows) if row["within"]]
    return TEXTS.table("as_published", rows, marks=marks)


def _as_published(runs: Runs) -> Iterator[dict[str, Any]]:
    for case, medians in c.printed():
        replications = runs.where(reading=c.STATED, **case)
        for metric in c.METRICS if replications else ():
            if metric.name not in medians:
                continue
            low, middle, high = medians[metric.name]
            ours = beside(replications.values(metric.name), middle)
            row = {**case, "metric": metric.title}
            row |= {"ours_low": ours.low, "ours_median": ours.ours, "ours_high": ours.high}
            row |= {"published_low": low, "published_median": middle, "published_high": high}
            row |= {"difference": 100 * ours.difference, "spreads": ours.spreads}
            yield row | {"within": ours.within, "replications": ours.nb}


def schedulers(runs: Runs) -> Table | None:
    """Return EASY in relation to FCFS."""
    keys = ("nodes", "think")
    rows = list(_ratio_rows(runs, keys, "scheduler", ("easy", "fcfs")))
    return _of_ratios("ratios", keys, rows, "schedulers", title="EASY / FCFS")


def think_times(runs: Runs) -> Table | None:
    """Return think times that grow with responses in relation to two hours."""
    keys = ("scheduler", "nodes")
    rows = list(_ratio_rows(runs, keys, "think", ("lin", "c120")))
    return _of_ratios("ratios", keys, rows, "think_times", title="lin / c120")


def _ratio_rows(
    runs: Runs, keys: Sequence[str], label: str, sides: tuple[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield all metrics of one side as multiples of those of the other."""
    for key in _places(runs, *keys):
        cases = [key | {label: side} for side in sides]
        ours, base = (runs.where(reading=c.STATED, **case) for case in cases)
        ratios = {name: ours.ratio(name, base) for name in _TITLES}
        if ratios["work"].nb:
            yield key | _ratio_row(ratios, [_medians(**case) for case in cases])


def equal_work(runs: Runs) -> Table | None:
    """Return ``lin`` in relation to constant think times at equal work."""
    rows = []
    keys = ("reading", "scheduler", "nodes")
    for key in _places(runs, *keys):
        pairs = c.at_equal_work(runs.where(**key))
        if not pairs:
            continue
        ratios = c.ratios_at_equal_work(pairs)
        paper: list[dict[str, float]] = [{}, {}]
        if (key["scheduler"], key["nodes"]) == ("fcfs", 128):  # lin and c120 do the same work there
            paper = [_medians("fcfs", 128, think) for think in ("lin", "c120")]
        rows.append(key | _ratio_row(ratios, paper) | {"replications": len(pairs)})
    return _of_ratios("equal_work", keys, rows)


def _places(runs: Runs, *keys: str) -> list[dict[str, Any]]:
    """Return the combinations of these keys that have runs, in the order of the cases."""
    chosen = dict.fromkeys(tuple(case[name] for name in keys) for case, _ in c.groups(runs))
    return [dict(zip(keys, place, strict=True)) for place in chosen]


def _medians(scheduler: str, nodes: Any, think: str) -> dict[str, float]:
    """Return the published medians of a case by metric."""
    quantiles_of = printed(PUBLISHED, "cases", scheduler, nodes, think, otherwise={})
    return {name: middle for name, (_, middle, _) in quantiles_of.items()}


def _ratio_row(
    ratios: Mapping[str, Interval], paper: Sequence[Mapping[str, float]]
) -> dict[str, float | None]:
    row: dict[str, float | None] = {}
    for name, ratio in ratios.items():
        row |= cells(ratio, name, f"{name}_low", f"{name}_high")
        ours, base = (medians.get(name) for medians in paper)
        row[f"{name}_published"] = ours / base if ours and base else None
    return row


def _of_ratios(
    table: str, keys: Sequence[str], rows: Sequence[dict[str, Any]], name: str = "", title: str = ""
) -> Table | None:
    titles = {name: title for name, title in _TITLES.items() if rows and name in rows[0]}
    paper = {f"{name}_published": f"{title} paper" for name, title in titles.items()}
    shown = (
        *columns({key: "cores" if key == "nodes" else key for key in keys}),
        *columns(titles, decimals=2, kind="ours"),
        *columns(paper, decimals=2, kind="published"),
    )
    marks = [
        (at, name)
        for at, row in enumerate(rows)
        for name in titles
        if not row[f"{name}_low"] <= 1 <= row[f"{name}_high"]
    ]
    return TEXTS.table(table, rows, name, marks, where_known(rows, shown), title=title)


def all_cases(runs: Runs) -> Table | None:
    """Return all cases: medians; the quantiles are in the file."""
    rows = []
    metrics = ("jobs", *(metric.name for metric in (*c.METRICS, *c.FURTHER)))
    for case, replications in c.groups(runs):
        row = case | {"replications": len(replications)}
        for metric in metrics:
            low, middle, high = quantiles(replications.values(metric))
            row |= {metric: middle, f"{metric}_low": low, f"{metric}_high": high}
        rows.append(row)
    several = [Column("reading")] if len(runs.labels("reading")) > 1 else []
    return TEXTS.table("cases", rows, columns=[*several, *TEXTS.columns("cases")])


def user_time(runs: Runs) -> Table | None:
    """Return the time of users that the published numbers need, and what there is of it."""
    rows = []
    for case, medians in c.printed():
        replications = runs.where(reading=c.STATED, **case)
        ours = replications.median("busy") if replications else nan
        row = {**case, "work": medians["work"][1], "art": medians["art"][1]}
        row |= c.needed(case["nodes"], case["think"], medians)
        rows.append(row | {"ours": ours, "ours_share": 100 * ours / c.ACTIVE_WEEKS})
    return TEXTS.table("user_time", rows, active_weeks=c.ACTIVE_WEEKS)


def independent(runs: Runs) -> Table | None:
    """Return our medians beside those of a second simulation of the same set-up."""
    rows = []
    for label, reading in (("p_a 0.5", c.STATED), ("p_a 1", "p_a 1")):
        for scheduler, thinks in PUBLISHED["independent"]["cases"][label].items():
            for think, others in thinks.items():
                ours = runs.where(reading=reading, scheduler=scheduler, nodes=1024, think=think)
                row = {"p_a": float(label.split()[1]), "scheduler": scheduler, "think": think}
                for name in _TITLES if ours else ():
                    row |= {name: ours.median(name), f"{name}_other": others[name]}
                rows += [row] if ours else []
    source = " ".join(PUBLISHED["independent"]["source"].split())
    return TEXTS.table("independent", rows, source=f"{source}.")


def readings(runs: Runs) -> Table | None:
    """Return how near each reading comes to the published medians."""
    names = runs.labels("reading")
    rows = [_reading(runs.where(reading=name)) for name in names if len(names) > 1]
    return TEXTS.table("readings", [row for row in rows if row])


def _reading(runs: Runs) -> dict[str, Any] | None:
    ratios: dict[str, list[float]] = {name: [] for name in _TITLES}
    within, busy, needed = [], [], []
    for case, medians in c.printed():
        replications = runs.where(**case)
        if not replications:
            continue
        for name, (_, middle, _) in medians.items():
            ours = beside(replications.values(name), middle)
            ratios[name].append(1 + ours.difference)
            within.append(ours.within)
        busy.append(replications.median("busy"))
        needed.append(c.needed(case["nodes"], case["think"], medians)["needed"])
    if not busy:
        return None
    row = {"reading": runs.labels("reading")[0], "within": sum(within), "of": len(within)}
    row |= {
        name: geometric_mean(of_cases) if of_cases else nan for name, of_cases in ratios.items()
    }
    return row | {"busy": sum(busy) / len(busy), "needed": sum(needed) / len(needed)}
