"""Compares two campaigns: the differences between their runs, paired by seed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cached_property
from math import inf, nan
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from batsched_py.campaign.campaign_folder import CampaignResults, open_results
from batsched_py.errors import InputError, UsageError
from batsched_py.metrics import COUNTS, METRICS
from batsched_py.metrics.withdrawals import fill_withdrawals
from batsched_py.report.answers import ANSWERED, Change, describe_changes
from batsched_py.report.campaign_axes import REPEATED
from batsched_py.report.comparing import figures
from batsched_py.report.comparing.compared_sources import Source, find_pair
from batsched_py.report.comparing.job_means import estimate_means, estimate_ratios, make_sums
from batsched_py.report.comparing.run_pairing import Pairing, format_groups, list_first, pair_runs
from batsched_py.report.comparing.setting_differences import (
    find_differing,
    identify_code,
    is_of_code,
    make_settings_table,
)
from batsched_py.report.document import Column, Part, Report, Table
from batsched_py.report.formatting import format_cell
from batsched_py.report.forms.notebook_report import NotebookReport
from batsched_py.report.kit.estimates import cells, from_cells
from batsched_py.report.kit.tables import columns, sections, table
from batsched_py.report.less_work import NO_GAIN, compare_work
from batsched_py.report.metric_words import LEAVING, OF_WITHDRAWALS, choose_metrics, has_withdrawals
from batsched_py.run.settings import Settings
from batsched_py.support.statistics import FEWEST, Interval

MAIN = ("mean_waiting_time", "mean_bounded_slowdown", "max_waiting_time", "throughput_per_hour")
"""Metrics of the figure and of the table by group; all are in the table of differences. If users
withdraw jobs, there are those of withdrawals too."""
LARGEST = 25
FEW_PAIRS = f"**Fewer than {FEWEST} pairs of runs in a group: the effect of chance is unknown.**"
_GROUPS = 40
_RELATIVE = 1e-9
Array = np.ndarray[Any, Any]
_OF_THE_ROW = {"folder", "input", "nb_res", "hash", "version", "git_revision", "host", "started"}
_OF_THE_ROW |= {"seconds", "wall_time"}


def compare_campaigns(a: str | Path, b: str | Path) -> NotebookReport:
    """Return a report on the differences between two campaigns, given their folders.

    Raises :class:`UsageError` and :class:`InputError` for a folder that is no campaign, or has no
    finished runs.
    """
    return NotebookReport.from_report(CampaignComparison.from_sources(*find_pair(a, b)).report())


class CampaignComparison:
    """The comparison of two campaigns; differences are B - A, ratios B / A."""

    def __init__(self, a: CampaignResults, b: CampaignResults, names: tuple[str, str]) -> None:
        self.a = a
        self.b = b
        self.names = names

    @classmethod
    def from_sources(cls, a: Source, b: Source) -> CampaignComparison:
        """Read two campaigns, and return their comparison."""
        if (a.kind, b.kind) != ("campaign", "campaign"):
            raise UsageError(f"{a.name} and {b.name} are runs: expected two campaigns")
        return cls(_opened(a), _opened(b), (a.name, b.name))

    @cached_property
    def pairing(self) -> Pairing:
        """The pairs of a run of A and a run of B that are compared."""
        return pair_runs(self.a, self.b)

    @cached_property
    def _runs(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The runs of A and of B; if users withdraw jobs in any of them, all have shares of it."""
        a, b = self.a.runs, self.b.runs
        if "nb_withdrawn" in a or "nb_withdrawn" in b:
            return fill_withdrawals(a), fill_withdrawals(b)
        return a, b

    @property
    def _leaving(self) -> bool:
        """Whether users withdraw jobs in any run."""
        return any(map(has_withdrawals, self._runs))

    @property
    def _main_names(self) -> tuple[str, ...]:
        """The metrics of the figure and of the table by group."""
        return tuple(dict.fromkeys((MAIN[0], *OF_WITHDRAWALS * self._leaving, *MAIN)))

    @cached_property
    def metrics(self) -> list[str]:
        """The names of the metrics and of the studies' measures that both campaigns have."""
        labels = {*Settings.__struct_fields__, *REPEATED, *self.a.axes, *self.b.axes, *_OF_THE_ROW}
        ours = [*COUNTS, *METRICS]
        a, b = self._runs
        both = [name for name in a.columns if name in b.columns]
        further = [
            name
            for name in both
            if name not in (*labels, *ours) and all(_is_numeric(runs[name]) for runs in (a, b))
        ]
        return [*(name for name in ours if name in both), *further]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """A row per group and metric: labels, ``group``, ``metric``, ``unit``, ``pairs``, the
        means ``a`` and ``b``, ``difference`` and ``ratio`` with their intervals, ``exact``, and
        ``size``.

        ``size`` is the difference in units of half its interval: beyond 1 it is clear of chance.
        Where all of several pairs have the same difference, it is exact: there is neither interval
        nor size. Exact ones come first, then by size; alike, by the relative difference. SI units.
        """
        rows: list[dict[str, Any]] = []
        names = [*self.pairing.labels, "group"]
        for _, pairs in self.pairing.runs.groupby("group", sort=False):
            labels = {name: pairs[name].iloc[0] for name in names}
            rows += [{**labels, **row} for row in self._of_group(pairs)]
        return _sorted(pd.DataFrame(rows, columns=[*names, *_MEASURED]))

    @property
    def changed(self) -> pd.DataFrame:
        """The rows of :attr:`differences` in which any pair differs."""
        return self.differences[self.differences["differing"] > 0].reset_index(drop=True)

    @property
    def whole_tables(self) -> dict[str, pd.DataFrame]:
        """The tables with all rows; the report shows the rows with the largest differences."""
        return {"differences": self.differences}

    @property
    def identical(self) -> bool:
        """Whether each run has a counterpart with equal metrics; settings do not count."""
        alone = len(self.pairing.only_a) + len(self.pairing.only_b)
        return len(self.pairing.runs) > 0 and not alone and self.changed.empty

    @property
    def summary(self) -> str:
        """The result in a line or two."""
        pairs = self.pairing.runs
        if self.identical:
            changed = [name for name in find_differing(*self._abouts) if is_of_code(name)]
            but = f"; they differ in {', '.join(changed)}" if changed else ""
            equal = f"all metrics of all {len(pairs)} runs are equal"
            return f"The campaigns are identical: {equal}{but}."
        if not len(pairs):
            return (
                f"No run of A ({len(self.a.runs)}) has a counterpart in B ({len(self.b.runs)}): "
                "their labels have nothing in common."
            )
        nb = int(self._unequal(pairs).any(axis=1).sum())
        alone = [
            f"{len(rows)} runs are only in {name}"
            for name, rows in (("A", self.pairing.only_a), ("B", self.pairing.only_b))
            if rows
        ]
        counted = "; ".join([f"{nb} of {len(pairs)} pairs of runs differ", *alone])
        return f"{self._less_work}{counted}.{self._certainty}"

    @property
    def _less_work(self) -> str:
        """In which groups one campaign does less work, as a sentence; "" if in none."""
        found = {}
        for group, pairs in self.pairing.runs.groupby("group", sort=False):
            a, b = self._paired_runs(pairs)
            if words := compare_work({"A": a, "B": b}):
                found[str(group)] = words
        if not found:
            return ""
        (first, words), nb = next(iter(found.items())), self.pairing.runs["group"].nunique()
        more = ", ..." if len(found) > 1 else ""
        which = f"{first}: {words}{more}"
        return f"Less work is done in {len(found)} of {nb} groups ({which}). {NO_GAIN} "

    @property
    def _certainty(self) -> str:
        """How many differences are beyond chance, as a sentence; "" if that is unknown."""
        changed = self.changed
        counts = []
        if changed["size"].notna().any():
            counts.append(f"{(changed['size'] > 1).sum()} are conclusive")
        if exact := int(_exact(changed).sum()):
            counts.append(f"{exact} are the same in all pairs of runs")
        if not counts:
            return ""
        return f" Of {len(self.differences)} differences (groups and metrics), {'; '.join(counts)}."

    def report(self) -> Report:
        """Return the report of the comparison."""
        a, b = self.names
        names = f"A is {a}, B is {b}; differences are B - A, ratios B / A."
        about: list[Part | None] = [self._settings(), self._only_in_one()]
        differences = [] if self.changed.empty else self._differences()
        made = tuple(sections([("Differences", differences), ("Options", about)]))
        answer = self.summary
        if changes := describe_changes(self._main_changes()):
            answer = f"B compared with A:\n\n{changes}\n\n{answer}"
        method = " ".join([names, *self.pairing.notes, *self._alike])
        cautions = [LEAVING] * self._leaving
        if not self.changed.empty and (self.changed["pairs"] < FEWEST).any():
            cautions.append(FEW_PAIRS)
        return Report(
            f"{b} (B) compared with {a} (A)",
            "",
            made,
            summary=method,
            answer=answer,
            cautions=tuple(cautions),
        )

    def _main_changes(self) -> Iterator[Change]:
        """Yield the changes of the metrics of an answer in each group."""
        wanted = (MAIN[0], *(OF_WITHDRAWALS if self._leaving else ANSWERED))
        names = [name for name in wanted if name in self.metrics]
        metrics = {of.name: of for of in choose_metrics(self._runs[0], names)}
        for group in dict.fromkeys(self.pairing.runs["group"]):
            rows = self.changed[self.changed["group"] == group].set_index("metric")
            for name in metrics:
                if name in rows.index:
                    ratio = from_cells(
                        rows.loc[name], "ratio", "ratio_low", "ratio_high", nb="pairs"
                    )
                    value, low, high = (end - 1 for end in (ratio.value, ratio.low, ratio.high))
                    change = Interval(value, low, high, ratio.nb)
                    yield Change("", str(group), metrics[name], change)

    def _of_group(self, pairs: pd.DataFrame) -> list[dict[str, Any]]:
        a, b = self._values(pairs)
        both = np.isfinite(a) & np.isfinite(b)
        means_a, means_b, shift = (
            make_sums(np.where(both, values, np.nan)) for values in (a, b, b - a)
        )
        quotients, intervals = estimate_ratios(means_a, means_b), estimate_means(shift)
        differing = self._unequal(pairs).sum(axis=0)
        rows = []
        for at, name in enumerate(self.metrics):
            if not both[:, at].any():
                continue
            scale = max(abs(float(means.means[at])) for means in (means_a, means_b))
            pair_a, pair_b = (values[both[:, at], at] for values in (a, b))
            exact, ratio = _agree(pair_b - pair_a, scale), quotients[at]
            change = _spread(intervals[at], exact)
            if _agree(pair_b - ratio.value * pair_a, scale):
                ratio = _spread(ratio, exact=True)
            row = cells(change, "difference", nb="pairs") | {"exact": exact}
            row |= cells(ratio, "ratio", "ratio_low", "ratio_high")
            row |= {"metric": name, "unit": METRICS[name].unit if name in METRICS else ""}
            row |= {"a": float(means_a.means[at]), "b": float(means_b.means[at])}
            row |= {"differing": int(differing[at]), "size": _size(change)}
            row |= {"difference_ends": _ends(change), "ratio_ends": _ends(ratio)}
            rows.append(row if differing[at] else row | {"difference": 0.0, "size": 0.0})
        return rows

    def _paired_runs(self, pairs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        a, b = self._runs
        return a.iloc[pairs["row_a"]], b.iloc[pairs["row_b"]]

    def _values(self, pairs: pd.DataFrame) -> tuple[Array, Array]:
        a, b = self._paired_runs(pairs)
        return a[self.metrics].to_numpy(np.float64), b[self.metrics].to_numpy(np.float64)

    def _unequal(self, pairs: pd.DataFrame) -> Array:
        return ~_close(*self._values(pairs))

    @property
    def _alike(self) -> list[str]:
        """A sentence on the groups whose replications do not differ at all, if there are some."""
        groups = [rows for _, rows in self.pairing.runs.groupby("group", sort=False)]
        several = [rows for rows in groups if len(rows) > 1]
        nb = sum(all(_close(of, of[:1]).all() for of in self._values(rows)) for rows in several)
        if not nb:
            return []
        return [
            f"In {nb} of {len(groups)} groups, the replications are identical, as they do not "
            "depend on the seed. Their differences are exact and have no interval."
        ]

    @cached_property
    def _abouts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return _about(self.a), _about(self.b)

    def _settings(self) -> Table:
        a, b = self._abouts
        failed = max(len(self.a.failures), len(self.b.failures))
        note = "Options with the same value in all runs of a campaign. " * bool(a or b)
        if failed:
            note += "Failed runs are left out."
        return make_settings_table(a, b, note, always=tuple(a)[:_ALWAYS])

    def _only_in_one(self) -> Table | None:
        rows = []
        alone = (("A", self.a, self.pairing.only_a), ("B", self.b, self.pairing.only_b))
        for name, results, only in alone:
            axes = [axis for axis in results.axes if axis not in REPEATED]
            counts = format_groups(results.runs.iloc[only][axes]).value_counts(sort=False)
            rows += [{"campaign": name, "labels": text, "runs": nb} for text, nb in counts.items()]
        shown = (Column("campaign", "only in"), *columns("labels", "runs"))
        return table("only_in_one", "Runs without a counterpart", rows, shown)

    def _differences(self) -> list[Part]:
        changed = self.changed
        largest = changed.head(LARGEST)
        shown = (*columns("group", "metric"), *_COLUMNS, *columns("size", "unit"))
        note = (
            f"{len(largest)} of {len(changed)} differences. Means and 95 % intervals are over "
            "pairs of runs with the same labels and seed. Size is |B - A| divided by half its "
            "interval: above 1, the interval does not contain 0. One in twenty such differences is "
            f"due to chance alone. Fewer than {FEWEST} pairs have no interval, nor have equal "
            "differences in all pairs."
        )
        title = "Largest differences"
        parts: list[Part] = [Table("largest_differences", title, largest, shown, note)]
        main = self._main()
        if not main.empty:
            shown = (*columns("metric", "group"), *_COLUMNS, Column("unit"))
            parts.insert(0, Table("main_metrics", "Main metrics by group", main, shown))
            drawable = main[(main["ratio"] > 0) & np.isfinite(main["ratio"])]
            if not drawable.empty:
                names = [name for name in self._main_names if name in set(drawable["metric"])]
                parts.append(figures.draw_ratios(drawable, names))
        return parts

    def _main(self) -> pd.DataFrame:
        """Return the main metrics of the groups that differ most in them."""
        rows = self.differences[self.differences["metric"].isin(self._main_names)]
        most = list(dict.fromkeys(rows["group"]))[:_GROUPS]
        groups = [group for group in dict.fromkeys(self.pairing.runs["group"]) if group in most]
        order = {name: at for at, name in enumerate((*self._main_names, *groups))}
        rows = rows[rows["group"].isin(groups)]
        return rows.sort_values(["metric", "group"], key=lambda c: c.map(order), ignore_index=True)


_MEASURED = (
    *("metric", "unit", "pairs", "differing", "a", "b"),
    *("difference", "low", "high", "exact", "size", "ratio", "ratio_low", "ratio_high"),
    *("difference_ends", "ratio_ends"),
)
_ALWAYS = 9
_COLUMNS = (
    *columns(a="A", b="B"),
    Column("difference", "B - A", kind="difference", below="difference_ends"),
    Column("ratio", "B / A", 3, "difference", below="ratio_ends"),
    Column("pairs"),
)


def _opened(source: Source) -> CampaignResults:
    results = open_results(source.path)
    if results.runs.empty:
        command = ["batsched-py", "campaign", str(results.file), "-e", str(source.path)]
        raise InputError(
            f"{source.name}: no run of this campaign is finished ({len(results.failures)} of "
            f"{results.nb_planned} failed); run it first: {shlex.join(command)}"
        )
    return results


def _size(change: Interval) -> float:
    half = (change.high - change.low) / 2
    return abs(change.value) / half if half > 0 else nan


def _ends(interval: Interval) -> str:
    low, high = (format_cell(end) for end in (interval.low, interval.high))
    return f"{low} to {high}" if interval.is_known else ""


def _agree(differences: Array, scale: float) -> bool:
    """Return whether several pairs all have the same difference, up to rounding at ``scale``."""
    return len(differences) > 1 and bool(np.ptp(differences) <= _RELATIVE * scale)


def _spread(interval: Interval, exact: bool) -> Interval:
    """Return an interval without ends if all pairs agree."""
    return msgspec.structs.replace(interval, low=nan, high=nan) if exact else interval


def _exact(rows: pd.DataFrame) -> pd.Series[bool]:
    """Tell which differences are the same in all of several pairs."""
    return (rows["differing"] > 0) & rows["exact"].astype(bool)


def _close(a: Array, b: Array) -> Array:
    return np.asarray(np.isclose(a, b, rtol=_RELATIVE, atol=0.0, equal_nan=True))


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    relative = (frame["difference"] / frame["a"].abs().where(frame["a"] != 0)).abs()
    infinite = frame["difference"].abs().where(frame["a"] != 0, inf)
    size = frame["size"].fillna(0.0).mask(_exact(frame), inf).where(frame["differing"] > 0, -1.0)
    keys = frame.assign(_size=size, _relative=relative.fillna(infinite))
    keys = keys.sort_values(["_size", "_relative"], ascending=False)
    return keys.drop(columns=["_size", "_relative"]).reset_index(drop=True)


def _about(results: CampaignResults) -> dict[str, Any]:
    """Return the description of a campaign, and the options that all of its runs have."""
    runs = results.runs
    stored = [results.settings(row)["input"] for _, row in runs.drop_duplicates("input").iterrows()]
    about: dict[str, Any] = {
        "campaign": results.name,
        "file": str(results.file),
        "runs planned": results.nb_planned,
        "runs finished": len(runs),
        "runs failed": len(results.failures),
        "version": _values(runs, "version"),
        "git revision": _values(runs, "git_revision"),
        "seeds": f"{runs['seed'].nunique()}" if "seed" in runs else None,
        "wall time (s)": round(float(runs["wall_time"].sum()), 1),
    }
    about |= {f"axis {name}": _values(runs, name) for name in results.axes if name not in REPEATED}
    about |= {f"input {log['name']}": str(log["sha256"])[:16] for log in stored}
    digests: dict[str, set[str]] = {}  # several of a file that was edited meanwhile
    for _, row in runs.iterrows():
        for name, digest in identify_code(results.settings(row)).items():
            digests.setdefault(name, set()).add(digest)
    about |= {name: ", ".join(sorted(of_name)) for name, of_name in digests.items()}
    for name in Settings.__struct_fields__:
        if name in runs and name not in (*about, *results.axes, "seed"):
            values = runs[name].map(str).unique()
            if len(values) == 1:
                about[name] = values[0]
    return about


def _values(runs: pd.DataFrame, name: str) -> str:
    return list_first(list(dict.fromkeys(runs[name].map(str))), 8)


def _is_numeric(values: pd.Series[Any]) -> bool:
    kept = values.dropna()
    return bool(len(kept)) and pd.api.types.is_numeric_dtype(kept.infer_objects())
