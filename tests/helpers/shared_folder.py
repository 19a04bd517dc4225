"""Where real logs, recorded exchanges and published schedules are."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("BATSCHED_SHARED", Path(__file__).parents[3] / "shared"))
