"""The command ``python -m batsched_studies.real_batsim``, which writes real-batsim.md."""

import shutil
import sys
from functools import partial

from batsched_py.errors import BatschedError
from batsched_studies.filled_page import make_page_parser
from batsched_studies.real_batsim.page import PAGE, make_page

parser = make_page_parser("real_batsim", PAGE)
arguments = parser.parse_args()
if shutil.which("batsim") is None:
    parser.exit(2, "there is no program 'batsim' on PATH, which this page needs\n")
try:
    make_page(partial(print, file=sys.stderr)).write(arguments.output)
except BatschedError as error:
    parser.exit(1, f"{error}\n")
