"""Connects a simulation with a scheduler of others, and lets users meet it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from batsched_py.errors import UsageError, parameter
from batsched_py.model.user_model import UserModel
from batsched_py.run.make_process import make_driver
from batsched_py.run.resolved_machine import ResolvedMachine
from batsched_py.run.stored_values import ProcessSettings
from batsched_py.schedulers.external import External
from batsched_py.transport import Partner
from batsched_py.transport.recording import Recorder
from batsched_py.transport.simulator_socket import Batsim5Socket, SimulatorSocket
from batsched_py.transport.users_proxy import UsersProxy
from batsched_py.workload.logs.clock import Clock
from batsched_py.workload.workload import Workload


class ExternalScheduler:
    """A scheduler of others, and ``users`` if wanted (None: all jobs are the simulator's).

    ``options`` are those of :class:`~batsched_py.transport.users_proxy.UsersProxy`. Raises
    :class:`UsageError` for grid sites and partitions, which no message names.
    """

    def __init__(
        self,
        scheduler: External,
        users: UserModel | None,
        *,
        sites: Any = (),
        description: Any = None,
        speed_factor: float = 1.0,
        power: Any = (),
        shutdown: Any = None,
        clock: Clock | None = None,
        **options: Any,
    ) -> None:
        for name, given in (("sites", sites), ("machine", description)):
            if given:
                raise UsageError(
                    f"{parameter(name)}: an external scheduler knows neither grid sites nor "
                    "partitions; leave it out"
                )
        self.scheduler, self.users = scheduler, users
        self._options = options
        self._connect: Callable[[type[SimulatorSocket]], SimulatorSocket] | None = None
        self._socket: SimulatorSocket | None = None
        self._shows_profiles = True
        self.notes: list[str] = []
        """Notes on the end of its program."""
        self.proxy: UsersProxy | None = None
        """Once the simulation has begun with users."""

    def set_place(
        self,
        stack: ExitStack,
        address: str,
        timeout: float,
        *,
        exact: bool = False,
        six_decimals: bool = False,
        note: Callable[[str], None] = lambda text: None,
        watch: Callable[[bool], None] = lambda met: None,
        recorder: Recorder | None = None,
    ) -> None:
        """Set where the scheduler listens, and how to speak with it, until ``stack`` ends.

        ``six_decimals`` is as in :class:`~batsched_py.transport.users_proxy.UsersProxy`, all else
        as in :class:`~batsched_py.transport.simulator_socket.SimulatorSocket`.
        """
        self._options["six_decimals"] = six_decimals
        self._connect = lambda kind: stack.enter_context(
            kind(address, timeout, exact=exact, note=note, watch=watch, recorder=recorder)
        )

    def read_request(self, text: str) -> dict[str, bool]:
        """Greet a scheduler of Batsim 5, and return the features to request from the simulator.

        ``text`` is what the simulator was started with for the scheduler.
        """
        assert self._connect is not None
        socket = self._connect(Batsim5Socket)
        assert isinstance(socket, Batsim5Socket)
        self._socket, features = socket, dict(socket.greet(text).features)
        self._shows_profiles = features.get("forward_profiles_on_simulation_begins", False)
        if self.users is not None:
            features |= {"dynamic_registration": True, "profile_reuse": True}
        return features

    def make_partner(self) -> Partner:
        """Return what answers the messages of the simulator; call it once."""
        assert self._connect is not None
        socket = self._socket or self._connect(SimulatorSocket)
        if self.users is None:
            return socket
        self.proxy = UsersProxy(
            socket,
            self.users,
            registers=self.scheduler.registers,
            shows_profiles=self._shows_profiles,
            **self._options,
        )
        return self.proxy.answer

    @property
    def nb_too_late(self) -> int:
        """Number of withdrawals without effect, since the job had started or ended."""
        return 0 if self.proxy is None else self.proxy.nb_too_late

    def describe_progress(self) -> str:
        """Return the progress of the simulation in words."""
        return "another program schedules" if self.proxy is None else self.proxy.describe_progress()

    def find_stuck_jobs(self) -> str | None:
        """Return which jobs wait while nothing runs; None if there are none, or it is unknown."""
        return None if self.proxy is None else self.proxy.find_stuck_jobs()


def make_external(settings: ProcessSettings, workload: Workload | None) -> ExternalScheduler:
    """Return the scheduler of others of ``settings``, and its users, who submit ``workload``."""
    return make_driver(lambda users: ExternalScheduler, settings, workload, ResolvedMachine())
