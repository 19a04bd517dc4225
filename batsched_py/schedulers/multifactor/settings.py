"""Checks the options of the policy multifactor and makes its parts from them."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from batsched_py.errors import UsageError
from batsched_py.options import option_values as options
from batsched_py.options.durations import parse_time
from batsched_py.schedulers.multifactor.accounts_file import read_accounts
from batsched_py.schedulers.multifactor.backfill_pass import BackfillPass
from batsched_py.schedulers.multifactor.backfill_plan import Grid
from batsched_py.schedulers.multifactor.fair_share_tree import FairShareTree
from batsched_py.schedulers.multifactor.priority import Priority, SizeFactor, Weights

_MOST_WEIGHT = 1e12
_MOST_JOBS = 1 << 40


def read_seconds(option: str, value: Any, least: float = 0.0) -> float:
    """Return a duration, given as ``7 days`` or in seconds; raises :class:`UsageError`."""
    return options.number(option, parse_time(option, value), least)


def read_half_life(value: Any) -> float:
    """Return a half-life in seconds; 0 means that usage never fades, as in Slurm: inf."""
    return read_seconds("half_life", value) or inf


def make_priority(given: Mapping[str, Any]) -> Priority:
    """Return the :class:`Priority` of the options by name; raises :class:`UsageError`."""
    weights = Weights(
        **{
            name: options.number(f"weight_{name}", given[f"weight_{name}"], 0, _MOST_WEIGHT)
            for name in Weights.__struct_fields__
        }
    )
    file = given["accounts"]
    tree = FairShareTree(
        None if file is None else read_accounts(options.path("accounts", file)),
        given["algorithm"],
        options.number("dampening", given["dampening"], 1e-9, 1e9),
    )
    size_factor = SizeFactor(
        options.boolean("favor_small", given["favor_small"]),
        options.boolean("small_relative_to_time", given["small_relative_to_time"]),
    )
    return Priority(
        weights,
        tree,
        half_life=read_half_life(given["half_life"]),
        calc_period=read_seconds("calc_period", given["calc_period"]),
        max_age=read_seconds("max_age", given["max_age"], 1e-6),
        size_factor=size_factor,
        qos=_qos(given["qos"]),
    )


def make_backfill_pass(given: Mapping[str, Any]) -> BackfillPass:
    """Return the backfill pass of the options by name; raises :class:`UsageError`."""
    window, most = given["bf_window"], given["bf_max_job_test"]
    grid = Grid(
        read_seconds("bf_resolution", given["bf_resolution"]),
        inf if window is None else read_seconds("bf_window", window, 1),
    )
    return BackfillPass(
        grid,
        read_seconds("bf_interval", given["bf_interval"]),
        _MOST_JOBS if most is None else options.whole_number("bf_max_job_test", most, 1),
        *(
            options.whole_number(name, given[name], 0)
            for name in ("bf_max_job_user", "bf_max_job_part", "bf_job_part_count_reserve")
        ),
    )


def _qos(given: Any) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise UsageError(f'qos={given}: expected priorities by name, such as {{"high": 1}}')
    return {name: options.number(f"qos: {name}", value, 0) for name, value in given.items()}
