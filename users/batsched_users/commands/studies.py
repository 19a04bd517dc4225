"""``batsched-py users thresholds`` and ``portrait``: studies of users in logs or results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.errors import UsageError
from batsched_py.files.writers import make_folder_of, write_whole
from batsched_py.results.run_files import SUFFIX
from batsched_py.support.terminal_text import print_table, say
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.commands.output import load_with_notes, stem

if TYPE_CHECKING:
    from batsched_users.measures.job_columns import JobColumns
    from batsched_users.studies.portrait import Portrait
    from batsched_users.studies.thresholds import ThresholdStudy, Values

_COUNTS = {
    "batches": ("batches", "d"),
    "sessions": ("sessions", "d"),
    "jobs_per_batch": ("jobs/batch", ".3f"),
    "batches_per_session": ("batches/session", ".3f"),
    "single_job_batches": ("one-job batches", ".1%"),
    "single_job_sessions": ("one-job sessions", ".1%"),
    "long_sessions": ("over 1000 min", ".2%"),
    "longest_session": ("longest (min)", ".0f"),
}
"""Field of :class:`batsched_users.studies.thresholds.Counts` -> heading and format."""


@o.with_rules
def thresholds(
    *,
    rules: Rules,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="Logs (.swf, .swf.gz) or Batsim workloads (.json): files or names of `logs list`.",
        ),
    ],
    sessions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD:MINUTES",
            help="Rule to try, such as arrival:60:>, max:20 or last+30:20; repeatable. "
            "[default: those of Zakay's thesis]",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder to write figures to, and their curves as CSV."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="png|svg|pdf", help="Format of the figures.")
    ] = "png",
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Compare the rules that cut the jobs of users into sessions.

    For each rule, the table has the numbers of jobs, batches and sessions, and the lengths of
    sessions. It also compares think times after batches that only one of the rules last and max
    finds with those after batches that both find.
    """
    from batsched_py.figures.chart_files import read_format
    from batsched_users.sessions.delimitation import Delimitation
    from batsched_users.studies.thresholds import USUAL, study_thresholds

    tried = [Delimitation.parse(text) for text in dict.fromkeys(sessions or map(str, USUAL))]
    read_format(Path(f"figure.{form}"))
    paths = [find_log(source, log_dir or []) for source in sources]
    if figures is not None:
        make_folder_of(figures / "curves.csv")
    studies: list[ThresholdStudy] = []
    for path in paths:
        workload = load_with_notes(path, rules, skip_bad_lines)
        name = _unused(stem(workload.name), studies)
        studies.append(study_thresholds(name, workload.jobs, tried))
    for study_of_log in studies:
        _show(study_of_log)
    if figures is not None:
        _write_studies(studies, figures, form)


@o.with_rules
def portrait(
    *,
    rules: Rules,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help=f"PREFIX{SUFFIX} of simulations, SWF logs, or Batsim workloads (.json).",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Figure to write: .png, .svg or .pdf."),
    ],
    labels: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Names of the inputs in the figure, in order."),
    ] = None,
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Draw when users submit, how long their sessions are, and how long they think.

    The figure lays several inputs over each other, such as a log and a simulation.
    """
    from batsched_py.figures.chart_files import read_format, write_chart
    from batsched_users.measures.job_columns import columns_of_workload
    from batsched_users.studies.portrait import draw_portraits
    from batsched_users.studies.portrait import measure_portrait as portrait_of

    names = _labels(labels, sources)
    read_format(output)
    make_folder_of(output)
    pictures: list[Portrait] = []
    for source, name in zip(sources, names, strict=True):
        if source.endswith(".csv"):
            label, jobs = Path(source).name.removesuffix(SUFFIX), _simulated(Path(source))
        else:
            workload = load_with_notes(find_log(source, log_dir or []), rules, skip_bad_lines)
            label, jobs = stem(workload.name), columns_of_workload(workload)
        picture = portrait_of(jobs, name or label)
        if not picture.clock_known:
            say(f"note: {picture.label}: the weekday of second 0 is unknown, taken as Monday 0:00")
        pictures.append(picture)
    write_chart(draw_portraits(pictures), output)
    for picture in pictures:
        counts = f"{len(picture.session_lengths)} sessions, {picture.pairs.sum()} think times"
        say(f"{picture.label}: {counts}")
    say(f"wrote {output}")


def _simulated(path: Path) -> JobColumns:
    from batsched_users.measures.job_columns import columns_of_jobs_file

    if not path.is_file():
        raise UsageError(f"no file {path}; expected the PREFIX{SUFFIX} of a simulation")
    return columns_of_jobs_file(path)


def _labels(text: str | None, sources: Sequence[str]) -> list[str | None]:
    if text is None:
        return [None] * len(sources)
    names: list[str | None] = [name.strip() for name in text.split(",")]
    if len(names) != len(sources) or not all(names):
        raise UsageError(
            f"--labels {text!r}: {len(names)} names for {len(sources)} inputs; expected a name "
            "for each, with commas between"
        )
    return names


def _show(study_of_log: ThresholdStudy) -> None:
    headings = [heading for heading, _ in _COUNTS.values()]
    rows = [
        (name, *(format(getattr(counts, field), form) for field, (_, form) in _COUNTS.items()))
        for name, counts in study_of_log.counts.items()
    ]
    jobs = next(iter(study_of_log.counts.values())).jobs
    print(f"{study_of_log.name}, {jobs} jobs")
    print_table(("", *headings), rows, numeric=headings)
    times = study_of_log.think_times
    print(
        f"Think times: {len(times.common_last)} after batches that Last and Max agree on; largest "
        "difference of the distributions of the others from these:"
    )
    print(f"  {len(times.unique_last)} by Last only: {_far(times.unique_last, times.common_last)}")
    print(f"  {len(times.unique_max)} by Max only: {_far(times.unique_max, times.common_max)}")


def _far(unique: Values, common: Values) -> str:
    from batsched_users.studies.thresholds import ks_distance_of_samples

    return f"{ks_distance_of_samples(unique, common):.3f}" if len(unique) and len(common) else "-"


def _write_studies(studies: Sequence[ThresholdStudy], folder: Path, form: str) -> None:
    from batsched_py.figures.chart_files import write_chart
    from batsched_users.studies import threshold_figures as drawn

    figures = {f"inter_arrival_times.{form}": drawn.draw_inter_arrival_times(studies)}
    for study_of_log in studies:
        figures[f"{study_of_log.name}_think_times.{form}"] = drawn.draw_think_times(study_of_log)
        figures[f"{study_of_log.name}_session_lengths.{form}"] = drawn.draw_session_lengths(
            study_of_log
        )
    for name, figure in figures.items():
        write_chart(figure, folder / name)
        say(f"wrote {folder / name}")
    for study_of_log in studies:
        path = folder / f"{study_of_log.name}_curves.csv"
        write_whole(path, drawn.format_curves(study_of_log))
        say(f"wrote {path}")


def _unused(name: str, studies: Sequence[ThresholdStudy]) -> str:
    """Return a name that no study has yet, as logs in several folders may have the same name."""
    taken = {study_of_log.name for study_of_log in studies}
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(unused for unused in names if unused not in taken)
