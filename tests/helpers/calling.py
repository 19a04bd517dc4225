"""The command line, called in this process."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from batsched_py.cli import main
from batsched_py.support.signals import _ENDING


class Called(NamedTuple):
    """What a call gave."""

    returncode: int
    stdout: str
    stderr: str


def command(folder: Path | None, *arguments: object, encoding: str = "utf-8") -> Called:
    """Call the command line in ``folder`` (default: here), on a terminal of this encoding."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, write_through=True) for _ in range(2))
    with (
        contextlib.chdir(folder or "."),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "argv", ["batsched-py", *map(str, arguments)]),
        _handlers_kept(),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    out.seek(0)
    err.seek(0)
    return Called(_exit_code(ended.value), out.read(), err.read())


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Call the command line; what it prints goes to where the test's own prints go."""
    monkeypatch.setattr(sys, "argv", ["batsched-py", *map(str, arguments)])
    with _handlers_kept(), pytest.raises(SystemExit) as ended:
        main()
    return _exit_code(ended.value)


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Undo what a command that is the end of its process does to signals; here it is not."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_code(ended: SystemExit) -> int:
    return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
