"""The tables of the synthetic job sets, ours beside those of the thesis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from batsched_py.report.document import Column, Section, Table
from batsched_studies.dynp import layout as LAYOUT
from batsched_studies.dynp import load as LOAD
from batsched_studies.dynp.load import Load

AVERAGE = "average"
LEVELS = (
    "Means over the sets without the best and the worst one, as in the thesis, with 95 % bootstrap "
    "intervals. Differences are in per cent of the thesis; in points for UTIL. Bold: the thesis's "
    "value is in the interval; it comes from ten random sets too, and varies as much."
)
GAINS = (
    "Gain of the policy on the one behind it, (base - new) / base; of UTIL the difference in "
    "points. The interval is over sets that both policies had."
)


def sections(loads: list[Load], published: Mapping[str, Any]) -> Iterator[Section]:
    """Yield the sections that have tables."""
    parts = {
        "Tables A.13 and A.15: synthetic job sets under more load": level_table,
        "Tables 5.10, 5.12, A.13, A.15: gains": gain_table,
        "Table 5.13: gain over SJF by slackness, averaged over the factors": slackness_gain_table,
        "Tables A.17 and A.18: SLDwA by slackness": slackness_table,
    }
    for title, make in parts.items():
        made = (make(load, published) for load in loads)
        found = tuple(table for table in made if table is not None)
        if found:
            yield Section(title, found)


def level_table(load: Load, published: Mapping[str, Any]) -> Table | None:
    """Return SLDwA and UTIL of each policy at each factor."""
    rows: list[dict[str, Any]] = []
    marks = []
    for shrink in load.factors():
        for policy in load.policies():
            row: dict[str, Any] = {"shrink": shrink, "policy": policy}
            for metric in ("SLDwA", "UTIL"):
                own = load.value(LOAD.Cell(policy, 0, shrink), metric)
                if own is None:
                    continue
                path = ("load", metric, load.trace, f"{shrink:g}" if shrink < 1 else "1.0")
                thesis = LOAD.printed(published, path, policy.removesuffix(" (legacy)"))
                row |= _beside(metric, own, thesis)
                row["sets"] = own.nb
                if thesis is not None and own.low <= thesis <= own.high:
                    marks.append((len(rows), metric))
            if len(row) > 2:
                rows.append(row)
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    columns = [Column("shrink", "factor", 1), Column("policy"), Column("sets")]
    for metric, unit, decimals in (("SLDwA", "", 2), ("UTIL", " (%)", 2)):
        columns += _columns(frame, metric, unit, decimals)
    name = LAYOUT.name_of("load", load.log)
    return Table(name, load.log, frame, tuple(columns), LEVELS, tuple(marks))


def _beside(metric: str, own: Any, thesis: float | None) -> dict[str, Any]:
    row = {metric: own.value, f"{metric}, low": own.low, f"{metric}, high": own.high}
    row[f"{metric}, thesis"] = thesis
    if thesis is not None:
        points = own.value - thesis
        row[f"{metric}, difference"] = points if metric == "UTIL" else 100 * points / thesis
    return row


def _columns(frame: pd.DataFrame, metric: str, unit: str, decimals: int) -> Iterator[Column]:
    yield Column(metric, metric + unit, decimals, "ours")
    if frame["sets"].max() > 1 and metric == "SLDwA":  # those of UTIL are in the CSV file
        yield Column(f"{metric}, low", "from", decimals, "ours")
        yield Column(f"{metric}, high", "to", decimals, "ours")
    if frame[f"{metric}, thesis"].notna().any():
        yield Column(f"{metric}, thesis", "thesis", decimals, "published")
        title = "difference (points)" if metric == "UTIL" else "difference (%)"
        yield Column(f"{metric}, difference", title, 1, "difference")


def gain_table(load: Load, published: Mapping[str, Any]) -> Table | None:
    """Return the gain of each policy on its base, by factor and averaged."""
    rows = []
    for policy in load.policies():
        base = LOAD.BASES.get(policy.removesuffix(" (legacy)"))
        if base is None:
            continue
        for shrink in [*load.factors(), AVERAGE]:
            row = {"policy": policy, "base": base, "factor": str(shrink)}
            for metric in ("SLDwA", "UTIL"):
                row |= _gain(load, published, policy, base, shrink, metric)
            if len(row) > 3:
                rows.append(row)
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    columns = [Column("policy"), Column("base", "on"), Column("factor")]
    for metric, unit in (("SLDwA", "%"), ("UTIL", "points")):
        columns += [
            Column(metric, f"{metric} ({unit})", 2, "ours"),
            Column(f"{metric}, low", "from", 2, "ours"),
            Column(f"{metric}, high", "to", 2, "ours"),
        ]
        if frame[f"{metric}, thesis"].notna().any():
            columns.append(Column(f"{metric}, thesis", "thesis", 2, "published"))
    return Table(LAYOUT.name_of("load_gains", load.log), load.log, frame, tuple(columns), GAINS)


def _gain(
    load: Load,
    published: Mapping[str, Any],
    policy: str,
    base: str,
    shrink: float | str,
    metric: str,
) -> dict[str, Any]:
    name = policy.removesuffix(" (legacy)")
    if isinstance(shrink, str):
        own = LOAD.average_gain(load, policy, 0, metric) if LOAD.whole(load, policy) else None
        thesis = LOAD.printed(published, ("load_gains", metric, load.trace), name)
    else:
        own = load.gain(LOAD.Cell(policy, 0, shrink), LOAD.Cell(base, 0, shrink), metric)
        path = ("load", metric, load.trace, f"{shrink:g}" if shrink < 1 else "1.0")
        new, old = (LOAD.printed(published, path, each) for each in (name, base))
        thesis = None if new is None or old is None else LOAD.GAIN[metric](new, old)
    if own is None:
        return {}
    values = {metric: own.value, f"{metric}, low": own.low, f"{metric}, high": own.high}
    return values | {f"{metric}, thesis": thesis}


def slackness_gain_table(load: Load, published: Mapping[str, Any]) -> Table | None:
    """Return the average gain over SJF by slackness; of the factors that were run."""
    rows = []
    for policy, values in LOAD.slacknesses(load):
        for slackness in values:
            own = LOAD.average_gain(load, policy, slackness, "SLDwA")
            if own is None:
                continue
            path = ("load_slackness_gains", load.trace, policy.removesuffix(" (legacy)"))
            thesis = LOAD.printed(published, path, slackness)
            if not LOAD.whole(load, policy, slackness):
                thesis = None
            rows.append(
                {
                    "policy": policy,
                    "slackness": slackness,
                    "gain": own.value,
                    "low": own.low,
                    "high": own.high,
                    "thesis": thesis,
                }
            )
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    columns = [
        Column("policy"),
        Column("slackness", "slackness (%)", 0),
        Column("gain", "gain (%)", 2, "ours"),
        Column("low", "from", 2, "ours"),
        Column("high", "to", 2, "ours"),
    ]
    if frame["thesis"].notna().any():
        columns.append(Column("thesis", "thesis", 2, "published"))
    name = LAYOUT.name_of("load_slackness_gains", load.log)
    return Table(name, load.log, frame, tuple(columns), GAINS)


def slackness_table(load: Load, published: Mapping[str, Any]) -> Table | None:
    """Return SLDwA by factor (lines) and slackness (columns)."""
    rows = []
    known: list[float] = []
    for policy, values in LOAD.slacknesses(load):
        known += [value for value in values if value not in known]
        for shrink in load.factors():
            row: dict[str, Any] = {"policy": policy, "shrink": shrink}
            factor = f"{shrink:g}" if shrink < 1 else "1.0"
            for value in values:
                own = load.value(LOAD.Cell(policy, value, shrink), "SLDwA")
                path = ("load_slackness", load.trace, policy.removesuffix(" (legacy)"), factor)
                row[f"{value:g}"] = None if own is None else own.value
                row[f"{value:g}, thesis"] = LOAD.printed(published, path, value)
            rows.append(row)
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    columns = [Column("policy"), Column("shrink", "factor", 1)]
    for value in sorted(known):
        columns.append(Column(f"{value:g}", f"{value:g} %", 2, "ours"))
        if frame[f"{value:g}, thesis"].notna().any():
            columns.append(Column(f"{value:g}, thesis", "thesis", 2, "published"))
    name = LAYOUT.name_of("load_slackness", load.log)
    return Table(
        name,
        load.log,
        frame,
        tuple(columns),
        "Means over the sets without the best and the worst one.",
    )
