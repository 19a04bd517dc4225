"""How much of the variation each factor explains: the infrastructure, the log, and the replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.stats import rankdata

from batsched_py.report import Verdict
from batsched_studies.replay_feedback import TEXTS, tables

FACTORS = ("log", "infrastructure", "replay")
CLAIMED = ("infrastructure", "log", "replay")
"""The factors from the most to the least important one (section 6.2.4)."""
METRICS = ("makespan", "mean_waiting_time", "max_waiting_time", "mean_lateness")


def share_variance(values: Mapping[tuple[str, str, str], float]) -> dict[str, float] | None:
    """Return the share of the variance of the ranks that each factor explains alone, in per cent.

    ``values`` are by (log, infrastructure, replay). A share is the sum of squares of a main effect
    by that of all. None unless each combination of at least two levels has a value.

    >>> both = [(log, name, "a0") for log in ("KTH", "SDSC") for name in ("easy", "fcfs")]
    >>> share_variance({**dict(zip(both, (1, 3, 2, 4))),
    ...                 **{(*of[:2], "a60"): value for of, value in zip(both, (1, 3, 2, 4))}})
    {'log': 20.0, 'infrastructure': 80.0, 'replay': 0.0}
    """
    levels = [list(dict.fromkeys(names)) for names in zip(*values, strict=True)]
    shape = tuple(map(len, levels))
    if not values or min(shape) < 2 or len(values) < np.prod(shape):
        return None
    ranks = np.zeros(shape)
    for place, rank in zip(values, rankdata(list(values.values())), strict=True):
        ranks[tuple(of.index(name) for of, name in zip(levels, place, strict=True))] = rank
    shares = {}
    for axis, factor in enumerate(FACTORS):
        others = tuple(other for other in range(3) if other != axis)
        shares[factor] = float(100 * ranks.mean(axis=others).var() / ranks.var())
    return shares


def judge_factors(cells: Sequence[tables.Cell]) -> Iterator[Verdict]:
    """Yield whether the infrastructure explains most, then the log, then the replay."""
    by_size = attrgetter("size")
    for size, of_size in groupby(sorted(cells, key=by_size), by_size):
        there = list(of_size)
        found: dict[str, dict[str, float]] = {}
        paper: dict[str, dict[str, float]] = {}
        for metric in METRICS:
            of_metric = [cell for cell in there if cell.metric == metric]
            places = [(cell.log, cell.infrastructure, cell.replay) for cell in of_metric]
            ours = dict(zip(places, (cell.ours for cell in of_metric), strict=True))
            shares = share_variance(ours)
            if shares is not None:
                found[metric] = shares
            printed = {p: c.published for p, c in zip(places, of_metric, strict=True)}
            known = {place: value for place, value in printed.items() if value is not None}
            if len(known) == len(ours) and (shares := share_variance(known)):
                paper[metric] = shares
        if found:
            logs = ", ".join(dict.fromkeys(cell.log for cell in there))
            right = [_is_in_order(shares) for shares in found.values()]
            effect = f"{sum(right)} of {len(right)} metrics: {_shown(found)}"
            texts: dict[str, Any] = {"paper": _shown(paper) or "unknown", "effect": effect}
            yield TEXTS.verdict("factors", all(right), f"{logs}, {size} sizes", **texts)


def _is_in_order(shares: Mapping[str, float]) -> bool:
    return all(shares[more] > shares[less] for more, less in pairwise(CLAIMED))


def _shown(found: Mapping[str, Mapping[str, float]]) -> str:
    return ", ".join(
        f"{tables.NAMES[metric]} {' / '.join(f'{shares[name]:.0f}' for name in CLAIMED)} %"
        for metric, shares in found.items()
    )
