"""Exclusions, inclusions, replications, extended files, the quick size; lines of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.campaign.expand import spawned_seed
from batsched_py.campaign.prepared import prepare
from batsched_py.campaign.spec import Campaign, read_campaign
from batsched_py.campaign.toml_lines import line_of
from batsched_py.errors import BatschedError, InputError, UsageError

BASE = """\
name = "base"
replications = 2
[run]
log = ["sample"]
policy = ["easy", "creasy"]
users = ["rigid", "feedback"]

[policy.easy]
[policy.creasy]
scheduler = "creasy"
scheduler_options = { alpha = 10 }

[[exclude]]
users = "feedback"
policy = ["creasy"]

[[include]]
users = "rigid"
policy = "creasy"
nodes = [32, 16]

[quick]
replications = 1
users = ["rigid"]
"""


def read(folder: Path, text: str = BASE, **options: bool) -> Campaign:
    path = folder / "base.toml"
    path.write_text(text)
    return read_campaign(path, **options)


def combinations(campaign: Campaign) -> list[tuple[object, ...]]:
    return [
        (run.labels["policy"], run.settings.users, run.settings.nodes, run.labels["replication"])
        for run in campaign.runs
    ]


def test_what_is_excluded_and_included(tmp_path: Path) -> None:
    """Of 2 x 2 one is left out, two others come in, each twice."""
    pairs = [
        ("easy", "rigid", None),
        ("easy", "feedback", None),
        ("creasy", "rigid", None),
        ("creasy", "rigid", 32),
        ("creasy", "rigid", 16),
    ]
    assert combinations(read(tmp_path)) == [(*pair, k) for pair in pairs for k in (0, 1)]


def test_the_quick_size(tmp_path: Path) -> None:
    campaign = read(tmp_path, quick=True)
    assert campaign.name == "base_quick"
    assert {run.settings.users for run in campaign.runs} == {"rigid"}
    assert {run.labels["replication"] for run in campaign.runs} == {0}


def test_a_replication_has_the_same_seed_on_all_axes(tmp_path: Path) -> None:
    seeds: dict[object, set[int]] = {}
    for run in read(tmp_path).runs:
        seeds.setdefault(run.labels["replication"], set()).add(run.settings.seed)
    assert [len(own) for own in seeds.values()] == [1, 1]
    assert seeds[0] != seeds[1]


def test_more_replications_leave_the_others_as_they_are(tmp_path: Path) -> None:
    few = {run.settings.seed for run in read(tmp_path).runs}
    more = read(tmp_path, BASE.replace("replications = 2", "replications = 5", 1))
    assert few < {run.settings.seed for run in more.runs}


@given(st.integers(0, 2**40), st.integers(0, 10_000))
def test_seeds_are_integers_that_everything_can_hold(seed: int, replication: int) -> None:
    spawned = spawned_seed(seed, replication)
    assert 0 <= spawned < 2**63
    assert spawned != spawned_seed(seed, replication + 1)


def test_a_file_extends_another(tmp_path: Path) -> None:
    """What it says wins: an axis becomes one value, a variant is added, exclusions are replaced."""
    read(tmp_path)
    path = tmp_path / "more.toml"
    path.write_text(
        'extends = "base.toml"\nname = "more"\nexclude = []\ninclude = []\n'
        '[run]\npolicy = ["easy", "fcfs"]\nusers = "rigid"\n'
        '[policy.fcfs]\nscheduler = "fcfs"\n'
    )
    campaign = read_campaign(path)
    assert campaign.name == "more"
    assert [run.settings.scheduler for run in campaign.runs] == ["easy", "easy", "fcfs", "fcfs"]


def test_options_of_plug_ins_are_merged_and_can_be_axes(tmp_path: Path) -> None:
    campaign = read(
        tmp_path,
        '[run]\nusers = "weekly"\nlog = "none"\nlength = ["short"]\n'
        '"user_options.think" = ["lin", "c20"]\nuser_options = { nb_users = 3 }\n'
        "[length.short]\nuser_options = { weeks = 1 }\n",
    )
    assert [run.labels["think"] for run in campaign.runs] == ["lin", "c20"]
    assert campaign.runs[1].settings.user_options == {"nb_users": 3, "think": "c20", "weeks": 1}


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("replications = 2", "replications = 0", 2, "at least 1"),
        ("replications = 2", 'keep = "all"', 2, "expected jobs or metrics"),
        ("replications = 2", 'measure = "m.txt"', 2, "expected file.py:function"),
        ("replications = 2", "replication = 2", 2, "did you mean 'replications'"),
        ('"feedback"]', '"feedback"]\nspeed_factor = "fast"', 7, "speed_factor = 'fast'"),
        ('["easy", "creasy"]', '["easy", "crazy"]', 5, "'crazy' .did you mean 'creasy'"),
        ('["easy", "creasy"]', '["easy", "easy"]', 5, "has 'easy' twice"),
        ("alpha = 10 }", "alpha = 10 }\nscheduller = 1", 12, "did you mean 'scheduler'"),
        ('users = "feedback"', 'user = "feedback"', 14, "did you mean 'users'"),
        ('policy = ["creasy"]', 'policy = ["creasi"]', 15, "no run has it"),
        ("nodes = [32, 16]", 'nodes = ["many"]', 20, "nodes = 'many'"),
        ("replications = 1", "replications = 1.5", 23, "at least 1"),
        ("[policy.easy]", "[polici.easy]", 8, "'polici'"),
        ('"feedback"]', '"feedback"]\nshake = [1, 1]', 7, "twice"),
        ('"feedback"]', '"feedback"]\nseed = [1, 2]', 7, "replications"),
    ],
)
def test_mistakes_point_at_their_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    assert old in BASE
    with pytest.raises(InputError, match=f"base.toml:{line}: .*{said}"):
        read(tmp_path, BASE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('scheduler = "creasy"', 'scheduler = "creazy"', 10, "did you mean 'creasy'"),
        ("alpha = 10", "alfa = 10", 11, "did you mean 'alpha'"),
        ('"feedback"]', '"feedbak"]', 6, "did you mean 'feedback'"),
    ],
)
def test_plug_ins_and_options_are_looked_up_before_the_first_run(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    campaign = read(tmp_path, BASE.replace("[[exclude]]", "[[include]]").replace(old, new, 1))
    with pytest.raises(UsageError, match=f"base.toml:{line}: .*{said}"):
        prepare(campaign, tmp_path / "out")


def test_axes_that_are_too_long(tmp_path: Path) -> None:
    many = ", ".join(map(str, range(1, 1001)))
    with pytest.raises(InputError, match=r":3: .*1000 x first 1000 are 1000000 runs"):
        read(tmp_path, f"[run]\nlog = ['sample']\nnodes = [{many}]\nfirst = [{many}]\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('extends = "no.toml"\n', "base.toml:1: .*'no.toml'"),
        ('extends = "base.toml"\n', "extends itself"),
        ("", "no table"),
        ("[run]\nusers = 'rigid'\n[[exclude]]\nusers = 'rigid'\n", "every run is excluded"),
    ],
)
def test_files_that_say_nothing(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BatschedError, match=said):
        read(tmp_path, text)


def test_a_file_without_a_quick_size(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a table \[quick\]"):
        read(tmp_path, "[run]\n", quick=True)


def test_lines_of_tables() -> None:
    """Keys may be quoted or dotted; arrays of tables are counted."""
    text = 'a = 1\n[x."y z"]\n"k l" = 2\n[[e]]\nb.c = 1\n[[e]]\n# b = 0\n  b = 2\n'
    assert line_of(text, (), "a") == 1
    assert line_of(text, ("x", "y z")) == 2
    assert line_of(text, ("x", "y z"), "k l") == 3
    assert line_of(text, ("e", 0), "b") == 5
    assert line_of(text, ("e", 1), "b") == 8
    assert line_of(text, ("e", 2), "b") is None
