"""The referee: hears both sides of a conversation, and refuses what cannot be said."""

from __future__ import annotations

from batsched_py.protocol.referee.batsim5_decision_checks import Batsim5DecisionChecks
from batsched_py.protocol.referee.decision_checks import DecisionChecks
from batsched_py.protocol.referee.event_checks import EventChecks
from batsched_py.protocol.referee.referee_state import RefereeState


class Referee:
    """Refuses what Batsim cannot have said, and replies that it would not accept.

    Replies are judged ``as Batsim`` does, or, for what we send ourselves, ``strict``: then it also
    refuses what Batsim takes but cannot have been meant, and what Batsim 4.2.0 does not survive
    later. What the messages do not show is not judged: machines that sleep, and whether Batsim was
    started with ``--energy``, unless ``energy`` says it (None: not known). ``batsim5`` is for the
    rules of that version.
    """

    def __init__(
        self, *, strict: bool = True, energy: bool | None = None, batsim5: bool = False
    ) -> None:
        self._state = RefereeState()
        self.heard = EventChecks(self._state).check
        """Takes note of a message from Batsim; raises :class:`ProtocolError` if it cannot be."""
        checks = Batsim5DecisionChecks if batsim5 else DecisionChecks
        self.check = checks(self._state, strict=strict, energy=energy).check
        """Takes note of the scheduler's reply; raises :class:`ProtocolError` if it is refused."""

    @property
    def nb_resources(self) -> int:
        """Number of machines and storages, 0 before SIMULATION_BEGINS."""
        return self._state.nb_resources

    @property
    def ended(self) -> bool:
        """Whether SIMULATION_ENDS was heard."""
        return self._state.ended
