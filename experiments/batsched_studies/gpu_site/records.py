"""Writes what Slurm would record of a made-up site, and what its operators know of the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from batsched_studies.gpu_site.jobs import (
    COURSE_NODES,
    GIB,
    GPU_LIMIT,
    GROUPS,
    LIMITS_H,
    REQUEUE_DELAY,
    NodeGroup,
    Run,
    Site,
    Size,
    make_nodes,
    plain_jobs,
)
from batsched_studies.gpu_site.packing import Packing, pack

COLUMNS = (
    "JobIDRaw|JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|Suspended"
    "|TimelimitRaw|NNodes|AllocCPUS|ReqCPUS|ReqMem|ReqTRES|AllocTRES|State|Restarts|Reason"
    "|Reservation|NodeList|JobName"
)
SECOND_0 = 1767571200
"""Monday, 5 January 2026, 0:00 UTC."""
FIRST_JOB, FIRST_UID = 100_001, 1001


def schedule(site: Site, *, whole: bool = False) -> Packing:
    """Return what happens to the runs of a site; ``whole`` is that of :func:`.pack`."""
    nodes = make_nodes(with_course=site.course is not None)
    closed = []
    if site.course:
        begin, end = site.course
        after_gpu = GROUPS["cpu"].nb_nodes + GROUPS["gpu"].nb_nodes
        closed = [(node, begin, end) for node in range(after_gpu - COURSE_NODES, after_gpu)]
        for node in range(len(nodes) - COURSE_NODES, len(nodes)):
            closed += [(node, 0, begin), (node, end, 2**61)]
    runs = list(enumerate(site.runs))
    return pack(
        plain_jobs(site),
        nodes,
        whole=whole,
        closed=closed,
        groups={place: run.draft.user for place, run in runs if run.draft.qos == "gpu"},
        most_gpus=GPU_LIMIT,
        follows={
            place: (run.follows, REQUEUE_DELAY * (run.restarts > 0))
            for place, run in runs
            if run.follows >= 0
        },
        leaves=_leaves(site),
    )


def _leaves(site: Site) -> dict[int, int]:
    """Return when runs are cancelled that wait or run then: those of the course at its end."""
    times = {}
    for place, run in enumerate(site.runs):
        if run.draft.in_course and site.course:
            times[place] = site.course[1]
        elif run.draft.patience >= 0:
            times[place] = run.submit + run.draft.patience
    return times


def sacct_text(site: Site, packing: Packing) -> Iterator[str]:
    """Yield the lines of ``sacct --duplicates --parsable2`` for a scheduled site.

    Example:
        >>> from batsched_studies.gpu_site.jobs import draw_site
        >>> site = draw_site(seed=1, nb_records=500)
        >>> list(sacct_text(site, schedule(site)))[1].split("|")[:2]
        ['100001', '100001']
    """
    yield COLUMNS + "\n"
    names = _node_names()
    leaves = _leaves(site)
    ends, starts = packing.end.tolist(), packing.start.tolist()
    eligibles, was_held = packing.eligible.tolist(), packing.was_held.tolist()
    for place, run in enumerate(site.runs):
        draft, start, end, eligible = run.draft, starts[place], ends[place], eligibles[place]
        submit = ends[run.follows] if run.restarts else run.submit
        state = run.state
        if start < 0 or (end == leaves.get(place) and end < start + run.run_time):
            state = "CANCELLED"
        if state == "CANCELLED":
            state += f" by {FIRST_UID + draft.user}"
        reason = "None"
        if was_held[place]:
            reason = "QOSMaxGRESPerUser"
        elif eligible > submit:
            reason = "BeginTime" if run.restarts else "Dependency"
        group, ran = GROUPS[draft.partition], start >= 0
        fields = (
            *_identify(run),
            *(f"u{draft.user:03d}", f"a{site.accounts[draft.user]:02d}"),
            *(draft.partition, draft.qos, SECOND_0 + submit, _time(eligible), _time(start)),
            *(SECOND_0 + end, end - start if ran else 0, "00:00:00", draft.limit // 60),
            *(draft.size.nodes, draft.size.cores if ran else 0, draft.requested.cores),
            f"{draft.requested.mib // GIB}G",
            _tres(draft.requested, group, is_typed=draft.user % 3 == 0),
            _tres(draft.size, group, is_allocated=True) if ran else "",
            *(state, run.restarts, reason, "course" if draft.in_course else ""),
            host_list([names[node] for node in packing.nodes[place]]) or "None assigned",
            draft.kind,
        )
        yield "|".join(map(str, fields)) + "\n"


def _identify(run: Run) -> tuple[int, str]:
    """Return JobIDRaw and JobID."""
    number, first = FIRST_JOB + run.job, run.first_of_array
    return number, f"{FIRST_JOB + first}_{run.job - first}" if first >= 0 else str(number)


def _time(seconds: int) -> int | str:
    return "Unknown" if seconds < 0 else SECOND_0 + seconds


def _tres(
    size: Size, group: NodeGroup, *, is_typed: bool = False, is_allocated: bool = False
) -> str:
    """Return trackable resources: some users request GPUs of a type, and all get such."""
    gpus = ""
    if size.gpus and (is_typed or is_allocated):
        gpus += f"gres/gpu:{group.gpu_type}={size.gpus},"
    if size.gpus and (is_allocated or not is_typed):
        gpus += f"gres/gpu={size.gpus},"
    of_gpus = size.gpus * group.cores // group.gpus if group.gpus else 0
    billing = max(size.cores, of_gpus, size.mib * group.cores // (group.gib * GIB))
    memory = f"mem={size.mib // GIB}G"
    return f"billing={billing},cpu={size.cores},{gpus}{memory},node={size.nodes}"


def _node_names() -> list[str]:
    """Return the names of :func:`.make_nodes`; the nodes of the course have two places."""
    names = []
    for name, group in GROUPS.items():
        width = len(str(group.nb_nodes))
        names += [f"{group.prefix}{i:0{width}d}" for i in range(1, group.nb_nodes + 1)]
        if name == "gpu":
            of_course = names[-COURSE_NODES:]
    return names + of_course


def host_list(names: Sequence[str]) -> str:
    """Return names of nodes with one prefix as Slurm writes them.

    Example:
        >>> host_list(["g01", "g04", "g02"])
        'g[01-02,04]'
    """
    prefix = names[0].rstrip("0123456789") if names else ""
    spans: list[list[str]] = []
    for digits in sorted(name.removeprefix(prefix) for name in names):
        if spans and int(digits) == int(spans[-1][-1]) + 1:
            spans[-1] = [spans[-1][0], digits]
        else:
            spans.append([digits])
    text = ",".join("-".join(span) for span in spans)
    return prefix + (text if len(names) < 2 else f"[{text}]")


def nodes_toml() -> str:
    """Return what operators know and records do not show: nodes, partitions and limits."""
    lines = ["# The nodes of a made-up GPU site, its partitions, and the limit of its QOS."]
    begin = 0
    for name, group in GROUPS.items():
        lines += ["", "[[nodes]]", f'names = "{_all_names(group)}"', f"cores = {group.cores}"]
        lines += [f'memory = "{group.gib} GiB"', *[f"gpus = {group.gpus}"] * (group.gpus > 0)]
        lines += ["", "[[partitions]]", f'name = "{name}"']
        lines += [f'nodes = "{begin}-{begin + group.nb_nodes - 1}"']
        lines += [f'max_walltime = "{LIMITS_H[-1]} h"']
        begin += group.nb_nodes
    lines += ["", "[[limits]]", 'of = "qos:gpu"', 'per = "user"', f"gpus = {GPU_LIMIT}"]
    return "\n".join(lines) + "\n"


def _all_names(group: NodeGroup) -> str:
    width = len(str(group.nb_nodes))
    return f"{group.prefix}[{1:0{width}d}-{group.nb_nodes}]"


def loads(site: Site, packing: Packing) -> dict[str, float]:
    """Return the share of each partition that runs used in the span, as the load is defined.

    Example:
        >>> from batsched_studies.gpu_site.jobs import draw_site
        >>> site = draw_site(seed=1, nb_records=5000, load=0.65)
        >>> 0.6 < loads(site, schedule(site))["cpu"] < 0.7
        True
    """
    used = dict.fromkeys(GROUPS, 0)
    lengths = np.where(packing.start < 0, 0, packing.end - packing.start)
    for run, held in zip(site.runs, lengths.tolist(), strict=True):
        draft = run.draft
        units = draft.size.gpus if GROUPS[draft.partition].gpus else draft.size.cores
        used[draft.partition] += units * held * (not draft.in_course)
    return {
        name: used[name] / (site.span * group.nb_nodes * (group.gpus or group.cores))
        for name, group in GROUPS.items()
    }
