"""Simulated users: sessions, session graphs, and models that react to the system.

The names in ``__all__`` are public: the parts of which user models and studies of logs are made.
Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batsched_py.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from batsched_users.behaviour.calendar import Calendar
    from batsched_users.behaviour.energy_signal import EnergySignal, read_signal
    from batsched_users.behaviour.random_streams import Chance
    from batsched_users.resampling.user_pools import Pools, make_pools
    from batsched_users.sessions.batches import Batch, Trace, traces
    from batsched_users.sessions.delimitation import Delimitation, Session, partition
    from batsched_users.sessions.feedback_engine import BatchFeedback, Reaction, Reason, Visit
    from batsched_users.sessions.session_graph import SessionGraph, build_graph, to_networkx

__all__ = [
    "Batch",
    "BatchFeedback",
    "Calendar",
    "Chance",
    "Delimitation",
    "EnergySignal",
    "Pools",
    "Reaction",
    "Reason",
    "Session",
    "SessionGraph",
    "Trace",
    "Visit",
    "build_graph",
    "make_pools",
    "partition",
    "read_signal",
    "to_networkx",
    "traces",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
