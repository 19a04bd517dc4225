"""Mean waits with EASY: their spread over seeds, and the values of the thesis."""

from __future__ import annotations

from itertools import product
from math import comb, nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.metrics import max_over_min
from batsched_py.report.kit import Runs, find_published, paired, quantiles
from batsched_py.support.statistics import SpreadTest, finite, mean_interval, spread_test
from batsched_studies.tbuos_ups import PUBLISHED, claims

Floats = NDArray[np.float64]
SEEDS = 30
"""So many are needed for the largest over the smallest wait to stand beside that of a hundred."""
PAIRS = 10
"""So many are needed to tell how much waits vary."""
FLUID = {"fluid 5": "fluid"}
"""As chapter 5 describes the model; the thesis's table of waits is in chapter 4."""


def spreads(runs: Runs) -> pd.DataFrame:
    """Return how the mean wait (s) varies over the seeds, open resampling and TBUOS (claim iv).

    Columns: ``spread`` is the standard deviation of the logarithms of the mean waits; ``ratio`` the
    largest over the smallest, as the thesis prints it: of the extremes there is no interval, and
    one ratio of ours beside one of the thesis has no rank; ``difference`` is relative to that.
    ``nodes`` is how many processors the machine has.
    """
    rows = []
    for (log, replay, system), of_case in runs.groups(*claims.CASE):
        if replay not in PUBLISHED["ratios"] or system not in ("fcfs", *claims.EASY):
            continue
        comparable = system in claims.EASY and len(of_case) >= SEEDS
        trace = PUBLISHED["logs"].get(log) if comparable else None
        thesis = find_published(PUBLISHED, "ratios", replay, trace)
        waits, stable = of_case.values(claims.WAIT), ~claims.is_saturated(of_case)
        for which, some in (("all", waits), ("stable", waits[stable])):
            if len(some) > 1 and (which == "all" or len(some) < len(waits)):
                row = {"log": log, "replay": replay, "system": system, "which": which}
                row["nodes"] = claims.one_size(of_case.labels("nb_res"))
                rows.append(row | _spread(finite(some), thesis))
    return pd.DataFrame(rows)


def _spread(waits: Floats, thesis: float | None) -> dict[str, Any]:
    ratio = max_over_min(waits.tolist())
    ends = dict(zip(("least", "median", "most"), quantiles(waits, (0, 0.5, 1)), strict=True))
    return {
        "seeds": len(waits),
        **ends,
        "spread": float(np.log(waits).std(ddof=1)) if (waits > 0).all() else nan,
        "ratio": ratio,
        "thesis": thesis,
        "difference": ratio / thesis - 1 if thesis else None,
    }


def calmer(runs: Runs) -> dict[tuple[str, str], SpreadTest]:
    """Return by log and EASY whether the mean wait varies less under TBUOS than if open.

    Pairs are of equal seeds, and so of the same people; only where there are :data:`PAIRS`.
    """
    tests = {}
    for log, system in product(runs.labels("log"), claims.EASY):
        sides = (runs.where(log=log, replay=name, system=system) for name in ("tbuos", "resampled"))
        tbuos, open_ = paired(*(of_case.values(claims.WAIT) for of_case in sides))
        if len(tbuos) >= PAIRS:
            tests[log, system] = spread_test(tbuos, open_)
    return tests


def waits(runs: Runs) -> pd.DataFrame:
    """Return the average waits (s) of the replays of a log with EASY; none without open replay.

    ``ours_to_rigid`` (from ``low`` to ``high``) and ``thesis_to_rigid`` are relative to open replay
    of the log, which is certain. ``nodes`` is how many processors the machine has.
    """
    rows = []
    for (log, replay, system), of_case in runs.groups(*claims.CASE):
        name = FLUID.get(replay, replay)
        rigid = runs.where(log=log, replay="rigid", system=system)
        if system not in claims.EASY or name not in PUBLISHED["waits"] or not rigid:
            continue
        trace = PUBLISHED["logs"].get(log)
        mean = mean_interval(of_case.values(claims.WAIT))
        ours, reference = mean.value, float(finite(rigid.values(claims.WAIT)).mean())
        thesis, conventional = (
            find_published(PUBLISHED, "waits", model, trace) for model in (name, "rigid")
        )
        row = {"log": log, "replay": replay, "system": system, "seeds": len(of_case), "ours": ours}
        row |= {"thesis": thesis, "difference": ours / thesis - 1 if thesis else None}
        row["nodes"] = claims.one_size(of_case.labels("nb_res"))
        row |= {"ours_to_rigid": None, "low": nan, "high": nan}
        if ours and reference:
            known = claims.certain(mean) if replay in claims.DRAW_NOTHING else mean
            ends = {"ours_to_rigid": ours, "low": known.low, "high": known.high}
            row |= {name: end / reference for name, end in ends.items()}
        row["thesis_to_rigid"] = thesis / conventional if thesis and conventional else None
        rows.append(row)
    return pd.DataFrame(rows)


INCOMPARABLE = ("CM5",)
"""Of another version of the log that waits a thirteenth of what is printed, whatever EASY does."""
CHOSEN_ON = ("KTH", "SDSC-SP2")
"""Of some ten variants tried on these, EASY without extra nodes was nearest to what is printed:
that it is nearer there is no sign of it."""
SIDES = ("usual", "strict")
"""How the two of :data:`EASY` are called beside each other."""


def comparable(waits: pd.DataFrame) -> pd.DataFrame:
    """Return the waits of logs that can be compared with the printed ones."""
    return waits[~waits["log"].map(PUBLISHED["logs"]).isin(INCOMPARABLE)]


def strict_beside_usual(waits: pd.DataFrame) -> pd.DataFrame:
    """Return open replay under both interpretations of EASY with the printed values.

    ``usual_apart`` and ``strict_apart`` are the distances from the thesis as absolute logarithms,
    ``nearer`` is whether that of the strict one is smaller, ``counts`` whether this is a sign of
    anything (:data:`CHOSEN_ON`).
    """
    if waits.empty:
        return pd.DataFrame()
    rigid = comparable(waits)
    rigid = rigid[(rigid["replay"] == "rigid") & rigid["thesis"].notna()]
    of_log = rigid.pivot(index="log", columns="system", values="ours")
    if not {*claims.EASY} <= {*of_log.columns}:
        return pd.DataFrame()
    both = of_log.dropna(subset=list(claims.EASY)).rename(
        columns=dict(zip(claims.EASY, SIDES, strict=True))
    )
    both[["thesis", "nodes"]] = rigid.drop_duplicates("log").set_index("log")[["thesis", "nodes"]]
    for side in SIDES:
        both[f"{side}_apart"] = np.log(both[side] / both["thesis"].astype(float)).abs()
    both["nearer"] = both["strict_apart"] < both["usual_apart"]
    both["trace"] = both.index.map(PUBLISHED["logs"])
    both["counts"] = ~both["trace"].isin(CHOSEN_ON)
    return both.reset_index()


def sign_test(nearer: int, number: int) -> float:
    """Return the probability that at least this number of logs has the same sign by chance."""
    most = max(nearer, number - nearer)
    return min(1.0, sum(comb(number, k) for k in range(most, number + 1)) / 2.0 ** (number - 1))
