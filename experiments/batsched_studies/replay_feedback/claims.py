"""What the paper says, and what the runs say of it.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024), sections 4 and 5, and
what its Tables 1 and 2 show. Numbers in evidence are ours unless said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter

import pandas as pd

from batsched_py.report import Verdict
from batsched_py.units import DAY
from batsched_studies.replay_feedback import TEXTS, models, spread, tables
from batsched_studies.replay_feedback.session_graphs import Graphs

SLOW = ("fcfs", "perf/2", "infra/2")
"""Infrastructures that serve the recorded load worse than the original one."""
FAST = ("perf*2", "infra*2")
FEEDBACK = tables.REPLAYS[1:]


def verdicts(
    cells: Sequence[tables.Cell], runs: pd.DataFrame, graphs: Sequence[Graphs]
) -> list[Verdict]:
    """Return the verdicts on all claims that some run says something about.

    ``cells`` are those of the tables, ``graphs`` the session graphs of :mod:`session_graphs`.
    """
    return [
        *_rankings(cells),
        *_of_tables(cells),
        *_graph_claims(graphs),
        *_shaken(cells),
        *_resampled(runs),
        *_of_models(runs),
    ]


def escaped(text: str) -> str:
    """Return a text in which ``*`` does not begin emphasis, as in perf*2 ... infra*2."""
    return text.replace("*", r"\*")


def _rankings(cells: Sequence[tables.Cell]) -> Iterator[Verdict]:
    for ranking in tables.rank(cells):
        ours = ", ".join(f"{name} {days:.2f}" for name, days in ranking.lateness.items())
        evidence = f"Mean lateness in days: {ours}."
        if ranking.holds is None:
            evidence += " Not all of the five were simulated."
        claim = f"With {ranking.replay}, users submit {TEXTS['order']}"
        where = f"{ranking.log}, {ranking.size} sizes"
        yield Verdict(claim, ranking.holds, escaped(evidence), where)


def _of_tables(cells: Sequence[tables.Cell]) -> Iterator[Verdict]:
    key = attrgetter("log", "size")
    for (log, size), of_log in groupby(sorted(cells, key=key), key):
        values = {(c.infrastructure, c.replay, c.metric): c.ours for c in of_log}
        where = f"{log}, {size} sizes"
        for claim, comparisons in (
            (TEXTS["signs"], _signs(values)),
            (TEXTS["waits"], _smaller_with_feedback(values)),
            (TEXTS["makespans"], _longer_with_feedback(values)),
        ):
            if comparisons:
                holds = all(right for right, _ in comparisons)
                evidence = "; ".join(text for _, text in comparisons)
                yield Verdict(claim, holds, escaped(f"{evidence}."), where)


_Values = dict[tuple[str, str, str], float]
_Comparisons = list[tuple[bool, str]]


def _signs(values: _Values) -> _Comparisons:
    comparisons = []
    for name in (*FAST, *SLOW):
        for replay in FEEDBACK:
            days = values.get((name, replay, "mean_lateness"))
            if days is not None:
                right = days < 0 if name in FAST else days > 0
                comparisons.append((right, f"{name} {replay} {days:.2f} d"))
    return comparisons


def _smaller_with_feedback(values: _Values) -> _Comparisons:
    comparisons = []
    for name, replay, rigid, wait in _beside_rigid(values, "mean_waiting_time"):
        factor = f" ({rigid / wait:.1f} times)" if wait else ""
        text = f"{name} rigid {rigid:.2f} d, {replay} {wait:.2f} d{factor}"
        comparisons.append((rigid > wait, text))
    return comparisons


def _longer_with_feedback(values: _Values) -> _Comparisons:
    return [
        (makespan > rigid, f"{name} rigid {rigid:.0f} d, {replay} {makespan:.0f} d")
        for name, replay, rigid, makespan in _beside_rigid(values, "makespan")
    ]


def _beside_rigid(values: _Values, metric: str) -> Iterator[tuple[str, str, float, float]]:
    for name in SLOW:
        rigid = values.get((name, "rigid", metric))
        for replay in FEEDBACK:
            feedback = values.get((name, replay, metric))
            if rigid is not None and feedback is not None:
                yield name, replay, rigid, feedback


def _graph_claims(graphs: Sequence[Graphs]) -> Iterator[Verdict]:
    for of_log in graphs:
        largest = (of_log.published or {})["largest_arity_a60"]
        claim = f"With a60 no session waits for more than {largest} sessions (Fig. 6)"
        evidence = f"At most {of_log.arity}."
        yield Verdict(claim, of_log.arity <= largest, evidence, of_log.log)
        claim = "Think times: of a0 75 % are below 10 h and 35 % below 1 h, of a60 50 % and 13 %"
        pairs = of_log.shares()
        holds = all(round(100 * ours) == round(100 * theirs) for _, ours, theirs in pairs)
        evidence = ", ".join(
            f"{name} {100 * ours:.1f} % (paper {100 * theirs:.0f} %)"
            for name, ours, theirs in pairs
        )
        text = f"{evidence}. Each edge of the graphs counts once."
        yield Verdict(f"{claim} (Fig. 6, to the per cent)", holds, text, of_log.log)


def _shaken(cells: Sequence[tables.Cell]) -> Iterator[Verdict]:
    for counted in tables.count(cells):
        if not counted.spread_values:
            continue
        claim = (
            f"The values of {counted.table.capitalize()[:-1]} {counted.table[-1]} are those of "
            "some order of simultaneous events"
        )
        evidence = (
            f"{counted.inside_values} of {counted.spread_values} published values are between the "
            "smallest and the largest of the runs with shaken order."
        )
        holds = counted.inside_values == counted.spread_values
        yield Verdict(claim, holds, evidence, f"{counted.log}, {counted.size} sizes")


def _resampled(runs: pd.DataFrame) -> Iterator[Verdict]:
    for (log, size), of_log in tables.by_log(spread.resampled_runs(runs)):
        order = pd.DataFrame(spread.order_rows(of_log))
        for replay in FEEDBACK:
            lateness = spread.lateness_by_replication(of_log, replay)
            answers = [right for right in map(tables.ranked, lateness) if right is not None]
            if not answers:
                continue
            rows = order[order["replay"] == replay]
            evidence = (
                f"Of {len(answers)} resampled logs {sum(answers)} have this order. "
                + "; ".join(
                    f"{row['later']} minus {row['earlier']} {row['difference']:.2f} d "
                    f"({row['low']:.2f} to {row['high']:.2f})"
                    for _, row in rows.iterrows()
                )
            )
            claim = (
                f"The ranking with {replay} does not hang on who happened to be in the log (beyond "
                "the paper)"
            )
            where = f"{log}, {size} sizes"
            yield Verdict(claim, all(answers), escaped(f"{evidence}."), where)


def _of_models(runs: pd.DataFrame) -> Iterator[Verdict]:
    for (log, size), runs_of_log in tables.by_log(models.model_runs(runs)):
        days = runs_of_log.assign(days=pd.to_numeric(runs_of_log["mean_lateness"]) / DAY)
        means = days.pivot_table("days", "replay", "infrastructure")
        for model in [name for name in models.OTHERS if name in means.index]:
            lateness = {str(name): float(late) for name, late in means.T[model].dropna().items()}
            ordered = sorted(lateness.items(), key=itemgetter(1))
            texts = (f"{name} {late:.2f}" for name, late in ordered)
            claim = f"The ranking holds for users who react as {model}, too (beyond the paper)"
            evidence = f"Mean lateness in days: {', '.join(texts)}."
            holds = tables.ranked(lateness)
            yield Verdict(claim, holds, escaped(evidence), f"{log}, {size} sizes")
