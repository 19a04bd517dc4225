"""The referee checks the messages of both sides of a conversation."""

from __future__ import annotations

from batsched_py.protocol.referee.batsim5_decision_checks import Batsim5DecisionChecks
from batsched_py.protocol.referee.decision_checks import DecisionChecks
from batsched_py.protocol.referee.event_checks import EventChecks
from batsched_py.protocol.referee.referee_state import RefereeState


class Referee:
    """Refuses messages that Batsim cannot have sent, and replies that it would not accept.

    With ``strict`` it also refuses replies that Batsim accepts but that make no sense, and those
    that Batsim 4.2.0 does not survive later. It knows the messages only: not which machines sleep,
    and whether Batsim was started with ``--energy`` only from ``energy`` (None: not known).
    ``batsim5`` takes the rules of that version.
    """

    def __init__(
        self, *, strict: bool = True, energy: bool | None = None, batsim5: bool = False
    ) -> None:
        self._state = RefereeState()
        self.check_message = EventChecks(self._state).check
        """Checks a message of Batsim; raises :class:`ProtocolError`."""
        checks = Batsim5DecisionChecks if batsim5 else DecisionChecks
        self.check_reply = checks(self._state, strict=strict, energy=energy).check
        """Checks the scheduler's reply; raises :class:`ProtocolError`."""

    @property
    def nb_resources(self) -> int:
        """Number of machines and storages, 0 before SIMULATION_BEGINS."""
        return self._state.nb_resources

    @property
    def ended(self) -> bool:
        """Whether SIMULATION_ENDS was received."""
        return self._state.ended
