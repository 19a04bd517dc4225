"""Runs of equal seeds side by side: what they have in common, their users, cancels."""

from __future__ import annotations

from typing import TypeVar

import pandas as pd

Rows = TypeVar("Rows", "pd.Series[float]", pd.DataFrame)


def paired(ours: Rows, base: Rows) -> tuple[Rows, Rows]:
    """Return the rows of both whose index (the seed) the other has too, in the order of ours.

    Of several rows with the same index the first counts.
    """
    ours, base = (side[~side.index.duplicated()] for side in (ours, base))
    both = ours.index.intersection(base.index)
    return ours.loc[both], base.loc[both]
