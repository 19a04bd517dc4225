"""What the commands of queueing systems say of jobs.

Slurm's are understood: what a job waits for, and how it ended (manuals of squeue and scontrol).
What the commands of the others say is only shown, since it differs by site.
"""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_LIMIT = 30.0
"""Seconds for an answer."""
_STATUS = {
    "oar": ("oarstat", "-s", "-j"),
    "pbs": ("qstat",),
    "sge": ("qstat", "-j"),
    "lsf": ("bjobs",),
}
_CUT_SHORT = {"CANCELLED", "DEADLINE", "PREEMPTED", "REVOKED", "TIMEOUT"}
_ENDED = {*_CUT_SHORT, "BOOT_FAIL", "COMPLETED", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"}
# Job reason codes of squeue's manual that pass only if the request or the site's limits change.
_LASTING = {
    r"PartitionConfig|BadConstraints|PartitionNodeLimit": (
        "no node of the partition has what a job asks for: fewer cores, less memory, another queue?"
    ),
    r"PartitionTimeLimit|(Assoc|QOS)MaxWall\w*": "the walltime is longer than the site allows",
    r"(Assoc|QOS)Max\w+Per(Job|Node)(Limit)?": "a job asks for more than the site's limit for one",
    r"QOSMin\w+": "a job asks for less than the site's limit for one",
    r"AccountNotAllowed|InvalidAccount|QOSNotAllowed|InvalidQOS": (
        "the account or the quality of service may not be used there"
    ),
    r"JobHeld(User|Admin)": "the job is held until somebody releases it (scontrol release)",
    r"DependencyNeverSatisfied": "the job depends on one that did not end as it should",
}
_EXIT = re.compile(r"\bExitCode=(\d+):(\d+)")
_LOG = re.compile(r"^\s*StdErr=(.+)$", re.MULTILINE)


class CommandFailedError(Exception):
    """A command is not there, does not end, or ends with an error: the text is what it said."""


class JobState(NamedTuple):
    """What became of a job, in Slurm's words."""

    state: str
    reason: str
    """What it waits for, or why it ended; empty if Slurm gives none."""

    @property
    def waits(self) -> bool:
        """Whether it has not begun."""
        return self.state == "PENDING"

    @property
    def has_ended(self) -> bool:
        """Whether it will not run any more."""
        return self.state in _ENDED

    @property
    def was_cut_short(self) -> bool:
        """Whether somebody, or its time limit, ended it: its log tells nothing more."""
        return self.state in _CUT_SHORT

    @property
    def obstacle(self) -> str:
        """What a job that waits would wait for without end; empty if that may pass by itself."""
        matching = (text for codes, text in _LASTING.items() if re.fullmatch(codes, self.reason))
        return next(matching, "") if self.waits else ""

    def __str__(self) -> str:
        return f"{self.state} ({self.reason})" if self.reason else self.state


class JobEnd(NamedTuple):
    """How the processes of a job ended."""

    how: str
    """Its exit code or signal; empty if it ended well."""
    log: Path | None
    """Where it wrote its errors."""


async def slurm_jobs() -> dict[str, JobState]:
    """Return the state of each job of this user, by its number.

    Also of those that ended, as long as Slurm knows them (``MinJobAge``, five minutes if not
    configured otherwise). Raises :class:`CommandFailedError`.
    """
    # All of the user's, since squeue fails if it is asked for a number that it does not know.
    text = await _answer(
        "squeue", "--noheader", "--states=all", f"--user={os.getuid()}", "--format=%i|%T|%r"
    )
    fields = [line.strip().split("|") for line in text.splitlines()]
    return {
        job: JobState(state, "" if reason == "None" else reason)
        for job, state, reason in (line for line in fields if len(line) == 3)
    }


async def slurm_end(job: str) -> JobEnd:
    """Return how a job of Slurm ended, as far as Slurm says."""
    try:
        text = await _answer("scontrol", "show", "job", job)
    except CommandFailedError:
        return JobEnd("", None)
    exited, log = _EXIT.search(text), _LOG.search(text)
    code, number = exited.groups() if exited else ("0", "0")
    how = f"signal {number}" if number != "0" else f"exit code {code}" if code != "0" else ""
    path = re.sub("%[jJ]", job, log[1]) if log else None  # not all versions fill it in
    return JobEnd(how, Path(path) if path else None)


async def quoted_status(kind: str, job: str) -> str:
    """Return what the command of a queueing system other than Slurm says of a job."""
    command = (*_STATUS[kind], job)
    try:
        text = await _answer(*command)
    except CommandFailedError as failed:
        text = str(failed)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{' '.join(command)}: {lines[-1] if lines else 'nothing'}"


def refusal(error: Exception) -> str:
    """Return why a job was not taken: what the command said, of all that dask-jobqueue tells."""
    return _in_one_line(str(error).partition("stderr:\n")[2] or str(error))


async def _answer(*command: str) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
    except OSError as error:
        raise CommandFailedError(f"{command[0]}: {error.strerror}") from None
    try:
        output, said = await asyncio.wait_for(process.communicate(), _LIMIT)
    except TimeoutError:
        raise CommandFailedError(f"{command[0]} does not answer within {_LIMIT:g} s") from None
    finally:
        with suppress(ProcessLookupError):
            if process.returncode is None:
                process.kill()
    if process.returncode != 0:
        text = _in_one_line(said.decode(errors="replace"))
        raise CommandFailedError(text or f"{command[0]} fails, exit code {process.returncode}")
    return output.decode(errors="replace")


def _in_one_line(text: str) -> str:
    """Return the lines as one, which says once that a command tells of an error."""
    text = re.sub(r"\n\s*\w+: error: ", "\n", text.strip())
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())
