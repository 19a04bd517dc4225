"""The studies of the grid, and of sharing where users react: labels, tables, claims.

The runs are made up, so that one knows what the report must say; at the end some are simulated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

from batsched_py import simulate
from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.report import Verdict
from batsched_py.report.kit import Runs
from batsched_py.units import HOUR
from batsched_py.workload.grid_sites import TABLE_7_1
from batsched_studies.grid import PUBLISHED, cases, claims, tables
from batsched_studies.grid.report import report
from batsched_studies.grid.rules import list_rules
from batsched_studies.grid_users.report import report as report_sharing
from batsched_studies.grid_users.site_runs import MULTI_SITE, SHARING
from helpers.made_up_campaign import MadeUpCampaign, holds, one_row, table_of

FILES = ("campaign", "sharing", "bounds", "adaptive", "interpretations")
WORKLOADS = ("10_20k", "30_40k", "60_70k", "syn")
results = partial(MadeUpCampaign, study="grid")
RULES = [rule for rule in list_rules() if rule["kind"] != "crossings"]
SPLIT, WIDE = "10_20k_max64", "10_20k_max128"


def row(workload: Any = "10_20k_org", sites: Any = "m128", **labels: Any) -> dict[str, Any]:
    """A run with these labels, AWRT of 10 h, 500 multi-site jobs of 10,000 with 30 % of the work.

    Quantities by their names in the study take the place of these; ``given`` are other columns.
    """
    values = {"W": 10, "RC": 10, "AWWT": 3, "count": 500, "share": 30}
    values |= {name: labels.pop(name) for name in tuple(labels) if name in values}
    columns = {q.name: (q.column, q.scale) for q in cases.QUANTITIES}
    metrics = {columns[name][0]: value / columns[name][1] for name, value in values.items()}
    given = {"nb_rejected": 0, "squashed_area": 1e6, "seed": 0, **labels.pop("given", {})}
    options = {"overhead": labels.pop("p", 0) / 100, **labels}
    text = json.dumps({"scenario": "multi_site", **options})
    place = {"log": "CTC", "workload": workload, "sites": sites, "scheduler_options": text}
    return place | metrics | given


def runs_of(*rows: dict[str, Any]) -> Runs:
    return cases.read(pd.DataFrame(rows))


# Labels ------------------------------------------------------------------------------------------


def test_labels_are_the_options_of_the_policy_with_their_defaults() -> None:
    runs = runs_of(row(p=55), row(sites="m512", scenario="sharing"), row(reservation="easy"))
    frame = runs.frame
    assert frame["p"].tolist() == [55, 0, 0]
    assert frame["reservation"].tolist() == ["none", "easy", "easy"]
    assert frame["nb_sites"].tolist() == [4, 1, 4]
    assert set(frame["lower_bound"]) == {0}
    assert set(frame["reading"]) == {cases.DOCUMENTED}
    assert len(cases.select_one_machine(runs)) == 1


# Arithmetic --------------------------------------------------------------------------------------


def test_misfit_by_hand() -> None:
    """Counts 10 % too high and 20 % too low; shares 1 point and 7 points too high."""
    cells = [{"ours": 110, "published": 100}, {"ours": 160, "published": 200}]
    fit = tables.compute_misfit(cells, "count")
    assert fit.rms == pytest.approx(250**0.5)
    assert fit.bias == pytest.approx(-5)
    cells = [{"ours": 31, "published": 30}, {"ours": 47, "published": 40}]
    fit = tables.compute_misfit(cells, "share")
    assert fit.rms == pytest.approx(5)
    assert fit.text == "rms 5.0 points, bias +4.0 points"


@pytest.mark.parametrize(
    ("awrt", "expected"),
    [
        ((8, 9, 11), 15),  # halfway from 10 to 20 %
        ((10, 11, 12), 0),
        ((8, 9, 9), 20),  # better at all that was run
        ((9, 14, 8), 2),  # chance: the first crossing counts
    ],
)
def test_until_where_it_is_better(awrt: Sequence[float], expected: float) -> None:
    multi = runs_of(*(row(p=10 * k, W=value) for k, value in enumerate(awrt)))
    shared = runs_of(row(scenario="sharing", W=10))
    assert cases.find_crossing(multi, shared, "W") == pytest.approx(expected)
    assert cases.find_crossing(multi, shared.where(p=1), "W") is None


# Claims ------------------------------------------------------------------------------------------


def some(rule: Mapping[str, Any], side: str, value: float) -> Iterator[dict[str, Any]]:
    """Yield runs of a side of a rule, in one workload, with a value of all that it is about."""
    (kind, *_), without = rule["kinds"], rule.get("without", ())
    workload = next(f"{w}_{kind}" for w in WORKLOADS if f"{w}_{kind}" not in without)
    labels = {"p": rule.get("p", [0]), **rule[side]}
    choices = [v if isinstance(v, list) else [v] for v in labels.values()]
    for combination in product(*choices):
        chosen = dict(zip(labels, combination, strict=True))
        yield row(workload, **chosen, **dict.fromkeys(rule["quantities"], value))


def judged(rule: Mapping[str, Any], value: float) -> Verdict:
    """The verdict where the change is ``value`` per cent, or the quantity is ``value``."""
    if "base" in rule:
        made = [*some(rule, "ours", 10 * (1 + value / 100)), *some(rule, "base", 10)]
    else:
        made = list(some(rule, "ours", value))
    verdict = claims.judge_rule(runs_of(*made), rule)
    assert verdict is not None
    assert verdict.claim == rule["claim"]
    return verdict


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["claim"])
def test_claims_hold_within_their_bounds_alone(rule: Mapping[str, Any]) -> None:
    bounds = [rule[end] for end in ("least", "most") if end in rule]
    assert bounds, "it could not fail"
    middle = sum(bounds) / 2 if len(bounds) == 2 else bounds[0]
    inside = middle if len(bounds) == 2 else middle + (1e-3 if "least" in rule else -1e-3)
    assert judged(rule, inside).holds
    for end, step in (("least", -1), ("most", 1)):
        if end in rule:
            assert not judged(rule, rule[end] + step * max(1, abs(rule[end]) / 10)).holds
    assert rule["about"] in judged(rule, inside).evidence


def printed_tables(count: float = 1, share: float = 0) -> list[dict[str, Any]]:
    """Runs that give tables 7.3 and 7.4, but for a factor of counts and more points of shares."""
    columns = PUBLISHED["table_count"]["columns"]
    made = []
    for p, workload in product(range(0, 65, 5), columns):
        at = columns.index(workload)
        counts, shares = (PUBLISHED[name][str(p)] for name in ("table_count", "table_share"))
        made.append(row(workload, p=p, count=count * counts[at], share=share + shares[at]))
    return made


@pytest.mark.parametrize(("count", "share", "expected"), [(1.09, 2.9, True), (0.89, -3.1, False)])
def test_tables_within_what_is_asked(count: float, share: float, expected: bool) -> None:
    made = report(results(printed_tables(count, share)))
    of_tables = [v.holds for v in made.verdicts if v.claim.startswith("Table 7")]
    assert of_tables == [expected, expected]
    beside = table_of(made, "multi_site_count")
    line = one_row(beside.frame, p=30)
    assert line["syn_org"] == pytest.approx(count * 1026)
    assert line["syn_org, thesis"] == 1026
    assert "rms" in beside.note


def crossing(other: float) -> Iterator[dict[str, Any]]:
    """Machines of equal size cross at 10 %, the others at once or never."""
    for equal, unequal in PUBLISHED["equal_sizes"].items():
        for sites, values in ((equal, (8, 12)), (unequal, (other, other))):
            yield from (row(SPLIT, sites, p=20 * k, W=value) for k, value in enumerate(values))
            yield row(SPLIT, sites, scenario="sharing", W=10)


BUILDERS: dict[str, Callable[[float], Iterable[dict[str, Any]]]] = {
    "From no": lambda grows: [row(p=0), row(p=60, count=500 * grows, share=30 * grows)],
    "tolerate": crossing,
    "whole": lambda awrt: [row(WIDE), row(WIDE, p=60, W=50), row(W=awrt)],
    "Half": lambda best: [
        row(p=120, lower_bound=bound, RC=8 if bound == best else 10) for bound in (0, 32, 64, 128)
    ],
}


@pytest.mark.parametrize(
    ("claim", "value", "expected"),
    [
        *(("From no", 1.6, True), ("From no", 1.2, False)),
        *(("tolerate", 12, True), ("tolerate", 9.5, False)),
        *(("whole", 10.5, True), ("whole", 12, False)),
        *(("Half", 64, True), ("Half", 32, False)),
    ],
)
def test_further_claims(claim: str, value: float, expected: bool) -> None:
    """Of growth, of equal sizes, of wide jobs that are left whole, and of the best bound."""
    (verdict,) = (
        v for v in claims.judge_claims(runs_of(*BUILDERS[claim](value))) if claim in v.claim
    )
    assert verdict.holds is expected


@pytest.mark.parametrize(("factor", "expected"), [(1, True), (1.2, False)])
def test_table_of_adaptive_jobs(factor: float, expected: bool) -> None:
    made = []
    for sites in TABLE_7_1.keys() - {"m512"}:
        few, many, _ = PUBLISHED["table7_6"][sites]
        for p, count in ((30, few), (300, many)):
            made.append(row(sites=sites, adaptive=True, p=p, count=factor * count))
    told = report(results(made))
    (verdict,) = (v for v in told.verdicts if v.claim.startswith("Table 7.6"))
    assert verdict.holds is expected
    line = one_row(table_of(told, "adaptive").frame, sites="m384")
    assert (line.few_published, line.many_published, line.area_published) == (637, 368, -71)


@pytest.mark.parametrize(("at_20", "expected"), [(9, True), (10.5, False)])
def test_multi_site_beside_sharing(at_20: float, expected: bool) -> None:
    """Local 30 h, sharing 10 h; multi-site is better up to 26.7 % or 16 %, below 15 with noise."""
    made = [row(WIDE, p=p, W=w, RC=w) for p, w in ((0, 8), (20, at_20), (40, 12))]
    made += [row(WIDE, scenario="sharing"), row(WIDE, scenario="local", W=30)]
    if not expected:
        made[0] |= {"mean_turnaround_time_by_width": 9.9 * HOUR}
    told = report(results(made))
    (verdict,) = (v for v in told.verdicts if v.claim.startswith("Multi-site is better"))
    assert verdict.holds is expected
    line = table_of(told, "scenarios").frame.iloc[0]
    assert line.gain_W == pytest.approx(100 * 2 / 3)
    assert line.to_W == pytest.approx(80 / 3 if expected else 10 / 3)


# Campaign files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_the_small_size_gives_a_report(name: str) -> None:
    """A few runs of it, of few jobs."""
    planned = read_campaign(find_campaign(f"grid/{name}"), quick=True).runs
    rows = []
    for run in planned[:: max(1, len(planned) // 6)]:
        settings = msgspec.structs.replace(run.settings, first=150)
        given = {k: v for k, v in msgspec.structs.asdict(settings).items() if v is not None}
        result = simulate(given.pop("log"), **given)
        options = json.dumps(settings.scheduler_options)
        rows.append(run.labels | result.measured["overall"] | {"scheduler_options": options})
    told = report(results(rows))
    assert told.summary.startswith(f"{sum(not run['nb_rejected'] for run in rows)} runs")


# Sharing and users who react ---------------------------------------------------------------------


SITES = {"large": 6, "small": 2}
WAITS = {
    # before and after sharing, hours
    ("rigid", "large"): (4.0, 2.0),
    ("rigid", "small"): (40.0, 2.0),
    ("feedback", "large"): (2.0, 2.2),
    ("feedback", "small"): (6.0, 1.5),
}
"""The large site gives, and its users pay where users react."""


class Shared(MadeUpCampaign):
    """All runs under some assignments; waits grow by a tenth with each, spreading by half."""

    def __init__(self, nb_assignments: int = 2, scenarios: int = 3) -> None:
        super().__init__(
            [
                self._row(replay, scenario, assignment)
                for replay in ("rigid", "feedback")
                for scenario in ("local", SHARING, MULTI_SITE)[:scenarios]
                for assignment in range(nb_assignments)
            ],
            "grid_users",
        )

    def _row(self, replay: str, scenario: str, assignment: int) -> dict[str, Any]:
        labels = {"log": "sample", "replay": replay, "scenario": scenario, "folder": Path("x")}
        row = {**labels, "assignment": str(assignment), "nb_multi_site_jobs": 1.0}
        of_sites = [self._site(row, site) for site in SITES]
        for name in ("mean_waiting_time", "mean_lateness", "mean_turnaround_time_by_width"):
            row[name] = sum(values[name] for values in of_sites) / len(of_sites)
        shares = ("away_area_share", "multi_site_job_share", "utilisation")
        return row | dict.fromkeys(shares, 0.25) | {"mean_bounded_slowdown": 2.0}

    def _site(self, row: Any, site: str) -> dict[str, Any]:
        before, after = WAITS[row["replay"], site]
        wait = before if row["scenario"] == "local" else after
        wait *= HOUR * (1.5 if row["scenario"] == MULTI_SITE else 1)
        wait *= 1 + 0.1 * int(row["assignment"])
        given, taken = (120, 60) if site == "large" else (60, 120)
        if row["scenario"] == "local":
            given = taken = 0
        return {
            "processors": SITES[site],
            "nb_jobs": 10,
            "mean_waiting_time": wait,
            "mean_turnaround_time_by_width": 2 * wait,
            "mean_lateness": wait if row["replay"] == "feedback" else 0.0,
            "work_of_users": 300.0,
            "work_done": 300.0 + given - taken,
            "given": given,
            "taken": taken,
            "balance": given - taken,
            "utilisation": (300 + given - taken) / (SITES[site] * 100),
        }

    def settings(self, row: Any) -> dict[str, Any]:
        return {"metrics": {"per_site": {site: self._site(row, site) for site in SITES}}}


def test_the_claims_are_judged() -> None:
    """The large site gives; its users pay, and spreading shortens no waits."""
    found = holds(report_sharing(Shared(5)))  # type: ignore[arg-type]
    rigid, reacting = "rigid users", "users who react"
    refuted = [claim for claim, answer in found.items() if answer is False]
    assert [claim.rpartition(": ")[2] for claim in refuted] == [reacting, rigid, rigid, reacting]
    assert [claim.partition(" ")[0] for claim in refuted] == [
        *("Sharing", "The"),
        *("Spreading", "Spreading"),
    ]
    assert list(found.values()).count(True) == 8


@pytest.mark.parametrize(("nb_assignments", "scenarios"), [(1, 3), (0, 3), (5, 1)])
def test_too_few_runs_judge_nothing(nb_assignments: int, scenarios: int) -> None:
    made = report_sharing(Shared(nb_assignments, scenarios))  # type: ignore[arg-type]
    assert set(holds(made).values()) <= {None}
