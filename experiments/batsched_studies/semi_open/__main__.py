"""The command ``python -m batsched_studies.semi_open``, which writes semi-open.md."""

import os
from pathlib import Path

from batsched_studies.filled_page import make_page_parser
from batsched_studies.semi_open.page import IMAGES, PAGE, draw_pictures, make_page
from batsched_studies.semi_open.reopening import simulate_cases

if __name__ == "__main__":  # not in the processes that simulate
    parser = make_page_parser("semi_open", PAGE)
    parser.add_argument("--images", type=Path, default=IMAGES, help="default: docs/images")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    measured = simulate_cases(arguments.jobs)
    make_page(measured).write(arguments.output)
    draw_pictures(measured, arguments.images)
