"""The tables of the report; each function returns None if the runs have nothing for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from statistics import geometric_mean
from typing import Any

from batsched_py.report import Column, Table
from batsched_py.report.kit.beside_published import printed
from batsched_py.report.kit.estimates import cells
from batsched_py.report.kit.selection import Runs
from batsched_py.report.kit.tables import columns, table, where_known
from batsched_py.support.statistics import Interval, beside, paired_ratio, quantiles
from batsched_studies.dynamic_think_times import cases as c
from batsched_studies.dynamic_think_times.texts import TEXTS

QUANTILES = ("low", "median", "high")
"""2.5 %, 50 % and 97.5 % of the replications."""
_CASE = columns("scheduler", nodes="cores", think="think")
_TITLES = {metric.name: metric.title for metric in c.METRICS}
Numbers = Mapping[str, Any]
"""``published.toml``."""


def as_published(runs: Runs, numbers: Numbers) -> Table | None:
    """Return the quantiles of the replications beside the published ones."""
    rows = list(_as_published(runs, numbers))
    shown = [
        *(*_CASE, Column("metric")),
        *columns({f"ours_{q}": f"ours {q}" for q in QUANTILES}, kind="ours"),
        *columns({f"published_{q}": f"paper {q}" for q in QUANTILES}, kind="published"),
        Column("difference", "difference (%)", 0, "difference"),
        Column("spreads", "in spreads", 1, "difference"),
    ]
    marks = [(at, "spreads") for at, row in enumerate(rows) if row["within"]]
    title = "The paper's cases: quantiles over replications"
    return table("as_published", title, rows, shown, TEXTS["as_published"], marks)


def _as_published(runs: Runs, numbers: Numbers) -> Iterator[dict[str, Any]]:
    for case, medians in c.printed(numbers):
        own = runs.where(reading=c.STATED, **case)
        for metric in c.METRICS if own else ():
            if metric.name not in medians:
                continue
            low, middle, high = medians[metric.name]
            found = beside(own.values(metric.name), middle)
            row = {**case, "metric": metric.title}
            row |= {"ours_low": found.low, "ours_median": found.ours, "ours_high": found.high}
            row |= {"published_low": low, "published_median": middle, "published_high": high}
            row |= {"difference": 100 * found.difference, "spreads": found.spreads}
            yield row | {"within": found.within, "replications": found.nb}


def schedulers(runs: Runs, numbers: Numbers) -> Table | None:
    """Return EASY in relation to FCFS."""
    sides = {"scheduler": ("easy", "fcfs")}
    return _ratio_table("schedulers", "EASY / FCFS", runs, numbers, ("nodes", "think"), sides)


def think_times(runs: Runs, numbers: Numbers) -> Table | None:
    """Return think times that grow with responses in relation to two hours."""
    sides = {"think": ("lin", "c120")}
    return _ratio_table("think_times", "lin / c120", runs, numbers, ("scheduler", "nodes"), sides)


def _ratio_table(
    name: str,
    title: str,
    runs: Runs,
    numbers: Numbers,
    keys: Sequence[str],
    sides: Mapping[str, tuple[str, str]],
) -> Table | None:
    """Return all metrics of one side as multiples of those of the other."""
    ((label, values),) = sides.items()
    rows = []
    for key in _places(runs, *keys):
        ours, base = (runs.where(reading=c.STATED, **key, **{label: value}) for value in values)
        ratios = {name: ours.ratio(name, base) for name in _TITLES}
        if ratios["work"].nb:
            paper = [_medians(numbers, **key, **{label: value}) for value in values]
            rows.append(key | _ratio_row(ratios, paper))
    return _of_ratios(name, title, keys, rows, TEXTS["ratio_table"])


def equal_work(runs: Runs, numbers: Numbers) -> Table | None:
    """Return ``lin`` in relation to constant think times at equal work."""
    rows = []
    keys = ("reading", "scheduler", "nodes")
    for key in _places(runs, *keys):
        own = c.at_equal_work(runs.where(**key))
        if not own:
            continue
        ratios = {
            m.name: paired_ratio(own.values(m.name), own.values(f"{m.name}_constant"))
            for m in c.QUALITY
        }
        paper: list[dict[str, float]] = [{}, {}]
        if (key["scheduler"], key["nodes"]) == ("fcfs", 128):  # lin and c120 do the same work there
            paper = [_medians(numbers, "fcfs", 128, think) for think in ("lin", "c120")]
        rows.append(key | _ratio_row(ratios, paper) | {"replications": len(own)})
    title = "lin / constant think times at equal work"
    return _of_ratios("equal_work", title, keys, rows, TEXTS["equal_work_tables"])


def _places(runs: Runs, *keys: str) -> list[dict[str, Any]]:
    """Return the combinations of these keys that have runs, in the order of the cases."""
    chosen = dict.fromkeys(tuple(case[name] for name in keys) for case, _ in c.groups(runs))
    return [dict(zip(keys, place, strict=True)) for place in chosen]


def _medians(numbers: Numbers, scheduler: str, nodes: Any, think: str) -> dict[str, float]:
    """Return the published medians of a case by metric."""
    own = printed(numbers, "cases", scheduler, nodes, think, otherwise={})
    return {name: found[1] for name, found in own.items()}


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
    name: str, title: str, keys: Sequence[str], rows: Sequence[dict[str, Any]], note: str
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
    return table(name, title, rows, where_known(rows, shown), note, marks)


def all_cases(runs: Runs) -> Table | None:
    """Return all cases: medians; the quantiles are in the file."""
    rows = []
    metrics = ("jobs", *(metric.name for metric in (*c.METRICS, *c.FURTHER)))
    for case, own in c.groups(runs):
        row = case | {"replications": len(own)}
        for metric in metrics:
            low, middle, high = quantiles(own.values(metric))
            row |= {metric: middle, f"{metric}_low": low, f"{metric}_high": high}
        rows.append(row)
    shown = [
        *(*_CASE, Column("replications", "runs"), Column("jobs", decimals=0)),
        Column("work", "workload", 3),
        *columns({metric.name: metric.title for metric in c.QUALITY[:3]}, decimals=0),
        *columns(decimals=1, asd="ASD", bsld="BSLD"),
        Column("awrt_printed", "AWRT printed", 0),
    ]
    if len(runs.labels("reading")) > 1:
        shown.insert(0, Column("reading"))
    return table("cases", "Medians of all cases", rows, shown, TEXTS["all_cases"])


def user_time(runs: Runs, numbers: Numbers) -> Table | None:
    """Return the time of users that the published numbers need, and what there is of it."""
    rows = []
    for case, medians in c.printed(numbers):
        needed = c.needed(case["nodes"], case["think"], medians)
        own = runs.where(reading=c.STATED, **case)
        ours = float(own.values("busy").median()) if own else nan
        row = {**case, "work": medians["work"][1], "art": medians["art"][1]}
        row |= {"jobs": needed.jobs, "cycle": needed.cycle, "needed": needed.weeks}
        row |= {"share": 100 * needed.share, "ours": ours}
        rows.append(row | {"ours_share": 100 * ours / c.ACTIVE_WEEKS})
    shown = (
        *(*_CASE, Column("work", "workload", 3, "published")),
        *columns(decimals=0, kind="published", art="ART", jobs="jobs", cycle="cycle"),
        Column("needed", "needed", 1, "published"),
        Column("share", "needed (%)", 0, "published"),
        Column("ours", "ours", 1, "ours"),
        Column("ours_share", "ours (%)", 0, "ours"),
    )
    note = TEXTS["user_time"].format(active_weeks=c.ACTIVE_WEEKS)
    return table("user_time", "Time of users that the numbers need", rows, shown, note)


def independent(runs: Runs, numbers: Numbers) -> Table | None:
    """Return our medians beside those of a second simulation of the same set-up."""
    rows = []
    for label, reading in (("p_a 0.5", c.STATED), ("p_a 1", "p_a 1")):
        for scheduler, thinks in numbers["independent"]["cases"][label].items():
            for think, others in thinks.items():
                own = runs.where(reading=reading, scheduler=scheduler, nodes=1024, think=think)
                row = {"p_a": float(label.split()[1]), "scheduler": scheduler, "think": think}
                for name in _TITLES if own else ():
                    row |= {name: float(own.values(name).median()), f"{name}_other": others[name]}
                rows += [row] if own else []
    shown = [*columns("p_a", "scheduler", "think")]
    for name, metric in _TITLES.items():
        shown.append(Column(name, metric, kind="ours"))
        shown.append(Column(f"{name}_other", f"{metric} other", kind="published"))
    note = (
        "Medians at 1024 cores, ours beside *other*: "
        f"{' '.join(numbers['independent']['source'].split())}. Units as above."
    )
    return table("independent", "The same set-up, simulated twice", rows, shown, note)


def readings(runs: Runs, numbers: Numbers) -> Table | None:
    """Return how near each reading comes to the published medians."""
    names = runs.labels("reading")
    found = [_reading(runs.where(reading=name), numbers) for name in names if len(names) > 1]
    rows = [row for row in found if row]
    shown = [
        *columns("reading", "within", "of"),
        *columns(_TITLES, decimals=2, kind="difference"),
        *(Column("busy", "busy", 1, "ours"), Column("needed", "needed", 1, "published")),
    ]
    return table("readings", "Other readings of the set-up", rows, shown, TEXTS["readings"])


def _reading(runs: Runs, numbers: Numbers) -> dict[str, Any] | None:
    ratios: dict[str, list[float]] = {name: [] for name in _TITLES}
    within, busy, needed = [], [], []
    for case, medians in c.printed(numbers):
        own = runs.where(**case)
        if not own:
            continue
        for name in medians:
            found = beside(own.values(name), medians[name][1])
            ratios[name].append(1 + found.difference)
            within.append(found.within)
        busy.append(float(own.values("busy").median()))
        needed.append(c.needed(case["nodes"], case["think"], medians).weeks)
    if not busy:
        return None
    row = {"reading": runs.labels("reading")[0], "within": sum(within), "of": len(within)}
    row |= {name: geometric_mean(own) if own else nan for name, own in ratios.items()}
    return row | {"busy": sum(busy) / len(busy), "needed": sum(needed) / len(needed)}
