"""The command ``python -m batsched_studies.claims``, which writes docs/validation/claims.md."""

from pathlib import Path

from batsched_py.files.writers import write_whole
from batsched_studies.claims import page as p
from batsched_studies.filled_page import make_page_parser

parser = make_page_parser("claims", p.PAGE)
parser.add_argument(
    "--results", type=Path, help=f"folder of campaigns of {p.AT_SIZE}, to be judged again"
)
parser.add_argument("--again", action="store_true", help="judge all packed results again")
parser.add_argument("--kept", type=Path, default=p.KEPT, help=f"default: {p.KEPT.name} beside this")
parser.add_argument("--table", type=Path, default=p.LONG_TABLE, help="default: build/claims.html")
arguments = parser.parse_args()
kept = p.read_kept(arguments.kept)
judged = {}
if arguments.results is not None:
    judged = p.judge_results(arguments.results)
elif arguments.again:
    judged = p.judge_packed()
if judged:
    kept = p.merge_verdicts(kept, judged)
    for name, of in judged.items():
        what = (
            "judged again" if kept[name] is of else "unchanged: the stored verdicts have more runs"
        )
        print(f"{name}: {of.nb_runs} runs, {what}")
    write_whole(arguments.kept, p.encode_verdicts(kept))
campaigns = p.list_campaigns(kept)
write_whole(arguments.output, p.make_page(campaigns))
p.write_long_table(campaigns, arguments.table)
print(f"wrote {arguments.output} and {arguments.table}")
