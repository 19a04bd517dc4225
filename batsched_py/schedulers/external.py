"""The name ``external``: a scheduler of others, in a program of its own."""

from __future__ import annotations

from typing import NoReturn

from batsched_py.errors import UsageError, parameter
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue


class External:
    """A scheduler of others: the ``command`` line that starts it, and how it speaks with Batsim.

    ``{endpoint}`` and ``{port}`` in the command stand for the place where it listens, such as
    ``tcp://127.0.0.1:28000``. Without both, ``-s ENDPOINT`` is appended. ``protocol`` is the
    version of Batsim, 4 or 5. With ``registers`` it registers jobs itself. ``endpoint`` is where it
    listens if others have started it.

    >>> External(command="batsched -v easy_bf").protocol
    4
    """

    def __init__(
        self,
        *,
        command: str = "",
        protocol: int = 4,
        registers: bool = False,
        endpoint: str = "",
    ) -> None:
        if protocol not in (4, 5):
            raise UsageError(f"{parameter('scheduler_protocol')} {protocol}: expected 4 or 5")
        self.command, self.protocol, self.registers = command, protocol, registers
        self.endpoint = endpoint

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> NoReturn:
        """Raise :class:`UsageError`: the program decides, not this process."""
        raise UsageError(
            "an external scheduler decides in its own program: give its command line to "
            f"{parameter('scheduler_command')} of `batsched-py simulate` or `users-proxy`"
        )
