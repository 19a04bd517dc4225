"""Session graphs: dependencies between the sessions of a user, with think times.

Source: M. Madon, G. Da Costa, J.-M. Pierson, "Replay with Feedback", FGCS 155 (2024), section 3.

Session s' *depends on* session s iff all jobs of s had finished when s' began: finish(s) <=
start(s'). The *think time* of that edge is start(s') - finish(s), in seconds. Only the transitive
reduction of the relation is kept. Sessions without predecessor depend on a fictive root; their
think time is their recorded first submission time.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

import msgspec

from batsched_py.errors import UsageError
from batsched_py.support.installation import extra
from batsched_users.sessions.delimitation import Session

if TYPE_CHECKING:
    import networkx as nx

ROOT = 0
"""The fictive root in :func:`to_networkx`; the ids of sessions begin with 1."""


class SessionGraph(msgspec.Struct):
    """The sessions of one user and their dependencies: an acyclic graph."""

    user: str
    sessions: list[Session]
    predecessors: list[list[tuple[int, float]]]
    """Direct predecessors of each session by ascending index in ``sessions``, each with the think
    time after it (seconds, >= 0)."""

    def roots(self) -> list[tuple[int, float]]:
        """Return the sessions without predecessor, as pairs of index and think time in seconds.

        Their think time is the recorded first submission time.
        """
        pairs = enumerate(zip(self.sessions, self.predecessors, strict=True))
        return [(index, session.start) for index, (session, before) in pairs if not before]

    def think_times(self) -> list[float]:
        """Return the think times of all edges in seconds, without edges from the fictive root."""
        return [think_time for before in self.predecessors for _, think_time in before]

    def arity(self) -> list[int]:
        """Return the number of direct predecessors of each session, without the fictive root.

        With arrival:60 the largest of SDSC-SP2-1998-4 is 11, the arity in Madon et al., Fig. 6.
        """
        return [len(before) for before in self.predecessors]

    def longest_path(self) -> int:
        """Return the number of sessions on the longest path, without the fictive root."""
        length = [0] * len(self.sessions)
        before = {i: [j for j, _ in edges] for i, edges in enumerate(self.predecessors)}
        for index in TopologicalSorter(before).static_order():
            length[index] = 1 + max((length[i] for i, _ in self.predecessors[index]), default=0)
        return max(length, default=0)


def build_graph(sessions: Sequence[Session]) -> SessionGraph:
    """Build the transitively reduced session graph of one user, in O(n log n + edges).

    ``sessions`` belong to one user, in any order. Among zero-length sessions at the same instant,
    the first in ``sessions`` precedes the others: no session precedes itself.

    Raises :class:`UsageError` if a session has no known finish, or ends before it starts.
    """
    _check(sessions)
    predecessors: list[list[tuple[int, float]]] = [[] for _ in sessions]
    running: list[tuple[float, int]] = []  # heap of (finish, index)
    candidates: list[int] = []  # finished sessions that may still be direct predecessors
    latest = (-inf, -1)  # largest (start, index) of all finished sessions
    for start, index in sorted((session.start, i) for i, session in enumerate(sessions)):
        while running and running[0][0] <= start:
            _, ended = heappop(running)
            candidates.append(ended)
            latest = max(latest, (sessions[ended].start, ended))
        # If s -> q -> s' for some q, then finish(s) <= start(q) <= start(latest) and s comes before
        # q, hence before `latest`: s -> latest -> s' holds too, so that looking at `latest` alone
        # finds every edge implied by a path. The start of `latest` only grows, so a session
        # dropped here would be dropped for all later sessions too.
        candidates = [i for i in candidates if sessions[i].finish > latest[0] or i == latest[1]]
        predecessors[index] = [(i, start - sessions[i].finish) for i in sorted(candidates)]
        heappush(running, (sessions[index].finish, index))
    return SessionGraph(sessions[0].user if sessions else "", list(sessions), predecessors)


def _check(sessions: Sequence[Session]) -> None:
    for session in sessions:
        where = f"session {session.id} of user {session.user}"
        if session.finish == inf:
            unknown = [job.id for job in session.jobs if job.finish_time is None]
            raise UsageError(
                f"{where}: job {', '.join(unknown[:1]) or '?'} has no recorded finish time, which "
                "a session graph needs; use a log with finish times"
            )
        if not session.finish >= session.start:
            raise UsageError(
                f"{where} finishes at {session.finish}, before it starts at {session.start}; "
                "expected finish >= start"
            )


@extra("graphs")
def to_networkx(graph: SessionGraph) -> nx.DiGraph[int]:
    """Convert a session graph to a networkx graph, with the fictive root.

    Nodes are the ids of the sessions, with the attributes ``start`` and ``finish`` (seconds) and
    ``nb_jobs``; the root is node 0 (:data:`ROOT`), with 0 for all three. Edges have the attribute
    ``think_time`` (seconds). networkx is imported here.
    """
    import networkx as nx

    exported: nx.DiGraph[int] = nx.DiGraph(user=graph.user)
    exported.add_node(ROOT, start=0, finish=0, nb_jobs=0)
    ids = [session.id for session in graph.sessions]
    for session in graph.sessions:
        exported.add_node(
            session.id, start=session.start, finish=session.finish, nb_jobs=len(session.jobs)
        )
    for index, before in enumerate(graph.predecessors):
        for source, think_time in before:
            exported.add_edge(ids[source], ids[index], think_time=think_time)
    for index, think_time in graph.roots():
        exported.add_edge(ROOT, ids[index], think_time=think_time)
    return exported
