"""The claims that the paper's text makes about its figures, and their verdicts for a log.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024), section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from batsched_py import metrics
from batsched_py.report import Verdict
from batsched_py.report.kit import listed
from batsched_py.units import DAY, MONTH
from batsched_studies.replay_feedback import PUBLISHED, TEXTS, figures, replays, tables
from batsched_studies.replay_feedback.claims import describe_missing
from batsched_studies.replay_feedback.replays import Study
from batsched_studies.replay_feedback.tables import escape_stars

FEEDBACK = tables.REPLAYS[1:]
NEARLY_ALL = 0.9
"""A share of jobs: an assumption, as the paper gives no number."""
LEVEL_FROM = 20_000
LEVEL = 0.1
"""The share of its range by which a level curve may still move: a limit of this study."""
ROUNDING = 0.5
"""The rounding error of numbers printed without decimals."""


def judge_claims(study: Study) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which the whole log was replayed."""
    of_paper = PUBLISHED["claims"].get(PUBLISHED["logs"].get(study.log), {})
    if "fcfs_between" in of_paper:
        yield from _fcfs_between(study, *of_paper["fcfs_between"])
    if "longest_wait" in of_paper:
        yield from _longest_waits(study, of_paper["longest_wait"])
    if "windows" in of_paper:
        yield from _windows(study, of_paper["windows"])
    yield from _a0_is_later(study)
    yield from _users_differ(study)


def _fcfs_between(study: Study, earlier: str, later: str) -> Iterator[Verdict]:
    for replay in FEEDBACK:
        names = (earlier, "fcfs", later)
        if all((name, replay) in study.replays for name in names):
            days = [study.replays[name, replay].lateness.mean() / DAY for name in names]
            effect = ", ".join(
                f"{escape_stars(name)} {late:.1f} d" for name, late in zip(names, days, strict=True)
            )
            holds = days == sorted(days)
            yield TEXTS.verdict(
                "fcfs_between",
                holds,
                study.log,
                effect=effect,
                replay=replay,
                earlier=escape_stars(earlier),
                later=escape_stars(later),
            )


def _longest_waits(study: Study, recorded: float) -> Iterator[Verdict]:
    waits = {
        f"{escape_stars(name)} {replay}": float(np.nanmax(jobs.start - jobs.submit)) / DAY
        for (name, replay), jobs in study.replays.items()
        if replay in FEEDBACK
    }
    if waits:
        most = max(waits, key=lambda name: waits[name])
        effect = f"at most {waits[most]:.2f} d ({most}), recorded {recorded:.2f} d"
        holds, missing = _on_all(waits[most] < recorded, study, tables.INFRASTRUCTURES, FEEDBACK)
        texts: dict[str, Any] = {"runs": len(waits), "missing": missing}
        yield TEXTS.verdict("longest_wait", holds, study.log, effect=effect, **texts)


def _windows(study: Study, printed: Mapping[str, Any]) -> Iterator[Verdict]:
    """Fig. 9: on machines that are twice as good, in windows of 4, 6 and 8 months."""
    found: dict[str, list[float]] = {"gain": [], "rigid": [], "feedback": []}
    for name, months in product(printed["on"], figures.list_fitting_months(study)):
        length = months * MONTH
        there = {
            replay: metrics.window(study.replays[name, replay], figures.WINDOW_START, length)
            for replay in tables.REPLAYS
            if (name, replay) in study.replays
        }
        for replay, values in there.items() if "rigid" in there else ():
            nodes = study.replays[name, replay].nb_processors or 1
            used = 100 * values["mean_busy_processors"] / nodes
            found["rigid" if replay == "rigid" else "feedback"].append(used)
            if replay != "rigid":
                per_day = [of["throughput_per_day"] for of in (values, there["rigid"])]
                found["gain"].append(100 * (per_day[0] / per_day[1] - 1))
    if not found["gain"]:
        return
    ends = {what: (min(values), max(values)) for what, values in found.items()}
    right = all(
        printed[what][0] - ROUNDING <= low and high <= printed[what][1] + ROUNDING
        for what, (low, high) in ends.items()
    )
    holds, missing = _on_all(right, study, printed["on"], tables.REPLAYS)
    gain, rigid, feedback = (f"{low:.1f} to {high:.1f} %" for low, high in ends.values())
    effect = f"throughput +{gain}, utilisation {feedback} instead of {rigid}"
    yield TEXTS.verdict("windows", holds, study.log, effect=effect, missing=missing, **printed)


def _a0_is_later(study: Study) -> Iterator[Verdict]:
    """Fig. 7: the distribution of differences from a60 to a0."""
    shares = {}
    for name in replays.BY_LATENESS:
        if all((name, replay) in study.replays for replay in FEEDBACK):
            a0, a60 = (study.replays[name, replay].submit for replay in FEEDBACK)
            shares[name] = 100 * float(np.mean(a0 > a60))
    if shares:
        effect = f"{min(shares.values()):.0f} to {max(shares.values()):.0f} % of the jobs"
        texts = ", ".join(f"{escape_stars(name)} {share:.0f} %" for name, share in shares.items())
        right = min(shares.values()) >= 100 * NEARLY_ALL
        holds, missing = _on_all(right, study, replays.BY_LATENESS, FEEDBACK)
        yield TEXTS.verdict(
            "a0_later", holds, study.log, effect=effect, shares=texts, missing=missing
        )


def _users_differ(study: Study) -> Iterator[Verdict]:
    """Fig. 5c: additional lateness per user, from the 10th to the 90th percentile."""
    if study.log not in PUBLISHED["logs"]:  # on small logs with few users it means nothing
        return
    ranges = {}
    for name in [name for name in replays.BY_LATENESS if (name, "a60") in study.replays]:
        seconds = replays.compute_additional_lateness(study.replays[name, "a60"])["seconds"]
        low, high = np.quantile(seconds, (0.1, 0.9))
        ranges[name] = float(high - low)
    if ranges:
        least = min(ranges, key=lambda name: ranges[name])
        effect = f"at least {ranges[least]:,.0f} s ({escape_stars(least)})"
        right = ranges[least] > 10_000
        holds, missing = _on_all(right, study, replays.BY_LATENESS, ["a60"])
        yield TEXTS.verdict("users_differ", holds, study.log, effect=effect, missing=missing)


def _on_all(
    right: bool, study: Study, infrastructures: Sequence[str], replayed: Sequence[str]
) -> tuple[bool | None, str]:
    """Return whether a claim on all these runs holds, and a sentence on the missing runs.

    One run can refute the claim; only all runs can confirm it.
    """
    runs = [f"{name} {replay}" for name, replay in product(infrastructures, replayed)]
    missing = describe_missing(runs, [" ".join(run) for run in study.replays])
    return (None if right and missing else right), missing


def judge_first_jobs(study: Study) -> Iterator[Verdict]:
    """Yield verdicts on Fig. 11: additional lateness levels off as more jobs are replayed."""
    for replay in FEEDBACK:
        curves = {name: study.list_lateness(name, replay) for name in ("easy", "perf*2", "fcfs")}
        if not all(LEVEL_FROM in curve.index[:-1] for curve in curves.values()):
            continue
        moved, texts = {}, []
        for name, curve in curves.items():
            late = curve[curve.index >= LEVEL_FROM]
            moved[name] = float(np.ptp(late) / np.ptp(curve))
            ends = f"{late.iloc[0]:.0f} to {late.iloc[-1]:.0f} s"
            texts.append(f"{escape_stars(name)} {100 * moved[name]:.0f} % ({ends})")
        fcfs = moved.pop("fcfs")
        holds = max(moved.values()) < LEVEL <= fcfs
        effect = f"of the range: {listed(texts)}"
        yield TEXTS.verdict("levels_out", holds, study.log, effect=effect, replay=replay)
