"""A schedule to explain, and its exchange with the scheduler in a file."""

from __future__ import annotations

from pathlib import Path

from batsched_py.decision_process import DecisionProcess
from batsched_py.explain.job_watch import Watch
from batsched_py.explain.replayed_exchange import has_six_decimals, read_turns, replay
from batsched_py.model.policy import Scheduler
from batsched_py.model.user_model import UserModel
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob as J
from batsched_py.transport.recording import Recorder, record_messages
from batsched_py.workload import Workload

# 6 of 8 processors until 100; a head; three that are short, too long, and long and narrow
JOBS = [J(0, 6, 100), J(10, 8, 50), J(12, 2, 80), J(14, 2, 300), J(15, 4, 60), J(16, 1, 20)]


def watched(
    path: Path,
    job: str,
    policy: Scheduler,
    margin: float = 0.0,
    withdrawn: frozenset[str] = frozenset(),
) -> Watch:
    """Replay the exchange in ``path``, in which users withdraw jobs, and watch a job."""
    turns = read_turns(path)
    watch = Watch(job, policy, margin)
    process = DecisionProcess(policy, six_decimals=has_six_decimals(turns))
    replay(turns, process, watch, withdrawn)
    return watch


def record(path: Path, load: Workload, policy: Scheduler, users: UserModel | None = None) -> None:
    """Simulate and write the exchange to ``path``."""
    loads = [load] if users is None else []
    options = Options(dynamic_jobs=users is not None, profile_reuse=users is not None)
    simulator = Simulator(make_homogeneous(load.nb_res), loads, options)
    process = DecisionProcess(policy, users)
    with Recorder(path) as recorder:
        simulator.run(record_messages(process.answer, recorder))
