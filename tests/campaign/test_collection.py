"""Files that name campaigns: each is run in a folder of its own, and the claims are one page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.campaign.collection import read_collection
from batsched_py.errors import CampaignFileError
from helpers.calling import command
from helpers.campaigns import count_runs, in_this_process

STUDY = """
from batsched_py.report import Report, Verdict


def report(results):
    waits = results.runs["mean_waiting_time"].astype(float)
    effect = f"{waits.mean():.0f} s, n = {len(waits)}"
    return Report(
        "Waits",
        "N. Obody, Journal of Waits, 2026",
        (),
        (
            Verdict("Nobody waits", bool(waits.max() == 0), "Long.", "log", effect, "as printed"),
            Verdict("Nobody minds", None, "There is no run. And no one."),
        ),
    )
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "report.py").write_text(STUDY)
    for name, users in (("one", "rigid"), ("two", "feedback")):
        (tmp_path / f"{name}.toml").write_text(
            'report = "report.py:report"\n'
            f'[run]\nfirst = 30\nusers = "{users}"\n[quick]\nfirst = 5\n'
        )
    (tmp_path / "all.toml").write_text('title = "All"\ncampaigns = ["one.toml", "two.toml"]\n')
    with in_this_process():
        yield tmp_path


def test_all_campaigns_are_run_and_their_claims_are_one_page(folder: Path) -> None:
    done = command(folder, "campaign", "all.toml", "--quick", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    out = folder / "campaigns/all_quick"
    for name in ("one", "two"):
        assert (out / name / "results.csv").is_file()
        assert (out / name / "report.html").is_file()
    page = (out / "report/tables.md").read_text()
    assert "2 claims of 2" in page
    assert "campaign two.toml --quick`" in page
    assert "too small" in page
    assert page.count("Nobody waits | log | ✓") == 2
    assert "Nobody minds" not in page
    assert page.count("do not test 1 further") == 2
    assert "| one.toml | 1 | 0 | 0 | 1 |" in page  # hold, do not, cannot be told, runs
    assert "N. Obody" in (out / "report.html").read_text()
    again = command(folder, "campaign", "all.toml", "--quick", "--no-report")
    assert count_runs(again) == (1, 1)


BROKEN = "class Broken:\n    def schedule(self, now, queue, machine):\n        1 / 0\n"


@pytest.mark.parametrize(
    ("broken", "old", "new", "shown"),
    [
        (
            BROKEN,
            "[quick]",
            'scheduler = ["fcfs", "broken.py:Broken"]\n[quick]',
            "| one.toml | 0 | 1 | 0 | 1 of 2 |",
        ),
        ("def report(results):\n    1 / 0\n", "report.py:report", "broken.py:report", ""),
    ],
)
def test_a_campaign_or_report_that_fails_does_not_keep_the_others_from_running(
    folder: Path, broken: str, old: str, new: str, shown: str
) -> None:
    """What is missing is counted."""
    (folder / "broken.py").write_text(broken)
    (folder / "one.toml").write_text((folder / "one.toml").read_text().replace(old, new))
    done = command(folder, "campaign", "all.toml", "--jobs", "1")
    assert done.returncode == 1
    assert "one.toml: " in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert (folder / "campaigns/all/two/results.csv").is_file()
    page = (folder / "campaigns/all/report/tables.md").read_text()
    assert shown in page
    assert f"of {2 if shown else 1} campaigns" in page


def test_mistakes_in_the_last_campaign_are_told_before_the_first_runs(folder: Path) -> None:
    with (folder / "two.toml").open("a") as file:
        file.write('scheduler = "eassy"\n')
    done = command(folder, "campaign", "all.toml", "--quick")
    assert done.returncode == 2
    assert "eassy" in done.stderr
    assert not (folder / "campaigns").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("campaigns = []", "all.toml:1: campaigns = []"),
        ('campaigns = ["one.toml", "one.toml"]', "listed twice"),
        ("campaigns = [3]", "all.toml:1: campaigns: 3: "),
        ('campaigns = [{ log = ["sample"] }]', "field `campaign`"),
        ('campaigns = ["one.toml", { campaign = "one.toml", log = [] }]', "listed twice"),
        ('campaigns = ["all.toml"]', "lists campaigns itself"),
        ('campaigns = ["onne.toml"]', "'onne.toml'"),
        ('campaigns = ["one.toml"]\ntitel = "x"', "all.toml:2: there is no key 'titel'"),
        ('campaigns = ["one.toml"]\nname = "a/b"', "name of a folder"),
    ],
)
def test_mistakes_are_told_with_their_line(folder: Path, content: str, message: str) -> None:
    (folder / "all.toml").write_text(content + "\n")
    with pytest.raises(CampaignFileError) as error:
        read_collection(folder / "all.toml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_campaign_may_have_replications_and_logs_of_its_own(folder: Path) -> None:
    """They are in the name of its folder and in the command; the small size has its own."""
    assert command(folder, "campaign", "all.toml", "--log", "sample").returncode == 2
    for file, number in (("one.toml", "2"), ("one.toml", "0"), ("all.toml", "2")):
        done = command(folder, "campaign", file, "--replications", number)
        assert (done.returncode, "replications" in done.stderr) == (2, True)
    text = (folder / "one.toml").read_text()
    repeated = text.replace("[run]", "replications = 3\n[run]").replace(
        "[quick]", "[quick]\nreplications = 1"
    )
    (folder / "one.toml").write_text(repeated)
    with_log = '{ campaign = "one.toml", log = ["sample"] }'
    (folder / "all.toml").write_text(
        f'campaigns = [{{ campaign = "one.toml", replications = 2 }}, {with_log}]\n'
    )
    done = command(folder, "campaign", "all.toml", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    out = folder / "campaigns/all"
    assert len((out / "one_2/results.csv").read_text().splitlines()) == 1 + 2
    page = (out / "report/tables.md").read_text()
    assert "one.toml --replications 2`" in page
    assert (out / "one_sample/results.csv").is_file()
    more = ("campaign", "one.toml", "--replications", "4", "-e", str(out / "one_2"))
    assert count_runs(command(folder, *more, "--dry-run")) == (4, 2)
    small = command(folder, "campaign", "all.toml", "--quick", "--dry-run")
    assert count_runs(small) == (1, 0)


def test_the_shipped_collection_has_a_small_size_without_any_log_of_the_archive() -> None:
    collection = read_collection(find_campaign("claims"))
    assert collection is not None
    for path in collection.campaigns.values():
        runs = read_campaign(path, quick=True).runs
        assert {run.settings.log for run in runs} <= {"sample", "none"}
    assert read_collection(find_campaign("creasy")) is None
