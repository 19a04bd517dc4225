"""How Batsim is started: as a program of this machine, or in a container."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Protocol

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.run.backends.batsim_arguments import batsim_arguments
from batsched_py.run.backends.batsim_version import ASK, is_batsim5
from batsched_py.run.backends.child_processes import LocalProcess, Process
from batsched_py.run.backends.watchdog import Watchdog
from batsched_py.simulator.options import Options
from batsched_py.support.own_command import PROGRAM
from batsched_py.support.setting_fields import arguments, setting_fields

_VERBOSITY = re.compile(r"-E*[qv]|--q|--verb")
"""Begin of Batsim's options for how much it logs, of which it takes one only."""
_OURS = re.compile(r"-E*[sSlLepw]|--(socket|edc|export|platform|workload)")
"""Begin of those of its options, in version 4 or 5, that are always given here."""


class RunFolder(msgspec.Struct, frozen=True):
    """The files of one run. Both sides are given them by absolute paths."""

    root: Path
    sockets: Path
    """A folder with a short name, since the path of a Unix socket has at most some 100 bytes."""
    dynamic: bool
    """Whether users submit the jobs; else they are Batsim's workload."""
    registers: bool
    """Whether jobs may be registered during the simulation."""
    quiet: bool = True
    """Whether Batsim is to log its start and errors only."""
    batsim5: bool = False
    """Whether it is Batsim 5; else 4."""

    @property
    def inputs(self) -> Path:
        """Folder of ``platform.xml`` and ``workload.json``."""
        return self.root / "input"

    @property
    def outputs(self) -> Path:
        """Folder of ``out_jobs.csv`` and all that is written."""
        return self.root / "output"

    @property
    def scheduler_log(self) -> Path:
        """What our process said."""
        return self.root / "scheduler.log"

    @property
    def version_log(self) -> Path:
        """What Batsim says when it is asked for its version; kept if that is not clear."""
        return self.root / "version.log"

    @property
    def batsim_log(self) -> Path:
        """What Batsim said."""
        return self.root / "batsim.log"


class Launcher(Protocol):
    """A way to run Batsim."""

    def check(self) -> dict[str, str]:
        """Return what identifies this Batsim, by the names that are kept with the results.

        ``batsim`` is the path of a program. Raises :class:`~batsched_py.errors.BatschedError` if it
        cannot be run like this.
        """
        ...

    def is_batsim5(self, folder: RunFolder, watchdog: Watchdog, limit: float) -> bool:
        """Ask it for its version, and tell whether that is 5; else it is 4.

        Raises :class:`SimulationError` for any other, and if it does not tell within ``limit``
        seconds.
        """
        ...

    def listen_on(self, folder: RunFolder) -> str:
        """Return the endpoint that our process is to bind."""
        ...

    def command(self, folder: RunFolder, endpoint: str) -> list[str]:
        """Return the command that runs Batsim; ``endpoint`` is the one that was bound."""
        ...

    def start(self, folder: RunFolder, endpoint: str, watchdog: Watchdog) -> Process:
        """Run it; the watchdog ends it if this process is gone."""
        ...


class ProgramLauncher:
    """Batsim as a program: ``batsim`` on PATH, or the command line ``program``."""

    def __init__(self, program: str | None = None) -> None:
        try:
            self._program = ["batsim"] if program is None else shlex.split(program)
        except ValueError as error:
            raise UsageError(
                f"{parameter('batsim')} {program}: {error}; expected a program or a command line"
            ) from None
        self._further: list[str] = []
        if self._program and Path(self._program[0]).name.startswith("batsim"):
            for option in filter(_OURS.match, self._program[1:]):
                raise UsageError(
                    f"{parameter('batsim')} {program}: {option} is given to Batsim by this program"
                )

    def check(self) -> dict[str, str]:
        """Return the path of the program; raises :class:`UsageError` if there is none."""
        name = self._program[0] if self._program else ""
        path = shutil.which(name)
        if path is None:
            raise UsageError(
                f"there is no program {name!r}: install Batsim (docs/batsim.md), say where it "
                f"is with {parameter('batsim')}, or use {parameter('backend')} docker"
            )
        return {"batsim": path}

    def is_batsim5(self, folder: RunFolder, watchdog: Watchdog, limit: float) -> bool:
        """Run it once, only for that."""
        asked = LocalProcess([*self._program, ASK], folder.version_log, watchdog)
        return is_batsim5(asked, folder.version_log, limit)

    def listen_on(self, folder: RunFolder) -> str:
        """Return a Unix socket of this run."""
        return f"ipc://{folder.sockets / 'batsim'}"

    def command(self, folder: RunFolder, endpoint: str) -> list[str]:
        """Return the command line with absolute paths."""
        return [
            *self._program,
            *batsim_arguments(
                platform=str(folder.inputs / "platform.xml"),
                workloads=[] if folder.dynamic else [str(folder.inputs / "workload.json")],
                endpoint=endpoint,
                prefix=str(folder.outputs / "out"),
                registers=folder.registers,
                quiet=folder.quiet and not any(map(_VERBOSITY.match, self._program)),
                batsim5=folder.batsim5,
            ),
            *self._further,
        ]

    def start(self, folder: RunFolder, endpoint: str, watchdog: Watchdog) -> Process:
        """Run it."""
        return LocalProcess(self.command(folder, endpoint), folder.batsim_log, watchdog)


class EmbeddedLauncher(ProgramLauncher):
    """The embedded simulator behind a socket, in the place of Batsim 4 or 5."""

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

    def is_batsim5(self, folder: RunFolder, watchdog: Watchdog, limit: float) -> bool:
        """Tell in whose place it is; nobody has to be asked."""
        return self._batsim5
