"""Draws docs/images/users_MODEL.png: the users of KTH-SP2 and those of each model, under EASY.

python -m batsched_studies.user_models.pictures --shared ../shared [MODEL...]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from batsched_py import load_workload, simulate
from batsched_py.figures.chart_files import write_chart
from batsched_py.workload.conversion_rules import make_rules
from batsched_studies.filled_page import DOCS
from batsched_users.measures.job_columns import columns_of_jobs_file, columns_of_workload
from batsched_users.studies.portrait import draw_portraits, measure_portrait

IMAGES = DOCS / "images"
LOG = "KTH-SP2-1996-2.1-cln"

MODELS: dict[str, dict[str, Any]] = {
    "feedback": {},
    "adjusted": {},
    "distribution": {},
    "fluid": {},
    "resampled": {},
    "tbuos": {},
    "weekly": {"nb_users": 100, "weeks": 20},
    "site": {"nb_users": 60},
    "population": {"file": str(Path(__file__).with_name("population.toml"))},
}
"""The options of each user model."""


def main() -> None:
    """Draw the pictures of the models named on the command line, by default of all models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("models", nargs="*", default=list(MODELS))
    arguments = parser.parse_args()
    path = arguments.shared / "swf" / f"{LOG}.swf.gz"
    workload = load_workload(path, make_rules("replay-feedback"))
    recorded = measure_portrait(columns_of_workload(workload), "KTH-SP2, as recorded")
    for model in arguments.models:
        result = simulate(path, users=model, user_options=MODELS[model], rules="replay-feedback")
        with tempfile.TemporaryDirectory() as folder:
            result.write(Path(folder) / "out")
            drawn = measure_portrait(columns_of_jobs_file(Path(folder) / "out_jobs.csv"), model)
        target = IMAGES / f"users_{model}.png"
        write_chart(draw_portraits([recorded, drawn]), target)
        print(f"wrote {target}")


if __name__ == "__main__":
    main()
