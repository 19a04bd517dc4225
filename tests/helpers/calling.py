"""The command line, called in this process."""

from __future__ import annotations

import sys

import pytest

from batsched_py.cli import main


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Call the command line in this process; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["batsched-py", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    code = ended.value.code
    return code if isinstance(code, int) else int(code is not None)
