"""The claims of the paper and their verdicts.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024), sections 4 and 5, and
what its Tables 1 and 2 show. Numbers in evidence are simulated unless another source is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import add, attrgetter
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import Verdict
from batsched_py.report.kit import all_hold, rows
from batsched_py.support.statistics import FEWEST
from batsched_py.units import DAY
from batsched_studies.replay_feedback import (
    PUBLISHED,
    TEXTS,
    factors,
    joint,
    models,
    spread,
    tables,
)

SLOW = ("fcfs", "perf/2", "infra/2")
"""Infrastructures that serve the recorded load worse than the original one."""
FAST = ("perf*2", "infra*2")
FEEDBACK = tables.REPLAYS[1:]
SETTLED = ("easy", "perf*2", "infra*2")
"""Infrastructures whose rigid replay has the same digits in each of ten orders of events."""


def judge_claims(
    cells: Sequence[tables.Cell], runs: pd.DataFrame, graphs: pd.DataFrame
) -> list[Verdict]:
    """Return the verdicts on all claims for which there are runs.

    ``graphs`` is the table of :func:`derived.read_graphs`.
    """
    return [
        *_rankings(cells),
        *_of_tables(cells),
        *factors.judge_factors(cells),
        *_graph_claims(graphs),
        *joint.judge_orders(joint.list_tests(runs)),
        *_kinds_of_easy(runs),
        *_resampled(runs),
        *_of_models(runs),
    ]


def _verdict(
    key: str, holds: bool | None, log: str, size: str, evidence: str, **values: Any
) -> Verdict:
    """Return a verdict on runs of a log and size."""
    where = f"{log}, {size} sizes"
    effect = tables.escape_stars(values.pop("effect"))
    evidence = tables.escape_stars(evidence)
    return TEXTS.verdict(key, holds, where, evidence=evidence, effect=effect, **values)


def _shown(lateness: dict[str, float], ends: Mapping[str, tables.Ends]) -> str:
    """Return each lateness with its range, and the adjacent ranks with overlapping ranges."""
    texts = [f"{name} {_with_spread(days, ends[name])}" for name, days in lateness.items()]
    close = [
        f"{one} and {other}"
        for one, other in pairwise(lateness)
        if tables.do_ranges_overlap(ends[one], ends[other])
    ]
    several = any(low < high for low, high in ends.values())
    key = "overlap" if close else "no_overlap"
    return ", ".join(texts) + (TEXTS[key].format(pairs=", ".join(close)) if several else "")


def _from_to(lateness: Mapping[str, float], ends: Mapping[str, tables.Ends]) -> str:
    """Return the earliest and the latest infrastructure with their mean lateness."""
    names = list(lateness)
    both = (
        f"{name} {_with_spread(lateness[name], ends[name])} d" for name in (names[0], names[-1])
    )
    return " to ".join(both)


def _with_spread(value: float, ends: tables.Ends) -> str:
    low, high = ends
    spread = f" ({tables.format_digits(low)} to {tables.format_digits(high)})" if low < high else ""
    return f"{tables.format_digits(value)}{spread}"


def _rankings(cells: Sequence[tables.Cell]) -> Iterator[Verdict]:
    for (log, size, replay), lateness in tables.rank_infrastructures(cells).items():
        holds = tables.is_ranked(lateness)
        texts: dict[str, Any] = {
            "replay": replay,
            "missing": describe_missing(tables.RANKING, lateness),
        }
        of_rank = [
            cell
            for cell in cells
            if (cell.log, cell.size, cell.replay) == (log, size, replay)
            and cell.metric == "mean_lateness"
        ]
        ends = {cell.infrastructure: cell.ends for cell in of_rank}
        texts["effect"] = _from_to(lateness, ends) + _orders(of_rank)
        yield _verdict("ranked", holds, log, size, _shown(lateness, ends), **texts)


def _of_tables(cells: Sequence[tables.Cell]) -> Iterator[Verdict]:
    key = attrgetter("log", "size")
    for place, of_log in groupby(sorted(cells, key=key), key):
        values = {(c.infrastructure, c.replay, c.metric): c for c in of_log}
        for claim, names, comparisons in (
            ("signs", (*FAST, *SLOW), _signs(values)),
            ("waits", SLOW, _smaller_with_feedback(values)),
            ("makespans", SLOW, _longer_with_feedback(values)),
            ("a60_earlier", tables.INFRASTRUCTURES, _earlier_with_a60(values)),
        ):
            if comparisons:
                infrastructures, answers, numbers, near = zip(*comparisons, strict=True)
                there = {*infrastructures, *(replay for _, replay, _ in values)}
                missing, right = describe_missing((*names, *FEEDBACK), there), all(answers)
                holds = (
                    None if right and missing else right
                )  # one wrong comparison refutes the claim
                evidence = "; ".join(map(add, numbers, near))
                effect = f"so in {sum(answers)} of {len(answers)}"
                if orders := _orders(values.values()):
                    orders += f", where the ranges of {near.count('')} are apart"
                texts: dict[str, Any] = {
                    "missing": missing,
                    "effect": f"{effect} comparisons{orders}",
                }
                yield _verdict(claim, holds, *place, evidence, **texts)


def _orders(cells: Iterable[tables.Cell]) -> str:
    """Return a note on the number of shaken runs, of which the first is shown; "" for one run."""
    most = max(len(cell.values) for cell in cells)
    return f", the first of {most} runs" if most > 1 else ""


def describe_missing(names: Sequence[str], there: Collection[str]) -> str:
    """Return a sentence on the names in a claim that have no runs; empty if all have some."""
    missing = ", ".join(name for name in names if name not in there)
    return TEXTS["missing"].format(names=tables.escape_stars(missing)) if missing else ""


_Values = dict[tuple[str, str, str], tables.Cell]
_Comparisons = list[tuple[str, bool, str, str]]
"""Infrastructure, whether the claim holds there, the numbers, and a note on overlap, if any."""
_OVERLAP = " (the ranges of the runs overlap)"
_SIGN_VARIES = " (the range of the runs has 0 in it)"


def _signs(values: _Values) -> _Comparisons:
    comparisons = []
    for name in (*FAST, *SLOW):
        for replay in FEEDBACK:
            late = values.get((name, replay, "mean_lateness"))
            if late is not None:
                right = late.ours < 0 if name in FAST else late.ours > 0
                varies = _SIGN_VARIES if tables.do_ranges_overlap(late.ends, (0, 0)) else ""
                comparisons.append(
                    (name, right, f"{name} {replay} {tables.format_digits(late.ours)} d", varies)
                )
    return comparisons


def _smaller_with_feedback(values: _Values) -> _Comparisons:
    comparisons = []
    for name, replay, rigid, wait, overlap in _compare_with_rigid(values, "mean_waiting_time"):
        factor = f" ({rigid / wait:.1f} times)" if wait else ""
        text = f"{name} rigid {rigid:.2f} d, {replay} {wait:.2f} d{factor}"
        comparisons.append((name, rigid > wait, text, overlap))
    return comparisons


def _longer_with_feedback(values: _Values) -> _Comparisons:
    return [
        (name, makespan > rigid, f"{name} rigid {rigid:.0f} d, {replay} {makespan:.0f} d", overlap)
        for name, replay, rigid, makespan, overlap in _compare_with_rigid(values, "makespan")
    ]


def _earlier_with_a60(values: _Values) -> _Comparisons:
    """Compare the means over all runs, where there are several."""
    comparisons = []
    for name in tables.INFRASTRUCTURES:
        a0, a60 = (values.get((name, replay, "mean_lateness")) for replay in FEEDBACK)
        if a0 is not None and a60 is not None:
            overlap = _OVERLAP if tables.do_ranges_overlap(a0.ends, a60.ends) else ""
            before, after = (float(np.mean(cell.values)) for cell in (a0, a60))
            text = f"{name} a0 {before:.2f} d, a60 {after:.2f} d"
            comparisons.append((name, after < before, text, overlap))
    return comparisons


def _compare_with_rigid(
    values: _Values, metric: str
) -> Iterator[tuple[str, str, float, float, str]]:
    """Yield infrastructure, replay, both values, and whether the ranges of the runs overlap."""
    for name in SLOW:
        rigid = values.get((name, "rigid", metric))
        for replay in FEEDBACK:
            feedback = values.get((name, replay, metric))
            if rigid is not None and feedback is not None:
                overlap = _OVERLAP if tables.do_ranges_overlap(rigid.ends, feedback.ends) else ""
                yield name, replay, rigid.ours, feedback.ours, overlap


def _graph_claims(graphs: pd.DataFrame) -> Iterator[Verdict]:
    for log, of_log in graphs.groupby("log", sort=False):
        largest, arity = PUBLISHED["graphs"]["largest_arity_a60"], int(of_log["arity"].max())
        effect = f"at most {arity}"
        yield TEXTS.verdict("arity", arity <= largest, str(log), effect=effect, largest=largest)
        points = list(rows(of_log))
        holds = all(round(100 * point.ours) == round(100 * point.share) for point in points)
        shares = ", ".join(
            f"{p.sessions} < {p.hours} h {100 * p.ours:.1f} % (paper {100 * p.share:.0f} %)"
            for p in points
        )
        most = max(abs(100 * (point.ours - point.share)) for point in points)
        effect = f"up to {most:.1f} points from the paper's shares"
        yield TEXTS.verdict("think_times", holds, str(log), effect=effect, shares=shares)


def _kinds_of_easy(runs: pd.DataFrame) -> Iterator[Verdict]:
    """Yield whether runs of each kind of EASY have the printed digits.

    Only for :data:`SETTLED`: elsewhere textbook EASY does not have the printed digits either.
    """
    for place, kinds in tables.list_kinds(runs):
        for kind, cells in kinds.items():
            settled = [cell for cell in cells if cell.infrastructure in SETTLED]
            compared = [(cell, cell.published) for cell in settled if cell.published is not None]
            others = [(cell, published) for cell, published in compared if not cell.equal]
            if not compared:
                continue
            missing = describe_missing(SETTLED, {cell.infrastructure for cell, _ in compared})
            holds = all_hold((not others, *[None] * bool(missing)))
            evidence = ", ".join(
                f"{cell.infrastructure} {tables.NAMES[cell.metric]} "
                f"{tables.format_digits(cell.ours)} (paper {tables.format_digits(published)})"
                for cell, published in others
            )
            evidence = evidence or "none"
            equal = len(compared) - len(others)
            effect = f"{equal} of {len(compared)} values have the printed digits"
            texts: dict[str, Any] = {
                "missing": missing,
                "kind": TEXTS[f"kind_{kind}"],
                "kinds": len(kinds),
            }
            yield _verdict("kinds", holds, *place, evidence, effect=effect, **texts)


def _resampled(runs: pd.DataFrame) -> Iterator[Verdict]:
    for place, of_log in tables.group_by_log(spread.select_resampled_runs(runs)):
        order = list(rows(pd.DataFrame(spread.make_order_rows(of_log))))
        for replay in FEEDBACK:
            lateness = spread.list_lateness_by_replication(of_log, replay)
            answers = [right for right in map(tables.is_ranked, lateness) if right is not None]
            if answers:
                differences = "; ".join(
                    f"{row.later} minus {row.earlier} "
                    f"{_with_spread(row.difference, (row.low, row.high))} d"
                    for row in order
                    if row.replay == replay
                )
                texts: dict[str, Any] = {"replay": replay, "logs": len(answers)}
                texts["ordered"] = sum(answers)
                texts["effect"] = f"{sum(answers)} of {len(answers)} resampled logs"
                few = [None] * (len(answers) < FEWEST)
                yield _verdict(
                    "resampled", all_hold((*answers, *few)), *place, differences, **texts
                )


def _of_models(runs: pd.DataFrame) -> Iterator[Verdict]:
    for place, of_log in tables.group_by_log(models.select_model_runs(runs)):
        days = of_log.assign(days=pd.to_numeric(of_log["mean_lateness"]) / DAY)
        for model in [name for name in models.OTHERS if name in set(days["replay"])]:
            seeds = days[days["replay"] == model].groupby("infrastructure")["days"]
            means = seeds.mean().dropna().sort_values(kind="stable")
            lateness = {str(name): float(late) for name, late in means.items()}
            ends = {name: (seeds.min()[name], seeds.max()[name]) for name in lateness}
            # If seeds disagree on the order of two infrastructures, or are few, it is inconclusive.
            close = any(tables.do_ranges_overlap(ends[a], ends[b]) for a, b in pairwise(lateness))
            few = any(1 < nb < FEWEST for nb in seeds.count())
            holds = None if close or few else tables.is_ranked(lateness)
            texts = {"model": model, "effect": _from_to(lateness, ends)}
            yield _verdict("models", holds, *place, _shown(lateness, ends), **texts)
