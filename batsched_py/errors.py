"""The exceptions of batsched_py, one small tree.

::

    BatschedError                 everything that the project raises on purpose
    +-- UsageError                the caller asked for something that makes no sense (exit code 2)
    |   +-- MissingExtraError     ... that needs a package that is missing
    |   +-- PluginError           a policy, user model or command cannot be loaded or is malformed
    +-- InputError                a file is malformed; the message names the file and the place
    |   +-- LogError              ... in an SWF log
    |   +-- WorkloadError         ... in a Batsim workload
    |   +-- PlatformError         ... in a platform description
    |   +-- CampaignFileError     ... in a campaign file (exit code 2)
    |   |   +-- CampaignError     ... at some key, file and line still to be found
    +-- OutputError               a file cannot be written
    +-- ProtocolError             a message that Batsim's protocol does not allow
    +-- InvariantError            a policy or a user model did something impossible
    +-- SimulationError           a simulation could not go on
    |   +-- DeadlockError         ... since nothing can happen any more, but jobs wait
    |   +-- BudgetError           ... since it seems to have no end
    +-- InterruptedByUser         Ctrl-C (exit code 130)

Messages name parameters, by :func:`parameter`; the command line shows the flags of these instead,
as it prints a message as one line and exits with :attr:`BatschedError.exit_code`:

- 2 if the request makes no sense, in every interface: a flag, a keyword, a key or value of a
  campaign file; a name, a file or a folder that does not exist; a policy, a user model or an option
  that does not fit. Nearly always it is found before the first simulation.
- 1 if that was tried and went wrong: what an input file holds is malformed, an output cannot be
  written, a simulation failed by its policy, its users, a deadlock or another program, some runs of
  a campaign failed, two results that should be equal differ; and every fault of the program.
- 130 after Ctrl-C or a request to end, 0 for all else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

_MARK = "\x1f"
_PARAMETER = re.compile(f"{_MARK}([^{_MARK}]*){_MARK}")
_ENDLESS = re.compile(r"\S{1000,}")
_NAMED = 10
"""The most jobs that a message names."""


def parameter(name: str) -> str:
    """Mark a parameter in a message: ``f"{parameter('nodes')} 0: expected 1"``."""
    return f"{_MARK}{name}{_MARK}"


class BatschedError(Exception):
    """Base of all errors that the project raises on purpose."""

    exit_code = 1

    def __str__(self) -> str:
        return self.text(str)

    def text(self, shown: Callable[[str], str]) -> str:
        """Return the message, with ``shown`` applied to each parameter, and very long words cut."""
        text = _ENDLESS.sub(lambda match: f"{match[0][:200]}...{match[0][-50:]}", super().__str__())
        return _PARAMETER.sub(lambda match: shown(match[1]), text)

    @property
    def parameters(self) -> list[str]:
        """The parameters that the message names."""
        return _PARAMETER.findall(super().__str__())


class InterruptedByUser(BatschedError):  # noqa: N818 - not an error of anybody
    """The user has interrupted the program by Ctrl-C."""

    exit_code = 130


class UsageError(BatschedError):
    """An option or an argument of the caller makes no sense."""

    exit_code = 2


class MissingExtraError(UsageError):
    """A feature needs a package that an extra of batsched_py installs."""


class PluginError(UsageError):
    """A policy, user model or command cannot be found, loaded or called as expected."""


class InputError(BatschedError):
    """An input file is missing or malformed."""


class LogError(InputError):
    """A line or a header of an SWF log is malformed."""


class WorkloadError(InputError):
    """A Batsim workload is malformed."""


class JobError(WorkloadError, ValueError):
    """A job has a field that no table of a run can hold."""


class PlatformError(InputError):
    """A platform description is malformed, or uses an unsupported feature."""


class CampaignFileError(InputError):
    """A campaign file makes no sense."""

    exit_code = 2


class CampaignError(CampaignFileError):
    """A setting in a campaign file makes no sense.

    ``table`` is the path of the table that it is in (a number follows the name of an array of
    tables), ``key`` the key, None for the whole table.
    """

    def __init__(self, table: tuple[str | int, ...], key: str | None, message: str) -> None:
        super().__init__(message)
        self.table = table
        self.key = key


class OutputError(BatschedError, OSError):
    """A file cannot be written."""


class ProtocolError(BatschedError):
    """A message breaks the rules of Batsim's protocol."""


class InvariantError(BatschedError):
    """A policy or a user model asked for something impossible (a bug in it)."""


class SimulationError(BatschedError):
    """A simulation cannot continue to its end."""


class DeadlockError(SimulationError):
    """Nothing can happen any more, but jobs wait or registration was never finished.

    ``waiting`` are the ids of these jobs.
    """

    def __init__(self, message: str, waiting: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.waiting = waiting


class BudgetError(SimulationError):
    """A simulation seems to have no end: a policy, users or jobs did more than is budgeted."""


def describe_waiting_jobs(
    jobs: Sequence[str],
    nb_processors: int,
    nb_free: int,
    head: tuple[str, int] | None,
    *,
    any_started: bool,
    reason: str = "",
) -> str:
    """Return a sentence on the jobs that wait and the free processors, for messages.

    ``head`` has id and size of the first waiting job.
    """
    named = ", ".join(jobs[:_NAMED]) + (", ..." if len(jobs) > _NAMED else "")
    text = f"{'1 job waits' if len(jobs) == 1 else f'{len(jobs)} jobs wait'}{reason}: {named}"
    if head is None:
        return text
    text += f"; of {nb_processors} processors {nb_free} are free, {head[0]} needs {head[1]}"
    return text if any_started else f"{text}, and the scheduler has started no job at all"


def make_read_error(
    path: object, error: OSError, kind: type[BatschedError] = InputError
) -> BatschedError:
    """Return the error for a file that cannot be read.

    A missing file or a folder is a :class:`UsageError`, anything else an error of a ``kind``.
    """
    if isinstance(error, FileNotFoundError):
        return UsageError(f"there is no file '{path}'")
    if isinstance(error, IsADirectoryError):
        return UsageError(f"{path} is a folder: expected a file")
    return kind(f"{path} cannot be read: {error.strerror}")


@contextmanager
def located(
    where: object, caught: type[Exception], raised: type[Exception] | None = None
) -> Iterator[None]:
    """Put ``where`` before the message of an error, which becomes a ``raised`` one, if given."""
    try:
        yield
    except caught as error:
        raise (raised or caught)(f"{where}: {error}") from None
