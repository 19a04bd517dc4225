"""Run by ``python -m batsched_studies.semi_open``."""

import os
from pathlib import Path

from batsched_py.files.writers import write_whole
from batsched_studies.filled_page import page_parser
from batsched_studies.semi_open.page import IMAGES, PAGE, make_page, pictures
from batsched_studies.semi_open.reopening import measured_by_case

if __name__ == "__main__":  # not in the processes that simulate
    parser = page_parser("semi_open", PAGE)
    parser.add_argument("--images", type=Path, default=IMAGES, help="default: docs/images")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    measured = measured_by_case(arguments.jobs)
    write_whole(arguments.output, make_page(measured))
    pictures(measured, arguments.images)
