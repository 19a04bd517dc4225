"""Run by ``python -m batsched_studies.semi_open``."""

import os
from argparse import ArgumentParser
from pathlib import Path

from batsched_py.support.atomic_files import write_whole
from batsched_studies.semi_open.page import IMAGES, PAGE, make_page, pictures
from batsched_studies.semi_open.reopening import measured_by_case

if __name__ == "__main__":  # not in the processes that simulate
    parser = ArgumentParser(
        "python -m batsched_studies.semi_open", description=f"Write {PAGE.name}."
    )
    parser.add_argument("--output", type=Path, default=PAGE, help=f"default: docs/{PAGE.name}")
    parser.add_argument("--images", type=Path, default=IMAGES, help="default: docs/images")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    measured = measured_by_case(arguments.jobs)
    write_whole(arguments.output, make_page(measured))
    pictures(measured, arguments.images)
