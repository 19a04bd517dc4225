"""Run by ``python -m batsched_studies.conformance``."""

from batsched_studies.conformance.page import main

main()
