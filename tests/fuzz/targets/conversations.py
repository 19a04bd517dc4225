"""Whole conversations, one message a line: with ``serve``, and with the stand-in for Batsim."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain, repeat
from tempfile import NamedTemporaryFile

from batsched_py.errors import BatschedError, InvariantError
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.simulator.batsim4.simulator import Batsim4Simulator
from batsched_py.simulator.engine import Options
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.transport.conversation import Conversation
from fuzz.contract import Target, refusal
from fuzz.targets.messages import WORDS
from fuzz.targets.small_inputs import BUDGETS, exchange, jobs, lines, process


def _of_batsim() -> list[bytes]:
    return [lines([raw for raw, _ in exchange(users=users)]) for users in (False, True)]


def _of_schedulers() -> list[bytes]:
    said = [lines([raw for _, raw in exchange(users=users)]) for users in (False, True)]
    kills = lines(
        [
            b'{"now":0,"events":[{"timestamp":0,"type":"CALL_ME_LATER","data":{"timestamp":3}}]}',
            b'{"now":0.5,"events":[{"timestamp":0.5,"type":"EXECUTE_JOB",'
            b'"data":{"job_id":"w0!0000","alloc":"1 3"}}]}',
            b'{"now":1,"events":[{"timestamp":1,"type":"REJECT_JOB","data":{"job_id":"w0!0001"}}]}',
            b'{"now":3,"events":[{"timestamp":3,"type":"KILL_JOB","data":{"job_ids":["w0!0000"]}},'
            b'{"timestamp":3,"type":"QUERY","data":{"requests":{"consumed_energy":{}}}}]}',
        ]
    )
    switches = kills.replace(
        b'{"now":1,"events":[',
        b'{"now":1,"events":[{"timestamp":1,"type":"SET_RESOURCE_STATE",'
        b'"data":{"resources":"0 2","state":"1"}},',
    )
    return [*said, kills, switches]


def check_serve(data: bytes) -> str:
    """EASY answers what is said, or says why not; with users who react and without."""
    users = b'"dynamic-jobs-enabled":true' in data

    def make(_: m.SimulationBegins) -> Callable[[m.Message], m.Message]:
        return process(users=users).answer

    conversation = Conversation(make)
    for raw in data.splitlines():
        try:
            reply = conversation.answer(raw)
        except InvariantError as error:
            raise AssertionError(f"the peer's fault is told as the policy's: {error}") from None
        except BatschedError as error:
            return refusal(error)
        codec.decode_decisions(reply)
        if conversation.ended:
            break
    return "ended" if conversation.ended else ""


@cache
def _machine() -> Platform:
    """Return four hosts that can be switched off."""
    prop = '<prop id="wattage_per_state" value="95:105:220,9:9:9,120:120:120,125:125:125"/>'
    prop += '<prop id="wattage_off" value="5"/><prop id="sleep_pstates" value="1:2:3"/>'
    where = 'coordinates="0 0 0"'
    hosts = [f'<host id="{i}" speed="1Gf,1f,1f,0.5f" {where}>{prop}</host>' for i in range(4)]
    with NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(
            '<platform version="4.1"><zone id="AS0" routing="Vivaldi">'
            f'<host id="master_host" speed="1Gf" {where}/>{"".join(hosts)}</zone></platform>'
        )
        file.flush()
        return read_platform(file.name)


def check_simulator(data: bytes) -> str:
    """The stand-in does what any scheduler says, or says why not; once it is silent, it ends."""
    replies = chain(data.splitlines(), repeat(None))

    def scheduler(message: m.Message) -> m.Message:
        raw = next(replies)
        return m.Message(message.now, []) if raw is None else codec.decode_decisions(raw)

    dynamic = b"REGISTER_JOB" in data
    options = Options(
        dynamic_jobs=dynamic,
        profile_reuse=dynamic,
        acknowledge_dynamic_jobs=dynamic,
        energy=b"SET_RESOURCE_STATE" in data,
        compute_sharing=b"KILL_JOB" in data,
        budgets=BUDGETS,
    )
    try:
        outcome = Batsim4Simulator(_machine(), [] if dynamic else [jobs()], options).run(scheduler)
    except BatschedError as error:
        return refusal(error)
    assert all(0 <= job.start_time <= job.finish_time for job in outcome.jobs), "impossible times"
    return "ended"


TARGETS = (
    Target("serve", _of_batsim, check_serve, WORDS),
    Target("simulator", _of_schedulers, check_simulator, WORDS),
)
