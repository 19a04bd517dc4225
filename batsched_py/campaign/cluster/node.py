"""What a node of a cluster does for a campaign: it looks whether it can, and runs simulations.

All here is called by dask in a worker of the cluster, on behalf of
:mod:`batsched_py.campaign.cluster.executor`. A simulation runs in a child process of that worker,
so that its end, whatever it is, leaves the worker whole.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from batsched_py.campaign.run_identity import code_digest
from batsched_py.campaign.worker_processes import LocalWorkers, WorkerLost
from batsched_py.errors import BatschedError, InputError, UsageError
from batsched_py.run.result import versions
from batsched_py.support.file_readers import parse_json, read_bytes

_MOST_CHILDREN = 1_000
"""Child processes of a dask worker: as many as dask gives it runs at a time, so no limit."""
SEE = "see 'Troubleshooting' in docs/clusters.md"


class NodeRequirements(msgspec.Struct, kw_only=True):
    """What all nodes have to see and to be: a file in the campaign's folder while it runs."""

    identity: dict[str, str]
    """What :func:`identity` gives where the campaign was started."""
    cwd: str
    """From where relative paths start."""
    inputs: list[str] = []
    """The files that the runs read."""


@cache
def identity() -> dict[str, str]:
    """Return what has to be the same everywhere: the code, and the versions behind it."""
    content = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        content.update(read_bytes(path))
    return {**versions(), "code": code_digest(), "campaign code": content.hexdigest()}


@cache
def check(place: str) -> NodeRequirements:
    """Return the requirements in the file ``place``.

    Raises :class:`UsageError` if this node does not see it or what it names, or has other code.
    """
    here = f"node {socket.gethostname()}"
    try:
        content = read_bytes(place)
    except BatschedError:
        raise UsageError(_unseen(here, str(Path(place).parent))) from None
    try:
        needs = parse_json(content, NodeRequirements, place)
    except InputError:  # of a version that says more, or less
        raise UsageError(_other_code(here, {}, identity())) from None
    if needs.identity != identity():
        raise UsageError(_other_code(here, needs.identity, identity()))
    for path in (needs.cwd, *needs.inputs):
        if not os.path.exists(path):
            raise UsageError(_unseen(here, path))
    return needs


def run(place: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function for the campaign whose requirements are in ``place``, in a child process.

    Raises :class:`UsageError` as :func:`check` does, :class:`WorkerLost` if the child is lost.
    """
    needs = check(place)
    try:
        return _children(place, needs.cwd).submit(function, *arguments).result()
    except WorkerLost as lost:
        raise WorkerLost(f"{lost}, on {socket.gethostname()}") from None


def stop(place: str) -> None:
    """End what runs for a campaign, and let nothing more begin for it.

    The stopped workers stay known: a run that dask had already sent comes only after this, and
    would hold the node to its end, with nobody there to stop it.
    """
    _children(place, None).shutdown(wait=False, cancel_futures=True)


def _children(place: str, cwd: str | None) -> LocalWorkers:
    with _lock:
        if place not in _known:
            _known[place] = LocalWorkers(_MOST_CHILDREN, cwd)
        return _known[place]


_known: dict[str, LocalWorkers] = {}  # of this process, by campaign
_lock = Lock()


def _unseen(who: str, path: str) -> str:
    return (
        f"{who} does not see {path}: the campaign's folder, its inputs and the folder where it is "
        f"started have to be on a file system that all nodes share, under the same path; {SEE}"
    )


def _other_code(who: str, wanted: dict[str, str], present: dict[str, str]) -> str:
    differences = [
        f"{name} {present.get(name, 'unknown')[:12]}, here {wanted.get(name, 'unknown')[:12]}"
        for name in dict.fromkeys([*wanted, *present])
        if present.get(name) != wanted.get(name)
    ]
    return (
        f"{who} would compute something else: it has {'; '.join(differences)} (batsched_py "
        f"{present.get('batsched_py')} there, {wanted.get('batsched_py')} here); install the same "
        f"on both sides and start the workers again; {SEE}"
    )
