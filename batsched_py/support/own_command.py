"""How this program calls itself."""

from __future__ import annotations

import sys
from pathlib import Path


def _program() -> list[str]:
    """Return the command, not the module, where it is installed.

    ``python -m`` would look for packages in the current folder first.
    """
    script = Path(sys.executable).with_name("batsched-py")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "batsched_py"]


PROGRAM = _program()
"""Begin of the command line of ``batsched-py``."""
