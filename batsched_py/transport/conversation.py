"""Handles one simulation over a socket: Batsim's messages, and the scheduler's replies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import msgspec

from batsched_py.errors import ProtocolError, SimulationError, parameter
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5.scheduler_side import RequestFeatures
from batsched_py.protocol.scheduler_side import SchedulerSide, make_side
from batsched_py.support.terminal_text import say
from batsched_py.transport import Partner
from batsched_py.transport.recording import Recorder
from batsched_py.transport.scheduler_socket import SchedulerSocket, SocketRequest
from batsched_py.units import LATEST_TIME

LAST_CALL = 0.3
"""Seconds in which a Batsim that waits for a listener finds us (it tries every 0.1 s)."""
_PATIENCE = 7.0
"""Seconds to stay for a Batsim that computes: `docker stop` kills after 10."""
ExchangeObserver = Callable[[m.Message, m.Message], None]
"""Sees every message and its reply."""


class Unexpected(ProtocolError):  # noqa: N818 - somebody else's error, or an earlier run's
    """A message that does not begin a simulation, while none has begun."""


class Conversation:
    """Replies to the messages of one simulation, from SIMULATION_BEGINS to SIMULATION_ENDS.

    The first message distinguishes Batsim 4.2 from 5. ``make_scheduler`` is called with
    SIMULATION_BEGINS, which describes the machine and Batsim's options; what it returns answers the
    messages. Messages of Batsim are trusted but for the time. ``stuck`` names the jobs that wait
    while nothing runs (None: there are none), which explains why a simulator goes away. ``asked``
    returns the features to request from a Batsim 5.
    """

    def __init__(
        self,
        make_scheduler: Callable[[m.SimulationBegins], Partner],
        observe: ExchangeObserver | None = None,
        stuck: Callable[[], str | None] = lambda: None,
        asked: RequestFeatures = lambda text: {},
    ) -> None:
        self.now = 0.0
        """Simulated time of the last message (seconds)."""
        self.ended = False
        """Whether SIMULATION_ENDS was answered."""
        self._make_scheduler = make_scheduler
        self._observe = observe
        self.stuck = stuck
        self._asked = asked
        self._side: SchedulerSide | None = None
        self._scheduler: Partner | None = None

    @property
    def begun(self) -> bool:
        """Whether SIMULATION_BEGINS was seen."""
        return self._scheduler is not None

    def answer(self, raw: bytes) -> bytes:
        """Return the frame that replies to a frame of Batsim.

        Raises :class:`Unexpected` as long as nothing has begun, for what does not begin a
        simulation, and :class:`~batsched_py.errors.BatschedError` for what cannot be answered.
        """
        side = self._side or make_side(raw, self._asked)
        try:
            message = side.decode_message(raw)
        except ProtocolError as error:
            raise error if self.begun else Unexpected(str(error)) from None
        reply = None if message is None else self.reply(message)
        self._side = side
        return side.encode_reply(reply)

    def reply(self, message: m.Message) -> m.Message:
        """Return the reply to a message; raises the same errors as :meth:`answer`."""
        if self._scheduler is None:
            self._scheduler = self._begin(message)
        if not self.now <= message.now <= LATEST_TIME:
            raise ProtocolError(f"time went back from {self.now} to {message.now}")
        self.now = message.now
        reply = self._scheduler(message)
        self.ended = any(isinstance(event, m.SimulationEnds) for event in message.events)
        if self.ended and reply.events:
            raise ProtocolError(
                f"{reply.events[0].tag}: the simulation has ended, this is too late"
            )
        if self._observe is not None:
            self._observe(message, reply)
        return reply

    def _begin(self, message: m.Message) -> Partner:
        for event in message.events:
            if isinstance(event, m.SimulationBegins):
                return self._make_scheduler(event)
        raise Unexpected(
            "the first message is not SIMULATION_BEGINS: did the simulation begin before this "
            "process? Start both anew"
        )


def make_refusal(reason: object) -> bytes:
    """Return an answer that is not JSON, on which Batsim aborts instead of waiting for ever."""
    return f"batsched_py cannot answer: {reason}".encode(errors="replace")


class WaitLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of waiting for the other side, in seconds."""

    first: float
    """For the first message."""
    silence: float
    """For each one after it."""


def serve(
    socket: SchedulerSocket,
    conversation: Conversation,
    limits: WaitLimits,
    recorder: Recorder | None = None,
) -> None:
    """Reply to the messages on a socket until the reply to SIMULATION_ENDS is sent.

    Messages before a simulation begins, or of others while it goes on, are refused with a note.
    Raises :class:`SimulationError` when a limit passes or the simulator goes away, and what
    answering raises. The simulator's open or next message is refused then: this waits some seconds
    for it, or until the next Ctrl-C.
    """
    simulator: SocketRequest | None = None
    deadline = monotonic() + limits.first
    try:
        while not conversation.ended:
            request = _next(socket, conversation, limits, simulator, deadline)
            try:
                reply = _answer(conversation, request, recorder)
            except Unexpected as error:
                _refuse(socket, request, str(error))
                continue
            simulator = request
            socket.reply(request, reply)
            deadline = monotonic() + limits.silence
    except BaseException as error:
        with suppress(KeyboardInterrupt):  # do not wait, but send the reason
            _take_leave(socket, simulator, make_refusal(str(error) or type(error).__name__))
        raise


def _answer(conversation: Conversation, request: SocketRequest, recorder: Recorder | None) -> bytes:
    """Answer and record; messages before a simulation begins are not recorded."""
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
    socket: SchedulerSocket,
    conversation: Conversation,
    limits: WaitLimits,
    simulator: SocketRequest | None,
    deadline: float,
) -> SocketRequest:
    """Return the next request of the simulator, or the first request of any sender."""
    while True:
        try:
            request = socket.receive(deadline - monotonic(), simulator)
        except SimulationError as error:
            where = _describe_time(conversation)
            reason = conversation.stuck() or (
                "Batsim was stopped, crashed, or ended in a deadlock (jobs wait and nothing can "
                "happen; it exits with 0 then); its log says which"
            )
            raise SimulationError(f"{error} {where}: {reason}") from None
        if request is None and simulator is None:
            raise SimulationError(
                f"no simulation began at {socket.address} within {limits.first:g} s: start "
                f"Batsim with -s {socket.batsims_endpoint}; "
                f"{parameter('first_timeout')} allows more time"
            )
        if request is None:
            raise SimulationError(
                f"Batsim sent nothing for {limits.silence:g} s {_describe_time(conversation)}; "
                f"{parameter('silence_timeout')} allows more"
            )
        if simulator is None or request.sender == simulator.sender:
            return request
        _refuse(socket, request, "another simulation runs here, and a process serves one at a time")


def _describe_time(conversation: Conversation) -> str:
    return f"at {conversation.now:f} s of simulated time, before SIMULATION_ENDS"


def _refuse(socket: SchedulerSocket, request: SocketRequest, reason: str) -> None:
    say(f"note: refused a message: {reason}")
    socket.reply(request, make_refusal(reason))


def _take_leave(socket: SchedulerSocket, simulator: SocketRequest | None, refused: bytes) -> None:
    """Refuse the simulator's open message, or its next one, so that it ends.

    It may have begun just now, and not be known yet.
    """
    if socket.unanswered is not None:
        socket.reply(socket.unanswered, refused)
        return
    with suppress(SimulationError):  # it is gone
        if _refuse_next(socket, simulator, refused, LAST_CALL) or simulator is None:
            return
        within = f"within {_PATIENCE:g} s"
        say(
            f"note: Batsim still computes; its next message is refused if it comes {within}; "
            "Ctrl-C again leaves it waiting"
        )
        _refuse_next(socket, simulator, refused, _PATIENCE)


def _refuse_next(
    socket: SchedulerSocket, simulator: SocketRequest | None, reason: bytes, timeout: float
) -> bool:
    """Refuse all requests within ``timeout`` seconds; return whether the simulator sent one."""
    deadline = monotonic() + timeout
    while (left := deadline - monotonic()) > 0:
        if (request := socket.receive(left, simulator)) is not None:
            socket.reply(request, reason)
            if simulator is not None and request.sender == simulator.sender:
                return True
    return False
