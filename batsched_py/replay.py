"""A recorded exchange fed to a policy: does it answer as was answered then?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from batsched_py.conversation import Conversation
from batsched_py.errors import BatschedError
from batsched_py.protocol import codec
from batsched_py.transport.recording import Record


class Difference(msgspec.Struct):
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


def first_difference(records: Sequence[Record], conversation: Conversation) -> Difference | None:
    """Feed the messages of Batsim to ``conversation`` until a reply differs.

    Replies are equal if they hold the same decisions; their order and their times do not count.
    After a difference the recorded messages are no longer answers to ours, so it is the end.
    """
    for at, record in enumerate(records):
        if record.sender != "batsim":
            continue
        following = records[at + 1] if at + 1 < len(records) else None
        if following is None or following.sender != "sched":
            return None  # the recording ends before the reply
        try:
            ours = _decisions(conversation.answer(record.raw.encode()))
        except BatschedError as error:
            return Difference(record.n, record.raw, [], [], str(error))
        theirs = _decisions(following.raw.encode())
        if ours != theirs:
            return Difference(record.n, record.raw, _without(theirs, ours), _without(ours, theirs))
    return None


def _decisions(raw: bytes) -> list[str]:
    """Return the decisions of a reply in one form and order, without their times."""
    try:
        message = codec.decode_decisions(raw)
    except BatschedError as error:
        return [f"no reply of the protocol: {error}"]
    content: dict[str, Any] = msgspec.json.decode(codec.encode_decisions(message))
    return sorted(
        msgspec.json.encode([event["type"], event["data"]], order="sorted").decode()
        for event in content["events"]
    )


def _without(texts: list[str], others: list[str]) -> list[str]:
    left = list(others)
    return [text for text in texts if text not in left or left.remove(text)]  # type: ignore[func-returns-value]
