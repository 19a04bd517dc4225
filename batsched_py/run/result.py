"""The result of one simulation: tables, metrics, and files."""

from __future__ import annotations

import platform as python_platform
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from batsched_py.errors import OutputError
from batsched_py.files.writers import encode_lines, put_in_place, write_parts, write_whole
from batsched_py.metrics import machine, registry
from batsched_py.results.job_table import JobTable, Mask
from batsched_py.results.jobs_file import parse_jobs
from batsched_py.results.machine_power import POWER, Change, format_changes
from batsched_py.results.whole_run import (
    EXCHANGE,
    RUN_JSON,
    TABLES,
    DigestedParts,
    NamedFile,
    write_sealed,
)
from batsched_py.run.key_numbers import KeyNumbers
from batsched_py.run.stored_run import RunFiles

if TYPE_CHECKING:
    import pandas as pd


class Output(Protocol):
    """The output of a back end: the table of jobs, and the texts of two files."""

    nb_messages: int | None
    """Number of messages from the simulator, None if they were not counted."""
    nb_processors: int
    """Processors that compute."""

    @property
    def table(self) -> JobTable:
        """All jobs as numpy columns, in order of completion."""
        ...

    def jobs_lines(self, measured: Mask) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv``, our columns after Batsim's.

        ``measured`` is the last of them unless all jobs are.
        """
        ...

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``."""
        ...


class Recording:
    """The recording of the messages of a run; its file gets its name when the run ends well.

    Until then an earlier file of that name is unchanged. If the run fails, the messages stay in
    the file ``part``.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.part = Path(f"{path}.part")
        self._named: NamedFile | None = None

    def keep(self) -> NamedFile:
        """Give the file its name, if it does not have it; raises :class:`OutputError`."""
        if self._named is None:
            try:
                self._named = NamedFile.at(self.part)
                put_in_place(self.part, self.path)
            except OSError as error:
                raise OutputError(f"{self.path} cannot be written: {error.strerror}") from None
        return self._named


_WINDOW_UNITS = {
    "start": "s",
    "length": "s",
    "throughput_per_day": "jobs per day",
    "mean_busy_processors": "processors",
}


class Result:
    """The result of a simulation: tables, metrics, charts; from ``simulate`` or from files."""

    def __init__(
        self,
        output: Output,
        settings: dict[str, Any],
        wall_time: float,
        *,
        warm_up: float = 0.0,
        cool_down: float = 0.0,
        recording: Recording | None = None,
    ) -> None:
        self.output = output
        self._recording = recording
        self._warm_up = warm_up
        self._cool_down = cool_down
        self.settings = settings
        """Everything that determines the run, as stored in ``PREFIX_run.json``."""
        self.wall_time = wall_time
        """Seconds that the simulation took, nan if they were not stored."""
        self.fault: str | None = None
        """The mistake of a plug-in after the end of the simulation, None if there was none.

        Only its counters are lost. The notes have it too.
        """
        self.log: Path | None = None
        """The file that was simulated; None where it is not known, as of a stored result."""
        self.fields_of_jobs: frozenset[str] = frozenset()
        """The names of the further fields of the workload's jobs; empty for a stored result."""

    @classmethod
    def load(cls, prefix: str | Path, *, nodes: int | None = None) -> Result:
        """Return the result of a run that was stored as ``PREFIX_jobs.csv``, also by Batsim.

        ``PREFIX_run.json`` next to it has the settings and the metrics. Without it,
        ``PREFIX_schedule.csv`` has the size of the machine, and metrics are computed anew.
        ``prefix`` may end with ``_jobs.csv``; ``nodes`` is the number of processors where neither
        file has it. Raises :class:`UsageError` for missing files, :class:`InputError` for
        malformed files.

        >>> Result.load("out/easy").metrics["mean_waiting_time"]  # doctest: +SKIP
        """
        stored = RunFiles(prefix, nodes)
        result = cls(stored, stored.settings, stored.wall_time)
        if stored.measured is not None and nodes is None:
            result.measured = stored.measured
        return result

    @cached_property
    def table(self) -> JobTable:
        """All jobs as numpy columns, in order of completion.

        Those of the warm-up and the cool-down are not measured, as those of rare behaviour.
        """
        return self.output.table.without_ends(self._warm_up, self._cool_down)

    @cached_property
    def measured(self) -> dict[str, Any]:
        """All metrics as plain dicts, as ``PREFIX_run.json`` stores them.

        ``overall``, ``windows``, ``per_user``, ``denominators`` and ``units``; ``per_site`` too if
        the machine has sites. Jobs of rare behaviour (Zakay, chapter 5), of the warm-up and of the
        cool-down load the machine and are not measured: only the metrics of the machine are over
        all jobs.
        """
        overall = registry.overall(self.table)
        there = {name: metric for name, metric in registry.METRICS.items() if name in overall}
        values = {
            "overall": overall,
            "denominators": {name: metric.denominator for name, metric in there.items()},
            "units": {name: metric.unit for name, metric in there.items()},
            "windows": machine.windows(self.table),
            "per_user": registry.per_user(self.table),
        }
        return values | ({"per_site": registry.per_site(self.table)} if self.table.sites else {})

    @property
    def metrics(self) -> pd.Series[float]:
        """All metrics by name, nan where one is not defined; their units are ``attrs["units"]``."""
        import pandas as pd

        series = pd.Series(self.measured["overall"], dtype=float, name="value")
        series.index.name = "metric"
        series.attrs["units"] = {name: _described(name)[0] for name in series.index}
        return series

    @property
    def metrics_table(self) -> pd.DataFrame:
        """A row per metric: ``value``, ``unit``, over which ``jobs``, ``formula``, ``source``."""
        import pandas as pd

        rows = [_described(name) for name in self.metrics.index]
        described = pd.DataFrame(
            rows, index=self.metrics.index, columns=["unit", "jobs", "formula", "source"]
        )
        described.insert(0, "value", self.metrics)
        return described

    @property
    def per_user(self) -> pd.DataFrame:
        """Metrics of each user's own jobs: a row per user, nan where one is not defined."""
        return _frame_of(self.measured["per_user"], "user")

    @property
    def per_site(self) -> pd.DataFrame:
        """Metrics of the jobs of each grid site: a row per site; empty without grid sites."""
        return _frame_of(self.measured.get("per_site", {}), "site")

    @property
    def windows(self) -> pd.DataFrame:
        """Throughput and busy processors in parts of the time: a row per window."""
        import pandas as pd

        frame = pd.DataFrame(self.measured["windows"], columns=list(_WINDOW_UNITS), dtype=float)
        frame.attrs["units"] = dict(_WINDOW_UNITS)
        return frame

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """``_jobs.csv`` as a data frame: a row per job, columns of Batsim, others, ``measured``."""
        return self.table_as_written().frame()

    @property
    def power_changes(self) -> list[Change]:
        """When processors were switched: time (s), processors, and the state that they entered.

        States are ``switching_off``, ``asleep``, ``switching_on`` and ``awake``.
        """
        power = self.table.power
        return [] if power is None else list(power.changes)

    @property
    def notes(self) -> list[str]:
        """Sentences on jobs and input that were dropped, refused or unused."""
        return list(self.settings.get("notes", []))

    def __repr__(self) -> str:
        """Return the key numbers in five lines, and the notes."""
        return self._key_numbers.text

    def _repr_html_(self) -> str:
        """Return the same with a picture of the busy processors, for a notebook."""
        return self._key_numbers.html(self.table)

    @property
    def _key_numbers(self) -> KeyNumbers:
        return KeyNumbers(self.settings, self.measured["overall"])

    def table_as_written(self) -> JobTable:
        """Return the table that ``PREFIX_jobs.csv`` would give: all columns, with six decimals."""
        if self.table.texts:  # it was read
            return self.table
        table = parse_jobs(self.jobs_lines(), self.output.nb_processors, self.output.table.sites)
        power, watts = self.table.power, self.table.watts
        return msgspec.structs.replace(table, power=power, watts=watts)

    def jobs_lines(self) -> Iterator[str]:
        """Yield the lines of ``PREFIX_jobs.csv``."""
        return self.output.jobs_lines(self.table.measured)

    def jobs_csv(self) -> str:
        """Return the text of ``PREFIX_jobs.csv``."""
        return "".join(self.jobs_lines())

    def further_tables(self) -> dict[str, str]:
        """Return the texts of all tables but that of the jobs, by their names after PREFIX."""
        power = {POWER: format_changes(changes)} if (changes := self.power_changes) else {}
        return {TABLES[1]: self.output.schedule_csv()} | power

    def write(self, prefix: str | Path) -> list[Path]:
        """Write ``PREFIX_jobs.csv``, ``PREFIX_schedule.csv``, ``PREFIX_run.json``; return them.

        If processors were switched, write ``PREFIX_power.csv`` too. Each file is written whole or
        not at all; missing folders are made. The last one names the others, and the recorded
        messages if they are in ``PREFIX_exchange.jsonl``, by which readers know whether all are
        whole: :mod:`batsched_py.results.whole_run`.
        """
        parts, further = DigestedParts(encode_lines(self.jobs_lines())), self.further_tables()
        jobs, *others, run = (Path(f"{prefix}{name}") for name in (TABLES[0], *further, RUN_JSON))
        description = self.run_json()
        files = {}
        if recording := self._recording:  # not before it is sure what there is to write
            exchange = recording.keep()
            if recording.path.absolute() == Path(f"{prefix}{EXCHANGE}").absolute():
                files[EXCHANGE] = exchange
        write_parts(jobs, parts)
        tables = {TABLES[0]: parts.named}
        for path, (name, text) in zip(others, further.items(), strict=True):
            write_whole(path, text)
            tables[name] = NamedFile.of(text.encode())
        if POWER not in further:  # that of an earlier run would be misleading
            Path(f"{prefix}{POWER}").unlink(missing_ok=True)
        write_sealed(run, description, tables | files)
        return [jobs, *others, run]

    def run_json(self, further: Mapping[str, Any] | None = None) -> bytes:
        """Return the content of ``PREFIX_run.json``, with ``further`` keys and without its seal."""
        run = {
            **self.settings,
            "wall_time": self.wall_time,
            "nb_messages": self.output.nb_messages,
            "metrics": self.measured,
            **(further or {}),
        }
        return msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n"


def _described(name: str) -> tuple[str, str, str, str]:
    """Return unit, jobs, formula and source of a metric or a count."""
    metric = registry.METRICS.get(name)
    if metric is None:
        return "jobs" if name in registry.COUNTS else "", "", "", ""
    return metric.unit, metric.denominator, metric.formula, metric.source


def _frame_of(rows: dict[str, dict[str, Any]], name: str) -> pd.DataFrame:
    """Return metrics by user or site as a data frame, with their units."""
    import pandas as pd

    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame = frame.astype({column: float for column in frame if frame[column].dtype == object})
    frame.index.name = name
    frame.attrs["units"] = {column: _described(column)[0] for column in frame.columns}
    return frame


@cache  # looking them up takes as long as a small simulation
def versions() -> Mapping[str, str]:
    """Return the versions of Python, batsched_py, msgspec and numpy."""
    return {
        "python": python_platform.python_version(),
        **{name: version(name) for name in ("batsched_py", "msgspec", "numpy")},
    }
