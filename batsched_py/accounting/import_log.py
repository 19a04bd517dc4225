"""Converts accounting records to a log, a file of its names, and a draft of the machine.

Records are read once and kept as packed rows. Memory grows by some 60 bytes for each job, and with
the number of users, of nodes, of jobs that run at once, and of jobs that ran more than once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from math import ceil, inf
from pathlib import Path
from typing import IO, NamedTuple

from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.job_runs import EXTRAS, NODE_NAMES, RUN_TIME, START
from batsched_py.accounting.log_rows import ALLOCATED, PLACE_OF, LogRows
from batsched_py.accounting.machine_draft import (
    MachineDraft,
    PartitionDraft,
    draft_lines,
    draft_machine,
)
from batsched_py.accounting.machine_use import MachineUse, measure_use
from batsched_py.accounting.names import Pseudonyms
from batsched_py.accounting.records import HEADER, JobRecord
from batsched_py.accounting.resource_use import ResourceUse
from batsched_py.accounting.seen_nodes import Run, SeenNodes
from batsched_py.accounting.site_time import SiteClock
from batsched_py.accounting.sorted_records import SortedRows
from batsched_py.accounting.systems.accounting_system import AccountingSystem, RecordLines
from batsched_py.accounting.tally import Tally
from batsched_py.errors import InputError, UsageError
from batsched_py.files.csv_text import csv_of_rows, make_csv_line
from batsched_py.files.readers import STANDARD_INPUT, read_text
from batsched_py.files.writers import encode_lines, keep_inputs, make_folder_of, whole_file
from batsched_py.support.host_lists import MOST_NODES, expand_nodes
from batsched_py.units import HOUR
from batsched_py.workload.logs.clock import parse_time_zone
from batsched_py.workload.logs.swf import write_swf_to
from batsched_py.workload.logs.swf_header import make_header_lines
from batsched_py.workload.machine_file import read_node_sizes
from batsched_py.workload.node_shares import make_chunks


class ImportFiles(NamedTuple):
    """The files that an import writes."""

    log: Path
    names: Path
    machine: Path
    resources: Path


class Imported(NamedTuple):
    """The result of an import, with its log, its files and its notes."""

    nb_jobs: int
    notes: list[str]
    draft: MachineDraft
    use: ResourceUse


def name_files(log: Path) -> ImportFiles:
    """Return the files that an import writes; raises :class:`UsageError` for other names."""
    if not log.name.endswith((".swf", ".swf.gz")):
        raise UsageError(f"{log}: expected a name that ends with .swf or .swf.gz")
    stem = log.name.removesuffix(".gz").removesuffix(".swf")
    ends = ("names.csv", "machine.toml", "resources.csv")
    return ImportFiles(log, *(log.with_name(f"{stem}_{end}") for end in ends))


def import_log(
    system: type[AccountingSystem], records: Sequence[str], log: Path, options: ImportOptions
) -> Imported:
    """Write the jobs in ``records`` as a log and the files that belong to it, all or none of them.

    ``records`` are files; ``-`` is standard input.

    Raises :class:`UsageError` for options and files that make no sense, :class:`InputError` for
    records that do not, and :class:`OutputError` for what cannot be written.
    """
    files = name_files(log)
    inputs = [Path(path) for path in records if path != STANDARD_INPUT]
    inputs += [] if options.nodes is None else [Path(options.nodes)]
    for file in files:
        keep_inputs(file, *inputs)
        make_folder_of(file)
    work = _Import(system, records, options)
    work.read()
    imported = work.summed_up(files.resources.name)
    with ExitStack() as stack:
        table_part = stack.enter_context(whole_file(files.resources))
        log_part = stack.enter_context(whole_file(files.log))
        with open(table_part, "w", encoding="utf-8", newline="") as table:
            lines = work.lines(table)
            write_swf_to(log_part, work.header(imported), lines, packed=log.suffix == ".gz")
        names_part = stack.enter_context(whole_file(files.names))
        names_part.write_text(work.names_table(), encoding="utf-8", newline="")
        machine_part = stack.enter_context(whole_file(files.machine))
        draft = (f"{line}\n" for line in draft_lines(imported.draft, system.name))
        machine_part.write_bytes(b"".join(encode_lines(draft)))
    return imported


class _Import:
    """An import on its way."""

    def __init__(
        self, system: type[AccountingSystem], records: Sequence[str], options: ImportOptions
    ) -> None:
        parse_time_zone(options.zone)
        self.system, self.records, self.options = system, records, options
        file = options.salt_file
        salt = options.salt if file is None else read_text(file).strip()
        pseudonyms = None if salt is None else Pseudonyms(salt)
        self.tally = Tally(skip_bad_lines=options.skip_bad_lines, show_values=salt is None)
        self.rows = LogRows(self.tally, pseudonyms, job_names=options.job_names, runs=options.runs)
        self._site = {} if options.nodes is None else read_node_sizes(options.nodes)
        self._clock = SiteClock(options.zone_of_records, self.tally)
        self._partition = PLACE_OF[system.partitions]
        self._seen = SeenNodes({})
        self._partitions: dict[int, PartitionDraft] = defaultdict(PartitionDraft)
        """What the jobs of each partition were like, by the place of its name."""
        self._use = MachineUse()
        self._first: int | None = None
        self._last = 0

    def read(self) -> None:
        """Read the records; raises :class:`InputError` if there is no job among them."""
        lines = RecordLines(self.records, self.tally)
        nb_jobs = 0
        system = self.system(lines, self._clock, self.options)
        for job in system:
            if self._site and job.extras.exclusive and job.start >= 0:
                self._hold_whole_nodes(job)
            self.rows.add(job)
            has_fewer = 0 < job.allocated < job.requested
            self.tally.noted["jobs had fewer processors than they requested"] += has_fewer
            nb_jobs += 1
        if not nb_jobs:
            more = f" and {len(self.records) - 1} more files" if len(self.records) > 1 else ""
            found = "; ".join(self.tally.notes()) or f"{self.tally.lines} lines"
            raise InputError(f"{self.records[0]}{more}: there are no jobs in it: {found}")
        self._seen = SeenNodes(self._site, system.cores_of_gpu)

    def _hold_whole_nodes(self, job: JobRecord) -> None:
        """Let a job with exclusive nodes hold all of their cores and GPUs, by the file of nodes."""
        held = job.extras
        try:
            names = expand_nodes(job.node_names)
            memory = ceil(max(held.memory_mib, 0) / max(len(names), 1))
            parts = {name: self._site[name]._replace(memory=memory) for name in names}
        except (KeyError, ValueError):
            return
        cores, gpus = (sum(part[at] for part in parts.values()) for at in (0, 1))
        has_all = (held.cores, max(held.gpus, 0)) == (cores, gpus)
        if not parts or has_all or held.cores > cores or held.gpus > gpus:
            return
        what = "jobs had exclusive nodes: they hold all cores and GPUs of these nodes"
        self.tally.noted[what] += 1
        job.node_names, chunks = make_chunks(parts)
        job.extras = held._replace(cores=cores, gpus=gpus, chunks=chunks)
        if not self.options.in_nodes:
            job.allocated = cores

    def summed_up(self, table: str) -> Imported:
        """Go through the jobs, and through the runs in order of their starts.

        ``table`` is the name of the table of resources.
        """
        runs = SortedRows()
        nb_runs = 0
        fewer = self.rows.link_runs()
        for row in self.rows.runs():
            nb_runs += 1
            self._first = row[0] if self._first is None else self._first
            self._last = max(self._last, row[0])
            if row[START] >= 0:
                end, size = row[START] + row[RUN_TIME], max(row[ALLOCATED], 0)
                partition = row[self._partition]
                self._partitions[partition].add(row)
                runs.add((row[START], end, size, partition, row[0], row[NODE_NAMES], row[EXTRAS]))
        self.rows.count_repeated(nb_runs)
        seen_runs = map(self._seen.see, map(Run._make, runs))
        self._use = measure_use(seen_runs, self.options.outage_hours * HOUR)
        draft = self._draft()
        use = ResourceUse(map(Run._make, runs), self._seen)
        draft.resources = table if use.has_resources and not self.options.in_nodes else ""
        return Imported(nb_runs - fewer, list(self._notes(draft, use)), draft, use)

    def lines(self, table: IO[str]) -> Iterator[list[int]]:
        """Return the lines of the log; while they are gone through, the ``table`` is written.

        A job that got all cores of its nodes, and more than it requested, had whole nodes; so had
        one that got all cores by the file of nodes.
        """
        table.write(make_csv_line(HEADER))
        for line, nodes, held in self.rows.log_lines():
            is_alone = bool(self._site) or 0 < held.requested_cores < held.cores
            is_alone = is_alone and held.cores >= (self._seen.capacity(nodes).cores or inf)
            cells = (held._replace(exclusive="1") if is_alone else held).cells(line[0])
            table.write(make_csv_line(cells))
            yield line

    def _draft(self) -> MachineDraft:
        names = self.rows.names[self.system.partitions]
        shown = dict(names.by_number())
        numbers = names.numbers()[:-1]
        return draft_machine(
            self._partitions,
            self._use,
            self._seen,
            {place: (number, shown[number]) for place, number in enumerate(numbers)},
            field=self.system.partitions,
            options=self.options,
            second_0=self._first or 0,
        )

    def _notes(self, draft: MachineDraft, use: ResourceUse) -> Iterator[str]:
        options = self.options
        yield from self.system.rules
        yield (
            "submission is when a job became eligible to start: waits are the scheduler's alone"
            if options.from_eligible
            else "the wait is from the submission to the start"
        )
        yield _size_rule(options)
        yield from self._processors_rule(draft)
        if options.time_zone is None:
            yield "the time zone of the site was not given: UTC is assumed"
        if options.record_zone is not None:
            yield f"times in the records without a zone are those of {options.record_zone}"
        yield _names_rule(options)
        named = [self.rows.names[field].by_number() for field in ("queue", "partition")]
        shown = [options.computer, *(name for _, name in chain(*named))]
        noted = self.tally.noted
        noted[
            "names that Latin-1 cannot represent have escapes such as \\u0142 in this header; the "
            "file of names has the original names"
        ] = sum(any(ord(letter) > 255 for letter in name) for name in shown)
        noted[
            "the drafted machine lacks the nodes of lists that could not be read or have more than "
            f"{MOST_NODES:,} nodes"
        ] = len(self._seen.unread)
        if self._site:
            noted |= self._seen.site_notes()
        if use.has_resources:
            noted["runs on unknown nodes, so that what binds is unknown"] = use.nb_without_nodes
        yield from self.tally.notes()

    def _processors_rule(self, draft: MachineDraft) -> Iterator[str]:
        most, size, given = self._use.most, draft.nb_processors, self.options.max_processors
        what = "the number of processors of the drafted machine" if given is None else "given"
        at_once = f"; at most {most} processors were in use at once"
        yield f"MaxProcs is {what}" + (at_once if given is not None or size > most else "")
        if given is not None and given < most:
            yield f"MaxProcs is less than the processors in use at once ({most}): check both"
        if given not in (None, size):
            why = "" if draft.knows_nodes else ", which are guessed"
            yield (
                f"MaxProcs is {given}; the drafted machine has {size} processors: correct its "
                f"nodes{why}, or set max_processors"
            )

    def header(self, imported: Imported) -> list[str]:
        """Return the header of the log."""
        names, options = self.rows.names, self.options
        first, last_end = self._first or 0, self._use.last_end
        return make_header_lines(
            nb_jobs=imported.nb_jobs,
            nb_processors=options.max_processors or imported.draft.nb_processors,
            unix_start_time=first,
            time_zone=options.zone,
            notes=imported.notes,
            computer=options.computer,
            conversion=f", import {self.system.name}",
            in_nodes=options.in_nodes,
            span=(first, self._last if last_end is None else max(last_end, self._last)),
            names={kind: names[kind.lower()].by_number() for kind in ("Queue", "Partition")},
        )

    def names_table(self) -> str:
        """Return the names, or pseudonyms, of the numbers in the log, as CSV."""
        rows = (
            (field, number, name)
            for field, names in self.rows.names.items()
            for number, name in names.by_number()
        )
        return csv_of_rows(("field", "number", "name"), rows)


def _size_rule(options: ImportOptions) -> str:
    if options.in_nodes:
        return "a processor is a node"
    if options.cores_per_node:
        return f"a processor is a core; jobs have whole nodes of {options.cores_per_node} cores"
    return "a processor is a core, as the accounting counts them"


def _names_rule(options: ImportOptions) -> str:
    what = "users, groups and job names" if options.job_names else "users and groups"
    if options.anonymise:
        return f"{what} are anonymised: their numbers follow the order of salted pseudonyms"
    return f"{what} are numbered by their first submission; names that are all numbers are kept"
