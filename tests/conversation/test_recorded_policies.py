"""Recorded schedulers that we have too: the same decisions in reply to the same events."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from batsched_py.conversation import Conversation
from batsched_py.plugins import SCHEDULERS, load
from batsched_py.process import DecisionProcess
from batsched_py.protocol import messages as m
from batsched_py.replay import first_difference, pairs
from batsched_py.transport.recording import read_exchange

# batsched's EASY on 300 jobs, and all EASY and conservative ones on the small workload, decide as
# ours does. easy_bf_fast and pybatsim's are other algorithms, and conservative differs by design.
SAME = {
    "30_batsched_fcfs_small": "fcfs",
    "30_batsched_fcfs_fast_small": "fcfs",
    "30_batsched_easy_bf_small": "easy",
    "30_batsched_easy_bf_fast_small": "easy",
    "30_batsched_conservative_bf_small": "easy",
    "31_pybatsim_easyBackfill_small": "easy",
    "40_random300_batsched_fcfs": "fcfs",
    "40_random300_batsched_fcfs_fast": "fcfs",
    "40_random300_batsched_easy_bf": "easy",
}
OTHER = {
    "40_random300_batsched_easy_bf_fast": "easy",
    "40_random300_pybatsim_easyBackfill": "easy",
    "40_random300_batsched_conservative_bf": "easy",
    "40_random300_batsched_filler": "fcfs",
}


def conversation(policy: str) -> Conversation:
    def make(_: m.SimulationBegins) -> DecisionProcess:
        return DecisionProcess(load(SCHEDULERS, policy)(), six_decimals=True)

    return Conversation(make)


@pytest.mark.parametrize(("name", "policy"), SAME.items())
def test_the_recorded_decisions(shared: Path, name: str, policy: str) -> None:
    exchange = pairs(read_exchange(shared / "batsim_transcripts" / name / "exchange.jsonl"))
    assert first_difference(exchange, conversation(policy)) is None


@pytest.mark.parametrize(("name", "policy"), OTHER.items())
def test_other_policies_are_seen_to_differ(shared: Path, name: str, policy: str) -> None:
    exchange = pairs(read_exchange(shared / "batsim_transcripts" / name / "exchange.jsonl"))
    found = first_difference(exchange, conversation(policy))
    assert found is not None
    assert found.recorded != found.ours
