"""The colours of all figures.

The named ones are Okabe and Ito's palette, safe for the colour-blind. Source: M. Okabe, K. Ito,
"Color Universal Design", 2008.
"""

from __future__ import annotations

__all__ = [
    "BEHIND",
    "BLACK",
    "BLUE",
    "CATEGORIES",
    "CHANGES",
    "GREEN",
    "LINES",
    "MANY",
    "ORANGE",
    "PURPLE",
    "RECORDED",
    "SKY",
    "VERMILION",
]

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
VERMILION = "#D55E00"
BLACK = "#000000"

CATEGORIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, "#8C8C8C")
"""Of categories, in order; without black, which has another meaning, and yellow, too light."""
RECORDED = "#888888"
"""Of what is a standard of comparison: recorded jobs, rigid replay."""
BEHIND = "#B0B0B0"
"""Of areas behind the lines."""
LINES = "#777777"
"""Of diagonals, and where nothing differs."""
CHANGES = ("#2166AC", "#999999", "#B35806")
"""Of what is less, the same, and more."""
MANY = (
    *("#D62728", "#1F77B4", "#6BAED6", "#08519C", "#9ECAE1", "#2CA02C", "#98DF8A", "#006D2C"),
    *("#9467BD", "#8C564B", "#7F7F7F", "#BCBD22", "#17BECF"),
)
"""Of more categories than the others are; they need another sign as well."""
