"""The tables 7.3, 7.4 and 7.6 and numbers of the text, compared with the thesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan, sqrt
from statistics import fmean
from typing import Any, NamedTuple

from batsched_py.report import Column, Table
from batsched_py.report.kit import Runs, columns, in_column, where_known
from batsched_studies.grid import PUBLISHED, TEXTS
from batsched_studies.grid.cases import change, find_crossing, mean, select_one_machine
from batsched_studies.grid.rules import compute_values, is_met, list_rules, select_judged

UNITS = {"count": "%", "share": "points"}
"""The units in which tables 7.3 (counts) and 7.4 (shares) are compared with the runs."""
ADAPTIVE_P = (30, 300)
"""The overheads of table 7.6, per cent."""
_YES_OR_NO = {True: "yes", False: "no", None: ""}


class Misfit(NamedTuple):
    """The root mean square and the mean of the differences to the numbers of the thesis."""

    rms: float
    bias: float
    unit: str

    @property
    def text(self) -> str:
        """The misfit as text for a report."""
        return f"rms {self.rms:.1f} {self.unit}, bias {self.bias:+.1f} {self.unit}"


def compute_misfit(rows: Sequence[dict[str, Any]], key: str) -> Misfit:
    """Return the misfit of rows with ``ours`` and ``published``; of counts in per cent."""
    gaps = [row["ours"] - row["published"] for row in rows]
    if UNITS[key] == "%":
        gaps = [100 * gap / row["published"] for gap, row in zip(gaps, rows, strict=True)]
    return Misfit(sqrt(fmean(gap * gap for gap in gaps)), fmean(gaps), UNITS[key])


def list_cells(runs: Runs, key: str, *, synthetic: bool) -> list[dict[str, Any]]:
    """Return the cells of table 7.3 or 7.4 that were run: ``p``, ``workload``, ours, published."""
    of_grid = runs.where(sites="m128", scenario="multi_site", adaptive=False, lower_bound=0)
    rows = []
    for p, of_p in of_grid.by("p").items():
        for workload, ours in of_p.by("workload").items():
            published = in_column(PUBLISHED, (f"table_{key}", p), workload)
            if published is not None and synthetic == workload.startswith("syn"):
                row = {"p": p, "workload": workload, "ours": mean(ours, key)}
                rows.append(row | {"published": published})
    return rows


def make_multi_site_table(runs: Runs, key: str) -> Table | None:
    """Return table 7.3 (``count``) or 7.4 (``share``): values here and in the thesis."""
    lines: dict[int, dict[str, Any]] = {}
    shown: dict[str, Column] = {"p": Column("p", "overhead (%)")}
    decimals = {"count": 0, "share": 2}[key]
    notes = []
    for synthetic in (False, True):
        cells = list_cells(runs, key, synthetic=synthetic)
        if cells:
            which = "Synthetic workload" if synthetic else "Recorded workloads"
            notes.append(f"{which}: {compute_misfit(cells, key).text}.")
        for cell in cells:
            ours, theirs = cell["workload"], f"{cell['workload']}, thesis"
            line = lines.setdefault(cell["p"], {"p": cell["p"]})
            line |= {ours: cell["ours"], theirs: cell["published"]}
            shown[ours] = Column(ours, "", decimals, "ours")
            shown[theirs] = Column(theirs, "thesis", decimals, "published")
    return TEXTS.table(
        f"multi_site_{key}", [*lines.values()], columns=shown.values(), fits=" ".join(notes)
    )


def make_sharing_table(runs: Runs) -> Table | None:
    """Return a table of job sharing on each configuration against one machine."""
    rows = []
    shared = runs.where(scenario="sharing", reservation="easy")
    for workload in runs.labels("workload"):
        of_workload = shared.where(workload=workload)
        base = select_one_machine(of_workload)
        for sites in of_workload.labels("sites"):
            ours = of_workload.where(sites=sites)
            row = {"workload": workload, "sites": sites}
            row |= {name: mean(ours, name) for name in ("W", "RC", "AWWT")}
            gains = {f"{name}_gain": change(ours, base, name) for name in ("W", "RC")}
            rows.append(row | gains)
    return TEXTS.table("sharing", rows)


def make_scenario_table(runs: Runs) -> Table | None:
    """Return a table of local processing, job sharing and multi-site on one configuration."""
    rows = []
    for (workload, sites), of_grid in runs.groups("workload", "sites"):
        local, shared, multi = (
            of_grid.where(scenario=scenario) for scenario in ("local", "sharing", "multi_site")
        )
        if not local or not shared:
            continue
        row = {"workload": workload, "sites": sites}
        row |= {"local": mean(local, "W"), "shared": mean(shared, "W")}
        row |= {f"gain_{name}": _less(change(shared, local, name)) for name in ("W", "RC")}
        row |= {f"to_{name}": find_crossing(multi, shared, name, nan) for name in ("W", "RC")}
        row["at_0"] = change(multi.where(p=0), shared, "W")
        rows.append(row)
    return TEXTS.table("scenarios", rows)


def _less(value: float | None) -> float:
    return nan if value is None else -value


def make_bound_table(runs: Runs) -> Table | None:
    """Return a table of the changes of AWRT by lower bounds and by limited fragments."""
    rows = []
    split = runs.where(scenario="multi_site", adaptive=False)
    for (sites, p), of_place in split.groups("sites", "p"):
        for (bound, fragments), of_case in of_place.groups("lower_bound", "fragments"):
            if bound or fragments == "limited":
                row = {"sites": sites, "p": p, "bound": bound, "fragments": fragments}
                base = of_place.where(lower_bound=0, fragments="unlimited")
                rows.append(row | _by_workload(of_case, base, "RC"))
    if not rows:
        return None
    rows.sort(key=lambda row: (row["sites"], row["fragments"], row["p"], row["bound"]))
    names = sorted({name for row in rows for name in row} - {"sites", "p", "bound", "fragments"})
    shown = (*TEXTS.columns("bounds"), *columns(*names, decimals=1, kind="ours"))
    return TEXTS.table("bounds", rows, columns=shown)


def _by_workload(ours: Runs, base: Runs, name: str) -> dict[str, float]:
    changes = {
        w: change(ours.where(workload=w), base.where(workload=w), name)
        for w in ours.labels("workload")
    }
    return {workload: value for workload, value in changes.items() if value is not None}


def make_adaptive_table(runs: Runs) -> Table | None:
    """Return a table of the effects of adaptive jobs by configuration, with table 7.6's values."""
    rows = []
    of_policy = runs.where(adaptive=True)
    for (workload, sites), of_grid in of_policy.groups("workload", "sites"):
        few, many = (of_grid.where(p=p) for p in ADAPTIVE_P)
        if not few or not many:
            continue
        row: dict[str, Any] = {"workload": workload, "sites": sites}
        row |= {"few": mean(few, "count"), "many": mean(many, "count")}
        row |= {"area": change(many, few, "area"), "W": change(many, few, "W")}
        base = select_one_machine(runs.where(workload=workload))
        row["over"] = change(many, base, "W")
        for name in ("few", "many", "area"):
            row[f"{name}_published"] = in_column(PUBLISHED, ("table7_6", sites), name)
        rows.append(row)
    return TEXTS.table("adaptive", rows, columns=where_known(rows, TEXTS.columns("adaptive")))


def list_adaptive_misfits(runs: Runs) -> Iterator[tuple[str, Misfit]]:
    """Yield each workload with the misfit of its adaptive jobs from table 7.6."""
    for workload in runs.labels("workload"):
        cells = []
        for sites, of_grid in runs.where(workload=workload, adaptive=True).by("sites").items():
            for p, name in zip(ADAPTIVE_P, ("few", "many"), strict=True):
                published = in_column(PUBLISHED, ("table7_6", sites), name)
                ours = of_grid.where(p=p)
                if published and ours:
                    cells.append({"ours": mean(ours, "count"), "published": published})
        if cells:
            yield workload, compute_misfit(cells, "count")


def make_reading_tables(runs: Runs) -> Iterator[Table | None]:
    """Yield tables that show how close each interpretation comes to the thesis's values."""
    if len(runs.labels("reading")) < 2:
        return
    by_reading = {reading: runs.where(reading=reading) for reading in runs.labels("reading")}
    fits = [{"reading": reading, **_misfits(r)} for reading, r in by_reading.items()]
    yield TEXTS.table("readings_of_tables", [row for row in fits if len(row) > 1])
    yield _claims(runs)
    rows = [
        {"reading": reading, "workload": workload, "rms": fit.rms, "bias": fit.bias}
        for reading, of_reading in by_reading.items()
        for workload, fit in list_adaptive_misfits(of_reading)
    ]
    yield TEXTS.table("readings_of_adaptive", rows)


def _misfits(runs: Runs) -> dict[str, float]:
    """Return the misfits of tables 7.3 and 7.4, as far as there are runs."""
    fits: dict[str, float] = {}
    for key in ("count", "share"):
        if cells := list_cells(runs, key, synthetic=False):
            fit = compute_misfit(cells, key)
            fits |= {f"{key}_rms": fit.rms, f"{key}_bias": fit.bias}
    return fits


def _claims(runs: Runs) -> Table | None:
    """Return the mean over workloads for each claim that was run under several interpretations."""
    rows = []
    for rule in list_rules():
        quantity = rule["quantities"][0]
        by_reading = {r: compute_values(runs, rule, quantity, r) for r in runs.labels("reading")}
        there = {
            reading: found for reading, found in by_reading.items() if select_judged(rule, found)
        }
        for reading, found in there.items() if len(there) > 1 else ():
            row = {"claim": rule["claim"], "reading": reading, "quantity": quantity}
            row |= {
                "ours": fmean(select_judged(rule, found)),
                "holds": _YES_OR_NO[is_met(rule, found)],
            }
            rows.append(row)
    return TEXTS.table("readings_of_claims", rows)
