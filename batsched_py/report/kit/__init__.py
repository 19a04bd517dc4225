"""Tools for reports of studies: select and pair runs, make tables and charts.

A study has its own axes, claims, published numbers and special figures, and uses these tools for
the rest, as users' own studies may. The names in ``__all__`` are public;
each is imported when it is first used, as the library of charts takes a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batsched_py.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from batsched_py.plugins.plugin_files import study_module
    from batsched_py.report.formatting import listed
    from batsched_py.report.kit.charts import Chart, inline_data, intervals, numbers, scale_of
    from batsched_py.report.kit.estimates import (
        UNKNOWN,
        all_hold,
        cells,
        chart_cells,
        deciding,
        from_cells,
    )
    from batsched_py.report.kit.selection import (
        SEED,
        Quantity,
        Runs,
        log_name,
        options_of,
        paired,
        rows,
        slug,
    )
    from batsched_py.report.kit.tables import columns, sections, table, where_known
    from batsched_py.report.kit.texts import (
        Texts,
        comparison_cells,
        find_published,
        in_column,
        read_published,
    )
    from batsched_py.support.statistics import (
        Comparison,
        Interval,
        compare_published,
        jackknife,
        mean_interval,
        median_interval,
        median_ratio,
        paired_difference,
        paired_ratio,
        quantiles,
        share_interval,
        spread_test,
        trimmed_mean,
    )

__all__ = [
    "SEED",
    "UNKNOWN",
    "Chart",
    "Comparison",
    "Interval",
    "Quantity",
    "Runs",
    "Texts",
    "all_hold",
    "cells",
    "chart_cells",
    "columns",
    "compare_published",
    "comparison_cells",
    "deciding",
    "find_published",
    "from_cells",
    "in_column",
    "inline_data",
    "intervals",
    "jackknife",
    "listed",
    "log_name",
    "mean_interval",
    "median_interval",
    "median_ratio",
    "numbers",
    "options_of",
    "paired",
    "paired_difference",
    "paired_ratio",
    "quantiles",
    "read_published",
    "rows",
    "scale_of",
    "sections",
    "share_interval",
    "slug",
    "spread_test",
    "study_module",
    "table",
    "trimmed_mean",
    "where_known",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
