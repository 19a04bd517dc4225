"""The tables of a calibration."""

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
"""The row and the line of what the log says."""
_NEAR = f"within a factor of {FACTOR:g} or {MARGIN / MINUTE:g} min"
_SHOWN = {True: "yes", False: "no", None: "?"}
_COUNTS = {
    "in_log": "in the log",
    "dropped": "left out by the rules",
    "refused": "refused in a simulation",
    "never_began": "cancelled while they waited, by the log",
    "unknown_wait": "of an unknown recorded wait",
    "not_measured": "of the warm-up, the cool-down, or rare behaviour",
    "compared": "compared",
    "other_run_time": "of these, with another run time than recorded (cut, killed)",
    "not_in_log": "in the simulation only",
}


def of_policies(found: PolicyCalibrations) -> Table:
    """Return what is measured of each policy, in a row each below what was recorded."""
    said = found.of_site.agreement
    recorded = {
        "policy": RECORDED,
        **_cells("mean", said.mean_recorded),
        **_cells("median", said.median_recorded),
        **_cells("at_once", said.at_once_recorded, percent=True),
        "utilisation": found.of_site.utilisation.recorded,
    }
    rows = [recorded, *(_policy(name, of) for name, of in found.policies.items())]
    if (usual := found.of_site.by_size_and_hour) is not None:
        rows.append(
            {
                "policy": f"usual wait {USUAL}",
                **_cells("rank", usual.rank_correlation),
                **_cells("explained", usual.share_explained),
                **_cells("near", usual.near, percent=True),
            }
        )
    times = {"mean": "mean wait (h)", "median": "median (h)", "bias": "bias (h)"}
    shares = {
        "relative": "bias (% of recorded)",
        "at_once": "start at once (%)",
        "agree": "... as recorded (%)",
        "near": "near (%)",
    }
    shown = (
        Column("policy"),
        *(
            Column(name, title, 2, scale=HOUR, below=f"{name}_ends")
            for name, title in times.items()
        ),
        Column("relative", shares["relative"], 0, scale=0.01, below="relative_ends"),
        Column("rank", "rank correlation", 2, below="rank_ends"),
        Column("explained", "share explained", 2, below="explained_ends"),
        *(
            Column(name, shares[name], 0, scale=0.01, below=f"{name}_ends")
            for name in ("at_once", "agree", "near")
        ),
        Column("backlog", "backlog, correlation", 2, below="backlog_ends"),
        Column("utilisation", "utilisation (%)", 1, scale=0.01),
    )
    every = {name for column in shown for name in (column.name, column.below) if name}
    blank = {name: "" if name.endswith("_ends") else None for name in every}
    note = (
        "Below the values: 95 % intervals, by drawing whole weeks of submission again. *Bias* is "
        "the mean of simulated - recorded waits. *Share explained* is 1 - SSE / SST of log(1 min + "
        "wait): 1 if each wait is as recorded, 0 if they are no nearer than the mean. *At once* is "
        f"below 1 min; *near* is {_NEAR}. *Backlog*: processor-hours that wait, hour by hour. The "
        "*usual wait* is what jobs of the same size and hour of day waited in other weeks: it "
        "needs no simulation."
    )
    made = table("policies", "Recorded and simulated waits", [blank | row for row in rows], shown)
    assert made is not None
    return Table(made.name, made.title, made.frame, shown, note)


def _policy(name: str, found: Calibration) -> dict[str, Any]:
    said = found.agreement
    return {
        "policy": name,
        **_cells("mean", said.mean_simulated),
        **_cells("median", said.median_simulated),
        **_cells("bias", said.bias),
        **_cells("relative", said.relative_bias, percent=True),
        **_cells("rank", said.rank_correlation),
        **_cells("explained", said.share_explained),
        **_cells("at_once", said.at_once_simulated, percent=True),
        **_cells("agree", said.at_once_agree, percent=True),
        **_cells("near", said.near, percent=True),
        **_cells("backlog", found.backlog.work.correlation),
        "utilisation": found.utilisation.simulated,
    }


def _cells(name: str, value: Interval, *, percent: bool = False) -> dict[str, Any]:
    """Return the cells of a value: itself, and its interval in the unit of its column."""
    in_hours = name in ("mean", "median", "bias")
    scale, digits = (0.01, 0) if percent else (HOUR, 2) if in_hours else (1.0, 2)
    low, high = (f"{end / scale:z.{digits}f}" for end in (value.low, value.high))
    ends = f"{low} to {high}" if value.is_known else ""
    return {name: value.value, f"{name}_ends": ends}


def differences(found: PolicyCalibrations) -> Table | None:
    """Return the site's policy less each of the others, None without others."""
    rows = [
        {
            "other": f"{found.site} - {'usual wait ' * (each.other == USUAL)}{each.other}",
            **_cells("rank", each.rank_correlation),
            **_cells("explained", each.share_explained),
            **(
                {"bias": None, "bias_ends": ""}
                if each.absolute_bias is None
                else _cells("bias", each.absolute_bias)
            ),
        }
        for each in found.differences
    ]
    shown = (
        Column("other", "difference"),
        Column("rank", "rank correlation", 2, below="rank_ends"),
        Column("explained", "share explained", 2, below="explained_ends"),
        Column("bias", "absolute bias (h)", 2, scale=HOUR, below="bias_ends"),
    )
    note = (
        "Positive correlations and shares, and a negative absolute bias: the site's policy is "
        "nearer to what was recorded. Over the same jobs and the same drawn weeks, so that what "
        "both have in common cancels."
    )
    return table("differences", "The site's policy less others", rows, shown, note)


def of_kind(kind: str, groups: Iterable[Group]) -> Table | None:
    """Return the groups of a kind, None if there are none."""
    rows = [row(group) for group in groups]
    note = (
        f"*Reproduced*: the mean wait is {_NEAR}; ? if the interval does not tell, or there are "
        f"fewer than {FEWEST_JOBS} jobs, of which there is no correlation either."
    )
    shown = (Column("name", kind), *_OF_GROUPS)
    marks = [(at, "reproduced") for at, each in enumerate(rows) if each["reproduced"] == "no"]
    name = kind.replace(" ", "_")
    return table(f"by_{name}", f"By {kind}", rows, shown, note, marks)


_OF_GROUPS = (
    *columns("jobs"),
    Column("recorded", "recorded mean wait (h)", 2, scale=HOUR),
    Column("simulated", "simulated (h)", 2, scale=HOUR),
    Column("bias", "bias (h)", 2, scale=HOUR, below="bias_ends"),
    Column("rank", "rank correlation", 2),
    Column("reproduced"),
)


def row(group: Group) -> dict[str, Any]:
    """Return a group as a row of a table, seconds."""
    return {
        "kind": group.kind,
        "name": group.name,
        "jobs": group.jobs,
        "recorded": group.mean_recorded,
        "simulated": group.mean_simulated,
        **_cells("bias", group.bias),
        "rank": group.rank_correlation,
        "reproduced": _SHOWN[group.reproduced],
    }


def of_jobs(counts: Mapping[str, JobCounts]) -> Table:
    """Return how many jobs are compared, and why the others are not, by policy."""
    rows = [
        {"what": words, **{policy: getattr(of, name) for policy, of in counts.items()}}
        for name, words in _COUNTS.items()
    ]
    shown = (Column("what", "jobs"), *(Column(policy) for policy in counts))
    made = table("jobs", "Which jobs are compared", rows, shown)
    assert made is not None
    return made
