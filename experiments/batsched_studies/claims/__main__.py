"""Run by ``python -m batsched_studies.claims``."""

from argparse import ArgumentParser
from pathlib import Path

from batsched_py.support.atomic_files import write_whole
from batsched_studies.claims.page import AT_SIZE, PAGE, page

parser = ArgumentParser("python -m batsched_studies.claims", description=f"Write {PAGE.name}.")
parser.add_argument(
    "--results", type=Path, required=True, help=f"folder of the campaigns of {AT_SIZE}"
)
parser.add_argument("--output", type=Path, default=PAGE, help=f"default: docs/{PAGE.name}")
arguments = parser.parse_args()
write_whole(arguments.output, page(arguments.results))
