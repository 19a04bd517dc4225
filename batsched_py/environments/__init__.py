"""Episodes of a log on which agents learn, environments of gymnasium, and trained agents.

Where gymnasium is installed, importing this package registers environments for
``gymnasium.make("batsched_py/Backfill-v0", log="sample")``: ``Backfill-v0``, ``Start-v0``,
``Head-v0`` and ``Order-v0``.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from batsched_py.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from batsched_py.environments.episodes import Episode, Episodes, Measured
    from batsched_py.environments.rewards import REWARDS
    from batsched_py.environments.scheduling_env import SchedulingEnv
    from batsched_py.schedulers.agent.agent_policy import make_policy
    from batsched_py.schedulers.agent.choices import Backfill, Head, Order, Start
    from batsched_py.schedulers.agent.encoder import (
        JOB_FEATURES,
        MACHINE_FEATURES,
        Encoder,
        Observation,
    )
    from batsched_py.schedulers.agent.networks import Agent, Layer, Priority, load_agent
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)

__all__ = [
    "JOB_FEATURES",
    "MACHINE_FEATURES",
    "REWARDS",
    "Agent",
    "Backfill",
    "Encoder",
    "Episode",
    "Episodes",
    "Head",
    "Layer",
    "Measured",
    "Observation",
    "Order",
    "Priority",
    "SchedulingEnv",
    "Start",
    "load_agent",
    "make_policy",
]

if find_spec("gymnasium") is not None:
    from gymnasium.envs.registration import register

    for _choice in ("Backfill", "Start", "Head", "Order"):
        register(
            f"batsched_py/{_choice}-v0",
            "batsched_py.environments.scheduling_env:SchedulingEnv",
            kwargs={"choice": _choice},
        )
