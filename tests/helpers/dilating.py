"""A policy under which jobs run longer, or on other numbers of processors, and runs of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from batsched_py.decision_process import DecisionProcess
from batsched_py.model.decisions import Decision, Start
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.user_model import UserModel
from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.referee.referee import Referee
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.platform.hosts import make_grid, make_homogeneous
from batsched_py.workload import Workload
from batsched_py.workload.grid_sites import GridSites, parse_sites


class Placed(NamedTuple):
    """How a job is placed: how much longer it runs, and where (None: the lowest free ones)."""

    dilation: float = 1.0
    transfer: float = 0.0
    size: int | None = None
    processors: ProcessorSet | None = None


class Dilating:
    """FCFS that places the job of a name as it is told, the others as ``others``."""

    def __init__(self, others: Placed = Placed(1.5), **names: Placed) -> None:  # noqa: B008
        self.others, self.names = others, names

    def dilates(self, sites: GridSites) -> bool:
        return True

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        while head := queue.head:
            placed = self.names.get(head.id.partition("!")[2], self.others)
            processors = placed.processors
            if processors is None:
                size = placed.size or head.size
                if size > machine.free:
                    return
                processors = machine.free_processors.lowest(size)
            elif processors - machine.free_processors:
                return
            yield Start(head, processors, placed.dilation, placed.transfer)


class Exchange:
    """A simulation whose messages are judged by the referee and go over the wire as JSON."""

    def __init__(
        self,
        load: Workload | Sequence[Workload],
        policy: Any,
        *,
        users: UserModel | None = None,
        sites: str | None = None,
        speed: float = 1.0,
        exact: bool = True,
        **options: Any,
    ) -> None:
        loads = [load] if isinstance(load, Workload) else list(load)
        parts = () if sites is None else parse_sites(sites)
        machine = make_grid(parts, speed) if parts else make_homogeneous(loads[0].nb_res, speed)
        self._process = DecisionProcess(
            policy, users, six_decimals=True, sites=parts, speed_factor=speed
        )
        self._referee = Referee(strict=True)
        self._exact = exact
        self.messages: list[m.Message] = []
        self.replies: list[m.Message] = []
        chosen: Mapping[str, Any] = {"dynamic_jobs": True, "profile_reuse": True, **options}
        simulator = Simulator(
            machine, loads if users is None else [], Options(exact_times=exact, **chosen)
        )
        self.outcome: Outcome = simulator.run(self._answer)

    def _answer(self, message: m.Message) -> m.Message:
        heard = codec.decode_events(codec.encode_events(message, exact=self._exact))
        self._referee.check_message(heard)
        reply = codec.decode_decisions(codec.encode_decisions(self._process.answer(heard)))
        self._referee.check_reply(reply)
        self.messages.append(heard)
        self.replies.append(reply)
        return reply

    @property
    def decisions(self) -> list[m.Event]:
        """All decisions, in order."""
        return [event for reply in self.replies for event in reply.events]
