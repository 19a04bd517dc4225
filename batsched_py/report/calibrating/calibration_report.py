"""Makes the report of a calibration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from batsched_py.calibration.policy_calibrations import PolicyCalibrations
from batsched_py.calibration.verdict import THRESHOLDS, describe_calibration
from batsched_py.figures.time_axis import TimeAxis
from batsched_py.report.calibrating import figures, tables
from batsched_py.report.document import Part, Report, Section, Text
from batsched_py.report.kit.tables import sections
from batsched_py.support.statistics import FEWEST
from batsched_py.units import choose_unit
from batsched_py.workload.logs.swf import SwfLog


class Calibrated(msgspec.Struct, frozen=True, eq=False):
    """A calibration with its log and the settings of its run."""

    log: SwfLog
    found: PolicyCalibrations
    settings: Mapping[str, Any]
    """Of the run of the site's policy, as they are stored with it."""


def make_calibration_report(calibrated: Calibrated) -> Report:
    """Return the report of a calibration: verdict, tables and figures."""
    found = calibrated.found
    answer, *more = describe_calibration(found)
    few = f"{found.of_site.weeks} weeks are compared: fewer than {FEWEST} have no intervals."
    cautions = (few,) if found.of_site.weeks < FEWEST else ()
    axis = _axis(calibrated)
    parts: list[tuple[str, Sequence[Part | None]]] = [
        (
            "How well waits are reproduced",
            [
                figures.draw_waits(found.waits),
                Text("\n\n".join(more)),
                tables.tabulate_policies(found),
                tables.tabulate_differences(found),
            ],
        ),
        ("Resources", tables.tabulate_resources(found)),
        ("By hour of day", [figures.draw_waits_by_hour(found), *_groups(found, ("hour",))]),
        ("Over time", [figures.draw_backlog(found, axis), figures.draw_utilisation(found, axis)]),
        (f"Waits by group under {found.site}", [*_groups(found), _users(found)]),
        ("Jobs", [tables.tabulate_jobs({name: of.jobs for name, of in found.policies.items()})]),
    ]
    name = calibrated.settings["input"]["name"]
    made: tuple[Section, ...] = tuple(sections(parts))
    summary = f"{_setup(calibrated)}\n\n{THRESHOLDS}"
    title = f"Calibration of {found.site} on {name}"
    return Report(
        title, "", made, (), summary, answer=answer, cautions=cautions, figure="waits_by_hour"
    )


def _groups(found: PolicyCalibrations, kinds: Sequence[str] = ()) -> Iterator[Part | None]:
    """Yield the tables of groups of these kinds; by default of all kinds but hours."""
    there = dict.fromkeys(group.kind for group in found.of_site.groups)
    for kind in kinds or [kind for kind in there if kind != "hour"]:
        yield tables.tabulate_groups(kind, found.of_site.of_kind(kind))


def _users(found: PolicyCalibrations) -> Text | None:
    users = found.of_site.users
    if not users.nb:
        return None
    return Text(
        f"The mean waits of {users.nb_near:,} of {users.nb:,} users ({100 * users.share:.0f} %) "
        "are close to the recorded ones."
    )


def _setup(calibrated: Calibrated) -> str:
    run = calibrated.settings["run"]
    inputs = {
        "policy": f"{run['scheduler']} {run['scheduler_options'] or ''}".strip(),
        "machine": run.get("machine") or f"{calibrated.settings['nb_processors']} processors",
        "log": f"{calibrated.settings['input']['name']}, SHA-256 "
        f"{calibrated.settings['input']['sha256']}",
    }
    lines = [f"- {name}: `{value}`" for name, value in inputs.items()]
    return "\n".join([*lines, *(f"- note: `{note}`" for note in calibrated.settings["notes"])])


def _axis(calibrated: Calibrated) -> TimeAxis:
    series = calibrated.found.of_site.backlog.work
    submit = calibrated.log.column("submit_time")
    return TimeAxis(
        float(submit[0]),
        choose_unit(max(1, len(series.recorded)) * series.step),
        calibrated.settings.get("unix_start_time"),
        calibrated.settings.get("time_zone") or "UTC",
    )
