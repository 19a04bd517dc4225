"""The tables of the study: what the systems do, each claim's comparisons, and ours beside the
thesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from batsched_py.campaign.study_files import study_module
from batsched_py.report.document import Column, Table

if TYPE_CHECKING:
    from claims import Effect, Level, Spread, Wait

CLAIMS: Any = study_module(Path(__file__).with_name("claims.py"))
NAMES: Any = study_module(Path(__file__).with_name("verdicts.py")).NAMES
DAY, HOUR, MINUTE = 86_400.0, 3600.0, 60.0
PLACE = (Column("log"), Column("replay", "users"), Column("system"))
INTERVAL = "95 % bootstrap interval over the seeds"


def level_tables(levels: Sequence[Level]) -> Iterator[Table]:
    """Yield what each system does under each replay, and what the users do."""
    frame = pd.DataFrame(levels)
    frame["wait_h"] = frame["wait"] / HOUR
    frame["activity_d"] = frame["activity"] / DAY
    frame["session_min"] = frame["session"] / MINUTE
    systems = (
        Column("seeds"),
        Column("saturated"),
        Column("throughput", "jobs/h", 3),
        Column("throughput_low", "from", 3),
        Column("throughput_high", "to", 3),
        Column("of_log", "of the log's", 3),
        Column("wait_h", "mean wait (h)", 2),
        Column("queue", "waiting jobs", 1),
        Column("utilisation", decimals=3),
    )
    users = (
        Column("jobs", "jobs submitted", 0),
        Column("activity_d", "activity length (d)", 1),
        Column("weeks", "active weeks", 1),
        Column("session_min", "session (min)", 1),
    )
    said = (
        f"Means over the seeds. Jobs/h: ended by the last submission, with the {INTERVAL}; beside "
        "it relative to the jobs/h of the log. Saturated: seeds whose backlog grows by more than a "
        "job a week."
    )
    yield Table("systems", "What the systems do", frame, (*PLACE, *systems), said)
    said = "Means over the seeds of means over the users; sessions by arrival, 60 min."
    yield Table("users", "What the users do", frame, (*PLACE, *users), said)


def effect_tables(effects: Sequence[Effect]) -> Iterator[Table]:
    """Yield a table of comparisons for each claim that has some."""
    for number, title in CLAIMS.TITLES.items():
        own = [effect for effect in effects if effect.claim == number]
        if own:
            yield _effect_table(number, title, own)


def _effect_table(number: str, title: str, effects: Sequence[Effect]) -> Table:
    frame = pd.DataFrame(effects)
    frame["metric"] = frame["metric"].map(NAMES)
    frame["verdict"] = ["yes" if effect.holds else "no" for effect in effects]
    frame["runs"] = [_runs(effect) for effect in effects]
    failed = [row for row, effect in enumerate(effects) if not effect.holds]
    return Table(
        f"claim_{number}",
        f"({number}) {title}",
        frame,
        (
            Column("log"),
            Column("replay", "users"),
            Column("ratio"),
            Column("metric", "of"),
            Column("runs", "pairs"),
            Column("above", "above 1"),
            Column("value", "ratio", 3, kind="ours"),
            Column("low", "from", 3),
            Column("high", "to", 3),
            Column("expected"),
            Column("verdict", "so"),
        ),
        marks=tuple((row, "verdict") for row in failed),
    )


def _runs(effect: Effect) -> str:
    if effect.which == "stable":
        return f"{effect.pairs} stable"
    return (
        f"{effect.pairs}, {effect.saturated} saturated" if effect.saturated else f"{effect.pairs}"
    )


HOW = (
    "Ratios of means over pairs of runs with the same seed, and so the same people; from, to: 95 % "
    "bootstrap interval over the pairs. *Greater*: the interval is above 1; *not less*: it is not "
    f"below; *equal*: within {CLAIMS.TOLERANCE:.0%}. A pair is saturated if the backlog of one of "
    "its runs grows by more than a job a week; then the claim is judged on the stable ones."
)


def spread_table(spreads: Sequence[Spread]) -> Table:
    """Return how the mean wait varies over the seeds, beside the thesis."""
    frame = pd.DataFrame(spreads)
    for name in ("least", "median", "most"):
        frame[f"{name}_h"] = frame[name] / HOUR
    frame["difference_percent"] = pd.to_numeric(frame["difference"]) * 100
    return Table(
        "ratios",
        "(iv) Mean waits over the seeds",
        frame,
        (
            *PLACE,
            Column("which", "runs"),
            Column("seeds"),
            Column("least_h", "least (h)", 2),
            Column("median_h", "median (h)", 2),
            Column("most_h", "most (h)", 2),
            Column("ratio", "most / least", 2, kind="ours"),
            Column("ratio_low", "from", 2),
            Column("ratio_high", "to", 2),
            Column("thesis", "thesis", 2, kind="published"),
            Column("difference_percent", "difference (%)", 0, kind="difference"),
            Column("quantile_ratio", "97.5 % / 2.5 %", 2),
        ),
        note=(
            "From, to: 95 % bootstrap interval over the runs. That of most / least cannot reach "
            "above the ratio itself, since no draw has a larger wait than the largest; the ratio "
            f"of quantiles hangs less on single seeds. The thesis has 100 seeds of EASY; ours are "
            f"beside it from {CLAIMS.SEEDS}."
        ),
    )


def wait_table(waits: Sequence[Wait]) -> Table:
    """Return the average waits with EASY beside the thesis's table of chapter 4."""
    frame = pd.DataFrame(waits)
    frame["difference_percent"] = pd.to_numeric(frame["difference"]) * 100
    return Table(
        "waits",
        "Average wait with EASY",
        frame,
        (
            *PLACE,
            Column("seeds"),
            Column("ours", "wait (s)", 0, kind="ours"),
            Column("thesis", "thesis (s)", 0, kind="published"),
            Column("difference_percent", "difference (%)", 0, kind="difference"),
            Column("ours_to_rigid", "of open replay", 2, kind="ours"),
            Column("thesis_to_rigid", "thesis", 2, kind="published"),
        ),
        note=(
            "`easy strict` backfills only what ends before the reservation; `fluid 5` is the fluid "
            "model as chapter 5 tells it, beside the same printed number."
        ),
    )
