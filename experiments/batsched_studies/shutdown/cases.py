"""The runs of the study, with what each saves and how much longer its jobs wait.

A *saving* is in per cent of what the same schedule needs if nothing is switched off. Other changes
are against the run of the same users in which nothing is switched off.
"""

from __future__ import annotations

from math import inf

import pandas as pd

from batsched_py.report import kit
from batsched_py.report.kit import SEED, Interval, Runs
from batsched_py.schedulers.shutdown.settings import Shutdown, parse_shutdown
from batsched_py.units import DAY, HOUR

RECORDED, RIGID, FEEDBACK, TBUOS = LOOPS = ("recorded", "rigid", "feedback", "tbuos")
REACTING = (FEEDBACK, TBUOS)
PLACE = ("loop", "node_factor", "keep", "idle_time")
"""The labels of a case: kind of users, size of the machine, reserve, idle time (s)."""
BREAK_EVEN, RESERVE = 212.0, "10%"
"""The idle time that equals the break-even gap, in seconds, and the processors that stay on."""
SAVED, OF_IDLE, OF_POSSIBLE, CHANGE = "saved", "of_idle", "of_possible", "change"
SWITCHES, ADDED, WAKING, REST = "switches_day", "added", "waking", "rest"
REST_SHARE = "rest_of_waking"
NAMES = {
    SAVED: "saved (% of all energy)",
    OF_IDLE: "saved (% of idle energy above sleep)",
    OF_POSSIBLE: "saved (% of the bound)",
    WAKING: "mean time for waking of a job (s)",
}
"""The quantities that are compared between users who react and rigid ones."""
_OF_BASE = ["joules", "joules_possible", "busy_seconds", "wait", "mean_lateness"]


def read(runs: pd.DataFrame) -> dict[str, Runs]:
    """Return the runs by log, cases in order; empty for a campaign without runs.

    The blocks of recorded users become replications.
    """
    if runs.empty:
        return {}
    frame = _split_blocks(runs.assign(log=runs["log"].map(kit.log_name)))
    options = [parse_shutdown(text) or Shutdown() for text in frame["shutdown"]]
    frame["idle_time"] = [each.idle_time for each in options]
    frame["keep"] = [str(each.keep) for each in options]
    of_base = ["log", "loop", "node_factor", SEED]
    base = frame.loc[frame["idle_time"] == inf, of_base + _OF_BASE]
    frame = frame.merge(base, on=of_base, suffixes=("", "_base"))
    saved = frame["joules_awake"] - frame["joules"]
    frame[SAVED] = 100 * saved / frame["joules_awake"]
    frame[OF_IDLE] = 100 * saved / frame["joules_above_sleep"]
    frame[OF_POSSIBLE] = 100 * saved / frame["joules_possible_base"]
    frame["held"] = 100 * frame["joules_held"] / frame["joules_possible_base"]
    frame["possible"] = 100 * frame["joules_possible"] / frame["joules_awake"]
    frame[CHANGE] = 100 - 100 * frame["joules"] / frame["joules_base"]
    frame["work"] = 100 * frame["busy_seconds"] / frame["busy_seconds_base"] - 100
    frame["load"] = 100 * frame["busy_seconds"] / frame["host_seconds"]
    frame[SWITCHES] = frame["switches"] / (frame["host_seconds"] / DAY)
    frame[ADDED] = frame["wait"] - frame["wait_base"]
    frame[REST] = frame[ADDED] - frame[WAKING]
    frame[REST_SHARE] = 100 * frame[REST] / frame[WAKING]
    frame["late"] = (frame["mean_lateness"] - frame["mean_lateness_base"]) / HOUR
    order = dict(zip(LOOPS, range(len(LOOPS)), strict=True))
    frame = frame.sort_values([*PLACE], key=lambda of: of.map(order) if of.name == "loop" else of)
    return {log: of_log for (log,), of_log in Runs(frame).groups("log")}


def _split_blocks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each block instead of each run of recorded users."""
    names = list(map(str, frame.columns))
    blocks: list[pd.DataFrame] = []
    while any(name == f"joules_{len(blocks)}" for name in names):
        end = f"_{len(blocks)}"
        of_block = {name: name.removesuffix(end) for name in names if name.endswith(end)}
        blocks.append(frame.rename(columns=of_block).assign(**{SEED: len(blocks)}))
    joined = pd.concat(blocks, ignore_index=True).dropna(subset=["joules"]) if blocks else frame
    return joined.copy()  # in one piece, as columns are added


def select(runs: Runs, loop: str, factor: float, idle_time: float, keep: str = "0") -> Runs:
    """Return the runs of a case; empty if it has none."""
    return runs.where(loop=loop, node_factor=factor, keep=keep, idle_time=idle_time)


def compare(ours: Runs, base: Runs, quantity: str) -> Interval:
    """Return by how much a quantity is larger than in other runs of the same users."""
    return kit.paired_difference(*kit.paired(ours.values(quantity), base.values(quantity)))


def list_idle_times(runs: Runs) -> list[float]:
    """Return the idle times of the runs that switch processors off, ascending."""
    return [time for time in runs.where(keep="0").by("idle_time") if time < inf]
