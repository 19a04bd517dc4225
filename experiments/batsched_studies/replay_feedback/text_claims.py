"""The claims that the paper's text makes about its figures, and their verdicts for a log.

They need the measures of each run (:mod:`measures`), not its jobs.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024), sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import atanh, isfinite, nan, sqrt, tanh
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import Verdict
from batsched_py.report.kit import all_hold, listed
from batsched_py.support.statistics import Interval
from batsched_py.units import DAY, HOUR
from batsched_studies.replay_feedback import PUBLISHED, TEXTS, derived, replays, tables
from batsched_studies.replay_feedback.claims import describe_missing
from batsched_studies.replay_feedback.measures import WINDOW_MONTHS
from batsched_studies.replay_feedback.tables import escape_stars

FEEDBACK = tables.REPLAYS[1:]
NEARLY_ALL = 0.9
"""A share of jobs: an assumption, as the paper gives no number."""
LEVEL_FROM = 20_000
LEVEL = 0.1
"""The share of its range by which a level curve may still move: a limit of this study."""
ROUNDING = 0.5
"""The rounding error of numbers printed without decimals."""
BUSY = 90
"""Per cent of the nodes that are busy on the slow machines (Fig. 9)."""
HOURS = (1.0, 24.0)
"""The range of what is of the order of hours: a limit of this study."""
LATER = ("fcfs", "infra/2", "perf/2")
"""Infrastructures on which most jobs are later with feedback than recorded; earlier on others."""

Runs = Mapping[tuple[str, str], Mapping[str, Any]]
"""The runs of one log by (infrastructure, replay), with metrics and measures."""


def select_runs(runs: pd.DataFrame) -> Runs:
    """Return the runs of one log by (infrastructure, replay); of repeated runs the first."""
    first = runs.drop_duplicates(["infrastructure", "replay"])
    rows: list[dict[str, Any]] = [{**row} for _, row in first.iterrows()]
    return {(row["infrastructure"], row["replay"]): row for row in rows}


def judge_claims(log: str, runs: Runs, differences: pd.DataFrame) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which the whole log was replayed.

    ``differences`` are those of :func:`derived.read_differences`.
    """
    of_paper = PUBLISHED["claims"].get(PUBLISHED["logs"].get(log), {})
    if "fcfs_between" in of_paper:
        yield from judge_fcfs(log, runs, *of_paper["fcfs_between"])
    if "longest_wait" in of_paper:
        yield from _longest_waits(log, runs, of_paper["longest_wait"])
    if "windows" in of_paper:
        yield from _windows(log, runs, of_paper["windows"])
    yield from _busy(log, runs)
    yield from _differences(log, runs, differences[differences["log"] == log])
    if log in PUBLISHED["logs"]:  # on small logs with few users it means nothing
        yield from _users_differ(log, runs)
        yield from _grows_with_jobs(log, runs)
        yield from _median_user(log, runs)


def judge_fcfs(
    log: str, runs: Runs, earlier: str, later: str, *, key: str = "fcfs_between"
) -> Iterator[Verdict]:
    """Yield whether FCFS is between two infrastructures by mean lateness, with a0 and with a60."""
    for replay in FEEDBACK:
        names = (earlier, "fcfs", later)
        days = [runs.get((name, replay), {}).get("mean_lateness", nan) / DAY for name in names]
        if all(map(isfinite, days)):
            effect = ", ".join(
                f"{escape_stars(name)} {late:.1f} d" for name, late in zip(names, days, strict=True)
            )
            texts: dict[str, Any] = {
                "replay": replay,
                "earlier": escape_stars(earlier),
                "later": escape_stars(later),
            }
            yield TEXTS.verdict(key, days == sorted(days), log, effect=effect, **texts)


def _longest_waits(log: str, runs: Runs, recorded: float) -> Iterator[Verdict]:
    waits = {
        f"{escape_stars(name)} {replay}": run["max_waiting_time"] / DAY
        for (name, replay), run in runs.items()
        if replay in FEEDBACK
    }
    if waits:
        most = max(waits, key=lambda name: waits[name])
        effect = f"at most {waits[most]:.2f} d ({most}), recorded {recorded:.2f} d"
        holds, missing = _on_all(waits[most] < recorded, runs, tables.INFRASTRUCTURES, FEEDBACK)
        texts: dict[str, Any] = {"runs": len(waits), "missing": missing}
        yield TEXTS.verdict("longest_wait", holds, log, effect=effect, **texts)


def _in_windows(runs: Runs, name: str, replay: str, what: str) -> dict[int, float]:
    """Return a measure of a run by the months of its windows, as far as there are any."""
    run = runs.get((name, replay), {})
    found = {months: run.get(f"{what}_{months}_months", nan) for months in WINDOW_MONTHS}
    return {
        months: value for months, value in found.items() if value is not None and isfinite(value)
    }


def _windows(log: str, runs: Runs, printed: Mapping[str, Any]) -> Iterator[Verdict]:
    """Fig. 9: on machines that are twice as good, in windows of 4, 6 and 8 months."""
    found: dict[str, list[float]] = {"gain": [], "rigid": [], "feedback": []}
    for name in printed["on"]:
        base = _in_windows(runs, name, "rigid", "jobs_per_day")
        for replay in tables.REPLAYS if base else ():
            busy = _in_windows(runs, name, replay, "busy")
            found["rigid" if replay == "rigid" else "feedback"] += [
                100 * of for of in busy.values()
            ]
            if replay != "rigid":
                jobs = _in_windows(runs, name, replay, "jobs_per_day")
                found["gain"] += [100 * (jobs[months] / base[months] - 1) for months in jobs]
    if not found["gain"]:
        return
    ends = {what: (min(values), max(values)) for what, values in found.items()}
    right = all(
        printed[what][0] - ROUNDING <= low and high <= printed[what][1] + ROUNDING
        for what, (low, high) in ends.items()
    )
    holds, missing = _on_all(right, runs, printed["on"], tables.REPLAYS)
    gain, rigid, feedback = (f"{low:.1f} to {high:.1f} %" for low, high in ends.values())
    effect = f"throughput +{gain}, utilisation {feedback} instead of {rigid}"
    yield TEXTS.verdict("windows", holds, log, effect=effect, missing=missing, **printed)


def _busy(log: str, runs: Runs) -> Iterator[Verdict]:
    """Fig. 9: utilisation with feedback on machines that are half as good."""
    names = ("perf/2", "infra/2")
    busy = {
        f"{name} {replay}, {months} months": 100 * share
        for name, replay in product(names, FEEDBACK)
        for months, share in _in_windows(runs, name, replay, "busy").items()
    }
    if busy:
        least = min(busy, key=lambda name: busy[name])
        effect = f"{busy[least]:.1f} % ({least}) to {max(busy.values()):.1f} %"
        holds, missing = _on_all(busy[least] > BUSY, runs, names, FEEDBACK)
        yield TEXTS.verdict("busy", holds, log, effect=effect, missing=missing, busy=BUSY)


def _differences(log: str, runs: Runs, table: pd.DataFrame) -> Iterator[Verdict]:
    """Fig. 7: the distributions of differences from a60 to a0, and from rigid to a60."""
    for (difference, way), rows in table.groupby(["difference", "way"], sort=False):
        of_feedback = difference == "a0 - a60"
        rows = rows[of_feedback | (rows["infrastructure"] != "easy")]
        if rows.empty:
            continue
        late = [of_feedback or name in LATER for name in rows["infrastructure"]]
        columns = np.where(late, rows["later"], rows["earlier"])
        shares = dict(zip(rows["infrastructure"], 100 * columns, strict=True))
        effect = f"{min(shares.values()):.0f} to {max(shares.values()):.0f} % of the jobs"
        texts = ", ".join(f"{escape_stars(name)} {share:.0f} %" for name, share in shares.items())
        limit = NEARLY_ALL if of_feedback else 0.5
        right = min(shares.values()) >= 100 * limit
        replayed = derived.PAIRS[str(difference)]
        names = [name for name in replays.BY_LATENESS if of_feedback or name != "easy"]
        holds, missing = _on_all(right, runs, names, replayed)
        key = "a0_later" if of_feedback else "most_jobs"
        yield TEXTS.verdict(key, holds, log, effect=effect, shares=texts, missing=missing, way=way)


def _users_differ(log: str, runs: Runs) -> Iterator[Verdict]:
    """Fig. 5c: additional lateness per user, from the 10th to the 90th percentile."""
    of_runs = _of_a60(runs, "additional_lateness_p90", "additional_lateness_p10")
    ranges = {name: high - low for name, (high, low) in of_runs.items()}
    if ranges:
        least = min(ranges, key=lambda name: ranges[name])
        effect = f"at least {ranges[least]:,.0f} s ({escape_stars(least)})"
        holds, missing = _on_all(ranges[least] > 10_000, runs, replays.BY_LATENESS, ["a60"])
        yield TEXTS.verdict("users_differ", holds, log, effect=effect, missing=missing)


def _grows_with_jobs(log: str, runs: Runs) -> Iterator[Verdict]:
    """Figs. 4 and 5: the rank correlation of lateness with the number of jobs, over users."""
    for key, measure, number in (
        ("lateness_grows", "lateness_rank_correlation", "nb_users"),
        ("additional_level", "additional_rank_correlation", "nb_users_of_several"),
    ):
        found = _of_a60(runs, measure, number)
        intervals = {name: _rank_interval(rho, int(users)) for name, (rho, users) in found.items()}
        if intervals:
            above = [interval.above(0) for interval in intervals.values()]
            if key == "additional_level":
                above = [None if grows is None else not grows for grows in above]
            holds, missing = _on_all(all_hold(above), runs, replays.BY_LATENESS, ["a60"])
            texts = [
                f"{escape_stars(name)} {of.value:.2f} ({of.low:.2f} to {of.high:.2f})"
                for name, of in intervals.items()
            ]
            effect = f"rank correlation {', '.join(texts)}"
            yield TEXTS.verdict(key, holds, log, effect=effect, missing=missing)


def _rank_interval(rho: float, nb: int) -> Interval:
    """Return Spearman's rank correlation of ``nb`` pairs with its interval.

    Source: D. Bonett, T. Wright, Psychometrika 65(1), 2000.
    """
    if nb < 10 or abs(rho) == 1:
        return Interval(rho, nan, nan, nb)
    reach = 1.96 * sqrt((1 + rho**2 / 2) / (nb - 3))
    return Interval(rho, tanh(atanh(rho) - reach), tanh(atanh(rho) + reach), nb)


def _median_user(log: str, runs: Runs) -> Iterator[Verdict]:
    """Figs. 4 and 5: the median over users, of both kinds of lateness."""
    kinds = {"mean": "user_lateness_p50", "additional": "additional_lateness_p50"}
    for kind, measure in kinds.items():
        hours = {name: value / HOUR for name, (value,) in _of_a60(runs, measure).items()}
        if hours:
            right = all(HOURS[0] <= abs(of) < HOURS[1] for of in hours.values())
            holds, missing = _on_all(right, runs, replays.BY_LATENESS, ["a60"])
            effect = ", ".join(f"{escape_stars(name)} {of:.1f} h" for name, of in hours.items())
            texts: dict[str, Any] = {"kind": kind, "missing": missing, "hours": HOURS}
            yield TEXTS.verdict("median_user", holds, log, effect=effect, **texts)


def _of_a60(runs: Runs, *measures: str) -> dict[str, list[float]]:
    """Return measures of a60 by infrastructure, where the runs have all of them."""
    found = {
        name: [runs[name, "a60"].get(measure, nan) for measure in measures]
        for name in replays.BY_LATENESS
        if (name, "a60") in runs
    }
    return {name: of for name, of in found.items() if not pd.isna(of).any()}


def _on_all(
    right: bool | None, runs: Runs, infrastructures: Sequence[str], replayed: Sequence[str]
) -> tuple[bool | None, str]:
    """Return whether a claim on all these runs holds, and a sentence on the missing runs.

    One run can refute the claim; only all runs can confirm it.
    """
    names = [f"{name} {replay}" for name, replay in product(infrastructures, replayed)]
    missing = describe_missing(names, [" ".join(run) for run in runs])
    return (None if right and missing else right), missing


def judge_first_jobs(log: str, runs: pd.DataFrame) -> Iterator[Verdict]:
    """Yield verdicts on Fig. 11: additional lateness as more jobs of one log are replayed.

    ``runs`` are replays of the first ``first`` jobs, and of all (nan).
    """
    of_paper = PUBLISHED["claims"].get(PUBLISHED["logs"].get(log), {})
    for replay in FEEDBACK:
        curves = {
            name: _curve(runs[(runs["infrastructure"] == name) & (runs["replay"] == replay)])
            for name in ("easy", "perf*2", "fcfs", "perf/2")
        }
        curves = {name: curve for name, curve in curves.items() if LEVEL_FROM in curve.index[:-1]}
        if {"easy", "perf*2", "fcfs"} <= set(curves):
            yield _levels_out(log, replay, curves)
        for name, rises in (("perf/2", True), ("fcfs", of_paper.get("fcfs_rises"))):
            if name in curves and rises is not None:
                yield _rises(log, replay, name, curves[name], rises=rises)


def _curve(runs: pd.DataFrame) -> pd.Series[float]:
    """Return additional lateness (s) by the number of jobs, if all jobs were replayed too."""
    if not runs["first"].isna().any():
        return pd.Series(dtype=float)
    late = pd.to_numeric(runs["additional_lateness"]).to_numpy()
    curve = pd.Series(late, index=pd.to_numeric(runs["nb_jobs"]).to_numpy(dtype=int))
    return curve[~curve.index.duplicated()].sort_index()


def _levels_out(log: str, replay: str, curves: Mapping[str, pd.Series[float]]) -> Verdict:
    moved, texts = {}, []
    for name in ("easy", "perf*2", "fcfs"):
        curve = curves[name]
        late = curve[curve.index >= LEVEL_FROM]
        moved[name] = float(np.ptp(late) / np.ptp(curve))
        ends = f"{late.iloc[0]:.0f} to {late.iloc[-1]:.0f} s"
        texts.append(f"{escape_stars(name)} {100 * moved[name]:.0f} % ({ends})")
    fcfs = moved.pop("fcfs")
    holds = max(moved.values()) < LEVEL <= fcfs
    effect = f"of the range: {listed(texts)}"
    return TEXTS.verdict("levels_out", holds, log, effect=effect, replay=replay)


def _rises(log: str, replay: str, name: str, curve: pd.Series[float], *, rises: bool) -> Verdict:
    """Return whether a curve rises, or falls, from 20,000 jobs to all."""
    begin, end = float(curve[LEVEL_FROM]), float(curve.iloc[-1])
    points = ", ".join(f"{n:,} {late:.0f} s" for n, late in curve.items())
    texts: dict[str, Any] = {"replay": replay, "infrastructure": name, "points": points}
    texts["moves"] = "rises" if rises else "falls"
    effect = f"{begin:.1f} to {end:.1f} s"
    return TEXTS.verdict(
        "after", end > begin if rises else end < begin, log, effect=effect, **texts
    )
