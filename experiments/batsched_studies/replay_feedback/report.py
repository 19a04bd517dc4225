"""The report of the study: Tables 1 and 2, Figures 2 to 11, and claims, simulated and published.

The content depends on the campaign file: ``campaign.toml`` gives tables and figures, ``shake.toml``
and ``confidence.toml`` their spread, ``models.toml`` other user models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from batsched_py.report import CampaignResults, Part, Report, Table, Text, Verdict
from batsched_py.report.kit import listed, rows
from batsched_studies.replay_feedback import (
    PUBLISHED,
    TEXTS,
    claims,
    derived,
    figures,
    flurry,
    interpretations,
    joint,
    models,
    spread,
    tables,
    text_claims,
)
from batsched_studies.replay_feedback.replays import Study, read_studies


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    if results.runs.empty:
        return TEXTS.report((), (), "No run has finished yet.")
    runs = interpretations.label_real_batsim(tables.rename_axes(results.runs))
    if interpretations.is_of_interpretations(runs):
        answers = interpretations.judge_interpretations(runs)
        shown = [*interpretations.make_parts(runs), _count_claims(runs)]
        return _report_question("interpretations", shown, answers)
    if flurry.is_of_flurry(runs):
        return _report_question("flurry", flurry.make_parts(runs), flurry.judge_flurry(runs))
    of_models = len(models.select_model_runs(runs))
    of_paper = not of_models and tables.is_of_paper(runs)
    cells = tables.make_cells(runs) if of_paper else []
    logs = [] if of_models else list(read_studies(results))
    counts = tables.count_reproduced(cells)
    parts = (
        ("Tables 1 and 2", [*tables.make_tables(cells), tables.make_count_table(counts)]),
        ("Three kinds of EASY", tables.make_kinds_tables(runs)),
        (
            "The order of simultaneous events",
            [*joint.make_parts(joint.list_tests(runs)), *spread.make_shake_parts(cells)],
        ),
        ("Confidence by resampled logs", spread.make_confidence_parts(runs)),
        ("Other user models", models.make_model_parts(runs)),
        *((f"Figures, {study.log}", _figures(study)) for study in logs),
    )
    head = write_summary(runs, counts)
    judged = runs if of_paper else runs[:0]
    verdicts = _first_jobs(judged) or [
        *claims.judge_claims(cells, runs, derived.read_graphs(results)),
        *_of_text(judged, derived.read_differences(results)),
    ]
    digits = describe_digits(counts)
    answer = " ".join([*digits, *_results(tables.read(runs))])
    return TEXTS.report(parts, verdicts, head, terms=list_terms(runs), answer=answer)


def _report_question(key: str, parts: Iterable[Part | None], judged: Iterable[Verdict]) -> Report:
    """Return the report of a campaign with a question of its own, which is the text ``key``."""
    verdicts = list(judged)
    answer = " ".join(f"{of.log}: {of.effect}." for of in verdicts)
    return TEXTS.report([("Result", parts)], verdicts, TEXTS[key], answer=answer)


def _count_claims(runs: pd.DataFrame) -> Table | None:
    """Return how many interpretations each claim holds under, which the measures of runs decide."""
    no_graphs = pd.DataFrame(columns=derived.GRAPHS)
    no_differences = pd.DataFrame(columns=derived.DIFFERENCES)
    answers: dict[tuple[str, str], dict[str, bool | None]] = {}
    for (size, events), group in runs[runs["rejection"] == "at_once"].groupby(["size", "events"]):
        judged = claims.judge_claims(tables.make_cells(group), group, no_graphs)
        for verdict in [*judged, *_of_text(group, no_differences)]:
            log = verdict.log.removesuffix(f", {size} sizes")
            answers.setdefault((log, verdict.claim), {})[f"{size}, {events}"] = verdict.holds
    made = [
        {
            "log": log,
            "claim": claim,
            "tried": len(of),
            "holds": sum(holds is True for holds in of.values()),
            "fails": "; ".join(name for name, holds in of.items() if holds is False),
        }
        for (log, claim), of in sorted(answers.items())
    ]
    return TEXTS.table("interpretation_claims", made, "claims")


def _first_jobs(runs: pd.DataFrame) -> list[Verdict]:
    """Return the verdicts on the first n jobs of a log; none but for ``first.toml``.

    Its runs of all jobs are also in ``campaign.toml``, whose report judges the other claims.
    """
    return [
        verdict
        for log, drawn in tables.group_drawn(runs)
        if drawn["first"].notna().any()
        for verdict in text_claims.judge_first_jobs(log, drawn)
    ]


def _of_text(runs: pd.DataFrame, differences: pd.DataFrame) -> Iterator[Verdict]:
    """Yield the verdicts on claims of the text, from runs in the given order of events."""
    for log, drawn in tables.group_drawn(runs):
        whole = drawn[drawn["first"].isna() & drawn["shake"].isna()]
        yield from text_claims.judge_claims(log, text_claims.select_runs(whole), differences)


def _figures(study: Study) -> Iterator[Part]:
    yield from figures.draw_figures(study)
    if study.left_out:
        yield Text("\n".join(f"- {figure}" for figure in study.left_out))


def write_summary(runs: pd.DataFrame, counts: pd.DataFrame) -> str:
    """Return the summary of the runs as Markdown."""
    runs = tables.read(runs)
    points = [*map(_reproduced, rows(counts)), _chance(runs)]
    sentences = " ".join([TEXTS["question"], _method(runs)])
    return sentences + "\n\n" + "\n".join(f"- {point}" for point in points)


def list_terms(runs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the terms of the report with their definitions."""
    there = {*runs["infrastructure"], *runs["replay"]}
    for group in ("infrastructures", "replays"):
        yield from ((t, text) for t, text in PUBLISHED["terms"][group].items() if t in there)
    words = dict(PUBLISHED["terms"]["words"])
    if not there & set(tables.REPLAYS[1:]):
        del words["feedback"], words["session graph"]
    yield from words.items()


def _method(runs: pd.DataFrame) -> str:
    there = set(runs["replay"])
    groups = {"rigid": ["rigid"], "feedback": tables.REPLAYS[1:], "others": models.OTHERS}
    how = []
    for group, replays in groups.items():
        names = ", ".join(f"`{replay}`" for replay in replays if replay in there)
        how += [TEXTS[group].format(names=names)] if names else []
    text = TEXTS["method"].format(
        logs=listed(list(dict.fromkeys(runs["log"]))),
        infrastructures=len(set(runs["infrastructure"])),
        how=listed(how),
    )
    for key, column in (("shaken_runs", "shake"), ("resampled_runs", "replication")):
        if column in runs and runs[column].notna().any():
            text += TEXTS[key].format(runs=runs[column].nunique())
    return f"{text}."


def _results(runs: pd.DataFrame) -> Iterator[str]:
    """Yield the result on each log: the earliest and the latest users, and how long jobs wait."""
    whole = runs[runs["first"].isna()]
    for (log, size), of_log in tables.group_by_log(whole):
        days = {name: _mean_days(of_log, name) for name in ("mean_lateness", "mean_waiting_time")}
        late, wait = days["mean_lateness"], days["mean_waiting_time"]
        replay = next((r for r in reversed(tables.REPLAYS[1:]) if r in late), None)
        if replay is None:
            continue
        in_order = late[replay].dropna().sort_values(kind="stable")
        first, last = in_order.index[0], in_order.index[-1]
        texts = {"log": log, "size": size, "replay": replay, "first": first, "last": last}
        texts |= {"early": _when(in_order[first]), "late": _when(in_order[last])}
        waits = ""
        if "rigid" in wait:
            values = {"rigid": wait["rigid"][last], "wait": wait[replay][last]}
            waits = TEXTS["waits"].format(**texts, **values)
        yield TEXTS["result" if first != last else "one_result"].format(**texts, waits=waits)


def describe_digits(counts: pd.DataFrame) -> Iterator[str]:
    """Yield for each log how many rows have all printed digits, and why the others differ."""
    for (log, size), of_log in counts.groupby(["log", "size"], sort=False) if len(counts) else ():
        texts = [
            TEXTS["equal_rows"].format(
                equal_rows=row.equal_rows,
                rows=row.rows,
                table=tables.format_table_title(row.table),
            )
            for row in rows(of_log)
        ]
        yield TEXTS["digits"].format(log=log, size=size, rows=listed(texts))
        known = tables.find_differences(str(log), str(size))
        if known and (of_log["equal_rows"] < of_log["rows"]).any():
            yield tables.escape_stars(known["others"])


def _mean_days(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the mean of a metric (days): rows are infrastructures, columns replays."""
    numbers = runs.assign(days=pd.to_numeric(runs[metric]) / tables.UNITS["d"])
    return numbers.pivot_table("days", "infrastructure", "replay")


def _when(days: float) -> str:
    return f"{abs(days):.1f} d {'earlier' if days < 0 else 'later'}"


def _reproduced(counted: Any) -> str:
    """Return a sentence on how many values of a table are reproduced to the digit."""
    return TEXTS["reproduced"].format(count=counted, table=tables.format_table_title(counted.table))


def _chance(runs: pd.DataFrame) -> str:
    """Return a sentence on random variation, and on the campaign that measures it."""
    shaken, resampled = (
        name in runs and runs[name].notna().any() for name in ("shake", tables.DRAWN)
    )
    key = "shaken_chance" if shaken else "resampled_chance" if resampled else "unknown_chance"
    if len(models.select_model_runs(runs)):
        key = "seeds_chance"
    return TEXTS[key].format(log=runs["log"].iloc[0])
