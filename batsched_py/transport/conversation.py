"""One simulation as bytes: the decision process behind Batsim's protocol."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

import msgspec

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import ProtocolError, SimulationError, parameter
from batsched_py.protocol import messages as m
from batsched_py.protocol.decision_checks import Referee
from batsched_py.protocol.handshake import Codec, codec_for
from batsched_py.transport.recording import Recorder
from batsched_py.transport.scheduler_socket import Endpoint, Request

FAREWELL = 2.0
"""Seconds that a simulator has to ask once more, to be told that there will be no answers."""
Observer = Callable[[m.Message, m.Message], None]
"""Sees every message and its reply."""


class Unexpected(ProtocolError):  # noqa: N818 - somebody else's error, or an earlier run's
    """A message that does not begin a simulation, while none has begun."""


class Conversation:
    """Answers the messages of one simulation, from SIMULATION_BEGINS to SIMULATION_ENDS.

    ``make_process`` is called with SIMULATION_BEGINS, which says what the machine is and how
    Batsim was started. Every reply is checked before it leaves.
    """

    def __init__(
        self,
        make_process: Callable[[m.SimulationBegins], DecisionProcess],
        observe: Observer | None = None,
    ) -> None:
        self._make_process = make_process
        self._observe = observe
        self._codec: Codec | None = None
        self._process: DecisionProcess | None = None
        self._referee = Referee(strict=True)

    @property
    def begun(self) -> bool:
        """Whether SIMULATION_BEGINS was seen."""
        return self._process is not None

    @property
    def ended(self) -> bool:
        """Whether SIMULATION_ENDS was seen."""
        return self._process is not None and self._process.ended

    @property
    def now(self) -> float:
        """Simulated time of the last message (seconds)."""
        return 0.0 if self._process is None else self._process.now

    def answer(self, raw: bytes) -> bytes:
        """Return the reply to a message.

        Raises :class:`Unexpected` as long as nothing has begun, for what does not begin a
        simulation, and :class:`~batsched_py.errors.BatschedError` for what cannot be answered.
        """
        if self._codec is None or self._process is None:
            self._codec = codec_for(raw)
            message, self._process = self._begin(self._codec, raw)
        else:
            message = self._codec.decode_events(raw)
        self._referee.heard(message)
        reply = self._process.answer(message)
        self._referee.check(reply)
        if self._observe is not None:
            self._observe(message, reply)
        return self._codec.encode_decisions(reply)

    def _begin(self, codec: Codec, raw: bytes) -> tuple[m.Message, DecisionProcess]:
        try:
            message = codec.decode_events(raw)
        except ProtocolError as error:
            raise Unexpected(str(error)) from None
        for event in message.events:
            if isinstance(event, m.SimulationBegins):
                return message, self._make_process(event)
        raise Unexpected(
            "the first message is not SIMULATION_BEGINS: was the simulation under way before "
            "this process? Start both anew"
        )


def refusal(reason: object) -> bytes:
    """Return an answer that is no JSON: Batsim then aborts with it, instead of waiting for ever."""
    return f"batsched_py cannot answer: {reason}".encode(errors="replace")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds."""

    first: float
    """For the first message."""
    silence: float
    """For each one after it."""


def serve(
    endpoint: Endpoint,
    conversation: Conversation,
    limits: Limits,
    recorder: Recorder | None = None,
) -> None:
    """Answer until the reply to SIMULATION_ENDS is sent.

    What comes before a simulation begins, or from others while it goes on, is refused and noted.
    Raises :class:`SimulationError` when a limit passes or the simulator goes away, and what
    answering raises; the simulator is told, if it asks within :data:`FAREWELL` seconds.
    """
    partner: Request | None = None
    waiting: Request | None = None
    deadline = monotonic() + limits.first
    try:
        while not conversation.ended:
            waiting = request = _next(endpoint, conversation, limits, partner, deadline)
            try:
                reply = _answer(conversation, request, recorder)
            except Unexpected as error:
                _refuse(endpoint, request, str(error))
                waiting = None
                continue
            endpoint.reply(request, reply)
            partner, waiting = request, None
            deadline = monotonic() + limits.silence
    except BaseException as error:
        _take_leave(endpoint, partner, waiting, refusal(str(error) or type(error).__name__))
        raise


def _answer(conversation: Conversation, request: Request, recorder: Recorder | None) -> bytes:
    """Answer and record; what begins no simulation is not part of the recording."""
    raw = b"".join(request.frames)
    try:
        if len(request.frames) != 1:
            reason = f"a message of {len(request.frames)} frames, expected one"
            raise ProtocolError(reason) if conversation.begun else Unexpected(reason)
        reply = conversation.answer(raw)
    except Unexpected:
        raise
    except BaseException:
        if recorder is not None:
            recorder.add("batsim", raw)
        raise
    if recorder is not None:
        recorder.add("batsim", raw)
        recorder.add("sched", reply)
    return reply


def _next(
    endpoint: Endpoint,
    conversation: Conversation,
    limits: Limits,
    partner: Request | None,
    deadline: float,
) -> Request:
    """Return the next request of the simulator, or the first of anybody."""
    where = f"at {conversation.now:f} s of simulated time, before SIMULATION_ENDS"
    while True:
        try:
            request = endpoint.receive(deadline - monotonic(), partner)
        except SimulationError as error:
            raise SimulationError(
                f"{error} {where}: Batsim was stopped, crashed, or ended in a deadlock (jobs wait "
                "and nothing can happen; it exits with 0 then); its log says which"
            ) from None
        if request is None and partner is None:
            raise SimulationError(
                f"no simulation began at {endpoint.address} within {limits.first:g} s: start "
                f"Batsim with -s {endpoint.address}; {parameter('first_timeout')} allows more time"
            )
        if request is None:
            raise SimulationError(
                f"Batsim said nothing for {limits.silence:g} s {where}; "
                f"{parameter('silence_timeout')} allows "
                "more"
            )
        if partner is None or request.sender == partner.sender:
            return request
        _refuse(endpoint, request, "a simulation is going on here, and one process serves one")


def _refuse(endpoint: Endpoint, request: Request, reason: str) -> None:
    print(f"note: refused a message: {reason}", file=sys.stderr)
    endpoint.reply(request, refusal(reason))


def _take_leave(
    endpoint: Endpoint, partner: Request | None, waiting: Request | None, reason: bytes
) -> None:
    """Tell the simulator that there will be no more answers: now, or when it asks next.

    An interruption may come between a reply and the note that it was sent. What is said now is
    then not heard, so the next question is waited for in any case.
    """
    if waiting is not None:
        endpoint.reply(waiting, reason)
        partner = waiting
    if partner is None:
        return
    deadline = monotonic() + FAREWELL
    try:
        while (left := deadline - monotonic()) > 0:
            request = endpoint.receive(left, partner)
            if request is not None:
                endpoint.reply(request, reason)
    except SimulationError:
        pass  # it is gone
