"""Feeds recorded messages to a policy, and finds the first reply that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import BatschedError, InputError, ProtocolError, located
from batsched_py.files.readers import parse_json
from batsched_py.protocol import message_json
from batsched_py.protocol import messages as m
from batsched_py.protocol.referee.referee import Referee
from batsched_py.protocol.scheduler_side import SchedulerSide, make_side
from batsched_py.transport.conversation import Conversation
from batsched_py.transport.recording import Record, read_exchange


class Turn(msgspec.Struct, gc=False):
    """A message of Batsim and its reply in a recording."""

    n: int
    message: m.Message
    raw: str
    """Its JSON, as it was sent."""
    reply: m.Message | None
    error: str = ""
    """Why the reply cannot be read."""


class ReplyDifference(msgspec.Struct):
    """The first reply that differs from the recorded one."""

    n: int
    """Number of the message from Batsim."""
    message: str
    recorded: list[str]
    """Decisions that only the recorded reply has, as JSON."""
    ours: list[str]
    """Decisions that only our reply has."""
    error: str | None = None
    """Why we could not reply."""


def read_turns(path: str | Path) -> list[Turn]:
    """Read the messages and replies of a recorded exchange, of Batsim 4.2 or 5.

    Frames that only the protocol needs, and a last message without reply, are left out. Raises
    :class:`InputError` naming the file if messages and replies do not alternate, if a message
    cannot be read, and if nothing is left.
    """
    records = read_exchange(path)
    with located(path, BatschedError, InputError):
        turns = list(_turns(_pairs(records)))
    if not turns:
        raise InputError(f"{path}: the recording has no message of Batsim with a reply")
    return turns


def _pairs(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Return the messages of Batsim with their replies."""
    for record, sender in zip(records, cycle(("batsim", "sched")), strict=False):
        if record.sender != sender:
            raise InputError(
                f"message {record.n} of the recording is from {record.sender}, expected one from "
                f"{sender}: they take turns"
            )
    return list(pairwise(records))[::2]


def _turns(exchange: Sequence[tuple[Record, Record]]) -> Iterator[Turn]:
    side: SchedulerSide | None = None
    for record, reply in exchange:
        with located(f"message {record.n}", ProtocolError, InputError):
            side = side or make_side(record.frame)
            message = side.decode_message(record.frame)
        decided, error_text = None, ""
        try:
            decided = side.decode_reply(reply.frame)
        except ProtocolError as error:
            error_text = str(error)
        if message is not None:
            yield Turn(record.n, message, record.raw, decided, error_text)


def find_first_difference(
    turns: Sequence[Turn], conversation: Conversation, *, strict: bool = False
) -> ReplyDifference | None:
    """Feed Batsim's recorded messages to ``conversation``; return the first reply that differs.

    Replies are equal if they hold the same decisions; their order and their times do not count.
    After a difference the recorded messages do not answer our replies, so the replay ends.
    ``strict`` also judges the messages and our replies: see
    :class:`~batsched_py.protocol.referee.referee.Referee`.
    """
    begins = next(iter(turns[0].message.events), None)
    is_batsim5 = isinstance(begins, m.SimulationBegins) and begins.is_batsim5
    referee = Referee(batsim5=is_batsim5) if strict else None
    for turn in turns:
        if turn.reply is None:
            theirs = Counter([f"not a reply of the protocol: {turn.error}"])
        else:
            theirs = read_decisions(turn.reply)
        try:
            if referee is not None:
                referee.check_message(turn.message)
            reply = conversation.reply(turn.message)
            if referee is not None:
                referee.check_reply(reply)
            ours = read_decisions(reply)
        except BatschedError as error:
            return ReplyDifference(turn.n, turn.raw, _listed(theirs), [], str(error))
        if ours != theirs:
            return ReplyDifference(turn.n, turn.raw, _listed(theirs - ours), _listed(ours - theirs))
    return None


def read_decisions(reply: m.Message) -> Counter[str]:
    """Return the decisions of a reply as JSON, without their times."""
    content = parse_json(message_json.encode_decisions(reply), dict[str, Any], "a reply")
    return Counter(
        msgspec.json.encode([event["type"], event["data"]], order="sorted").decode()
        for event in content["events"]
    )


def _listed(decisions: Counter[str]) -> list[str]:
    return sorted(decisions.elements())
