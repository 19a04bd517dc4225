"""Run by ``python -m batsched_studies.real_batsim``."""

import argparse
import shutil
import sys
from functools import partial
from pathlib import Path

from batsched_py.errors import BatschedError
from batsched_py.support.atomic_files import write_whole
from batsched_studies.real_batsim.page import PAGE, make_page

parser = argparse.ArgumentParser(
    "python -m batsched_studies.real_batsim", description="Write docs/real.md."
)
parser.add_argument("--output", type=Path, default=PAGE, help="default: docs/real.md")
arguments = parser.parse_args()
if shutil.which("batsim") is None:
    parser.exit(2, "there is no program 'batsim' on PATH: docs/batsim.md says how to install it\n")
try:
    write_whole(arguments.output, make_page(partial(print, file=sys.stderr)))
except BatschedError as error:
    parser.exit(1, f"{error}\n")
