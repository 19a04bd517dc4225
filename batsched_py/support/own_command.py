"""How this program calls itself."""

from __future__ import annotations

import sys
from pathlib import Path


def _program() -> list[str]:
    """Return the command where it is installed, else the module.

    Without ``-P`` Python would look for modules in the current folder first.
    """
    script = Path(sys.executable).with_name("batsched-py")
    return [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "batsched_py"]


PROGRAM = _program()
"""Begin of the command line of ``batsched-py``."""
