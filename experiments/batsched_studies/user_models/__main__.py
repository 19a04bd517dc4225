"""Run by ``python -m batsched_studies.user_models``."""

from batsched_studies.user_models.page import main

main()
