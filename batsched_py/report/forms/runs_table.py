"""Packs the runs of a campaign for the script of a report: labels, metrics, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pandas as pd

from batsched_py.files.readers import parse_json
from batsched_py.metrics import COUNTS, METRICS
from batsched_py.report.campaign_axes import shorten_names
from batsched_py.report.formatting import flatten, is_nothing, to_words
from batsched_py.report.metric_words import choose_main_metrics
from batsched_py.report.shown_runs import ShownRuns, Stored

_DETAILS = ("metrics", "sites", "statistics", "user_statistics")
"""Parts of a run's description that are shown elsewhere, or too long."""


def make_runs_table(results: ShownRuns, stored: Stored) -> dict[str, Any]:
    """Return the runs in the format that the script of a report reads.

    ``shown`` are the names of the columns of the table; ``columns`` holds every column of
    ``results.runs``, ``settings`` the other stored data of each run, ``commands`` the commands that
    repeat it; ``names`` has the short names of texts by axis.
    """
    runs = results.runs
    axes = [name for name in results.axes if name in runs]
    main = choose_main_metrics(results.metric, runs)
    metrics = [name for name in main if name in runs and runs[name].notna().any()]
    wall_time = ["wall_time"] if "wall_time" in runs else []
    settings = pd.DataFrame([_flat(of_run) for of_run in stored], dtype=object)
    return {
        "n": len(runs),
        "axes": axes,
        "names": {axis: _names(runs[axis]) for axis in axes},
        "shown": [*axes, *metrics, *wall_time],  # seeds are long, and follow from the replication
        "units": {name: METRICS[name].unit for name in METRICS if name in runs},
        "metrics": [name for name in (*COUNTS, *METRICS) if name in runs],
        "columns": {str(name): pack_column(runs[name].tolist()) for name in runs},
        "settings": {str(name): pack_column(settings[name].tolist()) for name in settings},
        "commands": [_command(results, row) for _, row in runs.iterrows()],
    }


def _names(labels: pd.Series[Any]) -> dict[str, str]:
    """Return the labels of an axis that have a shorter name, with that name."""
    names = shorten_names(labels.dropna().unique()).items()
    return {value: name for value, name in names if isinstance(value, str) and name != value}


def list_provenance(results: ShownRuns, stored: Stored) -> dict[str, list[str]]:
    """Return the versions, hosts and revisions that made the runs, by name."""
    runs = results.runs
    values = {
        to_words(name): set(map(str, runs[name].dropna()))
        for name in ("git_revision", "host", "backend")
        if name in runs
    }
    for of_run in stored:
        for name, version in of_run.get("versions", {}).items():
            values.setdefault(name, set()).add(str(version))
    return {name: sorted(texts) for name, texts in values.items() if texts}


def _flat(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored settings of a run by dotted names: ``run.scheduler_options.alpha``."""
    shown = flatten({name: value for name, value in stored.items() if name not in _DETAILS})
    return {
        name: ", ".join(map(str, value)) or None if isinstance(value, list | tuple) else value
        for name, value in shown.items()
    }


def _command(results: ShownRuns, row: Any) -> str:
    try:
        return results.command(row)
    except KeyError:  # no run of the campaign as it is now
        return ""


_EXACT = 2**53
DIGITS = 6
"""Significant digits of a number in HTML; the CSV files have all."""


def pack_column(values: Sequence[Any]) -> dict[str, Any]:
    """Return a column as ``{"v": values}``, or smaller, ``{"u": distinct values, "i": places}``.

    Numbers keep six significant digits. A setting that is the same for all runs costs one value.
    """
    plain = [_plain(value) for value in values]
    unique: dict[Any, int] = {}
    which = [unique.setdefault(msgspec.json.encode(value), len(unique)) for value in plain]
    different = [parse_json(key, Any, "a value") for key in unique]
    if len(different) == 1:
        return {"u": different, "n": len(plain)}
    if len(different) * 2 > len(plain):
        return {"v": plain}
    return {"u": different, "i": which}


def round_digits(value: float) -> float | int:
    """Return a number rounded to six significant digits."""
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e100 else short


def _plain(value: Any) -> Any:
    if is_nothing(value):
        return None
    if hasattr(value, "item"):  # a scalar of numpy
        value = value.item()
    if isinstance(value, int) and abs(value) > _EXACT:
        return str(value)  # a seed, say: JavaScript would round it
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return round_digits(value) if abs(value) != float("inf") else str(value)
    return str(value)
