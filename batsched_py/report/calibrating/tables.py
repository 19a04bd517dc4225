"""Makes the tables of a calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from batsched_py.calibration.agreement import FACTOR, MARGIN
from batsched_py.calibration.groups import FEWEST_JOBS, Group
from batsched_py.calibration.matched_jobs import JobCounts
from batsched_py.calibration.policy_calibrations import USUAL, PolicyCalibrations
from batsched_py.calibration.run_calibration import Calibration
from batsched_py.report.document import Column, Table
from batsched_py.report.kit.tables import columns, table
from batsched_py.support.statistics import Interval
from batsched_py.units import HOUR, MINUTE

RECORDED = "recorded"
"""The name of the row and the line of the log."""
_NEAR = f"within a factor of {FACTOR:g} or {MARGIN / MINUTE:g} min"
_SHOWN = {True: "yes", False: "no", None: "?"}
_BIAS = Column("bias", "bias (h)", 2, scale=HOUR, below="bias_ends")
_RANK = Column("rank", "rank correlation", 2, below="rank_ends")
_EXPLAINED = Column("explained", "share explained", 2, below="explained_ends")
_MEASURES = (
    Column("mean", "mean wait (h)", 2, scale=HOUR, below="mean_ends"),
    Column("median", "median (h)", 2, scale=HOUR, below="median_ends"),
    _BIAS,
    Column("relative", "bias (% of recorded)", 0, scale=0.01, below="relative_ends"),
    _RANK,
    _EXPLAINED,
    Column("at_once", "start at once (%)", 0, scale=0.01, below="at_once_ends"),
    Column("agree", "... as recorded (%)", 0, scale=0.01, below="agree_ends"),
    Column("near", "near (%)", 0, scale=0.01, below="near_ends"),
    Column("backlog", "backlog, correlation", 2, below="backlog_ends"),
)
_COUNTS = {
    "in_log": "in the log",
    "dropped": "left out by the rules",
    "refused": "rejected in a simulation",
    "never_began": "cancelled while they waited, in the log",
    "unknown_wait": "with an unknown recorded wait",
    "not_measured": "of the warm-up, the cool-down, or rare behaviour",
    "compared": "compared",
    "other_run_time": "of these, with another run time than recorded (cut, killed)",
    "not_in_log": "only in the simulation",
}


def tabulate_policies(found: PolicyCalibrations) -> Table | None:
    """Return a table of the recorded values and the measures of each policy."""
    of_log = found.of_site.agreement
    recorded = _row(
        mean=of_log.mean_recorded, median=of_log.median_recorded, at_once=of_log.at_once_recorded
    )
    rows = [{"policy": RECORDED, **recorded, "utilisation": found.of_site.utilisation.recorded}]
    rows += [{"policy": name, **_policy(of)} for name, of in found.policies.items()]
    if (usual := found.of_site.by_size_and_hour) is not None:
        measured = _row(
            rank=usual.rank_correlation, explained=usual.share_explained, near=usual.near
        )
        rows.append({"policy": f"usual wait {USUAL}", **measured})
    shown = (Column("policy"), *_MEASURES, Column("utilisation", "utilisation (%)", 1, scale=0.01))
    note = (
        "Below the values: 95 % intervals from a bootstrap over weeks. *Bias* is the mean of "
        "simulated - recorded waits. *Share explained* is 1 - SSE / SST of log(1 min + wait): 1 if "
        "each wait is as recorded, 0 if the waits are no closer than the mean. *At once* is below "
        f"1 min; *near* is {_NEAR}. *Backlog* is the waiting processor-hours, hour by hour. The "
        "*usual wait* is the wait of jobs of the same size and hour of day in other weeks, "
        "without simulation."
    )
    return table("policies", "Recorded and simulated waits", rows, shown, note)


def _policy(found: Calibration) -> dict[str, Any]:
    measures = found.agreement
    measured = _row(
        mean=measures.mean_simulated,
        median=measures.median_simulated,
        bias=measures.bias,
        relative=measures.relative_bias,
        rank=measures.rank_correlation,
        explained=measures.share_explained,
        at_once=measures.at_once_simulated,
        agree=measures.at_once_agree,
        near=measures.near,
        backlog=found.backlog.work.correlation,
    )
    return {**measured, "utilisation": found.utilisation.simulated}


def _row(**measured: Interval) -> dict[str, Any]:
    """Return the cells of all measures, blank where nothing was measured."""
    row: dict[str, Any] = {}
    for column in _MEASURES:
        row |= _cells(column, measured.get(column.name))
    return row


def _cells(column: Column, value: Interval | None) -> dict[str, Any]:
    """Return the cells of a value, or blank ones: itself, and its interval in the column's unit."""
    if value is None:
        return {column.name: None, column.below: ""}
    low, high = (f"{end / column.scale:z.{column.decimals}f}" for end in (value.low, value.high))
    return {column.name: value.value, column.below: f"{low} to {high}" if value.is_known else ""}


def tabulate_differences(found: PolicyCalibrations) -> Table | None:
    """Return a table of the differences of the site's policy to the others; None without them."""
    rows = [
        {
            "other": f"{found.site} - {'usual wait ' * (each.other == USUAL)}{each.other}",
            **_cells(_RANK, each.rank_correlation),
            **_cells(_EXPLAINED, each.share_explained),
            **_cells(_BIAS, each.absolute_bias),
        }
        for each in found.differences
    ]
    shown = (
        Column("other", "difference"),
        _RANK,
        _EXPLAINED,
        Column("bias", "absolute bias (h)", 2, scale=HOUR, below="bias_ends"),
    )
    note = (
        "Positive correlations and shares, and a negative absolute bias: the site's policy is "
        "closer to the log. Differences are over the same jobs and the same bootstrap weeks."
    )
    return table("differences", "The site's policy minus others", rows, shown, note)


def tabulate_groups(kind: str, groups: Iterable[Group]) -> Table | None:
    """Return a table of the groups of jobs of one kind, None if there are none."""
    rows = [make_row(group) for group in groups]
    note = (
        f"*Reproduced*: the mean wait is {_NEAR}; ? if it is inconclusive. Groups of fewer than "
        f"{FEWEST_JOBS} jobs have neither a correlation nor a result."
    )
    shown = (Column("name", kind), *_OF_GROUPS)
    marks = [(at, "reproduced") for at, each in enumerate(rows) if each["reproduced"] == "no"]
    name = kind.replace(" ", "_")
    return table(f"by_{name}", f"By {kind}", rows, shown, note, marks)


_OF_GROUPS = (
    *columns("jobs"),
    Column("recorded", "recorded mean wait (h)", 2, scale=HOUR),
    Column("simulated", "simulated (h)", 2, scale=HOUR),
    _BIAS,
    Column("rank", "rank correlation", 2),
    Column("reproduced"),
)


def make_row(group: Group) -> dict[str, Any]:
    """Return a group as a row of a table, seconds."""
    return {
        "kind": group.kind,
        "name": group.name,
        "jobs": group.jobs,
        "recorded": group.mean_recorded,
        "simulated": group.mean_simulated,
        **_cells(_BIAS, group.bias),
        "rank": group.rank_correlation,
        "reproduced": _SHOWN[group.reproduced],
    }


def tabulate_resources(found: PolicyCalibrations) -> list[Table | None]:
    """Return tables of the use of resources and of what held jobs, None where it is unknown."""
    of_use = (
        *columns("partition", "resource"),
        Column("most", "most at once (%)", 0, scale=0.01),
        Column("mean", "mean (%)", 0, scale=0.01),
        Column("over", "above 100 % (% of time)", 1, scale=0.01),
        *columns("binds", "counted"),
    )
    of_runs = (
        *columns("partition", "by", "runs", by="held by"),
        Column("share", "share (%)", 1, scale=0.01),
        *columns(hours="of"),
        *_OF_GROUPS[1:3],
    )
    note = (
        "Shares of a partition, by the records of all jobs of the log. *Binds*: the highest one at "
        "once. *Counted*: by the simulation. *Dominant size*: the largest of a job's shares of "
        "cores, memory and GPUs."
    )
    more = "A run may be in several rows. Limits are its last reason. Waits are of compared jobs."
    return [
        table("resources", "Resources in use at once", found.used, of_use, note),
        table("held", "What held jobs", found.held, of_runs, more),
    ]


def tabulate_jobs(counts: Mapping[str, JobCounts]) -> Table | None:
    """Return a table of the numbers of compared and left-out jobs, by policy and reason."""
    rows = [
        {"what": words, **{policy: getattr(of, name) for policy, of in counts.items()}}
        for name, words in _COUNTS.items()
    ]
    shown = (Column("what", "jobs"), *(Column(policy) for policy in counts))
    return table("jobs", "Compared jobs", rows, shown)
