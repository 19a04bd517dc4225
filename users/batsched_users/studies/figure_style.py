"""What the figures of the user layer have in common: colours, and files that are whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from batsched_py.errors import UsageError
from batsched_py.support import palette
from batsched_py.support.atomic_files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    *(palette.BLUE, palette.VERMILION, palette.GREEN, palette.PURPLE),
    *(palette.ORANGE, palette.SKY, palette.BLACK),
)
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
FORMATS = ("png", "svg", "pdf")

# Without these entries the bytes depend on the data only.
_DATELESS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
_MINUTES = {1: "1 min", 10: "10 min", 60: "1 h", 480: "8 h", 1440: "1 d", 10080: "1 wk"}
_LONGER = {43200: "30 d", 525600: "1 y"}


def format_of(path: Path) -> str:
    """Return the format that the name of a figure asks for; raises :class:`UsageError`."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise UsageError(f"{path}: a figure is .png, .svg or .pdf, by the end of its name")
    return form


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; the same figure gives the same bytes.

    Raises :class:`UsageError` for a name that ends with no known format.
    """
    from matplotlib import rc_context

    form = format_of(path)
    with whole_file(path) as part, rc_context({"svg.hashsalt": "batsched_py"}):
        figure.savefig(part, format=form, dpi=150, metadata=_DATELESS[form])


def look(index: int) -> dict[str, Any]:
    """Return colour and line style of curve ``index`` (from 0; after seven they come again)."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": STYLES[index % len(STYLES)]}


def plain(axes: Axes) -> None:
    """Take away what is not data, and lay a light grid under it."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)


def minutes_axis(axes: Axes, least: float, most: float) -> None:
    """Make the x axis logarithmic, in minutes, with ticks at times that people know."""
    from matplotlib.ticker import NullLocator

    ticks = {at: text for at, text in (_MINUTES | _LONGER).items() if least <= at <= most}
    axes.set_xscale("log")
    axes.set_xlim(least, most)
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.xaxis.set_minor_locator(NullLocator())
