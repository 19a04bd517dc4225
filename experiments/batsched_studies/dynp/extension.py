"""Higher load by longer jobs compared with equally high load by shorter gaps (section 3.7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from batsched_py.report import CampaignResults, Table, Verdict, kit
from batsched_py.report.kit import SEED, Interval, Quantity, Runs
from batsched_studies.dynp import TEXTS
from batsched_studies.dynp.measures import read_policy

QUANTITIES = (
    Quantity("area", "squashed_area", "total area (processor s)"),
    Quantity("UTIL", "utilisation", "UTIL (%)", 100),
    Quantity("SLDwA", "mean_slowdown_by_area", "SLDwA"),
)
NEARLY = 2.0
"""Changes that differ by fewer points are nearly the same (an assumption of this study)."""


def read_extensions(results: CampaignResults) -> list[tuple[str, Runs]]:
    """Read the runs of each log with longer jobs, by ``policy``, ``extension`` and ``shrink``."""
    rows = []
    for _, run in results.runs.iterrows():
        policy = read_policy(run)
        if policy is None or run["users"] != "synthetic":
            continue
        options = kit.options_of(run, "user_options")
        load = {name: options.get(name, 1.0) for name in ("extension", "shrink")}
        columns = {quantity.column: run.get(quantity.column) for quantity in QUANTITIES}
        labels = {"log": kit.log_name(run["log"]), "policy": policy.label, **load}
        rows.append(labels | columns | {SEED: int(run.get(SEED, 0))})
    logs = Runs(pd.DataFrame(rows), QUANTITIES).groups("log")
    return [(log, runs) for (log,), runs in logs if runs.labels("extension") != [1.0]]


def make_tables(logs: list[tuple[str, Runs]]) -> Iterator[Table | None]:
    """Yield for each log a table of the effects of longer jobs."""
    for log, runs in logs:
        rows = list(_rows(runs))
        yield TEXTS.table("load_extension", rows, kit.slug("load_extension", log), log=log)


def _rows(runs: Runs) -> Iterator[dict[str, Any]]:
    for (policy, extension, shrink), of_case in runs.groups("policy", "extension", "shrink"):
        plain = runs.where(policy=policy, extension=1.0, shrink=1.0)
        if not plain:
            continue
        row = {"policy": policy, "extension": extension, "shrink": shrink}
        row |= {"area": of_case.change("area", plain).value}
        row |= kit.cells(of_case.mean("UTIL"), "UTIL", "UTIL, low", "UTIL, high", nb="sets")
        change = of_case.change("UTIL", plain)
        row |= kit.cells(change, "change", "change, low", "change, high")
        denser = _denser(runs, policy, extension) if extension > 1 else None
        if denser:
            row |= kit.cells(_difference(of_case, denser), "beside", "beside, low", "beside, high")
        yield row | {"SLDwA": of_case.mean("SLDwA").value}


def _denser(runs: Runs, policy: str, extension: float) -> Runs:
    """Return the runs whose gaps are shorter by as much as the jobs are longer."""
    there = runs.where(policy=policy, extension=1.0)
    near = [shrink for shrink in there.labels("shrink") if abs(shrink * extension - 1) < 1e-6]
    return there.where(shrink=near[0] if near else None)


def _difference(longer: Runs, denser: Runs) -> Interval:
    """Return by how many points of UTIL longer jobs differ from shorter gaps."""
    return kit.paired_difference(*kit.paired(longer.values("UTIL"), denser.values("UTIL")))


def judge_claims(logs: list[tuple[str, Runs]]) -> Iterator[Verdict]:
    """Yield the verdicts on the thesis's claims about longer jobs, by log and policy."""
    for log, runs in logs:
        where = f"{log}, synthetic"
        for (policy, extension), longer in runs.groups("policy", "extension"):
            plain = runs.where(policy=policy, extension=1.0, shrink=1.0)
            if extension > 1 and plain:
                yield from _of_policy(where, policy, extension, longer, plain)
                if denser := _denser(runs, policy, extension):
                    yield _compare_with_denser(where, policy, extension, longer, denser, plain)


def _of_policy(
    where: str, policy: str, extension: float, longer: Runs, plain: Runs
) -> Iterator[Verdict]:
    expected = 100 * (extension - 1)
    area, used = longer.change("area", plain), longer.change("UTIL", plain)
    texts: dict[str, Any] = {"extension": extension, "policy": policy, "share": expected}
    if policy == "fcfs":  # the jobs are the same under all policies
        holds = abs(area.value - expected) < 0.1
        yield TEXTS.verdict("longer_area", holds, where, change=area, **texts)
    near = used.within(expected - NEARLY, expected + NEARLY)
    reading = TEXTS["nearly"].format(points=NEARLY)
    yield TEXTS.verdict(
        "longer_used", near, where, reading=reading, change=used, nb=used.nb, **texts
    )


def _compare_with_denser(
    where: str, policy: str, extension: float, longer: Runs, denser: Runs, plain: Runs
) -> Verdict:
    difference, area = _difference(longer, denser), denser.change("area", plain)
    texts: dict[str, Any] = {"extension": extension, "policy": policy, "difference": difference}
    holds = kit.all_hold((abs(area.value) < 0.1, difference.within(-1, 1)))
    return TEXTS.verdict("denser", holds, where, area=area, shrink=1 / extension, **texts)
