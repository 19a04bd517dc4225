"""Draws the pictures of the concept pages in docs/images: ``python docs/drawings.py``.

Each picture is 700 units wide and has a white background with round corners, so that it is legible
on light and dark pages. The picture of chance shows twenty simulations, which take ten seconds.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from batsched_py import simulate
from batsched_py.report.kit import Interval, mean_interval, paired_ratio

IMAGES = Path(__file__).parent / "images"
WIDTH = 700
INK, QUIET, LINE = "#1b1f24", "#57606a", "#d0d7de"
BLUE, ORANGE, GREEN = "#0072B2", "#B35900", "#00785A"
PALE_BLUE, PALE_ORANGE, PALE_GREEN, PALE = "#d6eaf8", "#fbe3c8", "#d2efe4", "#f3f4f6"


class Drawing:
    """An SVG picture, :data:`WIDTH` wide, that shapes and texts are added to."""

    def __init__(self, height: float, title: str) -> None:
        self.height = height
        self.title = title
        self.parts: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        *,
        line: str = "none",
        dashed: bool = False,
        radius: float = 6,
    ) -> None:
        """Add a rectangle, of which (x, y) is the upper left corner."""
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius}" fill="{fill}" stroke="{line}"{dashes}/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        colour: str = INK,
        anchor: str = "middle",
        size: int = 14,
        bold: bool = False,
    ) -> None:
        """Add a line of text, of which y is the baseline."""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" '
            f'font-size="{size}"{weight}>{escape(text)}</text>'
        )

    def line(
        self,
        *points: tuple[float, float],
        colour: str = QUIET,
        width: float = 1.5,
        arrow: bool = False,
        dashed: bool = False,
    ) -> None:
        """Add a line through the points, with an arrow at the last one if wanted."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashes = ' stroke-dasharray="4 4"' if dashed else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" '
            f'stroke-width="{width}"{dashes}/>'
        )
        if arrow:
            (x0, y0), (x, y) = points[-2:]
            length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
            dx, dy = 9 * (x - x0) / length, 9 * (y - y0) / length
            tip = f"{x:.1f},{y:.1f} {x - dx - dy / 2:.1f},{y - dy + dx / 2:.1f}"
            self.parts.append(
                f'<polygon points="{tip} {x - dx + dy / 2:.1f},{y - dy - dx / 2:.1f}" '
                f'fill="{colour}"/>'
            )

    def span(self, begin: float, end: float, y: float, text: str, colour: str) -> None:
        """Add a double arrow from ``begin`` to ``end`` with a text above it."""
        middle = (begin + end) / 2
        self.line((middle, y), (begin, y), colour=colour, arrow=True)
        self.line((middle, y), (end, y), colour=colour, arrow=True)
        self.box(middle - 52, y - 20, 104, 17, "#ffffff")
        self.text(middle, y - 7, text, colour=colour, size=13)

    def dot(self, x: float, y: float, colour: str) -> None:
        """Add a dot around the point."""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')

    def save(self, name: str) -> None:
        """Write the picture to docs/images."""
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height:g}" '
            f'width="{WIDTH}" height="{self.height:g}" font-family="Arial, Helvetica, '
            f'sans-serif" role="img">',
            f"<title>{escape(self.title)}</title>",
            f'<rect width="{WIDTH}" height="{self.height:g}" rx="12" fill="#ffffff"/>',
            *self.parts,
            "</svg>",
        ]
        (IMAGES / name).write_text("\n".join(lines) + "\n")


def draw_loops() -> None:
    """Draw how an open and a closed loop work."""
    drawing = Drawing(350, "An open loop and a closed loop")
    for top, title, source, fill, line in (
        (16, "Open loop: rigid replay", ("Log", "recorded times"), PALE, QUIET),
        (176, "Closed loop: users who react", ("Users", "wait and think"), PALE_GREEN, GREEN),
    ):
        drawing.text(24, top + 18, title, anchor="start", size=16, bold=True)
        boxes = (
            (24, *source, fill, line),
            (222, "Queue and policy", "picks the next job", PALE_BLUE, BLUE),
            (420, "Machine", "runs jobs", PALE_ORANGE, ORANGE),
        )
        for x, name, what, colour, border in boxes:
            drawing.box(x, top + 34, 148, 54, colour, line=border)
            drawing.text(x + 74, top + 57, name, bold=True)
            drawing.text(x + 74, top + 76, what, size=13, colour=QUIET)
        for x, label in ((172, "jobs"), (370, "starts")):
            drawing.line((x, top + 61), (x + 48, top + 61), arrow=True)
            drawing.text(x + 22, top + 53, label, size=12, colour=QUIET)
        drawing.line((568, top + 61), (606, top + 61), arrow=True)
        drawing.text(640, top + 57, "ends", size=13, colour=QUIET)
        drawing.text(640, top + 73, "of jobs", size=13, colour=QUIET)
    drawing.text(
        350, 126, "A slower machine: jobs arrive as before, and the queue keeps growing.", size=13
    )
    drawing.line((24, 158), (676, 158), colour=LINE)
    drawing.line((640, 258), (640, 298), (98, 298), (98, 266), colour=GREEN, width=2, arrow=True)
    drawing.box(242, 286, 256, 24, "#ffffff")
    drawing.text(370, 303, "users learn that jobs have ended", size=13, colour=GREEN)
    drawing.text(
        350, 334, "A slower machine: users go on later, and the queue grows less.", size=13
    )
    drawing.save("loops.svg")


def draw_sessions() -> None:
    """Draw a user's day as recorded and replayed: sessions, batches, think time and lateness."""
    drawing = Drawing(446, "Sessions, batches, think time and lateness of one user")

    def at(hour: float) -> float:
        return 40 + (hour - 8) * 64

    def draw_job(y: float, number: int, submitted: float, start: float, end: float) -> None:
        drawing.box(at(submitted), y, at(start) - at(submitted), 14, PALE_ORANGE, radius=0)
        drawing.box(at(start), y, at(end) - at(start), 14, BLUE, radius=0)
        drawing.line((at(submitted), y - 3), (at(submitted), y + 17), colour=INK, width=2)
        drawing.text(at(submitted) - 5, y + 12, str(number), size=12, anchor="end")

    drawing.text(24, 30, "Recorded", anchor="start", size=16, bold=True)
    drawing.text(24, 242, "Replayed on a slower machine", anchor="start", size=16, bold=True)
    recorded = [(8.5, 8.5, 9.0), (8.6, 8.8, 9.2), (9.5, 9.7, 11.0), (13.0, 13.0, 14.5)]
    recorded.append((13.3, 13.6, 15.0))
    replayed = [(8.5, 8.7, 9.45), (8.6, 9.0, 9.6), (9.5, 10.4, 12.35), (14.35, 14.8, 17.05)]
    replayed.append((14.65, 15.4, 17.5))
    tops = (76, 98, 120, 76, 98)
    for jobs, shift, sessions in (
        (recorded, 0, ((8.5, 11.0), (13.0, 15.0))),
        (replayed, 212, ((8.5, 12.35), (14.35, 17.5))),
    ):
        for number, (begin, end) in enumerate(sessions, 1):
            x = at(begin) - 18
            drawing.box(x, 62 + shift, at(end) - x + 6, 82, PALE, line=QUIET, dashed=True)
            drawing.text(x, 56 + shift, f"session {number}", anchor="start", size=13, colour=QUIET)
        for number, (top, job) in enumerate(zip(tops, jobs, strict=True), 1):
            draw_job(top + shift, number, *job)
    drawing.line((at(13.0), 146), (at(13.0), 382), colour=ORANGE, dashed=True)
    drawing.span(at(11.0), at(13.0), 104, "think time 2 h", GREEN)
    drawing.span(at(12.35), at(14.35), 316, "think time 2 h", GREEN)
    for begin, end, name in ((8.5, 9.2, "batch"), (9.5, 11.0, "batch"), (13.0, 15.0, "batch")):
        y = 156
        drawing.line((at(begin), y - 5), (at(begin), y), (at(end), y), (at(end), y - 5))
        drawing.text((at(begin) + at(end)) / 2, y + 15, name, size=13, colour=QUIET)
    drawing.line((at(14.35), 358), (at(14.35), 382), colour=ORANGE, dashed=True)
    drawing.line((at(13.0), 378), (at(14.35), 378), colour=ORANGE, arrow=True, width=2)
    drawing.text(at(14.35) + 8, 383, "lateness 1 h 21 min", colour=ORANGE, anchor="start", size=13)
    drawing.line((24, 214), (676, 214), colour=LINE)
    for hour in range(8, 19, 2):
        drawing.line((at(hour), 398), (at(hour), 404))
        drawing.text(at(hour), 418, f"{hour}:00", size=12, colour=QUIET)
    drawing.line((at(8), 398), (at(18), 398))
    for x, fill, name in ((200, PALE_ORANGE, "waits"), (290, BLUE, "runs")):
        drawing.box(x, 430, 24, 10, fill, radius=0)
        drawing.text(x + 30, 440, name, anchor="start", size=12)
    drawing.line((384, 427), (384, 443), colour=INK, width=2)
    drawing.text(392, 440, "submission", anchor="start", size=12)
    drawing.save("sessions.svg")


def draw_conversion() -> None:
    """Draw which fields of a line of a log make which part of a simulated job."""
    drawing = Drawing(310, "From a line of a log to a simulated job")
    fields = (
        ("2 submission", "34189"),
        ("3 wait", "2499"),
        ("4 run time", "1690"),
        ("9 requested time", "7200"),
        ("8 requested", "-1"),
        ("5 allocated", "8"),
        ("12 user", "23"),
    )
    parts = (
        ("submission", "34,189 s", (0,)),
        ("recorded end", "38,378 s", (0, 1, 2)),
        ("work", "1,690 s", (2,)),
        ("walltime", "7,200 s", (2, 3)),
        ("size (processors)", "8", (4, 5)),
        ("user", "23", (6,)),
    )
    drawing.text(
        20, 28, "Line of the log: field, name and value", anchor="start", size=15, bold=True
    )
    step, wide = 660 / len(fields), 660 / len(parts)
    for place, (name, value) in enumerate(fields):
        x = 20 + place * step
        drawing.box(x + 3, 42, step - 6, 52, PALE_ORANGE, line=ORANGE)
        drawing.text(x + step / 2, 62, name, size=10 if len(name) > 14 else 11, colour=QUIET)
        drawing.text(x + step / 2, 83, value, bold=True)
    for place, (name, value, sources) in enumerate(parts):
        x = 20 + place * wide
        for source in sources:
            begin = 20 + (source + 0.5) * step
            drawing.line((begin, 96), (x + wide / 2 + 10 * (source - sources[0]), 190), arrow=True)
        drawing.box(x + 3, 194, wide - 6, 52, PALE_BLUE, line=BLUE)
        drawing.text(x + wide / 2, 214, name, size=12, colour=QUIET)
        drawing.text(x + wide / 2, 235, value, bold=True)
    drawing.text(20, 278, "Simulated job 17 of the sample log", anchor="start", size=15, bold=True)
    drawing.text(
        20,
        298,
        "The larger of 7,200 s and 2 x 1,690 s is the walltime; -1 means unknown.",
        anchor="start",
        size=13,
        colour=QUIET,
    )
    drawing.save("log_to_job.svg")


def draw_instant() -> None:
    """Draw the order of events at one instant, by default and with the two options."""
    drawing = Drawing(330, "The order of events at one instant")
    events = {
        "end": (PALE_ORANGE, ORANGE),
        "users": (PALE_GREEN, GREEN),
        "submit": (PALE, QUIET),
        "policy": (BLUE, BLUE),
    }
    rows = (
        (
            "Default",
            "all events, then the policy once",
            ("end", "end", "users", "submit", "submit", "policy"),
        ),
        (
            "--each-event",
            "the policy after each event",
            ("submit", "policy", "submit", "policy", "end", "policy", "end", "policy"),
        ),
        (
            "--shake 1",
            "random order, random cuts",
            ("end", "submit", "policy", "end", "submit", "policy"),
        ),
    )
    drawing.text(
        24,
        30,
        "At one instant two jobs end and two are submitted",
        anchor="start",
        size=16,
        bold=True,
    )
    for number, (name, what, order) in enumerate(rows):
        y = 56 + number * 84
        drawing.text(24, y + 20, name, anchor="start", bold=True)
        drawing.text(24, y + 38, what, anchor="start", size=12, colour=QUIET)
        for place, kind in enumerate(order):
            x = 222 + place * 58
            fill, line = events[kind]
            drawing.box(x, y, 50, 48, fill, line=line)
            colour = "#ffffff" if kind == "policy" else INK
            drawing.text(x + 25, y + 29, kind, size=13, colour=colour, bold=kind == "policy")
    drawing.line((222, 306), (676, 306), arrow=True)
    drawing.text(214, 310, "order of processing", anchor="end", size=12, colour=QUIET)
    drawing.save("instant.svg")


def measure(scheduler: str, metrics: tuple[str, ...]) -> dict[str, list[float]]:
    """Return the metrics of ten simulations of a policy, with seeds 0 to 9."""
    options = {"long_weeks": 3, "edge_weeks": 1, "weeks": 8}
    results = [
        simulate(
            "sample",
            scheduler=scheduler,
            users="tbuos",
            user_options=options,
            warm_up="1 week",
            seed=seed,
        ).metrics
        for seed in range(10)
    ]
    return {metric: [result[metric] for result in results] for metric in metrics}


def draw_pairs() -> None:
    """Draw two policies with ten seeds each: means with intervals, and ratios of pairs."""
    names = {"mean_bounded_slowdown": "mean bounded slowdown", "mean_waiting_time": "mean wait"}
    easy, conservative = (measure(policy, (*names,)) for policy in ("easy", "conservative"))
    drawing = Drawing(350, "Ten pairs of simulations with equal seeds")
    slowdowns = (easy["mean_bounded_slowdown"], conservative["mean_bounded_slowdown"])

    def height(value: float) -> float:
        return 296 - (value - 4) * 19

    drawing.text(24, 30, "Bounded slowdown, ten seeds", anchor="start", size=16, bold=True)
    for tick in range(5, 20, 5):
        drawing.line((60, height(tick)), (330, height(tick)), colour=LINE, width=1)
        drawing.text(52, height(tick) + 4, str(tick), anchor="end", size=12, colour=QUIET)
    for pair in zip(*slowdowns, strict=True):
        drawing.line((130, height(pair[0])), (260, height(pair[1])), colour="#9aa4ae", width=1)
    for x, side, values, colour in (
        (130, -1, slowdowns[0], BLUE),
        (260, 1, slowdowns[1], ORANGE),
    ):
        mean = mean_interval(values)
        for slowdown in values:
            drawing.dot(x, height(slowdown), colour)
        beside = x + 34 * side
        drawing.line(
            (beside, height(mean.low)), (beside, height(mean.high)), colour=colour, width=4
        )
        drawing.dot(beside, height(mean.value), colour)
    drawing.text(130, 318, "easy", bold=True, colour=BLUE)
    drawing.text(260, 318, "conservative", bold=True, colour=ORANGE)
    drawing.text(195, 338, "bars: mean and its 95 % interval", size=12, colour=QUIET)

    def across(ratio: float) -> float:
        return 530 + (ratio - 1) * 760

    drawing.text(376, 30, "conservative / easy, seed by seed", anchor="start", size=16, bold=True)
    drawing.line((across(1), 60), (across(1), 270), dashed=True)
    drawing.text(across(1), 288, "1 = no effect", size=12, colour=QUIET)
    for y, (metric, name) in zip((110, 200), names.items(), strict=True):
        ratio = paired_ratio(conservative[metric], easy[metric])
        _draw_ratio(
            drawing, y, name, ratio, across(ratio.low), across(ratio.value), across(ratio.high)
        )
    drawing.save("pairs.svg")


def _draw_ratio(
    drawing: Drawing, y: float, name: str, ratio: Interval, low: float, middle: float, high: float
) -> None:
    is_clear = not ratio.low <= 1 <= ratio.high
    colour = GREEN if is_clear else QUIET
    verdict = "clear" if is_clear else "inconclusive"
    drawing.box(376, y - 38, 260, 22, "#ffffff")
    drawing.text(376, y - 22, f"{name}: {verdict}", anchor="start", colour=colour, bold=True)
    drawing.line((low, y), (high, y), colour=colour, width=4)
    drawing.dot(middle, y, colour)
    drawing.box(middle - 62, y + 9, 124, 18, "#ffffff")
    drawing.text(
        middle, y + 23, f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})", size=13
    )


if __name__ == "__main__":
    draw_loops()
    draw_sessions()
    draw_conversion()
    draw_instant()
    draw_pairs()
