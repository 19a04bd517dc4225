"""The tables of the study: what the systems do, each claim's comparisons, and ours beside the
thesis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any

import pandas as pd

from batsched_py.report import Column, Table
from batsched_py.report.kit.estimates import cells
from batsched_py.report.kit.tables import columns, table
from batsched_py.support.statistics import bootstrap
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_studies.tbuos_ups import TEXTS, claims
from batsched_studies.tbuos_ups.claims import Effect, Runs, column
from batsched_studies.tbuos_ups.waits import SEEDS

PLACE = columns("log", replay="users", system="system")
INTERVAL = "95 % bootstrap interval over the seeds"
LEVELS = {
    "jobs": claims.JOBS,
    "wait": claims.WAIT,
    "queue": "mean_queue_length",
    "activity": claims.ACTIVITY,
    "weeks": claims.WEEKS,
    "session": claims.SESSION,
    "utilisation": "utilisation_to_last_submission",
}
"""Means over the seeds, and the metrics (SI units) of which they are."""


def levels(runs: Runs, recorded: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return what each system does under each replay; ``recorded`` is jobs/h of the logs."""
    rows = []
    for place, own in runs.items():
        labels = zip(("log", "replay", "system"), place, strict=True)
        row: dict[str, Any] = dict(labels) | {"seeds": len(own)}
        means = {name: column(own, metric) for name, metric in LEVELS.items()}
        jobs, *others = [(n, float(v.mean()) if len(v) else nan) for n, v in means.items()]
        row |= {"saturated": int(claims.is_saturated(own).sum())} | dict([jobs])
        throughput = bootstrap(column(own, claims.THROUGHPUT))
        row |= cells(throughput, "throughput", "throughput_low", "throughput_high")
        row["of_log"] = throughput.value / recorded[place[0]] if place[0] in recorded else None
        row |= dict(others)
        row |= {"wait_h": row["wait"] / HOUR, "activity_d": row["activity"] / DAY}
        rows.append(row | {"session_min": row["session"] / MINUTE})
    return rows


def level_tables(runs: Runs, recorded: Mapping[str, float]) -> Iterator[Table | None]:
    """Yield what each system does under each replay, and what the users do."""
    rows = levels(runs, recorded)
    systems = (
        *columns("seeds", "saturated"),
        *columns(decimals=3, throughput="jobs/h", throughput_low="from", throughput_high="to"),
        Column("of_log", "of the log's", 3),
        Column("wait_h", "mean wait (h)", 2),
        Column("queue", "waiting jobs", 1),
        Column("utilisation", decimals=3),
    )
    said = TEXTS["level_tables"].format(interval=INTERVAL)
    yield table("systems", "What the systems do", rows, (*PLACE, *systems), said)
    users = (
        Column("jobs", "jobs submitted", 0),
        *columns(decimals=1, activity_d="activity length (d)", weeks="active weeks"),
        Column("session_min", "session (min)", 1),
    )
    said = "Means over the seeds of means over the users; sessions by arrival, 60 min."
    yield table("users", "What the users do", rows, (*PLACE, *users), said)


def effect_tables(effects: Sequence[Effect]) -> Iterator[Table]:
    """Yield a table of comparisons for each claim that has some."""
    shown = (
        *columns("log", replay="users", ratio="ratio", metric="of", runs="pairs", above="above 1"),
        Column("value", "ratio", 3, kind="ours"),
        *columns(decimals=3, low="from", high="to"),
        *columns("expected", verdict="so"),
    )
    for number, title in claims.TITLES.items():
        own = [effect for effect in effects if effect.claim == number]
        if own:
            frame = pd.DataFrame(own)
            frame["metric"] = frame["metric"].map(claims.NAMES)
            frame["verdict"] = ["yes" if effect.holds else "no" for effect in own]
            frame["runs"] = [_runs(effect) for effect in own]
            marks = tuple((row, "verdict") for row, effect in enumerate(own) if not effect.holds)
            yield Table(f"claim_{number}", f"({number}) {title}", frame, shown, marks=marks)


def _runs(effect: Effect) -> str:
    if effect.which == "stable":
        return f"{effect.pairs} stable"
    return f"{effect.pairs}" + (f", {effect.saturated} saturated" if effect.saturated else "")


HOW = TEXTS["how"].format(tolerance=claims.TOLERANCE)


def spread_table(spreads: pd.DataFrame) -> Table:
    """Return how the mean wait varies over the seeds, beside the thesis."""
    hours = {f"{name}_h": spreads[name] / HOUR for name in ("least", "median", "most")}
    shown = (
        *(*PLACE, *columns("seeds", which="runs")[::-1]),
        *columns(decimals=2, least_h="least (h)", median_h="median (h)", most_h="most (h)"),
        Column("ratio", "most / least", 2, kind="ours"),
        *columns(decimals=2, ratio_low="from", ratio_high="to"),
        Column("thesis", "thesis", 2, kind="published"),
        Column("difference_percent", "difference (%)", 0, kind="difference"),
        Column("quantile_ratio", "97.5 % / 2.5 %", 2),
    )
    note = TEXTS["spread_table"].format(seeds=SEEDS)
    frame = _in_percent(spreads.assign(**hours))
    return Table("ratios", "(iv) Mean waits over the seeds", frame, shown, note)


def _in_percent(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(difference_percent=pd.to_numeric(frame["difference"]) * 100)


def wait_table(waits: pd.DataFrame) -> Table:
    """Return the average waits with EASY beside the thesis's table of chapter 4."""
    shown = (
        *(*PLACE, Column("seeds")),
        Column("ours", "wait (s)", 0, kind="ours"),
        Column("thesis", "thesis (s)", 0, kind="published"),
        Column("difference_percent", "difference (%)", 0, kind="difference"),
        Column("ours_to_rigid", "of open replay", 2, kind="ours"),
        Column("thesis_to_rigid", "thesis", 2, kind="published"),
    )
    return Table("waits", "Average wait with EASY", _in_percent(waits), shown, TEXTS["wait_table"])
