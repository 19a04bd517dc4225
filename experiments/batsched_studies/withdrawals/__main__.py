"""The command ``python -m batsched_studies.withdrawals``, which writes withdrawals.md."""

import os

from batsched_studies.filled_page import make_page_parser
from batsched_studies.withdrawals.page import PAGE, make_page, measure

if __name__ == "__main__":  # not in the processes that measure
    parser = make_page_parser("withdrawals", PAGE, "folder of logs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    make_page(*measure(arguments.shared, arguments.jobs)).write(arguments.output)
