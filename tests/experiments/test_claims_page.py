"""The page of all claims: from results that are there, and what docs/claims.md is made of."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.campaign.collection import Collection, read_collection
from batsched_py.errors import UsageError
from batsched_studies.claims.page import (
    AT_SIZE,
    KEPT,
    PAGE,
    TEXT,
    encode_verdicts,
    judge_results,
    make_page,
    merge_verdicts,
    read_kept,
)
from helpers.calling import command


def at_size() -> Collection:
    collection = read_collection(find_campaign(AT_SIZE))
    assert collection is not None
    return collection


RAN = ("reservations/limits", "creasy/generated", "dynp")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of some campaigns in their small size."""
    folder = tmp_path_factory.mktemp("results")
    for name in RAN:
        options = ("--quick", "--no-report", "-e", name.replace("/", "_"))
        done = command(folder, "campaign", name, *options)
        assert done.returncode == 0, done.stderr
    return folder


def collection_of(folder: Path, *names: str) -> str:
    file = folder / "some.toml"
    file.write_text(f"campaigns = {list(names)}\n")
    return str(file)


def test_the_page_has_what_is_there_and_names_what_is_not(results: Path, tmp_path: Path) -> None:
    """Not judged: creasy; without a claim: creasy/generated; of the limits a run is missing."""
    folder = shutil.copytree(results, tmp_path / "copy")
    file = collection_of(folder, *RAN, "creasy")
    next((folder / "reservations_limits/runs").glob("*/out_run.json")).unlink()
    made = make_page(judge_results(folder, file), file)
    head, _, limits, dynp = made.split("\n## ")
    for words in ("yet: creasy.", "creasy/generated.", "in part: reservations/limits;"):
        assert words in head
    assert "`batsched-py campaign dynp`" in dynp
    assert re.search(r"\| [✓✗?] (holds|does not hold|cannot be told) \|", limits)
    assert re.search(r"\| reservations/limits \|.*\| 14 of 90 \|", made)
    revision = open_results(folder / "dynp").provenance["git_revision"]
    shown = re.search(r"\| dynp \|.*\| ([0-9a-f]+(-dirty)?) \| \1 \|", made)
    assert (shown and shown[1]) == revision  # None: this is no checkout
    with pytest.raises(UsageError, match="no campaign of"):
        judge_results(tmp_path)


def test_the_campaigns_at_size_are_of_all_studies_and_in_no_small_size() -> None:
    collection = at_size()
    studies = {path.parent.name for path in collection.campaigns.values()}
    shipped = {path.parent.name for path in TEXT.parents[1].glob("*/published.toml")}
    pages = {"semi_open", "user_models", "site"}  # pages of their own, and one that claims nothing
    assert studies == shipped - pages
    worlds = {"league"}  # made from the sample log, of which it is known what is right
    for member, path in collection.campaigns.items():
        logs = {run.settings.log for run in read_campaign(path).runs}
        assert "sample" not in logs or member.logs or member.label in worlds


def test_what_is_kept_is_replaced_by_no_fewer_runs() -> None:
    """Verdicts of more runs stay; those of as many, or of fewer, give way to new ones."""
    of = next(iter(read_kept().values()))
    name, anew = of.name, {of.name: of}
    other = replace(of, name="other")
    for nb_runs, taken in ((of.nb_runs + 1, False), (of.nb_runs, True), (0, True)):
        before = {"other": other, name: replace(of, nb_runs=nb_runs, title="before")}
        told = merge_verdicts(before, anew)
        assert list(told) == list(before)
        assert told["other"] is other
        assert told[name] is (of if taken else before[name])
    assert merge_verdicts({}, anew) == anew


def test_what_is_kept_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = read_kept()
    (tmp_path / "judged.json").write_bytes(encode_verdicts(kept))
    assert read_kept(tmp_path / "judged.json") == kept
    assert set(kept) <= {member.label for member in at_size().campaigns}
    assert all(kept[m.label].command == m.command() for m in at_size().campaigns if m.label in kept)


def test_results_of_a_folder_replace_what_is_kept_of_them(results: Path, tmp_path: Path) -> None:
    """A small size is of fewer runs, and does not; where nothing is kept, it is told as in part."""
    written, kept = tmp_path / "claims.md", tmp_path / "judged.json"
    call = [sys.executable, "-m", "batsched_studies.claims", "--results", results]
    call += ["--kept", kept, "--output", written]
    for before, said in (("[]", "judged anew"), (KEPT.read_text(), "as before")):
        kept.write_text(before)
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        assert f"creasy/generated: 4 runs, {said}" in done.stdout
        assert written.read_text() == make_page(read_kept(kept))
    assert written.read_text() == PAGE.read_text()


def test_the_page_of_the_documentation_is_of_what_is_kept() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(read_kept()), (
        "it is made anew by: make claims"
    )
