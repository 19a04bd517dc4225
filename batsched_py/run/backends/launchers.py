"""Starts Batsim, as a program of this machine or in a container."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import msgspec

from batsched_py.errors import SimulationError, UsageError, parameter
from batsched_py.files.readers import read_log
from batsched_py.options.setting_fields import arguments, setting_fields
from batsched_py.run.backends.batsim_arguments import batsim_arguments
from batsched_py.run.backends.child_processes import (
    Process,
    ProcessGroup,
    describe_exit,
    find_cause,
)
from batsched_py.simulator.options import Options
from batsched_py.support.installation import PROGRAM
from batsched_py.support.json_values import quote

_VERBOSITY = re.compile(r"-E*[qv]|--q|--verb")
"""Begin of Batsim's options for how much it logs, of which it takes one only."""
_ASK = "--version"
"""The option by which every Batsim prints its version and ends."""
_VERSION = re.compile(
    r"(?:^|\bbatsim(?: version)?:? )v?(\d+)\.\d+\S*\s*$", re.IGNORECASE | re.MULTILINE
)
"""Such as ``v4.2.0``, or that at the end of a line that names Batsim."""
_TICK = 0.02


class RunFolder(msgspec.Struct, frozen=True):
    """The folder of one run and its files, by absolute paths."""

    root: Path
    sockets: Path
    """A folder with a short name, since the path of a Unix socket has at most some 100 bytes."""
    dynamic: bool
    """Whether users submit the jobs; else they are Batsim's workload."""
    registers: bool
    """Whether jobs may be registered during the simulation."""
    quiet: bool = True
    """Whether Batsim logs its start and errors only."""
    batsim5: bool = False
    """Whether it is Batsim 5; else 4."""
    energy: bool = False
    """Whether processors can be switched, which energy must be accounted for."""

    @property
    def inputs(self) -> Path:
        """Folder of ``platform.xml`` and ``workload.json``."""
        return self.root / "input"

    @property
    def outputs(self) -> Path:
        """Folder of ``out_jobs.csv`` and all other output files."""
        return self.root / "output"

    @property
    def scheduler_log(self) -> Path:
        """The log of our scheduler."""
        return self.root / "scheduler.log"

    @property
    def batsim_log(self) -> Path:
        """The log of Batsim."""
        return self.root / "batsim.log"


class Launcher:
    """Starts Batsim as a program: ``batsim`` on PATH, or the command line ``program``."""

    def __init__(self, program: str | None = None) -> None:
        try:
            self._program = ["batsim"] if program is None else shlex.split(program)
        except ValueError as error:
            raise UsageError(
                f"{parameter('batsim')} {program}: {error}; expected a program or a command line"
            ) from None

    def check(self) -> dict[str, str]:
        """Return the identity of this Batsim, such as its path, as it is stored with results.

        ``batsim`` is the path of a program. Raises :class:`~batsched_py.errors.BatschedError` if
        this Batsim cannot be run.
        """
        name = self._program[0] if self._program else ""
        path = shutil.which(name)
        if path is None:
            raise UsageError(
                f"there is no program {name!r}: install Batsim, say where it "
                f"is with {parameter('batsim')}, or use {parameter('backend')} docker"
            )
        return {"batsim": path}

    def is_batsim5(self, folder: RunFolder, limit: float) -> bool:
        """Run Batsim once to ask for its version, and return whether that is 5; else it is 4.

        ``limit`` is in seconds. Raises :class:`SimulationError` if the answer names neither; then
        ``version.log`` in the folder keeps it.
        """
        log = folder.root / "version.log"
        deadline = monotonic() + limit
        with ProcessGroup() as group, self.started([_ASK], folder, log, group) as asked:
            while (code := asked.poll()) is None:
                if monotonic() > deadline:
                    raise SimulationError(
                        f"Batsim did not tell its version within {limit:g} s (ready): its answer "
                        f"to {_ASK} is in {log}"
                    )
                sleep(_TICK)
        versions = set(_VERSION.findall(answer := read_log(log)))
        if versions not in ({"4"}, {"5"}):
            why = (
                f"it {describe_exit(code)}: {find_cause(log)}"
                if code
                else f"it said {quote(answer.strip())}"
            )
            raise SimulationError(
                f"Batsim was asked for its version ({_ASK}), but {why}; expected such as v4.2.0 or "
                f"v5.0.0, all is in {log}"
            )
        log.unlink()
        return versions == {"5"}

    def listen_on(self, folder: RunFolder) -> str:
        """Return the endpoint on which the scheduler listens: a Unix socket of this run."""
        return f"ipc://{folder.sockets / 'batsim'}"

    def arguments(self, folder: RunFolder, endpoint: str) -> list[str]:
        """Return Batsim's arguments for a simulation; the scheduler listens on ``endpoint``."""
        return self._arguments(folder, endpoint, folder.inputs, folder.outputs)

    def _arguments(
        self, folder: RunFolder, endpoint: str, inputs: str | Path, outputs: str | Path
    ) -> list[str]:
        return batsim_arguments(
            platform=f"{inputs}/platform.xml",
            workloads=[] if folder.dynamic else [f"{inputs}/workload.json"],
            endpoint=endpoint,
            prefix=f"{outputs}/out",
            registers=folder.registers,
            quiet=folder.quiet and not any(map(_VERBOSITY.match, self._program)),
            batsim5=folder.batsim5,
            energy=folder.energy,
        )

    def command(self, arguments: Sequence[str], folder: RunFolder) -> list[str]:
        """Return the command line that runs Batsim with ``arguments``."""
        return [*self._program, *arguments]

    @contextmanager
    def started(
        self, arguments: Sequence[str], folder: RunFolder, log: Path, group: ProcessGroup
    ) -> Iterator[Process]:
        """Run Batsim in a block, with its output in ``log``; it ends with the block or ``group``.

        Raises :class:`SimulationError` if it cannot be started.
        """
        yield group.start(self.command(arguments, folder), log)


class EmbeddedLauncher(Launcher):
    """Starts the embedded simulator as another process that replaces Batsim 4 or 5."""

    def __init__(
        self, shake: int | None = None, budgets: str = "", *, batsim5: bool = False
    ) -> None:
        super().__init__()
        self._batsim5 = batsim5
        self._program = [*PROGRAM, "simulator"]
        options = {
            "exact_times": True,
            "shake": shake,
            "budgets": budgets or None,
            "protocol": 5 if batsim5 else None,
        }
        self._further = arguments(setting_fields(Options), options)

    def is_batsim5(self, folder: RunFolder, limit: float) -> bool:
        """Return whether it replaces Batsim 5, without running a program."""
        return self._batsim5

    def arguments(self, folder: RunFolder, endpoint: str) -> list[str]:
        """Return the arguments for a simulation, with its own options."""
        return [*super().arguments(folder, endpoint), *self._further]
