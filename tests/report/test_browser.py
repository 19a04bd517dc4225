"""The page in headless Chromium: it loads without a request, and what is on it reacts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest

from batsched_py import simulate
from batsched_py.report import Figure, Report, Section, Table
from batsched_py.report.campaign_report import make_plain_report
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
            assert opened.locator("#table-runs-filter").is_visible() is not of_one
            assert ("Run: " in opened.locator("#gantt-run").inner_text()) is not of_one
            chart = opened.locator("#gantt svg.marks").text_content()
            assert ("first submission 2026-" in chart) is of_one  # made-up runs tell no dates


def domain(opened: Any, chart: str, scale: str = "x") -> list[float]:
    return list(
        opened.evaluate(f"document.querySelector('#{chart}').view.scale('{scale}').domain()")
    )


def column(opened: Any, table: str, place: int) -> list[str]:
    rows = f"[...document.querySelectorAll('#{table} tbody tr')]"
    return list(opened.evaluate(f"{rows}.map(row => row.cells[{place}].innerText)"))


def test_the_page_is_filled_and_text_stays_text(load: Load) -> None:
    opened = load()
    waits = published_table().frame["wait"]
    assert column(opened, "table-waits", 0) == ["KTH", "CTC", "SDSC"]
    assert column(opened, "table-waits", 1) == ["10949", "325.5", "17.25"]
    exact = opened.evaluate(
        "[...document.querySelectorAll('#table-waits tbody tr')]"
        ".map(row => +row.cells[1].dataset.sort)"
    )
    assert exact == waits.tolist()
    assert opened.locator("#out").count() == 0
    assert "</script><b id='out'>" in opened.locator("h1").inner_text()
    assert opened.locator(".chart.bad").count() == 0
    assert opened.locator("#figure-curve svg.marks").count() == 1


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


def test_a_figure_shows_its_numbers_and_zooms(load: Load) -> None:
    opened = load()
    opened.locator("#figure-curve").scroll_into_view_if_needed()
    opened.locator("#figure-curve path[aria-label]").nth(7).hover()
    tip = opened.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert "policy" in tip.inner_text()
    before, scrolled = domain(opened, "figure-curve"), opened.evaluate("scrollY")
    opened.mouse.wheel(0, -200)
    opened.wait_for_function(f"scrollY !== {scrolled}")
    assert domain(opened, "figure-curve") == before  # the page moved, nobody had clicked
    box = opened.locator("#figure-curve").bounding_box()
    opened.mouse.click(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    opened.mouse.wheel(0, -200)
    ends = "document.querySelector('#figure-curve').view.scale('x').domain()"
    opened.wait_for_function(f"{ends}[1] - {ends}[0] < {before[1] - before[0]} - 0.01")


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


def test_the_schedule_follows_its_run_and_zooms(load: Load) -> None:
    opened = load()
    view = "document.querySelector('#gantt').view"
    first = opened.locator("#gantt-run").inner_text()
    assert "replication 0" in first
    opened.locator("#schedule-run").select_option(index=5)
    opened.wait_for_selector("#table-users caption:has-text('replication 2')")
    assert opened.locator("#gantt-run").inner_text() != first
    opened.evaluate("document.querySelector('#gantt').scrollIntoView({behavior: 'instant'})")
    scales = opened.evaluate(f"Object.keys({view}._runtime.scales)")
    panels = [f"{view}.scale('{name}').domain()" for name in scales if name.endswith("_x")]
    assert len(panels) == 3
    before = opened.evaluate(panels[0])
    box = opened.locator("#gantt").bounding_box()
    opened.mouse.click(box["x"] + 300, box["y"] + 200)
    opened.mouse.wheel(0, -200)
    opened.wait_for_function(f"{panels[0]}[1] - {panels[0]}[0] < {before[1] - before[0]} * 0.99")
    assert opened.evaluate(panels[0]) == opened.evaluate(panels[1]) == opened.evaluate(panels[2])


def test_users_are_drawn_and_listed(load: Load) -> None:
    opened = load()
    points = "document.querySelector('#users-chart').view.data('source_0').length"
    assert opened.evaluate(points) == 11
    assert "11 users (" in opened.locator("#table-users caption").inner_text()
    opened.locator("#users-y").select_option("slowdown")
    opened.wait_for_function(
        "document.querySelector('#users-chart').innerText.includes('slowdown') || "
        "document.querySelector('#users-chart svg').textContent.includes('slowdown')"
    )
    opened.locator("#users-table button", has_text="Next").click()
    assert len(column(opened, "table-users", 0)) == 1


def test_settings_of_a_run_are_one_click_away(load: Load) -> None:
    opened = load()
    opened.locator("#table-runs-filter").fill("creasy 6000")
    assert column(opened, "table-runs", 2) == ["creasy"] * 3
    opened.locator("#table-runs button", has_text="details").first.click()
    dialog = opened.locator("dialog[open]")
    text = dialog.inner_text()
    for words in (
        "batsched-py simulate log.swf --scheduler creasy --seed 1000",
        "node-7",
        "run.scheduler options.alpha",
        "6000",
        "versions.python",
        "mean waiting time",
        "3000 s",
    ):
        assert words in text, words
    opened.keyboard.press("Escape")
    assert opened.locator("dialog[open]").count() == 0


@pytest.mark.parametrize("width", [320, 390, 768, 1366])
def test_the_page_never_moves_sideways(load: Load, width: int) -> None:
    opened = load(width, 640, has_touch=width == 320)
    assert opened.evaluate("document.documentElement.scrollWidth") == width
    wide = opened.evaluate(
        "[...document.querySelectorAll('table')].every(one => one.closest('.scroll') !== null)"
    )
    assert wide


LIGHT_PAGE, DARK_PAGE = "rgb(255, 255, 255)", "rgb(24, 28, 33)"


def colours(opened: Any) -> tuple[str, bool]:
    """Return the colour of a section, and whether those of a figure are inverted."""
    sheet = "getComputedStyle(document.querySelector('main > section')).backgroundColor"
    figure = "getComputedStyle(document.querySelector('#figure-curve svg.marks')).filter"
    return opened.evaluate(sheet), opened.evaluate(figure).startswith("invert")


def test_dark_light_and_print(load: Load) -> None:
    opened = load(color_scheme="dark")
    assert colours(opened) == (DARK_PAGE, True)
    opened.emulate_media(media="print")
    assert colours(opened) == (LIGHT_PAGE, False)
    for control in (".contents", "#theme", "#schedule-run", "a[download]"):
        assert not opened.locator(control).first.is_visible(), control
    assert (
        opened.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX")
        == "visible"
    )
    opened.emulate_media(media="screen")
    theme = opened.locator("#theme")
    theme.click()
    assert theme.inner_text() == "Theme: light"
    assert colours(opened) == (LIGHT_PAGE, False)
    theme.click()
    assert colours(opened) == (DARK_PAGE, True)


def panels() -> Figure:
    """Two panels, with a legend of shapes and an own dark colour."""
    rows = [{"x": x, "kind": kind, "of": of} for x in (1, 2) for kind in "ab" for of in "pq"]
    scale = alt.Scale(domain=["a", "b"], range=["#000080", "#E69F00"])
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, opacity=0.5)
        .encode(x="x:Q", y="x:Q", shape="of:N", color=alt.Color("kind:N", scale=scale))
        .properties(width=300, height=100)
        .interactive()
        .facet(facet="kind:N", columns=2)
    )
    return Figure("panels", "Panels", chart)


@pytest.fixture(scope="module")
def panels_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "panels.html"
    path.write_text(render_page(Report("T", "", (Section("S", (panels(),)),))), encoding="utf-8")
    return path


def test_panels_are_below_each_other_on_a_phone(load: Load, panels_file: Path) -> None:
    wide = load(shown=panels_file)
    narrow = load(390, 800, panels_file, has_touch=True, is_mobile=True)
    wide_box, narrow_box = (
        opened.locator("#figure-panels svg.marks").bounding_box() for opened in (wide, narrow)
    )
    assert wide_box["width"] > 2 * 300
    assert narrow_box["width"] < 390
    assert narrow_box["height"] > wide_box["height"] + 100
    assert wide.locator(".hint").is_visible()
    assert not narrow.locator(".hint").is_visible()  # there is no wheel


def arranged() -> list[Figure]:
    """Figures of several panels: side by side, in rows of facets, and such rows one by one."""
    single = alt.Chart(alt.Data(values=[{"x": 1, "of": of} for of in "pqr"])).mark_point()
    single = single.encode(x="x:Q", y=alt.Y("x:Q", title="a title")).properties(
        width=200, height=60
    )
    facets = single.facet(facet="of:N", columns=3)
    return [
        Figure("beside", "Beside each other", alt.hconcat(single, single, single)),
        Figure("facets", "Facets", facets),
        Figure("rows", "Rows of facets", alt.vconcat(facets, facets)),
    ]


@pytest.fixture(scope="module")
def arranged_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "arranged.html"
    wide = pd.DataFrame({"policy": ["easy"], "of": ["all"]} | {f"m{n}": [n] for n in range(20)})
    parts = (*arranged(), Table("wide", "Wide", wide))
    report = Report("T", "", (Section("S", parts),), terms=(("easy", "a *policy*"),))
    path.write_text(render_page(report), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [390, 768, 1366])
def test_panels_take_the_width_of_the_page(load: Load, arranged_file: Path, width: int) -> None:
    opened = load(width, 800, arranged_file)
    assert opened.evaluate("document.documentElement.scrollWidth") == width
    for figure in arranged():
        page_width = opened.evaluate(f"document.querySelector('#figure-{figure.name}').clientWidth")
        drawn = opened.locator(f"#figure-{figure.name} svg.marks").bounding_box()["width"]
        assert page_width - 25 <= drawn <= page_width, figure.name


def test_labels_of_a_wide_table_stay_in_sight(load: Load, arranged_file: Path) -> None:
    opened = load(390, 800, arranged_file)
    opened.evaluate("document.querySelector('#table-wide').parentElement.scrollLeft = 300")
    cells = opened.locator("#table-wide tbody tr > *")
    box = opened.locator("#table-wide").locator("..").bounding_box()
    first, second = (cells.nth(at).bounding_box() for at in (0, 1))
    assert first["x"] == pytest.approx(box["x"], abs=1)
    assert second["x"] == pytest.approx(first["x"] + first["width"], abs=1)
    assert cells.nth(3).bounding_box()["x"] < box["x"]


def test_terms_stand_on_the_page(load: Load, arranged_file: Path) -> None:
    opened = load(shown=arranged_file)
    assert opened.locator("#terms dt").inner_text() == "easy"
    assert opened.locator("#terms dd em").inner_text() == "policy"


def test_figures_are_printed_in_the_width_of_a_sheet(load: Load, panels_file: Path) -> None:
    opened = load(shown=panels_file)
    opened.emulate_media(media="print")
    opened.set_viewport_size({"width": 660, "height": 900})
    figure = opened.locator("#figure-panels svg.marks")
    assert 600 < figure.bounding_box()["width"] <= 660


def test_a_campaign_that_kept_metrics_only_says_so(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "metrics.html"
    path.write_text(render_page(a_report(), MadeUp(300, keep_jobs=False)), encoding="utf-8")  # type: ignore[arg-type]
    opened = load(shown=path)
    assert "repeat a run with the command" in opened.locator("#schedule-note").inner_text()
    assert not opened.locator("#schedule-body").is_visible()
    assert len(column(opened, "table-runs", 0)) == 25
    opened.locator("#runs-table button", has_text="Next").click()
    assert column(opened, "table-runs", 1)[0] == "26"
    assert "26 to 50 of 1200" in opened.locator("#runs-table output").inner_text()


def test_a_page_that_follows_a_campaign_stays_where_it_was(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    shown = render_page(a_report(), MadeUp(), refresh=1)  # type: ignore[arg-type]
    path.write_text(shown, encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1000, "height": 600})
    opened.set_default_timeout(1000 * LIMIT)
    opened.goto(path.as_uri())
    opened.evaluate("window.before = true")
    opened.wait_for_selector(READY)
    opened.evaluate("scrollTo(0, 700)")
    opened.wait_for_function("window.before === undefined")
    opened.wait_for_selector(READY)
    assert opened.evaluate("scrollY") == 700
    opened.close()
