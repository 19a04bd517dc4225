"""The tables of the report; each function returns None if the campaign has no runs for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from statistics import geometric_mean
from typing import Any

from batsched_py.report import Column, Table, kit
from batsched_py.report.kit import Interval, Runs
from batsched_studies.dynamic_think_times import PUBLISHED, TEXTS
from batsched_studies.dynamic_think_times import cases as c

_TITLES = {metric.name: metric.title for metric in c.METRICS}


def make_published_table(runs: Runs) -> Table | None:
    """Return a table of the simulated medians over the replications and the published medians."""
    rows = list(_as_published(runs.where(reading=c.DAILY)))
    marks = [(at, "z") for at, row in enumerate(rows) if abs(row["z"]) <= 1.96]
    return TEXTS.table("as_published", rows, marks=marks)


def _as_published(runs: Runs) -> Iterator[dict[str, Any]]:
    for case, medians in c.list_published_cases():
        inner, whole = (runs.where(measured=which, **case) for which in (c.INNER, c.WHOLE))
        for metric in c.METRICS if inner else ():
            if metric.name not in medians:
                continue
            low, middle, high = medians[metric.name]
            values, of_all = (each.values(metric.name) for each in (inner, whole))
            median = kit.median_interval(values)
            row = {**case, "metric": metric.title, **kit.cells(median, "median", nb="runs")}
            row["ours_low"], row["ours_high"] = kit.quantiles(values, (0.025, 0.975))
            theirs = c.estimate_printed_median(medians[metric.name])
            row |= kit.cells(theirs, "published", "published_from", "published_to")
            row |= {"published_low": low, "published_high": high}
            z = c.compute_distance(values, medians[metric.name])
            row |= {"ratio": median.value / middle, "z": z}
            row |= {"whole": float(of_all.median()), "whole_ratio": of_all.median() / middle}
            yield row | {"whole_z": c.compute_distance(of_all, medians[metric.name])}


def make_scheduler_table(runs: Runs) -> Table | None:
    """Return a table of the ratios of EASY's metrics to those of FCFS."""
    keys = ("nodes", "think")
    rows = list(_ratio_rows(runs, keys, "scheduler", ("easy", "fcfs")))
    return _of_ratios("ratios", keys, rows, "schedulers", title="EASY / FCFS")


def make_think_time_table(runs: Runs) -> Table | None:
    """Return a table of the metrics with growing think times (lin), relative to two hours'."""
    keys = ("scheduler", "nodes")
    rows = list(_ratio_rows(runs, keys, "think", ("lin", "c120")))
    return _of_ratios("ratios", keys, rows, "think_times", title="lin / c120")


def _ratio_rows(
    runs: Runs, keys: Sequence[str], label: str, sides: tuple[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield all metrics of one side as multiples of those of the other."""
    for key in _places(runs, "reading", *keys):
        cases = [key | {label: side} for side in sides]
        ours, base = (runs.where(**case) for case in cases)
        ratios = {name: ours.median_ratio(name, base) for name in _TITLES}
        if ratios["work"].nb:
            theirs = [_published(case["scheduler"], case["nodes"], case["think"]) for case in cases]
            yield key | _ratio_row(ratios, theirs)


def make_equal_work_table(runs: Runs) -> Table | None:
    """Return a table of the ratios of ``lin`` to constant think times at equal work."""
    rows = []
    keys = ("scheduler", "nodes")
    for key in _places(runs, "reading", *keys):
        pairs = c.interpolate_at_equal_work(runs.where(**key))
        if not pairs:
            continue
        ratios = c.compute_ratios_at_equal_work(pairs)
        paper: list[c.Medians] = [{}, {}]
        if (key["scheduler"], key["nodes"]) == ("fcfs", 128):  # lin and c120 do the same work there
            paper = [_published("fcfs", 128, think) for think in ("lin", "c120")]
        rows.append(key | _ratio_row(ratios, paper) | {"replications": len(pairs)})
    return _of_ratios("equal_work", keys, rows)


def _places(runs: Runs, *keys: str) -> list[dict[str, Any]]:
    """Return the combinations of these keys that have runs, in the order of the cases."""
    chosen = dict.fromkeys(tuple(case[name] for name in keys) for case, _ in c.group_by_case(runs))
    return [dict(zip(keys, place, strict=True)) for place in chosen]


def _published(scheduler: str, nodes: Any, think: str) -> c.Medians:
    """Return the published quantiles of a case by metric."""
    found: c.Medians = kit.find_published(PUBLISHED, "cases", scheduler, nodes, think, otherwise={})
    return found


def _ratio_row(ratios: Mapping[str, Interval], paper: Sequence[c.Medians]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, ratio in ratios.items():
        row |= kit.cells(ratio, name, f"{name}_low", f"{name}_high", nb="runs")
        row[f"{name}_interval"] = f"{ratio.low:.2f} to {ratio.high:.2f}" if ratio.is_known else ""
        ours, base = (quantiles_of.get(name) for quantiles_of in paper)
        row |= {f"{name}_published": None, f"{name}_z": None, f"{name}_distance": ""}
        if ours and base:
            distance = c.compute_ratio_distance(ratio, ours, base)
            row |= {f"{name}_published": ours[1] / base[1], f"{name}_z": distance}
            row[f"{name}_distance"] = "" if isnan(distance) else f"z {distance:+.1f}"
    return row


def _of_ratios(
    table: str, keys: Sequence[str], rows: Sequence[dict[str, Any]], name: str = "", title: str = ""
) -> Table | None:
    titles = {name: title for name, title in _TITLES.items() if rows and name in rows[0]}
    if len({row["reading"] for row in rows}) > 1:
        keys = ("reading", *keys)
    shown: list[Column] = list(kit.columns({key: _KEYS.get(key, key) for key in keys}))
    for metric, heading in titles.items():
        shown += [
            Column(metric, heading, 2, "ours", below=f"{metric}_interval"),
            Column(f"{metric}_published", "paper", 2, "published", below=f"{metric}_distance"),
        ]
    marks = [
        (at, metric)
        for at, row in enumerate(rows)
        for metric in titles
        if row[f"{metric}_low"] > 1 or row[f"{metric}_high"] < 1
    ]
    shown += kit.columns("runs")
    return TEXTS.table(table, rows, name, marks, kit.where_known(rows, shown), title=title)


_KEYS = {"nodes": "cores"}


def make_case_table(runs: Runs) -> Table | None:
    """Return a table of the medians of all cases; its CSV file has the quantiles too."""
    rows = []
    metrics = ("jobs", *(metric.name for metric in (*c.METRICS, *c.FURTHER)))
    for measured in runs.labels("measured"):
        for case, replications in c.group_by_case(runs.where(measured=measured)):
            row = case | {"measured": measured, "replications": len(replications)}
            for metric in metrics:
                low, middle, high = kit.quantiles(replications.values(metric))
                row |= {metric: middle, f"{metric}_low": low, f"{metric}_high": high}
            rows.append(row)
    several = [Column("reading")] if len(runs.labels("reading")) > 1 else []
    return TEXTS.table("cases", rows, columns=[*several, *TEXTS.columns("cases")])


def make_user_time_table(runs: Runs) -> Table | None:
    """Return a table of the user time that published numbers need, and that of ten-week runs."""
    rows = []
    for case, medians in c.list_published_cases():
        row = {**case, "work": medians["work"][1], "art": medians["art"][1]}
        row |= c.compute_needed_time(case["nodes"], case["think"], medians)
        for reading, name in ((c.SINGLE, "single"), (c.DAILY, "daily")):
            replications = runs.where(reading=reading, **case)
            row[name] = replications.median("busy") if replications else nan
        rows.append(row)
    shown = [
        column
        for column in TEXTS.columns("user_time")
        if column.kind != "ours" or any(row[column.name] == row[column.name] for row in rows)
    ]
    return TEXTS.table("user_time", rows, columns=shown, active_weeks=c.ACTIVE_WEEKS)


def make_independent_table(runs: Runs) -> Table | None:
    """Return a table of medians here and of another simulator; users have one job at a time."""
    rows = []
    for p_a, reading in ((0.5, "single, redraw"), (1.0, "single, p_a 1, redraw")):
        for scheduler, thinks in PUBLISHED["independent"]["cases"][f"p_a {p_a:g}"].items():
            for think, others in thinks.items():
                ours = runs.where(reading=reading, scheduler=scheduler, nodes=1024, think=think)
                row = {"p_a": p_a, "scheduler": scheduler, "think": think}
                for name in _TITLES if ours else ():
                    row |= {name: ours.median(name), f"{name}_other": others[name]}
                rows += [row] if ours else []
    source = " ".join(PUBLISHED["independent"]["source"].split())
    return TEXTS.table("independent", rows, source=f"{source}.")


def make_reading_table(runs: Runs) -> Table | None:
    """Return a table of how close each interpretation comes to the published medians."""
    names = runs.labels("reading")
    rows = [
        _reading(runs.where(reading=name, measured=measured))
        for name in names
        for measured in (c.INNER, c.WHOLE)
    ]
    return TEXTS.table("readings", [row for row in rows if row])


def _reading(runs: Runs) -> dict[str, Any] | None:
    ratios: dict[str, list[float]] = {name: [] for name in _TITLES}
    distances: dict[str, float] = {}
    busy = []
    for case, medians in c.list_published_cases():
        replications = runs.where(**case)
        if len(replications) < 2:
            continue
        for name, quantiles_of in medians.items():
            ratios[name].append(replications.median(name) / quantiles_of[1])
            z = c.compute_distance(replications.values(name), quantiles_of)
            if name != "asd" and not isnan(z):
                distances[f"{_TITLES[name]}, {' '.join(map(str, case.values()))}"] = z
        busy.append(replications.median("busy"))
    if not busy:
        return None
    row = {name: runs.labels(name)[0] for name in ("reading", "measured")}
    far = max(distances, key=lambda at: abs(distances[at]), default="")
    row |= {"near": sum(abs(z) <= 1.96 for z in distances.values()), "of": len(distances)}
    row |= {"squares": round(sum(z**2 for z in distances.values()), 1), "case": far}
    row |= {"farthest": round(distances.get(far, nan), 1)}
    for name, of_cases in ratios.items():
        row[name] = round(geometric_mean(of_cases), 3) if of_cases else nan
    return row | {"busy": round(sum(busy) / len(busy), 1), "runs": len(runs)}
