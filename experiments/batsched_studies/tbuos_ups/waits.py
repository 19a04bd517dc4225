"""Mean waits with EASY: how they vary over seeds, and the values of the thesis."""

from __future__ import annotations

from itertools import product
from math import comb, nan, sqrt
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
"""The least number of seeds whose largest over smallest wait is compared with a hundred seeds."""
PAIRS = 10
"""The least number of pairs to test how much waits vary."""
FLUID = {"fluid 5": "fluid"}
"""The model of chapter 5, by that of chapter 4, which has the table of waits."""


def compute_spreads(runs: Runs) -> pd.DataFrame:
    """Return how the mean wait (s) varies over the seeds, in open resampling and with TBUOS.

    ``spread`` is the standard deviation of the logarithms of the mean waits. ``ratio`` is
    the largest over the smallest, as in the thesis, without interval. ``difference`` is relative to
    the thesis. ``nodes`` is the number of processors.
    """
    rows = []
    for (log, replay, system), of_case in runs.groups(*claims.CASE):
        side = _SIDES.get(replay)
        if side is None or system not in ("fcfs", *claims.EASY):
            continue
        comparable = system in claims.EASY and len(of_case) >= SEEDS
        trace = PUBLISHED["logs"].get(log) if comparable else None
        thesis = find_published(PUBLISHED, "ratios", side, trace)
        waits, stable = of_case.values(claims.WAIT), ~claims.is_saturated(of_case)
        for which, some in (("all", waits), ("stable", waits[stable])):
            if len(some) > 1 and (which == "all" or len(some) < len(waits)):
                row = {"log": log, "replay": replay, "system": system, "which": which}
                row["nodes"] = claims.find_size(of_case.labels("nb_res"))
                rows.append(row | _spread(finite(some), thesis))
    return pd.DataFrame(rows)


_SIDES = dict.fromkeys(claims.BEGINS.values(), "resampled")
_SIDES |= dict.fromkeys(claims.REGENERATIONS.values(), "tbuos")
"""The column of printed ratios by replay."""


def compute_reach(spread: float) -> float:
    """Return how far two largest over smallest of 100 waits each are apart by chance (logarithm).

    It is the 95 % limit if the logarithms of waits are normal with standard deviation ``spread``:
    the range of 100 normal numbers has a standard deviation of 0.605 (Tippett 1925).
    """
    return 1.96 * sqrt(2) * 0.605 * spread


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


def compare_spreads(runs: Runs) -> dict[tuple[str, str], SpreadTest]:
    """Test for each log and EASY whether the mean wait varies less with TBUOS than in an open loop.

    Pairs have equal seeds, and so the same users. It takes at least :data:`PAIRS`.
    """
    tests = {}
    for log, system in product(runs.labels("log"), claims.EASY):
        sides = (runs.where(log=log, replay=name, system=system) for name in ("tbuos", "resampled"))
        tbuos, open_ = paired(*(of_case.values(claims.WAIT) for of_case in sides))
        if len(tbuos) >= PAIRS:
            tests[log, system] = spread_test(tbuos, open_)
    return tests


def compute_waits(runs: Runs) -> pd.DataFrame:
    """Return the average waits (s) with EASY, a row for each log, replay and system.

    ``ours_to_rigid`` (from ``low`` to ``high``) and ``thesis_to_rigid`` are relative to open replay
    of the log, which is certain. ``nodes`` is the number of processors.
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
        row["nodes"] = claims.find_size(of_case.labels("nb_res"))
        row |= {"ours_to_rigid": None, "low": nan, "high": nan}
        if ours and reference:
            known = claims.drop_uncertainty(mean) if replay in claims.DRAW_NOTHING else mean
            ends = {"ours_to_rigid": ours, "low": known.low, "high": known.high}
            row |= {name: end / reference for name, end in ends.items()}
        row["thesis_to_rigid"] = thesis / conventional if thesis and conventional else None
        rows.append(row)
    return pd.DataFrame(rows)


INCOMPARABLE = ("CM5",)
"""Traces of another version: their jobs wait a thirteenth of the printed waits with any EASY."""
CHOSEN_ON = ("KTH", "SDSC-SP2")
"""Traces on which strict EASY was chosen, as the nearest of some ten variants: they are no evidence
that it is nearer."""
SIDES = ("usual", "strict")
"""The names of the two interpretations in :data:`EASY`."""


def select_comparable(waits: pd.DataFrame) -> pd.DataFrame:
    """Return the waits of logs whose version agrees with the one of the thesis."""
    return waits[~waits["log"].map(PUBLISHED["logs"]).isin(INCOMPARABLE)]


def compare_easy(waits: pd.DataFrame) -> pd.DataFrame:
    """Return the waits of open replay under both interpretations of EASY, and printed values.

    ``usual_apart`` and ``strict_apart`` are the distances from the thesis as absolute logarithms,
    ``nearer`` is whether that of the strict one is smaller, ``counts`` whether the log is evidence
    (:data:`CHOSEN_ON`).
    """
    if waits.empty:
        return pd.DataFrame()
    rigid = select_comparable(waits)
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
    """Return the probability that at least this many logs have the same sign by chance."""
    most = max(nearer, number - nearer)
    return min(1.0, sum(comb(number, k) for k in range(most, number + 1)) / 2.0 ** (number - 1))
