"""The command ``python -m batsched_studies.rlscheduler``, which writes rlscheduler.md."""

import os

from batsched_studies.filled_page import make_page_parser
from batsched_studies.rlscheduler.page import PAGE, make_page
from batsched_studies.rlscheduler.sequences import simulate_logs

if __name__ == "__main__":  # not in the processes that simulate
    help_ = "folder with learning/lublin_1.swf.gz and lublin_2.swf.gz, and swf with two logs"
    parser = make_page_parser("rlscheduler", PAGE, help_)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    make_page(simulate_logs(arguments.shared, arguments.jobs)).write(arguments.output)
