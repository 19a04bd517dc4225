"""One simulation as bytes: the decision process behind Batsim's protocol."""

from __future__ import annotations

from collections.abc import Callable

from batsched_py.errors import SimulationError
from batsched_py.process import DecisionProcess
from batsched_py.protocol import messages as m
from batsched_py.protocol.handshake import Codec, codec_for
from batsched_py.protocol.referee import Referee
from batsched_py.transport.endpoint import Endpoint
from batsched_py.transport.recording import Recorder

Observer = Callable[[m.Message, m.Message], None]
"""Sees every message and its reply."""


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

        A second simulation that begins here is turned away, and the first goes on. Raises
        :class:`~batsched_py.errors.BatschedError` for messages that cannot be answered.
        """
        if self._codec is None:
            self._codec = codec_for(raw)
        message = self._codec.decode_events(raw)
        begins = next((e for e in message.events if type(e) is m.SimulationBegins), None)
        if self._process is None:
            self._process = self._begin(begins)
        elif begins is not None:
            return refusal("a simulation is going on here, and one process serves one")
        self._referee.heard(message)
        reply = self._process.answer(message)
        self._referee.check(reply)
        if self._observe is not None:
            self._observe(message, reply)
        return self._codec.encode_decisions(reply)

    def _begin(self, begins: m.SimulationBegins | None) -> DecisionProcess:
        if begins is None:
            raise SimulationError(
                "the first message is not SIMULATION_BEGINS: was the simulation under way before "
                "this process? Start both anew"
            )
        return self._make_process(begins)


def refusal(reason: str) -> bytes:
    """Return an answer that is no JSON: Batsim then aborts with it, instead of waiting for ever."""
    return f"batsched_py cannot answer: {reason}".encode()


def serve(
    endpoint: Endpoint,
    conversation: Conversation,
    *,
    first_timeout: float,
    silence_timeout: float,
    recorder: Recorder | None = None,
) -> None:
    """Answer until the reply to SIMULATION_ENDS is sent.

    The time-outs are in seconds: for the first message, and for each one after it. Raises
    :class:`SimulationError` when they pass or the other side goes away, and what answering
    raises; then the other side is told, if it waits.
    """
    while not conversation.ended:
        raw = _next(endpoint, conversation, first_timeout, silence_timeout)
        try:
            if recorder is not None:
                recorder.add("batsim", raw)
            reply = conversation.answer(raw)
        except BaseException as error:
            endpoint.send(refusal(str(error) or type(error).__name__))
            raise
        endpoint.send(reply)
        if recorder is not None:
            recorder.add("sched", reply)


def _next(
    endpoint: Endpoint, conversation: Conversation, first_timeout: float, silence_timeout: float
) -> bytes:
    if not conversation.begun:
        raw = endpoint.receive(first_timeout, of_peer=False)
        if raw is None:
            raise SimulationError(
                f"no message came to {endpoint.address} within {first_timeout:g} s: start Batsim "
                f"with -s {endpoint.address}; --first-timeout allows more time"
            )
        return raw
    where = f"at {conversation.now:f} s of simulated time, before SIMULATION_ENDS"
    try:
        raw = endpoint.receive(silence_timeout, of_peer=True)
    except SimulationError as error:
        raise SimulationError(
            f"{error} {where}: Batsim was stopped, crashed, or ended in a deadlock (jobs wait and "
            "nothing can happen; it exits with 0 then); its log says which"
        ) from None
    if raw is None:
        raise SimulationError(
            f"Batsim said nothing for {silence_timeout:g} s {where}; --silence-timeout allows more"
        )
    return raw
