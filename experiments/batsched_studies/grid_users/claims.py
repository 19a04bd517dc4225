"""The claims of the study, which no publication has, and their verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, paired, paired_difference
from batsched_py.support.statistics import FEWEST
from batsched_studies.grid_users import TEXTS
from batsched_studies.grid_users.site_runs import (
    FEEDBACK,
    LOCAL,
    MULTI_SITE,
    NAMES,
    REPLAYS,
    RIGID,
    SHARING,
    SiteRuns,
    compute_changes,
)


def judge_claims(runs: SiteRuns) -> Iterator[Verdict]:
    """Yield a verdict on each claim; inconclusive where there are too few assignments."""
    for replay in runs.list_replays():
        yield _survives(runs, replay)
        yield _everyone(runs, replay)
    if set(runs.list_replays()) == set(REPLAYS):
        yield from _smaller(runs)
        yield _less_late(runs)
    for replay in runs.list_replays():
        yield _pays(runs, replay)
        if runs.whole.where(replay=replay, scenario=MULTI_SITE):
            yield _spreading(runs, replay)


def _survives(runs: SiteRuns, replay: str) -> Verdict:
    """Judge whether sharing shortens the mean wait of all users together."""
    change = _change(runs, replay, SHARING, LOCAL)
    users, shown = NAMES[replay], _shown(change)
    return TEXTS.verdict("survives", change.below(0), runs.log, users=users, change=shown)


def _everyone(runs: SiteRuns, replay: str) -> Verdict:
    """Judge whether sharing shortens waits for each grid site's users, under each assignment."""
    found = compute_changes(runs, replay)
    shorter = found["after"] < found["before"]
    worst = found.iloc[int(np.argmax(found["change"].fillna(0)))]
    return TEXTS.verdict(
        "everyone",
        bool(shorter.all()) if found["assignment"].nunique() >= FEWEST else None,
        runs.log,
        users=NAMES[replay],
        shorter=int(shorter.sum()),
        all=len(found),
        worst=worst,
        sites=", ".join(sorted(set(found["site"][~shorter]))) or "none",
    )


def _smaller(runs: SiteRuns) -> Iterator[Verdict]:
    """Judge whether users who react gain less: in hours, in per cent of their waits, and in hours
    from the recorded submission on.
    """
    rigid, feedback = (
        {
            "smaller_hours": _saved(runs, replay, "wait"),
            "smaller_share": 100 * (1 - _values(runs, replay, SHARING) / _values(runs, replay)),
            "smaller_delay": _saved(runs, replay, "delay"),
        }
        for replay in (RIGID, FEEDBACK)
    )
    for key in rigid:
        less = paired_difference(*paired(feedback[key], rigid[key]))
        saved = {"rigid": rigid[key].mean(), "feedback": feedback[key].mean()}
        values: dict[str, Any] = {"difference": less, **saved}
        yield TEXTS.verdict(key, less.below(0), runs.log, **values)


def _saved(runs: SiteRuns, replay: str, quantity: str) -> pd.Series[float]:
    """Return by assignment how many hours sharing saves."""
    return _values(runs, replay, name=quantity) - _values(runs, replay, SHARING, quantity)


def _values(
    runs: SiteRuns, replay: str, scenario: str = LOCAL, name: str = "wait"
) -> pd.Series[float]:
    return runs.whole.where(replay=replay, scenario=scenario).values(name)


def _less_late(runs: SiteRuns) -> Verdict:
    """Judge whether users who react submit sooner after sharing."""
    before, after = (_values(runs, FEEDBACK, s, "lateness") for s in (LOCAL, SHARING))
    less = paired_difference(*paired(after, before))
    values: dict[str, Any] = {"before": before.mean(), "after": after.mean(), "difference": less}
    return TEXTS.verdict("less_late", less.below(0), runs.log, **values)


def _pays(runs: SiteRuns, replay: str) -> Verdict:
    """Judge whether users of the grid site that gives most wait longer, under each assignment."""
    found = compute_changes(runs, replay).reset_index(drop=True)
    givers = found.loc[found.groupby("assignment")["balance"].idxmax()]
    longer = givers["after"] > givers["before"]
    return TEXTS.verdict(
        "pays",
        bool(longer.all()) if len(givers) >= FEWEST else None,
        runs.log,
        users=NAMES[replay],
        longer=int(longer.sum()),
        all=len(givers),
        each="; ".join(map(_giver, givers.itertuples())),
        correlation=found["balance"].corr(found["change"], method="spearman"),
    )


def _giver(giver: Any) -> str:
    return f"{giver.site} (balance {giver.balance:+.0f} %, wait {giver.change:+.0f} %)"


def _spreading(runs: SiteRuns, replay: str) -> Verdict:
    """Judge whether multi-site jobs further shorten the mean wait of all users together."""
    change, awrt = (_change(runs, replay, MULTI_SITE, SHARING, name) for name in ("wait", "awrt"))
    jobs = runs.whole.where(replay=replay, scenario=MULTI_SITE).mean("spread").value
    values: dict[str, Any] = {"users": NAMES[replay], "change": _shown(change)}
    values |= {"awrt": _shown(awrt), "jobs": jobs}
    return TEXTS.verdict("spreading", change.below(0), runs.log, **values)


def _change(runs: SiteRuns, replay: str, scenario: str, base: str, name: str = "wait") -> Interval:
    of_replay = runs.whole.where(replay=replay)
    return of_replay.where(scenario=scenario).change(name, of_replay.where(scenario=base))


def _shown(change: Interval) -> str:
    if not change.is_known:
        return f"{change.value:+.1f} %"
    ends = f"{change.low:+.1f} to {change.high:+.1f}"
    return f"{change.value:+.1f} % ({ends}), n = {change.nb}"
