"""Messages as Batsim sends them, and a scheduler that serves in a thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import zmq

from batsched_py.decision_process import DecisionProcess
from batsched_py.protocol.messages import SimulationBegins
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.transport import Partner
from batsched_py.transport.conversation import Conversation, WaitLimits, serve
from batsched_py.transport.scheduler_socket import SchedulerSocket
from helpers.waiting import LIMIT


def message(now: float, *events: tuple[str, dict[str, Any]]) -> bytes:
    """Return a message with all events at ``now``."""
    listed = [{"timestamp": now, "type": kind, "data": data} for kind, data in events]
    return json.dumps({"now": now, "events": listed}).encode()


def begins(nb_processors: int = 4, **config: Any) -> bytes:
    hosts = [{"id": i, "name": f"host{i}"} for i in range(nb_processors)]
    data = {
        "nb_resources": nb_processors,
        "nb_compute_resources": nb_processors,
        "config": {name.replace("_", "-"): value for name, value in config.items()},
        "compute_resources": hosts,
        "workloads": {"w0": "workload.json"},
    }
    return message(0.0, ("SIMULATION_BEGINS", data))


def submitted(name: str, size: int = 1, now: float = 0.0) -> bytes:
    job = {"id": f"w0!{name}", "subtime": now, "res": size, "profile": "p", "walltime": 10}
    return message(now, ("JOB_SUBMITTED", {"job_id": f"w0!{name}", "job": job}))


def completed(name: str, alloc: str, now: float) -> bytes:
    data = {"job_id": f"w0!{name}", "job_state": "COMPLETED_SUCCESSFULLY", "return_code": 0}
    return message(now, ("JOB_COMPLETED", {**data, "alloc": alloc}))


def ends(now: float = 0.0) -> bytes:
    return message(now, ("SIMULATION_ENDS", {}))


def decisions(reply: bytes) -> list[tuple[str, dict[str, Any]]]:
    return [(event["type"], event["data"]) for event in json.loads(reply)["events"]]


def fcfs(_: SimulationBegins) -> Partner:
    return DecisionProcess(Fcfs(), six_decimals=True).answer


class Serving(Thread):
    """A conversation that serves; what it raises is kept in ``error``."""

    def __init__(
        self,
        endpoint: SchedulerSocket,
        conversation: Conversation,
        first_timeout: float,
        silence_timeout: float,
    ) -> None:
        super().__init__(daemon=True)
        self.endpoint, self.conversation = endpoint, conversation
        self.error: BaseException | None = None
        self._limits = WaitLimits(first=first_timeout, silence=silence_timeout)

    def run(self) -> None:
        try:
            with self.endpoint as endpoint:
                serve(endpoint, self.conversation, self._limits)
        except BaseException as error:
            self.error = error


@contextmanager
def serving(
    folder: Path,
    make: Callable[[SimulationBegins], Partner] = fcfs,
    *,
    first_timeout: float = LIMIT,
    silence_timeout: float = LIMIT,
    address: str = "ipc://{}/s",
) -> Iterator[Serving]:
    """Serve in a thread, which has ended when the block has."""
    endpoint = SchedulerSocket(address.format(folder))
    thread = Serving(endpoint, Conversation(make), first_timeout, silence_timeout)
    thread.start()
    yield thread
    thread.join(LIMIT)
    assert not thread.is_alive(), "it hangs"


@contextmanager
def peer(address: str, kind: int = zmq.REQ) -> Iterator[zmq.Socket[bytes]]:
    """Connect to a scheduler as Batsim does; leaving closes the connection at once."""
    context = zmq.Context()
    socket = context.socket(kind)
    socket.setsockopt(zmq.LINGER, 200)
    socket.setsockopt(zmq.RCVTIMEO, round(LIMIT * 1000))
    socket.connect(address)
    try:
        yield socket
    finally:
        socket.close()
        context.term()


@contextmanager
def conversing(folder: Path, **limits: Any) -> Iterator[tuple[Serving, zmq.Socket[bytes]]]:
    """Serve in a thread, and connect to it."""
    with serving(folder, **limits) as server, peer(server.endpoint.address) as batsim:
        yield server, batsim


def ask(socket: zmq.Socket[bytes], raw: bytes) -> bytes:
    socket.send(raw)
    return socket.recv()
