"""The embedded simulator behind a socket, in place of Batsim, for schedulers in any language."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic
from types import ModuleType
from typing import TypeVar

import zmq

from batsched_py.errors import ProtocolError, SimulationError, UsageError, parameter
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.protocol import message_json
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json
from batsched_py.transport.closing import Closing
from batsched_py.transport.recording import Recorder
from batsched_py.transport.scheduler_socket import check_address, watch_connections

_T = TypeVar("_T")

_TICK = 0.2
"""Seconds after which a wait looks whether the scheduler is still there."""
_PATIENCE = 5.0
"""Seconds without a scheduler before a line reports that the simulator waits for one."""


class SimulatorSocket(Closing):
    """Batsim's end of the socket: it connects to a scheduler at ``address``.

    A :data:`~batsched_py.transport.Partner` for the simulator. ``timeout`` is in seconds, for
    each reply (Batsim itself waits for ever). Times are sent with six decimals as Batsim does, or
    ``exact``. ``note`` is called once if no scheduler listens yet. ``watch`` is called while there
    is no reply, with whether a scheduler was there; it may raise. ``recorder`` records all frames.
    A context manager: leaving it closes the socket.

    Raises :class:`~batsched_py.errors.UsageError` for a text that is not an address.
    """

    _codec: ModuleType = message_json
    _decimals = 6

    def __init__(
        self,
        address: str,
        timeout: float,
        *,
        exact: bool = False,
        note: Callable[[str], None] = lambda text: None,
        watch: Callable[[bool], None] = lambda met: None,
        recorder: Recorder | None = None,
    ) -> None:
        check_address(address)
        self._address, self._timeout, self._exact = address, timeout, exact
        self._recorder = recorder
        self._note, self._note_at = note, monotonic() + _PATIENCE
        self._watch = watch
        self._nb_resources = MOST_PROCESSORS
        self._met = False
        """Whether a scheduler was there."""
        self._listener = "nothing answers there"
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, message_json.MOST_BYTES)
        for wait in (zmq.SNDTIMEO, zmq.RCVTIMEO):  # where nobody is connected, sending waits too
            self._socket.setsockopt(wait, round(_TICK * 1000))
        self._monitor = self._socket.get_monitor_socket(
            zmq.Event.HANDSHAKE_SUCCEEDED | zmq.Event.DISCONNECTED
        )
        try:
            self._socket.connect(address)
        except zmq.ZMQError as error:
            self.close()
            raise UsageError(
                f"endpoint {address!r}: nothing can connect to it ({error.strerror}): expected an "
                "address such as tcp://127.0.0.1:28000"
            ) from None

    def close(self) -> None:
        """Close the connection."""
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close()
        self._context.term()

    def __call__(self, message: m.Message) -> m.Message:
        """Send a message and return the reply.

        Raises :class:`SimulationError` if none comes, :class:`ProtocolError` if it is none.
        """
        if message.events and isinstance(begins := message.events[0], m.SimulationBegins):
            self._nb_resources = begins.nb_resources
        raw = self._codec.encode_events(message, exact=self._exact)
        reply: m.Message = self._ask(
            raw, message.now, lambda reply: self._codec.decode_decisions(reply, self._nb_resources)
        )
        if not self._exact:
            _restore_digits(reply, message.now, self._decimals)
        return reply

    def _ask(self, raw: bytes, now: float, read: Callable[[bytes], _T]) -> _T:
        """Send a frame, and read the one that answers it."""
        self._patiently(lambda: self._socket.send(raw), now)
        if self._recorder is not None:
            self._recorder.add("batsim", raw)
        frames = self._patiently(self._socket.recv_multipart, now)
        if self._recorder is not None:
            self._recorder.add("sched", frames[0])
        try:
            if len(frames) != 1:
                raise ProtocolError(f"a reply of {len(frames)} frames, expected one")
            return read(frames[0])
        except ProtocolError as error:
            beginning = frames[0][:300].decode(errors="replace")
            raise ProtocolError(f"{error}; it answered: {beginning}") from None

    def _patiently(self, action: Callable[[], _T], now: float) -> _T:
        """Send, or wait for the reply. A scheduler that went away will not answer any more."""
        deadline = monotonic() + self._timeout
        while True:
            try:
                return action()
            except zmq.Again:
                pass
            self._check_connection(now)
            if monotonic() >= deadline:
                raise SimulationError(self._why_late(now))

    def _check_connection(self, now: float) -> None:
        """Raise :class:`SimulationError` if the scheduler is gone; note if there is none yet."""
        for event, _ in watch_connections(self._monitor):
            if event == zmq.Event.HANDSHAKE_SUCCEEDED:
                self._met = True
            elif not self._met:  # may yet come: a proxy takes connections before it does
                self._listener = "the program there has no ZeroMQ socket (REP)"
            elif not self._socket.poll(0):
                raise SimulationError(
                    f"the scheduler at {self._address} went away at {now:f} s without a reply"
                )
        self._watch(self._met)
        if not self._met and monotonic() >= self._note_at:
            self._note_at = inf
            self._note(f"waiting for a scheduler at {self._address}: {self._listener}")

    def _why_late(self, now: float) -> str:
        within = f"within {self._timeout:g} s; {parameter('timeout')} allows more"
        if self._met:
            return f"the scheduler at {self._address} did not reply at {now:f} s {within}"
        return f"no scheduler was reached at {self._address} {within} ({self._listener})"


class Batsim5Socket(SimulatorSocket):
    """Batsim 5's end of the socket, in JSON; :meth:`greet` comes first.

    Times are sent with twelve decimals.
    """

    _codec = batprotocol_json
    _decimals = 12

    def greet(self, init: str) -> m.Hello:
        """Send the first frame, whose text ``init`` is for the scheduler; return its hello."""
        return self._ask(batprotocol_json.make_init_frame(init), 0.0, batprotocol_json.decode_hello)


def _restore_digits(reply: m.Message, now: float, decimals: int = 6) -> None:
    """Replace the rounded time that was sent by the time that it stands for.

    A scheduler that repeats the time of the message means ``now``, not its rounding.
    """
    sent = float(f"{now:.{decimals}f}")
    if sent == now:
        return
    if reply.now == sent:
        reply.now = now
    for decision in reply.events:
        if decision.timestamp == sent:
            decision.timestamp = now
