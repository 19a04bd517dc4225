"""Names the change of the site in each run of a campaign, by labels that differ from the site.

The present site has the policy ``site`` (or else the first policy) and the first machine file of
its log. The name of a *change* is made of all labels that differ: of one, as in the study, or of
several if a campaign crosses them (``EASY, 25 % more nodes``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from batsched_py.errors import UsageError
from batsched_py.report import CampaignResults
from batsched_py.report.campaign_axes import REPEATED, format_labels, shorten_names
from batsched_py.report.kit import SEED, Runs
from batsched_studies.site.cases import (
    AS_IT_IS,
    CHANGE,
    KIND,
    LOG,
    MACHINE,
    POLICY,
    QUANTITIES,
    RECORDED,
    SITE,
    USER_KIND,
    USER_SET,
)

Labels = Mapping[str, Any]
_OF_WHOM = (LOG, USER_KIND, USER_SET, SEED)
"""Labels for the users of a run, and not for the change."""
_FORMER = {"people": USER_KIND, "crowd": USER_SET}
"""Labels of stored results that have another name in the campaign file now."""


def read(results: CampaignResults) -> list[tuple[str, Runs]]:
    """Read the finished runs, log by log, with columns for the change and the kind of users.

    The name of a kind of users includes the set of drawn users if there are several sets. Raises
    :class:`UsageError` for runs that are repeated by another label than the replication.
    """
    frame = results.runs
    if frame.empty:
        return []
    of_logs: dict[Any, list[tuple[str, Labels]]] = {}
    for folder, planned in results.planned:
        labels = {_FORMER.get(name, name): value for name, value in planned.items()}
        of_logs.setdefault(labels.get(LOG), []).append((str(folder), labels))
    called: dict[str, list[Labels]] = {}  # two equal policies have one folder
    for planned_runs in of_logs.values():
        for name, of in _called(planned_runs):
            called.setdefault(name, []).append(of)
    of_rows = [called[str(folder)].pop(0) for folder in frame["folder"]]
    for column in (CHANGE, USER_KIND, KIND, USER_SET):
        frame = frame.assign(**{column: [of[column] for of in of_rows]})
    runs, logs = Runs(frame, QUANTITIES), shorten_names(of_logs)
    return [(logs[log], runs.where(log=log)) for log in runs.labels(LOG)]


def find_site_labels(labels: Iterable[Labels]) -> Labels:
    """Return the labels of the first planned run on the present site; empty if there is none."""
    drawn = (of for of in labels if of.get(USER_KIND) != RECORDED)
    as_it_is = [of for of in drawn if of.get(CHANGE) == AS_IT_IS]
    return next((of for of in as_it_is if of.get(POLICY) == SITE), next(iter(as_it_is), {}))


def _called(planned: Sequence[tuple[str, Labels]]) -> Iterator[tuple[str, Labels]]:
    """Yield the folder of each run of a log with the change and the kind of users of the run."""
    runs = [labels for _, labels in planned]
    site, names = find_site_labels(runs), _names(runs)
    sets = {of.get(USER_SET) for of in runs if of.get(USER_KIND) != RECORDED}
    for folder, of in planned:
        others = {name: of.get(name) for name in names if of.get(name) != site.get(name)}
        change = format_labels(others, names) or AS_IT_IS if site else of.get(CHANGE)
        kind, drawn = of.get(USER_KIND), of.get(USER_SET)
        users = f"{kind}/{drawn}" if len(sets) > 1 and kind != RECORDED else kind
        yield folder, {CHANGE: change, USER_KIND: users, KIND: kind, USER_SET: drawn}


def _names(runs: Collection[Labels]) -> dict[str, dict[Any, str]]:
    """Return the short names of the values of each label in which runs may differ."""
    labels = [name for name in dict.fromkeys(chain(*runs)) if name not in _OF_WHOM]
    values = {name: dict.fromkeys(of.get(name) for of in runs) for name in labels}
    for name in REPEATED:
        if len(values.get(name, ())) > 1:
            raise UsageError(
                f"runs with several values of {name!r}: this study compares runs pair by pair of "
                "equal `replication`; say how many with `replications` instead"
            )
    names = {name: shorten_names(of) for name, of in values.items()}
    machines = names.get(MACHINE, {})
    return names | {MACHINE: {path: of.removesuffix(".toml") for path, of in machines.items()}}
