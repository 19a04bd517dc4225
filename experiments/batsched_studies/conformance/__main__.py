"""Run by ``python -m batsched_studies.conformance``."""

from batsched_py.files.writers import write_whole
from batsched_studies.conformance.page import PAGE, make_page
from batsched_studies.filled_page import page_parser

arguments = page_parser("conformance", PAGE, "folder of logs and recordings").parse_args()
write_whole(arguments.output, make_page(arguments.shared))
