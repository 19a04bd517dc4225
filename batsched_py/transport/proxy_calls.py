"""The calls that a proxy and the scheduler behind it have asked for."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from math import inf

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5.exact_calls import read_exact_time
from batsched_py.protocol.decision_rules import round_up_to_six_decimals


class ProxyCalls:
    """The outstanding calls, and whose they are: the proxy's own, or the scheduler's."""

    def __init__(self) -> None:
        self.six_decimals = False
        """Whether calls can only be requested at times of six decimals."""
        self.are_named = False
        """Whether calls have names, as in Batsim 5; else they come in the order of their times."""
        self._own: list[float] = []
        """Times (seconds) of the own calls: a heap."""
        self._all: list[tuple[float, bool]] = []
        """Times of all calls without names, and whether they are own ones: a heap."""
        self._exact: Counter[str] = Counter()
        """The calls of the scheduler whose names hold an exact time, as those of the proxy do."""

    @property
    def next_own(self) -> float:
        """The time of the next own call (seconds), inf if there is none."""
        return self._own[0] if self._own else inf

    def add_own(self, time: float) -> float:
        """Note an own call at ``time``; return the time to ask for, which may be rounded up."""
        if self.six_decimals:
            time = round_up_to_six_decimals(time)
        heappush(self._own, time)
        if not self.are_named:
            heappush(self._all, (time, True))
        return time

    def add_theirs(self, decision: m.CallMeLater) -> None:
        """Note a call of the scheduler."""
        name = decision.call_id
        if not self.are_named:
            heappush(self._all, (decision.time, False))
        elif name is not None and read_exact_time(name) is not None:
            self._exact[name] += 1

    def take_own(self, event: m.RequestedCall) -> bool:
        """Forget the request for a call that has come; return whether it was the proxy's own.

        Raises :class:`ProtocolError` for a call that nobody asked for.
        """
        name = event.call_id
        if not self.are_named:
            if not self._all:
                raise ProtocolError("REQUESTED_CALL: no CALL_ME_LATER is outstanding")
            _, own = heappop(self._all)
        elif name is None:  # of the embedded simulator in this process
            own = bool(self._own)
        elif self._exact[name]:
            self._exact[name] -= 1
            own = False
        else:
            own = read_exact_time(name) in self._own
        if own:
            heappop(self._own)  # they come in the order of their times
        return own
