"""Mean waits with EASY: how they vary over the seeds, and beside those of the thesis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.metrics import max_over_min
from batsched_py.report.kit import Runs, bootstrap, cells, printed, quantiles
from batsched_py.support.statistics import RESAMPLES, finite
from batsched_studies.tbuos_ups import PUBLISHED
from batsched_studies.tbuos_ups.claims import CASE, EASY, WAIT, is_saturated

Floats = NDArray[np.float64]
SEEDS = 30
"""So many are needed for the largest over the smallest wait."""
FLUID = {"fluid 5": "fluid"}
"""As chapter 5 describes the model; the thesis's table of waits is in chapter 4."""


def spreads(runs: Runs) -> pd.DataFrame:
    """Return how the mean wait (s) varies over the seeds, open resampling and TBUOS (claim iv).

    Columns: ``ratio`` is the largest over the smallest, with its 95 % bootstrap interval over the
    runs, whose upper end is the ratio itself at most; ``quantile_ratio`` the 97.5 % over the 2.5 %
    quantile, which hangs less on single seeds; ``difference`` is relative to the thesis.
    """
    rows = []
    for (log, replay, system), of_case in runs.groups(*CASE):
        if replay not in PUBLISHED["ratios"] or system not in ("fcfs", *EASY):
            continue
        comparable = system in EASY and len(of_case) >= SEEDS
        trace = PUBLISHED["logs"].get(log) if comparable else None
        thesis = printed(PUBLISHED, "ratios", replay, trace)
        waits, stable = of_case.values(WAIT), ~is_saturated(of_case)
        for which, some in (("all", waits), ("stable", waits[stable])):
            if len(some) > 1 and (which == "all" or len(some) < len(waits)):
                row = {"log": log, "replay": replay, "system": system, "which": which}
                rows.append(row | _spread(finite(some), thesis))
    return pd.DataFrame(rows)


def _spread(waits: Floats, thesis: float | None) -> dict[str, Any]:
    ratio, inner = bootstrap(waits, _most_over_least), bootstrap(waits, _quantile_ratio)
    ends = dict(zip(("least", "median", "most"), quantiles(waits, (0, 0.5, 1)), strict=True))
    return {
        "seeds": len(waits),
        **ends,
        **cells(ratio, "ratio", "ratio_low", "ratio_high"),
        **cells(inner, "quantile_ratio", "quantile_low", "quantile_high"),
        "thesis": thesis,
        "difference": ratio.value / thesis - 1 if thesis else None,
    }


def _most_over_least(waits: Floats) -> float:
    return max_over_min(waits.tolist())


def _quantile_ratio(waits: Floats) -> float:
    return max_over_min(quantiles(waits, (0.025, 0.975)))


def calmer(runs: Runs) -> dict[str, float]:
    """Return for each log how surely the mean wait with EASY varies less under TBUOS than if open.

    It is the share of bootstrap draws, of the runs of both, in which the largest over the smallest
    mean wait is smaller under TBUOS. Only where both have :data:`SEEDS` runs.
    """
    shares = {}
    for log in runs.labels("log"):
        easy = (runs.where(log=log, replay=name, system="easy") for name in ("tbuos", "resampled"))
        waits = [finite(of_case.values(WAIT)) for of_case in easy]
        if min(map(len, waits)) >= SEEDS:
            rng = np.random.default_rng(0)
            tbuos, open_ = (_drawn_ratios(values, rng) for values in waits)
            shares[log] = float((tbuos < open_).mean())
    return shares


def _drawn_ratios(waits: Floats, rng: np.random.Generator) -> Floats:
    size = (RESAMPLES, len(waits))
    drawn = waits[rng.integers(0, len(waits), size)]
    return np.asarray(drawn.max(axis=1) / drawn.min(axis=1))


def waits(runs: Runs) -> pd.DataFrame:
    """Return the average waits (s) of the replays of a log with EASY; none without open replay.

    ``ours_to_rigid`` and ``thesis_to_rigid`` are relative to open replay of the log.
    """
    rows = []
    for (log, replay, system), of_case in runs.groups(*CASE):
        name = FLUID.get(replay, replay)
        rigid = runs.where(log=log, replay="rigid", system=system)
        if system not in EASY or name not in PUBLISHED["waits"] or not rigid:
            continue
        trace = PUBLISHED["logs"].get(log)
        ours, reference = (float(finite(side.values(WAIT)).mean()) for side in (of_case, rigid))
        thesis, conventional = (
            printed(PUBLISHED, "waits", model, trace) for model in (name, "rigid")
        )
        row = {"log": log, "replay": replay, "system": system, "seeds": len(of_case), "ours": ours}
        row |= {"thesis": thesis, "difference": ours / thesis - 1 if thesis else None}
        row["ours_to_rigid"] = ours / reference if ours and reference else None
        row["thesis_to_rigid"] = thesis / conventional if thesis and conventional else None
        rows.append(row)
    return pd.DataFrame(rows)
