"""The command ``python -m batsched_studies.batsched_shutdown``, which writes shutdown.md."""

from batsched_studies.batsched_shutdown.page import PAGE, compare, make_page
from batsched_studies.filled_page import make_page_parser

if __name__ == "__main__":
    help_ = "folder with power_cases/peers: a workload, and what batsched did with it"
    arguments = make_page_parser("batsched_shutdown", PAGE, help_).parse_args()
    make_page(compare(arguments.shared)).write(arguments.output)
