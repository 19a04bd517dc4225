"""The command ``python -m batsched_studies.conformance``, which writes conformance.md."""

from batsched_studies.conformance.page import PAGE, make_page
from batsched_studies.filled_page import make_page_parser

arguments = make_page_parser("conformance", PAGE, "folder of logs and recordings").parse_args()
make_page(arguments.shared).write(arguments.output)
