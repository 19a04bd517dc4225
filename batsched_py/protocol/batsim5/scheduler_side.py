"""The scheduler's side of a conversation with Batsim 5.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from batsched_py.processors.sets import MOST_PROCESSORS, NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json
from batsched_py.protocol.batsim5.exact_calls import read_exact_time

RequestFeatures = Callable[[str], Mapping[str, bool]]
"""Returns the features to request from Batsim 5, by name, for the text that Batsim was started with
for the scheduler."""
_PRECISION = 1e-6
"""Seconds by which Batsim's clock may differ: SimGrid's precision, and decimals."""


class Batsim5Side:
    """The scheduler's side for Batsim 5, which has a hello and calls only at whole milliseconds.

    For a call at the time t we ask for one at the millisecond before, with t in its id. When that
    call comes, the reply lets the time pass until t (its ``now`` is t) and asks, at t, for the same
    call again, which comes at once as its time is over. So the scheduler is called at t, with all
    that has happened until then.
    """

    def __init__(self, asked: RequestFeatures) -> None:
        self._asked = asked
        self._text: str | None = None
        self._hello: m.Hello | None = None
        self._nb_resources = MOST_PROCESSORS
        self._allocs: dict[str, ProcessorSet] = {}
        """Processors of the running jobs: JobCompletedEvent does not have them."""
        self._now = 0.0
        self._woken: set[float] = set()
        """Exact times of the calls that came at the millisecond before."""
        self._awaited: float | None = None
        """The time until which the last reply waits."""

    def decode_message(self, raw: bytes) -> m.Message | None:
        """Return Batsim's message; None for its first frame, and for a call that is too early.

        Raises :class:`ProtocolError` for a frame that is not a message.
        """
        if self._text is None:
            self._text = batprotocol_json.read_init_text(raw)
            return None
        message = batprotocol_json.decode_events(raw, self._nb_resources)
        kept = [event for event in message.events if not self._is_early(event, message)]
        is_for_us = bool(message.events) and not kept
        message.events = kept
        self._set_times(message)
        for event in kept:
            if isinstance(event, m.JobCompleted):
                event.alloc = self._allocs.pop(event.job_id, NO_PROCESSORS)
            elif isinstance(event, m.SimulationBegins):
                self._nb_resources = event.nb_resources
                event.config = self._config()
        return None if is_for_us else message

    def _is_early(self, event: m.Event, message: m.Message) -> bool:
        """Return whether an event is an early call; the message gets the time of the others."""
        time = read_exact_time(event.call_id) if isinstance(event, m.RequestedCall) else None
        if time is None:
            return False
        if time > message.now and time != self._awaited:
            self._woken.add(time)
            return True
        if abs(message.now - time) <= _PRECISION:
            message.now = time
        return False

    def _set_times(self, message: m.Message) -> None:
        """Give the events times between the last message's and this one's, as they happened.

        Some have the time of the event before them, even of an earlier message. All times are
        rounded, which must not let them go back.
        """
        if 0 < self._now - message.now <= _PRECISION:
            message.now = self._now
        later = message.now
        for event in reversed(message.events):
            if _is_stale(event) or 0 < event.timestamp - later <= _PRECISION:
                event.timestamp = later
            elif 0 < self._now - event.timestamp <= _PRECISION:
                event.timestamp = self._now
            later = event.timestamp
        self._now = message.now

    def _config(self) -> dict[str, object]:
        """Return the options as SIMULATION_BEGINS of version 4 has them."""
        features = {} if self._hello is None else self._hello.features
        return {
            m.PROTOCOL_VERSION: 5,
            m.EXACT_TIMES: True,
            "dynamic-jobs-enabled": features.get("dynamic_registration", False),
            "dynamic-jobs-acknowledged": features.get("acknowledge_dynamic_jobs", False),
            "profile-reuse-enabled": features.get("profile_reuse", False),
            "profiles-forwarded-on-submission": features.get(
                "forward_profiles_on_job_submission", False
            ),
            "sched-config": self._text,
        }

    def encode_reply(self, reply: m.Message | None) -> bytes:
        """Return the frame of a reply, or of a hello; ``reply`` is None if the message was None.

        Raises :class:`ProtocolError` for decisions that Batsim 5 does not have.
        """
        if self._hello is None:
            self._hello = _hello(self._asked(self._text or ""))
            return batprotocol_json.encode_hello(self._hello)
        reply = m.Message(self._now, []) if reply is None else reply
        self._note(reply)
        self._awaited = min(self._woken, default=None)
        if self._awaited is not None:
            self._woken.remove(self._awaited)
            again = m.CallMeLater(timestamp=self._awaited, time=self._awaited)
            reply = m.Message(self._awaited, [*reply.events, again])
        return batprotocol_json.encode_decisions(reply)

    def decode_reply(self, raw: bytes) -> m.Message | None:
        """Return the reply in a frame, None for a hello.

        Raises :class:`ProtocolError` for a frame that is not a reply.
        """
        if self._hello is None:
            self._hello = batprotocol_json.decode_hello(raw)
            return None
        reply = batprotocol_json.decode_decisions(raw, self._nb_resources)
        self._awaited = None
        for event in list(reply.events):
            if isinstance(event, m.CallMeLater):
                event.time = read_exact_time(event.call_id) or event.time
                if event.time in self._woken and event.timestamp == event.time:
                    self._woken.remove(event.time)
                    self._awaited = event.time
                    reply.events.remove(event)
                    reply.now = self._now
        self._note(reply)
        return reply

    def _note(self, reply: m.Message) -> None:
        for event in reply.events:
            if isinstance(event, m.ExecuteJob):
                self._allocs[event.job_id] = event.alloc


def _hello(features: Mapping[str, bool]) -> m.Hello:
    from importlib.metadata import version

    return m.Hello(
        timestamp=0.0,
        name="batsched_py",
        version=version("batsched_py"),
        protocol_version=m.BATPROTOCOL,
        features=dict(features),
    )


def _is_stale(event: m.Event) -> bool:
    """Return whether Batsim 5.0.0-rc2 gives an event the time of the one before it."""
    if isinstance(event, m.Notify):
        return event.type == m.GENERIC or event.type.startswith("event_machine_")
    if isinstance(event, m.JobKilled):
        return not event.job_progress
    return isinstance(event, m.ResourceStateChanged)
