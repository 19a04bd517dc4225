"""The tables of the study: what the systems do, each claim's comparisons, and ours beside the
thesis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import nan
from typing import Any

import pandas as pd

from batsched_py.report import Table
from batsched_py.report.kit.estimates import cells
from batsched_py.support.statistics import bootstrap
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_studies.tbuos_ups import TEXTS, claims
from batsched_studies.tbuos_ups.claims import Effect, Runs, column
from batsched_studies.tbuos_ups.waits import SEEDS

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
    for (log, replay, system), by_seed in runs.items():
        row: dict[str, Any] = {"log": log, "replay": replay, "system": system}
        values = {name: column(by_seed, metric) for name, metric in LEVELS.items()}
        jobs, *others = [(n, float(v.mean()) if len(v) else nan) for n, v in values.items()]
        nb_saturated = int(claims.is_saturated(by_seed).sum())
        row |= {"seeds": len(by_seed), "saturated": nb_saturated} | dict([jobs])
        throughput = bootstrap(column(by_seed, claims.THROUGHPUT))
        row |= cells(throughput, "throughput", "throughput_low", "throughput_high")
        row["of_log"] = throughput.value / recorded[log] if log in recorded else None
        row |= dict(others)
        row |= {"wait_h": row["wait"] / HOUR, "activity_d": row["activity"] / DAY}
        rows.append(row | {"session_min": row["session"] / MINUTE})
    return rows


def level_tables(runs: Runs, recorded: Mapping[str, float]) -> Iterator[Table | None]:
    """Yield what each system does under each replay, and what the users do."""
    rows = levels(runs, recorded)
    yield TEXTS.table("systems", rows)
    yield TEXTS.table("users", rows)


def effect_tables(effects: Sequence[Effect]) -> Iterator[Table | None]:
    """Yield a table of comparisons for each claim that has some."""
    for number, title in claims.TITLES.items():
        compared = [effect for effect in effects if effect.claim == number]
        rows = [_row(effect) for effect in compared]
        marks = [(at, "verdict") for at, effect in enumerate(compared) if not effect.holds]
        yield TEXTS.table("claim", rows, f"claim_{number}", marks, number=number, claim=title)


def _row(effect: Effect) -> dict[str, Any]:
    row = asdict(effect) | {"metric": claims.NAMES[effect.metric]}
    return row | {"verdict": "yes" if effect.holds else "no", "runs": _runs(effect)}


def _runs(effect: Effect) -> str:
    if effect.which == "stable":
        return f"{effect.pairs} stable"
    return f"{effect.pairs}" + (f", {effect.saturated} saturated" if effect.saturated else "")


HOW = TEXTS["how"].format(tolerance=claims.TOLERANCE)


def spread_table(spreads: pd.DataFrame) -> Table | None:
    """Return how the mean wait varies over the seeds, beside the thesis."""
    hours = {f"{name}_h": spreads[name] / HOUR for name in ("least", "median", "most")}
    return TEXTS.table("ratios", _in_percent(spreads.assign(**hours)), seeds=SEEDS)


def _in_percent(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(difference_percent=pd.to_numeric(frame["difference"]) * 100)


def wait_table(waits: pd.DataFrame) -> Table | None:
    """Return the average waits with EASY beside the thesis's table of chapter 4."""
    return TEXTS.table("waits", _in_percent(waits))
