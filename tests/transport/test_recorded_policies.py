"""Recorded schedulers that we have too: the same decisions in reply to the same events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.protocol import messages as m
from batsched_py.support.plugins import SCHEDULERS, load
from batsched_py.transport import Partner
from batsched_py.transport.conversation import Conversation
from batsched_py.transport.exchange_replay import first_difference, pairs
from batsched_py.transport.recording import Record, read_exchange

# With the same decisions as ours, processors included. More, and the causes of the differences, are
# in docs/conformance.md.
SAME = [
    ("30_batsched_fcfs_small", "fcfs"),
    ("30_batsched_fcfs_fast_small", "fcfs"),
    ("30_batsched_easy_bf_small", "easy"),
    ("30_batsched_easy_bf_fast_small", "easy"),
    ("30_batsched_easy_bf_fast_small", "easy_fixed"),
    ("30_batsched_conservative_bf_small", "easy"),
    ("30_batsched_conservative_bf_small", "conservative"),
    ("30_batsched_filler_small", "filler"),
    ("31_pybatsim_easyBackfill_small", "easy"),
    ("31_pybatsim_fillerSched_small", "filler"),
    ("40_random300_batsched_fcfs", "fcfs"),
    ("40_random300_batsched_fcfs_fast", "fcfs"),
    ("40_random300_batsched_easy_bf", "easy"),
    ("40_random300_batsched_easy_bf_fast", "easy_fixed"),
    ("40_random300_batsched_filler", "filler"),
]
OTHER = {
    "40_random300_batsched_easy_bf_fast": "easy",
    "40_random300_pybatsim_easyBackfill": "easy",
    "40_random300_batsched_conservative_bf": "conservative",
    "40_random300_batsched_filler": "fcfs",
}


def conversation(policy: str) -> Conversation:
    def make(_: m.SimulationBegins) -> Partner:
        return DecisionProcess(load(SCHEDULERS, policy)(), six_decimals=True).answer

    return Conversation(make)


def without_mapping(reply: Record) -> Record:
    """Return a reply without the mapping of executors to processors, which filler alone sends."""
    content = json.loads(reply.raw)
    for event in content["events"]:
        event["data"].pop("mapping", None)
    return Record(reply.n, reply.sender, json.dumps(content))


@pytest.mark.parametrize(("name", "policy"), SAME)
def test_the_recorded_decisions(shared: Path, name: str, policy: str) -> None:
    exchange = pairs(read_exchange(shared / "batsim_transcripts" / name / "exchange.jsonl"))
    if policy == "filler":
        exchange = [(message, without_mapping(reply)) for message, reply in exchange]
    assert first_difference(exchange, conversation(policy)) is None


@pytest.mark.parametrize(("name", "policy"), OTHER.items())
def test_other_policies_are_seen_to_differ(shared: Path, name: str, policy: str) -> None:
    exchange = pairs(read_exchange(shared / "batsim_transcripts" / name / "exchange.jsonl"))
    found = first_difference(exchange, conversation(policy))
    assert found is not None
    assert found.recorded != found.ours
