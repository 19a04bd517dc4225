"""Reads Batsim 5's command line for the simulator, where it differs from version 4.2."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from batsched_py.errors import BatschedError, UsageError, located
from batsched_py.files.readers import read_bytes
from batsched_py.options.setting_fields import Setting, setting_fields
from batsched_py.simulator.options import Options

_batsim5 = partial(Setting, group="Batsim 5")
"""A setting under the heading Batsim 5 of a help."""


class Batsim5Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of Batsim 5 that version 4.2 does not have."""

    init: Annotated[
        str | None, _batsim5("Text for the scheduler; Batsim 5 has it as -s ENDPOINT TEXT.", "TEXT")
    ] = None
    init_file: Annotated[
        Path | None,
        _batsim5("File with the text of --init; Batsim 5 has it as -S ENDPOINT FILE.", "FILE"),
    ] = None
    ee: Annotated[list[Path] | None, _batsim5("File of external events; repeatable.", "FILE")] = (
        None
    )
    energy_host: Annotated[
        bool, _batsim5("Account for energy, and let the scheduler switch hosts on and off.")
    ] = False
    trace_machine_state: Annotated[bool, _batsim5("Also write PREFIXmachine_states.csv.")] = False
    trace_pstate_changes: Annotated[bool, _batsim5("Also write PREFIXpstate_changes.csv.")] = False

    def completed(self, options: Options) -> Options:
        """Return the options of a simulation, completed by these."""
        return msgspec.structs.replace(
            options, energy=self.energy_host, trace_machines=self.trace_machine_state
        )

    def text(self) -> str:
        """Return the text for the scheduler, every byte of it; raises :class:`UsageError`."""
        if self.init is not None and self.init_file is not None:
            raise UsageError("--init (-s) and --init-file (-S): give one")
        if self.init_file is None:
            return _text("--init", os.fsencode(self.init or ""))
        with located("--init-file", BatschedError, UsageError):
            content = read_bytes(self.init_file, keep_mark=True)
        return _text(str(self.init_file), content)


def _text(where: str, content: bytes) -> str:
    """Return content as text, without changing anything; raises :class:`UsageError`."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        at = f"byte {error.start + 1} is 0x{content[error.start]:02x}"
        raise UsageError(f"{where}: {at}: expected a text in UTF-8") from None


ONLY_5 = {
    *("--edc-socket-str", "-S", "--edc-socket-file"),
    *(flag for field in setting_fields(Batsim5Options).values() for flag in field.flags),
}
"""Options that version 4.2 does not have."""
_REFUSED = {
    **dict.fromkeys(
        (
            *("--enable-dynamic-jobs", "--acknowledge-dynamic-jobs", "--enable-profile-reuse"),
            "--forward-profiles-on-submission",
        ),
        "a scheduler of Batsim 5 asks for that itself, in its hello",
    ),
    **dict.fromkeys(
        ("-E", "--energy", "--energy-link"),
        "Batsim 5 ends with an error on it; --energy-host accounts for energy",
    ),
    **dict.fromkeys(
        ("-l", "-L", "--edc-library-str", "--edc-library-file", "--edc-library-load-method"),
        "schedulers in libraries cannot be run here: use real Batsim",
    ),
    **dict.fromkeys(
        ("--disable-storage-sharing", "--disable-schedule-tracing", "--dump-execution-context"),
        "Batsim 5 has no such option",
    ),
    "--enable-compute-sharing": "machines are always shared in Batsim 5",
    "--forward-unknown-events": "all external events are for the scheduler in Batsim 5",
    "--events": "in Batsim 5 this is --ee",
    "--sched-cfg": "in Batsim 5 this is the INIT of -s ENDPOINT INIT",
    "--sched-cfg-file": "in Batsim 5 this is the FILE of -S ENDPOINT FILE",
    "--disable-machine-state-tracing": "that is off in Batsim 5 unless --trace-machine-state",
    "-c": "configuration files of Batsim 5 are not read here",
    "--gen-config": "configuration files of Batsim 5 are not written here",
}
"""Options that are refused, and why."""


_TEXT = ("ENDPOINT INIT ('' for none)", "--socket-endpoint={0}", "--init={1}")
_FILE = ("ENDPOINT FILE", "--socket-endpoint={0}", "--init-file={1}")
_TWO = {
    "-s": _TEXT,
    "--edc-socket-str": _TEXT,
    "-S": _FILE,
    "--edc-socket-file": _FILE,
    "-r": ("HOST ROLE", "--add-role-to-hosts={0}:{1}"),
}
"""Options with two values: these in words, and our arguments for them."""


def detect_version(arguments: Sequence[str]) -> int:
    """Return the version of Batsim, 4 or 5, that these arguments are for."""
    said = ""
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == "--protocol":
            said = value if equals else "".join(arguments[at + 1 : at + 2])
    if said:
        return 5 if said == "5" else 4
    if any(argument.partition("=")[0] in ONLY_5 for argument in arguments):
        return 5
    for at, argument in enumerate(arguments):
        init = arguments[at + 2 : at + 3]
        if argument == "-s" and init and not init[0].startswith(("-", "@")):
            return 5
    return 4


def find_texts(arguments: Sequence[str]) -> set[int]:
    """Return the places of texts for the scheduler of Batsim 5 that look like ``@FILE``."""
    before = ("", "", *arguments)
    return {
        at
        for at, argument in enumerate(arguments)
        if argument.startswith("@")
        and (before[at] in _TWO or before[at + 1] in ("--init", "--init-file"))
    }


def translate_arguments(arguments: Sequence[str]) -> list[str]:
    """Translate Batsim 5's arguments into arguments of ``batsched-py simulator``.

    Raises :class:`UsageError` for those that Batsim 5 does not have or we do not do.
    """
    ours = ["--protocol=5"]
    left = list(reversed(arguments))
    while left:
        argument = left.pop()
        name = argument.partition("=")[0] if argument.startswith("--") else argument[:2]
        if name in _REFUSED:
            raise UsageError(f"{name}: {_REFUSED[name]}")
        if argument not in _TWO:
            ours.append(argument)
            continue
        wanted, *forms = _TWO[argument]
        values = [left.pop() for _ in range(min(2, len(left)))]
        if len(values) < 2:
            given = " ".join((argument, *values))
            raise UsageError(f"{given}: expected two values, {wanted}")
        ours += [form.format(*values) for form in forms]
    return ours
