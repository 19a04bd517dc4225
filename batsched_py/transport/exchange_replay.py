"""A recorded exchange fed to a policy: does it answer as was answered then?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from batsched_py.errors import BatschedError, InputError
from batsched_py.protocol import message_json as codec
from batsched_py.support.file_readers import parse_json
from batsched_py.transport.conversation import Conversation
from batsched_py.transport.recording import Record


class ReplyDifference(msgspec.Struct):
    """The first reply that is not the recorded one."""

    n: int
    """Number of the message from Batsim."""
    message: str
    recorded: list[str]
    """Decisions that only the recorded reply has, as JSON."""
    ours: list[str]
    """Decisions that only our reply has."""
    error: str | None = None
    """Why we could not reply."""


def pairs(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Return the messages of Batsim with their replies.

    A last message without reply is left out: the recording ended there. Raises
    :class:`InputError` where anything else is out of turn, and if nothing is left.
    """
    wanted = ["batsim", "sched"] * ((len(records) + 1) // 2)
    for record, sender in zip(records, wanted, strict=False):
        if record.sender != sender:
            raise InputError(
                f"message {record.n} of the recording is from {record.sender}, expected one from "
                f"{sender}: they take turns"
            )
    exchange = list(pairwise(records))[::2]
    if not exchange:
        raise InputError("the recording has no message of Batsim with a reply")
    return exchange


def first_difference(
    exchange: Sequence[tuple[Record, Record]], conversation: Conversation
) -> ReplyDifference | None:
    """Feed the messages of Batsim to ``conversation`` until a reply differs.

    Replies are equal if they hold the same decisions; their order and their times do not count.
    After a difference the recorded messages are no longer answers to ours, so it is the end.
    """
    for message, recorded in exchange:
        theirs = _decisions(recorded.raw.encode())
        try:
            ours = _decisions(conversation.answer(message.raw.encode()))
        except BatschedError as error:
            return ReplyDifference(message.n, message.raw, _listed(theirs), [], str(error))
        if ours != theirs:
            return ReplyDifference(
                message.n, message.raw, _listed(theirs - ours), _listed(ours - theirs)
            )
    return None


def _decisions(raw: bytes) -> Counter[str]:
    """Return the decisions of a reply in one form, without their times."""
    try:
        message = codec.decode_decisions(raw)
    except BatschedError as error:
        return Counter([f"no reply of the protocol: {error}"])
    content = parse_json(codec.encode_decisions(message), dict[str, Any], "a reply")
    return Counter(
        msgspec.json.encode([event["type"], event["data"]], order="sorted").decode()
        for event in content["events"]
    )


def _listed(decisions: Counter[str]) -> list[str]:
    return sorted(decisions.elements())
