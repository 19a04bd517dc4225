"""The summary of a result: a few lines of text, or a table and a small chart in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from batsched_py.results.job_table import JobTable
from batsched_py.support.step_functions import Intervals
from batsched_py.units import DAY, SYMBOLS, UNITS, choose_unit

_WIDTH, _HEIGHT = 480, 70
_STEPS = 240
"""Parts of the time in the picture: two pixels each."""


def count_lost(overall: Mapping[str, Any]) -> str:
    """Return how many jobs were rejected, and withdrawn if any was, as text."""
    text = f"{overall['nb_rejected']} rejected"
    withdrawn = overall.get("nb_withdrawn")
    return text if withdrawn is None else f"{text}, {withdrawn:.0f} withdrawn"


class KeyNumbers:
    """The most important numbers of a run, as text and as HTML."""

    def __init__(self, settings: Mapping[str, Any], overall: Mapping[str, Any]) -> None:
        run = settings.get("run", {})
        self._overall = overall
        name = settings.get("input", {}).get("name", "-")
        self.title = f"{name}, policy {run.get('scheduler', '-')}, users {run.get('users', '-')}"
        self.rows = {
            "jobs": (
                f"{overall['nb_jobs']} ({count_lost(overall)}) on "
                f"{settings['nb_processors']} processors"
            ),
            "waiting time": (
                f"mean {self._time('mean_waiting_time')}, max {self._time('max_waiting_time')}; "
                f"mean bounded slowdown {self._value('mean_bounded_slowdown')}"
            ),
            "machine": (
                f"utilisation {self._value('utilisation', 0.01, '%')}, "
                f"makespan {self._time('makespan')}"
            ),
            "lateness": f"mean {self._time('mean_lateness')}",
        }
        """Four lines: what they are about, and the numbers."""
        self._notes: list[str] = settings.get("notes", [])

    def _value(self, name: str, unit: float = 1.0, unit_name: str = "") -> str:
        value = self._overall.get(name)
        return "-" if value is None else f"{value / unit:.3f} {unit_name}".rstrip()

    def _time(self, name: str) -> str:
        unit = choose_unit(abs(self._overall.get(name) or 0.0))
        return self._value(name, UNITS[unit], SYMBOLS[unit])

    @property
    def text(self) -> str:
        """The title, four lines of numbers, and one line per note."""
        lines = [f"  {name + ':':14}{numbers}" for name, numbers in self.rows.items()]
        heads = ["notes:", *("" for _ in self._notes[1:])]
        notes = (f"  {head:14}{note}" for head, note in zip(heads, self._notes, strict=False))
        return "\n".join((self.title, *lines, *notes))

    def html(self, table: JobTable) -> str:
        """Return the numbers as HTML, with the busy processors over time as an SVG picture."""
        rows = "".join(
            f'<tr><th style="text-align: left">{escape(name)}</th>'
            f'<td style="text-align: left">{escape(numbers)}</td></tr>'
            for name, numbers in self.rows.items()
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self._notes)
        return (
            f"<div><strong>{escape(self.title)}</strong><table>{rows}</table>"
            f"{_picture(table)}{f'<ul>{notes}</ul>' if notes else ''}</div>"
        )


def _picture(table: JobTable) -> str:
    """Return busy processors over time as SVG, nothing if no job ran."""
    if not table.ran.any():
        return ""
    ran = table.only_ran
    begin, end = float(table.submit.min()), float(ran.finish.max())
    edges = np.linspace(0, max(end - begin, 1.0), _STEPS + 1)
    busy = Intervals(ran.start, ran.finish, ran.size).over(begin + edges).mean
    machine = table.nb_processors or float(busy.max()) or 1.0
    step = _WIDTH / _STEPS
    path = "".join(
        f"L{number * step:.0f} {_HEIGHT * (1 - height):.1f}h{step:.0f}"
        for number, height in enumerate(np.minimum(busy / machine, 1.0).tolist())
    )
    label = (
        f"busy of {machine:g} processors, in {edges[-1] / DAY:.3g} days from the first submission"
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 18}" width="{_WIDTH}" role="img" '
        f'aria-label="{label}" style="max-width: 100%"><g fill="currentColor">'
        f'<path d="M0 {_HEIGHT}{path}V{_HEIGHT}Z" fill-opacity="0.45"/>'
        f'<path d="M0 0.5H{_WIDTH}M0 {_HEIGHT - 0.5}H{_WIDTH}" stroke="currentColor" '
        'stroke-opacity="0.4"/>'
        f'<text x="0" y="{_HEIGHT + 14}" font-size="11">{label}</text></g></svg>'
    )
