"""The report of the study, for all of its campaign files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import CampaignResults, Figure, Report, Table, Verdict, kit
from batsched_py.report.kit import Texts
from batsched_py.support import palette
from batsched_studies.learning import cases as c

TEXTS = Texts(Path(__file__).parent)
_SHOWN = {
    "slowdown": c.LOG,
    "nb_ended": c.SHARE,
    "work": c.SHARE,
    "lateness": c.PLAIN,
    "response": c.PLAIN,
    "longest_wait": c.SHARE,  # it may be 0
    "worst_user": c.LOG,
}
"""The quantities of a policy, and how they are compared; differences are in hours."""
_COLOURS = dict(zip(c.LOOPS, (palette.BLACK, palette.BLUE, palette.ORANGE), strict=True))


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    summary = TEXTS["summary"].format(runs=len(results.runs))
    return TEXTS.report_by_log(c.read(results.runs), _parts, judge_claims, summary, results.title)


def _parts(log: str, runs: pd.DataFrame) -> Iterator[Table | Figure | None]:
    policies = list(compare_policies(runs))
    yield TEXTS.figure("policies", draw_policies(pd.DataFrame(policies)), kit.slug("figure", log))
    rows = {"policies": policies, "kept": compare_loops(runs)}
    rows |= {"training": compare_trainings(runs), "rewards": compare_rewards(runs)}
    yield from TEXTS.tables(log, rows)


def compare_policies(runs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row for each policy and kind of users: its changes against EASY, and against SJF."""
    for loop in c.LOOPS:
        for policy in c.list_policies(runs):
            row: dict[str, Any] = {"loop": loop, "policy": policy}
            for name, kind in _SHOWN.items():
                change = c.compare_policies(runs, loop, (policy, c.BASE), name, kind)
                row |= kit.cells(change, name, f"{name}_low", f"{name}_high", nb="n")
            trained = (policy, c.BASE), "slowdown", c.LOG, c.TRAIN
            row["gap"] = c.compare_policies(runs, loop, *trained).value
            of_sjf = c.compare_policies(runs, loop, (policy, c.SJF), "slowdown", c.LOG)
            row |= kit.cells(of_sjf, "sjf", "sjf_low", "sjf_high")
            row["gated"] = "yes" if c.is_gated(runs, loop, policy) else "no"
            if row["n"]:
                yield row


def compare_loops(runs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield how much a policy's slowdown, against the base, changes where users react."""
    for policy in c.list_policies(runs):
        for loop in c.LOOPS[1:]:
            ours = {
                each: c.select(runs, each, policy, "slowdown")
                .div(c.select(runs, each, c.BASE, "slowdown").mean(axis=1), axis=0)
                .dropna()
                for each in (loop, "rigid")
            }
            if policy != c.BASE and not any(of.empty for of in ours.values()):
                both = ours[loop].div(ours["rigid"]).dropna()
                one = both.iloc[:, :1] * 0 + 1
                yield {"policy": policy, "loop": loop} | kit.cells(
                    c.compare(both, one, c.LOG), nb="n"
                )


def compare_trainings(runs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the change of agents that were trained with users against those of rigid replay."""
    for loop in c.LOOPS:
        for policy in c.find_learned(c.list_policies(runs)):
            other = policy.replace("feedback,", "rigid,")
            if other != policy:
                row: dict[str, Any] = {"loop": loop, "policy": policy}
                for name in ("slowdown", "response"):
                    change = c.compare_policies(runs, loop, (policy, other), name, _SHOWN[name])
                    row |= kit.cells(change, name, f"{name}_low", f"{name}_high", nb="n")
                yield row


def compare_rewards(runs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield what each reward gives a policy that holds long jobs back, compared with SJF."""
    for policy in c.list_policies(runs):
        for loop in c.LOOPS if policy.startswith((c.HELD, "start")) else ():
            for column, name in c.REWARDS.items():
                pair = (policy, c.SJF)
                change = c.compare_policies(runs, loop, pair, column)
                ended = c.compare_policies(runs, loop, pair, "nb_ended", c.SHARE)
                yield {
                    "reward": name,
                    "loop": loop,
                    "policy": policy,
                    "ended": ended.value,
                    "prefers": {True: "yes", False: "no", None: "inconclusive"}[change.above(0)],
                } | kit.cells(change, nb="n")


def judge_claims(log: str, runs: pd.DataFrame) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which a log has runs.

    Agents with the reward ``naive`` have none: they only show what such a reward does.
    """
    learned = [of for of in c.find_learned(c.list_policies(runs)) if "naive" not in of]
    rigid = [policy for policy in learned if " rigid," in policy]
    for policy, loop, base in product(rigid, c.LOOPS, (c.BASE, c.SJF)):
        change = c.compare_policies(runs, loop, (policy, base), "slowdown", c.LOG)
        gated = c.is_gated(runs, loop, policy)
        holds = False if gated else change.below(0)
        values: dict[str, Any] = {"policy": policy, "loop": loop, "base": base}
        values["found"] = TEXTS["gated"] if gated else ""
        yield TEXTS.verdict("better", holds, log, effect=str(change), **values)
    for row in (row for row in compare_trainings(runs) if row["policy"] in learned):
        change = kit.from_cells(pd.Series(row), "slowdown", "slowdown_low", "slowdown_high", nb="n")
        yield TEXTS.verdict("training", change.below(0), log, effect=str(change), **row)
    held = [row for row in compare_rewards(runs) if row["policy"].startswith(c.HELD)]
    for reward in c.REWARDS.values():
        cases = {
            f"{row['policy']}, {row['loop']} users": kit.from_cells(pd.Series(row), nb="n")
            for row in held
            if row["reward"] == reward and row["ended"] < 0
        }
        gamed = [case for case, change in cases.items() if change.above(0)]
        unclear = [case for case, change in cases.items() if change.above(0) is None]
        holds = True if gamed else None if unclear else False
        if cases:
            most = max(gamed or unclear or cases, key=lambda case: cases[case].low)
            effect, found = f"{most}: {cases[most]}", "; ".join(gamed) or "none"
            yield TEXTS.verdict("gamed", holds, log, effect=effect, reward=reward, found=found)


def draw_policies(rows: pd.DataFrame) -> kit.Chart:
    """Draw the change of the slowdown of each policy, a colour for each kind of users."""
    title = "slowdown compared with EASY (%)"
    shown = rows[rows["policy"] != c.BASE]
    base = alt.Chart(shown).encode(
        y=alt.Y("policy:N", title=None, sort=list(shown["policy"].unique())),
        yOffset=alt.YOffset("loop:N", sort=list(c.LOOPS)),
        color=alt.Color("loop:N", title="users", scale=kit.scale_of(_COLOURS, list(shown["loop"]))),
    )
    scale = alt.Scale(type="symlog", constant=10)
    return alt.layer(
        base.mark_rule().encode(
            x=alt.X("slowdown_low:Q", title=title, scale=scale), x2="slowdown_high:Q"
        ),
        base.mark_point(filled=True, size=40, opacity=1).encode(x=alt.X("slowdown:Q", title=title)),
    ).properties(width=420)
