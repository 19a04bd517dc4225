"""The tables of ``interpretations.toml``: each published row under each interpretation.

An interpretation is which size jobs have, which events the policy sees at once, when users notice
a rejection, and by which jobs the sum of waits is divided. For each published row, the tables show
how many interpretations were tried, and which of them have all printed digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from batsched_py.report import Part, Verdict
from batsched_py.report.kit import log_name, rows
from batsched_studies.replay_feedback import PUBLISHED, TEXTS, tables

AXES = ("size", "events", "rejection")
"""The axes of an interpretation, besides the division of waits."""
WAITS = {"that ran": "mean_waiting_time", "all": "mean_wait_by_all"}
"""The mean wait by the jobs that the sum is divided by: those that ran, or all."""
METRICS = (*tables.METRICS, WAITS["all"])


def label_real_batsim(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the labels of an interpretation, if all are of real Batsim."""
    is_real = set(runs.get("backend", ())) == {"batsim"}
    return runs.assign(events="real_batsim", rejection="at_once") if is_real else runs


def is_of_interpretations(runs: pd.DataFrame) -> bool:
    """Return whether the runs are those of ``interpretations.toml``, or of real Batsim."""
    return "events" in runs


def divide_by_all(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the mean wait by all jobs (s), as Batsim's summary has it."""
    waits, ran, jobs = (
        pd.to_numeric(runs[name]) for name in (WAITS["that ran"], "nb_ran", "nb_jobs")
    )
    return runs.assign(**{WAITS["all"]: waits * ran / jobs})


def list_values(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per run: its interpretation, its values in the units of the paper, and digits.

    ``table1`` says by which jobs the mean wait is divided where all printed digits come out ("both"
    if either does), ``table2`` whether they do; None for logs that the paper does not have.
    """
    made = []
    for run in divide_by_all(runs).to_dict("records"):
        log, place = log_name(run["log"]), (run["infrastructure"], run["replay"])
        row = {"log": log, "infrastructure": place[0], "replay": place[1]}
        row |= {axis: run[axis] for axis in AXES}
        for metric in METRICS:
            unit, _ = tables.METRICS[WAITS["that ran"] if metric == WAITS["all"] else metric]
            row[metric] = float(run[metric]) / tables.UNITS[unit]
        paper = {name: tables.find_published_value(log, place, name) for name in tables.METRICS}
        row |= {f"{metric}_published": value for metric, value in paper.items()}
        made.append(row | _digits(row, paper))
    frame = pd.DataFrame(made).round(5)
    for axis, names in (("infrastructure", tables.INFRASTRUCTURES), ("replay", tables.REPLAYS)):
        frame[axis] = pd.Categorical(frame[axis], names)
    return frame.sort_values(["log", "infrastructure", "replay"], kind="stable")


def _digits(row: Mapping[str, Any], paper: Mapping[str, float | None]) -> dict[str, Any]:
    """Return the cells ``table1`` and ``table2`` of a row."""

    def equal(metric: str, ours: str = "") -> bool:
        value = paper[metric]
        return value is not None and tables.format_digits(row[ours or metric]) == (
            tables.format_digits(value)
        )

    if paper["makespan"] is None:
        return {"table1": None, "table2": None}
    others = equal("makespan") and equal("max_waiting_time")
    ways = [way for way, of in WAITS.items() if others and equal("mean_waiting_time", of)]
    found: dict[str, Any] = {"table1": "both" if len(ways) > 1 else "".join(ways)}
    of_table2 = PUBLISHED["table2"]["metrics"]
    is_rigid = paper[of_table2[0]] is None
    return found | {"table2": None if is_rigid else all(map(equal, of_table2))}


def count_rows(values: pd.DataFrame) -> pd.DataFrame:
    """Return for each published row the number of interpretations, and which come out.

    Both divisions of waits count where they differ, that is where jobs are rejected.
    """
    made = []
    known = values[values["table1"].notna()]
    for (log, name, replay), of_row in known.groupby(
        ["log", "infrastructure", "replay"], sort=False, observed=True
    ):
        of_waits = of_row["mean_waiting_time"] != of_row[WAITS["all"]]
        row = {"log": log, "infrastructure": name, "replay": replay, "tried": len(of_row)}
        row["tried_1"] = len(of_row) + int(of_waits.sum())
        first = of_row[of_row["table1"] != ""]
        row["table1"] = "; ".join(_name(run, waits=run.table1) for run in rows(first))
        found = of_row[of_row["table2"].eq(True)]
        row["table2"] = "; ".join(map(_name, rows(found)))
        if of_row["table2"].isna().all():
            row["table2"] = None
        made.append(row)
    return pd.DataFrame(made)


def _name(run: Any, waits: str = "both") -> str:
    """Return the name of an interpretation."""
    parts = [run.size, run.events, *([run.rejection] * (run.rejection != "at_once"))]
    return ", ".join(map(str, [*parts, *([f"waits by {waits}"] * (waits != "both"))]))


def make_parts(runs: pd.DataFrame) -> Iterator[Part | None]:
    """Yield the tables of the published rows, and of all values."""
    values = list_values(runs)
    yield TEXTS.table("interpretation_rows", count_rows(values), "rows")
    yield TEXTS.table("interpretations", values)


def judge_interpretations(runs: pd.DataFrame) -> Iterator[Verdict]:
    """Yield for each log whether any one interpretation has all rows of Table 1, and of Table 2."""
    values = list_values(runs)
    known = values[values["table1"].notna() & (values["rejection"] == "at_once")]
    for log, of_log in known.groupby("log"):
        groups = list(of_log.groupby(["size", "events"]))
        counts = {
            f"{size}, {events}, {division}": (
                int(of["table1"].isin(["both", way]).sum()) + int(of["table2"].eq(True).sum()),
                len(of) + int(of["table2"].notna().sum()),
            )
            for (size, events), of in groups
            for way, division in (("that ran", "waits by jobs that ran"), ("all", "waits by all"))
        }
        best = max(counts, key=lambda name: counts[name][0])
        number, most = counts[best]
        come_out = count_rows(of_log)
        some = int((come_out["table1"] != "").sum())
        texts: dict[str, Any] = {"tried": len(counts), "rows": len(come_out), "some": some}
        effect = f"{number} of {most} rows ({best}); some interpretation has {some} of "
        effect += f"{len(come_out)} rows of Table 1"
        yield TEXTS.verdict("one_interpretation", number == most, str(log), effect=effect, **texts)
