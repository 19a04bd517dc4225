"""The page in headless Chromium: it loads without a request, and what is on it reacts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import altair as alt
import pytest

from batsched_py import simulate
from batsched_py.figures.run_figures import draw_queue, draw_utilisation
from batsched_py.report.campaign_report import make_plain_report
from batsched_py.report.comparing.runs import compare_runs
from batsched_py.report.document import Figure, Report, Section
from batsched_py.report.forms.html_page import render_page
from batsched_py.report.one_run import make_run_report
from batsched_py.report.shown_runs import OneRun
from helpers.made_up_report import MadeUp, a_report, published_table
from helpers.waiting import LIMIT

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
READY = "html[data-ready]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"there is no browser: none of {', '.join(BROWSERS)} is on the path")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_page(a_report(), MadeUp()), encoding="utf-8")  # type: ignore[arg-type]
    return path


Load = Callable[..., Any]


@pytest.fixture
def load(browser: Any, file: Path) -> Iterator[Load]:
    """Open the page; at the end there was neither an error nor a request."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def _load(width: int = 1280, height: int = 900, shown: Path = file, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        opened = context.new_page()
        opened.set_default_timeout(1000 * LIMIT)
        opened.route("**/*", lambda route: _only_the_file(route, wrong))
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("console", lambda line: line.type != "log" and wrong.append(line.text))
        opened.goto(f"file://{shown}")
        opened.wait_for_selector(READY)
        return opened

    yield _load
    for context in contexts:
        context.close()
    assert wrong == []


def _only_the_file(route: Any, wrong: list[str]) -> None:
    if route.request.url.startswith("file://") and route.request.is_navigation_request():
        route.continue_()
    else:
        wrong.append(f"request: {route.request.url}")
        route.abort()


def test_the_page_of_a_run_and_that_of_a_campaign_are_quiet(load: Load, tmp_path: Path) -> None:
    """Neither asks the network or has anything to complain about, and both fit a phone."""
    simulate("sample", first=200, users="feedback").write(tmp_path / "easy")
    run = OneRun(tmp_path / "easy")
    campaign = MadeUp(3)
    pages = {
        "run.html": render_page(make_run_report(run), run),
        "campaign.html": render_page(make_plain_report(campaign), campaign),  # type: ignore[arg-type]
    }
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        for width in (390, 1366):
            opened = load(width, shown=tmp_path / name)
            assert opened.evaluate("document.documentElement.scrollWidth") <= width
            drawn = opened.locator("figure svg.marks")
            assert drawn.count() >= 4
            of_one = name == "run.html"  # which is not named, and has no rows to filter
            assert overflowing(opened) == []
            assert opened.locator(".answer").bounding_box()["y"] < 200
            figure = opened.locator("#answer figure").bounding_box()["y"]
            assert figure < 500, "the figure is not on the first screen"
            assert opened.locator("#table-runs-filter").is_visible() is not of_one
            assert ("Run: " in opened.locator("#gantt-run").inner_text()) is not of_one
            chart = opened.locator("#gantt svg.marks").text_content()
            assert ("first submission 2026-" in chart) is of_one  # made-up runs tell no dates


def overflowing(opened: Any) -> list[str]:
    """Return the tables and figures that are wider than their boxes."""
    wide = (
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 4)"
    )
    return list(opened.evaluate(f"{wide}.map(e => e.getAttribute('aria-label') ?? e.innerText)"))


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"width": 390, "height": 844}])
def test_a_comparison_fits_the_screen(load: Load, tmp_path: Path, options: dict[str, Any]) -> None:
    for name in ("easy", "fcfs"):
        simulate("sample", first=300, scheduler=name).write(tmp_path / name)
    compare_runs(tmp_path / "easy", tmp_path / "fcfs").write(tmp_path / "report.html")
    opened = load(shown=tmp_path / "report.html", **options)
    assert overflowing(opened) == []
    assert "mean wait" in opened.locator(".answer").inner_text()
    assert opened.locator("#answer svg.marks").bounding_box()["y"] < 844


def test_panels_below_each_other_have_labels_on_a_phone(load: Load, tmp_path: Path) -> None:
    """The second panel of a row has none on a wide screen, next to the labels of the first."""
    data = alt.Data(values=[{"row": "first row", "x": 1}, {"row": "other row", "x": 2}])
    panels = [
        alt.Chart(data)
        .mark_point()
        .encode(x="x:Q", y=alt.Y("row:N", axis=alt.Axis(labels=at == 0)))
        .properties(width=300)
        for at in range(2)
    ]
    figure = Figure("panels", "Two panels", alt.hconcat(*panels))
    report = Report("Panels", "", (Section("Figures", (figure,)),), answer="None.")
    path = tmp_path / "report.html"
    path.write_text(render_page(report), encoding="utf-8")
    for width, count in ((1366, 1), (390, 2)):
        texts = load(width, shown=path).locator("#figure-panels svg.marks").text_content()
        assert texts.count("other row") == count


def test_a_chart_in_a_notebook_loads_nothing(browser: Any) -> None:
    result = simulate("sample", first=100)
    bundle = (draw_queue(result) & draw_utilisation(result))._repr_mimebundle_()
    shown = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "text/html" not in shown
    assert any("vegalite" in name for name in shown)  # interactive where it is known
    requests: list[str] = []
    opened = browser.new_page()
    opened.on("request", lambda request: requests.append(request.url))
    opened.set_content(shown["image/svg+xml"])
    assert opened.locator("svg path").count() > 10
    opened.close()
    assert requests == []


def column(opened: Any, table: str, place: int) -> list[str]:
    rows = f"[...document.querySelectorAll('#{table} tbody tr')]"
    return list(opened.evaluate(f"{rows}.map(row => row.cells[{place}].innerText)"))


def test_tables_are_sorted_by_their_numbers(load: Load) -> None:
    opened = load()
    heading = opened.locator("#table-waits thead th").nth(1)
    as_it_was = column(opened, "table-waits", 0)
    heading.locator("button").click()
    assert column(opened, "table-waits", 1) == ["17.25", "325.5", "10949"]
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    assert column(opened, "table-waits", 1) == ["10949", "325.5", "17.25"]
    heading.locator("button").click()
    assert column(opened, "table-waits", 0) == as_it_was
    missing = opened.locator("#table-waits thead th button").nth(2)
    missing.press("Enter")  # by the keyboard too; what is missing is last
    assert column(opened, "table-waits", 2) == ["300", "11000", "\N{EN DASH}"]


def test_the_data_of_a_figure_can_be_saved(load: Load) -> None:
    opened = load()
    with opened.expect_download() as download:
        opened.locator("[data-csv=curve]").click()
    text = Path(download.value.path()).read_text()
    assert download.value.suggested_filename == "curve.csv"
    assert text.splitlines()[:2] == ["load,wait,policy", "0.5,27.5,easy"]
    assert len(text.splitlines()) == 41
    with opened.expect_download() as download:
        opened.locator("a[download='waits.csv']").click()
    assert Path(download.value.path()).read_text() == published_table().frame.to_csv(index=False)


def test_the_schedule_follows_its_run(load: Load) -> None:
    opened = load()
    first = opened.locator("#gantt-run").inner_text()
    assert "replication 0" in first
    opened.locator("#schedule-run").select_option(index=5)
    opened.wait_for_selector("#table-users caption:has-text('replication 2')")
    assert opened.locator("#gantt-run").inner_text() != first
