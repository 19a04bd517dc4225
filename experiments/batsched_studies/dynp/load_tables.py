"""The tables of the synthetic job sets, ours beside those of the thesis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from batsched_py.report import Column, Table
from batsched_py.report.kit import Interval, cells, columns, in_column, slug, table, where_known
from batsched_studies.dynp import PUBLISHED, TEXTS
from batsched_studies.dynp.load import BASES, GAIN, UNSORTED, Load, factor

AVERAGE = "average"
SETS = 10
"""Of so many sets are the thesis's means."""


def parts(loads: list[Load]) -> Iterator[tuple[str, Iterable[Table | None]]]:
    """Yield the titles of sections and their tables."""
    for make in (level_table, gain_table, slackness_gain_table, slackness_table):
        yield PUBLISHED["sections"][make.__name__], [make(load) for load in loads]


def _sorted(policy: str) -> str:
    """Return the policy without the list that FCFS does not sort: the thesis has no other."""
    return policy.removesuffix(UNSORTED)


def _estimate(metric: str, ours: Interval, thesis: float | None) -> dict[str, Any]:
    names = (metric, f"{metric}, low", f"{metric}, high")
    return cells(ours, *names) | {f"{metric}, thesis": thesis}


def level_table(load: Load) -> Table | None:
    """Return SLDwA and UTIL of each policy at each factor."""
    rows: list[dict[str, Any]] = []
    marks = []
    for shrink in load.factors():
        for policy in load.policies():
            row: dict[str, Any] = {"shrink": shrink, "policy": policy}
            for metric in ("SLDwA", "UTIL"):
                ours = load.mean(policy, shrink, metric)
                if ours is None:
                    continue
                thesis = load.thesis(metric, shrink, _sorted(policy))
                row |= _estimate(metric, ours, thesis)
                if thesis is not None:
                    points = ours.value - thesis
                    difference = points if metric == "UTIL" else 100 * points / thesis
                    row[f"{metric}, difference"] = difference
                    theirs = ours.of_another(SETS)
                    if theirs.low <= thesis <= theirs.high:
                        marks.append((len(rows), metric))
                row["sets"] = ours.nb
            if len(row) > 2:
                rows.append(row)
    shown = [Column("shrink", "factor", 1), *columns("policy", "sets")]
    for metric, unit, difference in (("SLDwA", "", "%"), ("UTIL", " (%)", "points")):
        shown.append(Column(metric, metric + unit, 2, "ours"))
        if metric == "SLDwA" and any(row["sets"] > 1 for row in rows):  # UTIL's: in the CSV file
            ends = {"SLDwA, low": "from", "SLDwA, high": "to"}
            shown += columns(ends, decimals=2, kind="ours")
        shown.append(Column(f"{metric}, thesis", "thesis", 2, "published"))
        title = f"difference ({difference})"
        shown.append(Column(f"{metric}, difference", title, 1, "difference"))
    name = slug("load", load.log)
    return table(name, load.log, rows, where_known(rows, shown), TEXTS["levels"], marks)


def gain_table(load: Load) -> Table | None:
    """Return the gain of each policy on its base, by factor and averaged."""
    rows = []
    for policy in load.policies():
        base = BASES.get(_sorted(policy))
        factors: list[float | str] = [*load.factors(), AVERAGE]
        for shrink in factors if base else ():
            row = {"policy": policy, "base": base, "factor": str(shrink)}
            for metric in ("SLDwA", "UTIL"):
                row |= _gain(load, policy, str(base), shrink, metric)
            if len(row) > 3:
                rows.append(row)
    return _table("load_gains", load, rows)


def _table(key: str, load: Load, rows: list[dict[str, Any]]) -> Table | None:
    shown = where_known(rows, TEXTS.columns(key))
    return TEXTS.table(key, rows, slug(key, load.log), columns=shown, log=load.log)


def _gain(load: Load, policy: str, base: str, shrink: float | str, metric: str) -> dict[str, Any]:
    name = _sorted(policy)
    if isinstance(shrink, str):
        ours = load.average_gain(policy, 0, metric) if load.whole(policy) else None
        thesis = in_column(PUBLISHED, ("load_gains", metric, load.trace), name)
    else:
        ours = load.gain(policy, [shrink], metric)
        new, old = (load.thesis(metric, shrink, each) for each in (name, base))
        thesis = None if new is None or old is None else GAIN[metric](new, old)
    return {} if ours is None else _estimate(metric, ours, thesis)


def slackness_gain_table(load: Load) -> Table | None:
    """Return the average gain over SJF by slackness; of the factors that were run."""
    rows = []
    for policy, values in load.slacknesses():
        for slackness in values:
            ours = load.average_gain(policy, slackness, "SLDwA")
            if ours is not None:
                row = {"policy": policy, "slackness": slackness, **cells(ours, "gain")}
                rows.append(row | {"thesis": load.thesis_gain(policy, slackness)})
    return _table("load_slackness_gains", load, rows)


def slackness_table(load: Load) -> Table | None:
    """Return SLDwA by factor (lines) and slackness (columns)."""
    rows = []
    for policy, values in load.slacknesses():
        for shrink in load.factors():
            row: dict[str, Any] = {"policy": policy, "shrink": shrink}
            path = ("load_slackness", load.trace, _sorted(policy), factor(shrink))
            for value in values:
                ours = load.mean(policy, shrink, "SLDwA", value)
                row[f"{value:g}"] = None if ours is None else ours.value
                row[f"{value:g}, thesis"] = in_column(PUBLISHED, path, value)
            rows.append(row)
    shown = [Column("policy"), Column("shrink", "factor", 1)]
    for value in sorted({value for _, values in load.slacknesses() for value in values}):
        shown.append(Column(f"{value:g}", f"{value:g} %", 2, "ours"))
        shown.append(Column(f"{value:g}, thesis", "thesis", 2, "published"))
    note = "Means over the sets without the best and the worst one."
    name = slug("load_slackness", load.log)
    return table(name, load.log, rows, where_known(rows, shown), note)
