"""The command ``python -m batsched_studies.user_models``, which writes user-models.md."""

import os

from batsched_studies.filled_page import make_page_parser
from batsched_studies.user_models.page import PAGE, make_page

if __name__ == "__main__":  # not in the processes that measure the logs
    parser = make_page_parser("user_models", PAGE, "folder of logs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    make_page(arguments.shared, arguments.jobs).write(arguments.output)
