"""Run by ``python -m batsched_studies.claims``."""

from argparse import ArgumentParser
from pathlib import Path

from batsched_py.support.atomic_files import write_whole
from batsched_studies.claims import page as p

parser = ArgumentParser("python -m batsched_studies.claims", description=f"Write {p.PAGE.name}.")
parser.add_argument(
    "--results", type=Path, help=f"folder of campaigns of {p.AT_SIZE}, to be judged anew"
)
parser.add_argument("--output", type=Path, default=p.PAGE, help=f"default: docs/{p.PAGE.name}")
parser.add_argument("--kept", type=Path, default=p.KEPT, help=f"default: {p.KEPT.name} beside this")
arguments = parser.parse_args()
told = p.read_kept(arguments.kept)
if arguments.results is not None:
    anew = p.from_results(arguments.results)
    told = p.brought_up(told, anew)
    for name, of in anew.items():
        what = "judged anew" if told[name] is of else "as before: here are fewer runs"
        print(f"{name}: {of.nb_runs} runs, {what}")
    write_whole(arguments.kept, p.as_json(told))
write_whole(arguments.output, p.make_page(told))
