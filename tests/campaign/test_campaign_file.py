"""Campaign files: axes, variants, exclusions, replications, extended files; lines of mistakes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from batsched_py.campaign.campaign_file import Campaign, find_campaign, read_campaign
from batsched_py.campaign.preparation import find_axes, prepare
from batsched_py.errors import BatschedError, CampaignFileError, InputError, UsageError
from batsched_py.files.toml_lines import find_key_line

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


def read(folder: Path, text: str = BASE, **options: Any) -> Campaign:
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


def test_what_is_included_may_be_repeated_less_often(tmp_path: Path) -> None:
    """What is not drawn by chance once, beside what is drawn twice; never more often."""
    rigid = '[[include]]\nusers = "rigid"\npolicy = "creasy"\n'
    fewer = BASE.replace(rigid, f"{rigid}replications = 1\n")
    included = [run for run in combinations(read(tmp_path, fewer)) if run[2] is not None]
    assert included == [("creasy", "rigid", 32, 0), ("creasy", "rigid", 16, 0)]
    seeds = {run.labels["replication"]: run.settings.seed for run in read(tmp_path).runs}
    of_all = {(r.labels["replication"], r.settings.seed) for r in read(tmp_path, fewer).runs}
    assert of_all == set(seeds.items()), "and with the same seeds"
    more = BASE.replace(rigid, f"{rigid}replications = 9\n")
    assert combinations(read(tmp_path, more)) == combinations(read(tmp_path))


def test_a_replication_has_the_same_seed_on_all_axes(tmp_path: Path) -> None:
    """More replications leave those before as they are."""
    more = read(tmp_path, BASE.replace("replications = 2", "replications = 5", 1)).runs
    seeds = {(run.labels["replication"], run.settings.seed) for run in more}
    assert [len(seeds), len({seed for _, seed in seeds})] == [5, 5]
    few = {(run.labels["replication"], run.settings.seed) for run in read(tmp_path).runs}
    assert few == {(k, seed) for k, seed in seeds if k in (0, 1)}
    assert all(0 <= seed < 2**63 for _, seed in seeds)


@pytest.mark.parametrize(
    ("text", "options", "field", "expected"),
    [
        (BASE, {"quick": True}, "users", ["rigid"] * 4),
        # What is included twice is there once; the small size may make it the same.
        ("[run]\nnodes = [1, 2]\n[[include]]\nnodes = [2, 3]\n", {}, "nodes", [1, 2, 3]),
        (
            "[run]\nnodes = [1, 2]\n[[include]]\nnodes = [2, 3]\n[quick]\nnodes = [4]\n",
            {"quick": True},
            "nodes",
            [4],
        ),
        ("[run]\nx = [true, false]\n[x.true]\nfirst = 1\n[x.false]\n", {}, "first", [1, None]),
        (
            '[run]\nbackend = ["embedded", "batsim"]\n[[include]]\nbackend = "docker"\n',
            {"instead": {"backend": "socket", "timeouts": None}},
            "backend",
            ["socket"],
        ),
        ('metric = "utilisation"\n[run]\nseed = 3\n', {}, "seed", [3]),
    ],
)
def test_runs_of_a_file(
    tmp_path: Path, text: str, options: dict[str, Any], field: str, expected: list[Any]
) -> None:
    campaign = read(tmp_path, text, **options)
    assert [getattr(run.settings, field) for run in campaign.runs] == expected
    assert campaign.name == ("base_quick" if options.get("quick") else "base")
    assert campaign.metric == ("utilisation" if "metric" in text else None)
    for run in campaign.runs:
        label = run.labels.get("x", run.labels.get(field))
        assert label in (None, True, False, getattr(run.settings, field))
    only = read(tmp_path, "[run]\nfirst = 5\n[[include]]\nnodes = 3\n").runs
    assert find_axes(run.labels for run in only) == ["nodes"], "what only some runs have"


def test_replications_instead_of_those_of_the_file(tmp_path: Path) -> None:
    """What is included with fewer is repeated so often at most; the first are the same runs."""
    fewer = BASE.replace("nodes = [32, 16]", "nodes = [32, 16]\nreplications = 1")
    two, three = (read(tmp_path, fewer, replications=number).runs for number in (None, 3))
    assert [run.labels["replication"] for run in three].count(2) == 3
    assert max(run.labels["replication"] for run in three if run.settings.nodes == 32) == 0
    assert all(run in three for run in two)
    assert read(tmp_path, quick=True, replications=2).runs != read(tmp_path, quick=True).runs


def test_axes_variants_and_logs_of_the_command_line(tmp_path: Path) -> None:
    text = (
        '[run]\nlog = ["a", "b"]\nspeed_factor = [1.0, 2.0]\nreplay = ["rigid", "a60"]\n'
        '[replay.rigid]\n[replay.a60]\nusers = "feedback"\nsessions = "arrival:60"\n'
    )
    runs = read(tmp_path, text).runs
    assert len(runs) == 8
    assert runs[-1].labels == {"log": "b", "speed_factor": 2.0, "replay": "a60"}
    assert [run.settings.users for run in runs] == ["rigid", "feedback"] * 4
    assert [run.settings.log for run in read(tmp_path, text, logs=["c"]).runs] == ["c"] * 4


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


VARIANTS = """\
[run]
log = "sample"
nodes = 32
change = ["as it is", "more"]
policy = ["site", "EASY"]
[policy.site]
scheduler = "fcfs"
[policy.EASY]
scheduler = "easy"
[change."as it is"]
[change.more]
nodes = 64
"""


def test_a_variant_replaces_a_plain_option_of_the_runs(tmp_path: Path) -> None:
    """The name of the variant is the label, and not the option."""
    runs = read(tmp_path, VARIANTS).runs
    assert [(run.labels["change"], run.settings.nodes) for run in runs[::2]] == [
        ("as it is", 32),
        ("more", 64),
    ]
    assert "nodes" not in runs[0].labels


def test_an_axis_is_suggested_for_a_typo(tmp_path: Path) -> None:
    text = VARIANTS.replace("nodes = 32", 'nodes = 32\nchanges = ["more"]')
    with pytest.raises(CampaignFileError, match=r"'changes' \(did you mean 'change'"):
        read(tmp_path, text)


def test_options_that_are_set_twice(tmp_path: Path) -> None:
    """The message names both places."""
    axis = VARIANTS.replace("nodes = 32", "nodes = [32]")
    with pytest.raises(CampaignFileError, match=r"set by \[change.more\] and by \[run\]"):
        read(tmp_path, axis)
    turned = VARIANTS.replace("change = [", "x = [").replace("[change.", "[x.")
    policy = turned.replace("nodes = 64", 'scheduler = "easy"').replace("policy =", "change =")
    with pytest.raises(CampaignFileError) as caught:
        read(tmp_path, policy.replace("[policy.", "[change."))
    advice = "remove one of them, or make it a value of 'x': a table [x.site]"
    assert f"'scheduler' is set by [change.site] and by [x.more]: {advice}" in str(caught.value)


def test_options_of_plug_ins_are_merged_and_can_be_axes(tmp_path: Path) -> None:
    campaign = read(
        tmp_path,
        '[run]\nusers = "weekly"\nlog = "none"\nlength = ["short"]\n'
        '"user_options.think" = ["lin", "c20"]\nuser_options = { nb_users = 3 }\n'
        "[length.short]\nuser_options = { weeks = 1 }\n",
    )
    assert [run.labels["think"] for run in campaign.runs] == ["lin", "c20"]
    assert campaign.runs[1].settings.user_options == {"nb_users": 3, "think": "c20", "weeks": 1}


def test_an_option_may_have_a_list_of_tables(tmp_path: Path) -> None:
    """In [run] and in variants; of plain values it is taken for an axis that lacks its quotes."""
    limits = '[{ to = "06:00", max_size = 3 }, { max_share = 0.5 }]'
    campaign = read(
        tmp_path,
        f'[run]\nlog = "sample"\nscheduler = "planning"\nsite = ["open", "limited"]\n'
        f"[site.open]\n[site.limited]\nscheduler_options = {{ limits = {limits} }}\n",
    )
    rules = [{"to": "06:00", "max_size": 3}, {"max_share": 0.5}]
    options = [run.settings.scheduler_options for run in campaign.runs]
    assert options == [{}, {"limits": rules}]
    assert all("limits" not in run.labels for run in campaign.runs)
    whole = read(tmp_path, f"[run]\nscheduler_options = {{ limits = {limits} }}\n")
    assert whole.runs[0].settings.scheduler_options == {"limits": rules}
    for wrong in ("[]", "[1]", "[{ a = 1 }, 2]", "[{ a = [1] }]", "[{ a = nan }]"):
        with pytest.raises(InputError, match="between quotes"):
            read(tmp_path, f"[run]\nscheduler_options = {{ limits = {wrong} }}\n")


def test_an_option_may_have_a_table(tmp_path: Path) -> None:
    """Such as the options of a wrapped model, which may wrap another one."""
    inner = '{ model = "feedback", model_options = { sessions = "max:20" } }'
    whole = read(tmp_path, f"[run]\nuser_options = {{ model_options = {inner} }}\n")
    assert whole.runs[0].settings.user_options == {
        "model_options": {"model": "feedback", "model_options": {"sessions": "max:20"}}
    }
    with pytest.raises(
        InputError, match="expected texts, finite numbers, true, false or tables of these"
    ):
        read(tmp_path, "[run]\nuser_options = { model_options = { rate = nan } }\n")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("replications = 2", "replications = 0", 2, "at least 1"),
        ("replications = 2", 'keep = "all"', 2, "jobs, metrics"),
        ("replications = 2", "warm_up = 60", 2, r"under \[run\]"),
        ('"feedback"]', '"feedback"]\nreplications = 3', 7, r"above \[run\]"),
        ("replications = 2", 'measure = "m.txt"', 2, "file.py:function"),
        ('"feedback"]', '"feedback"]\nspeed_factor = "fast"', 7, "speed_factor = 'fast'"),
        ('["easy", "creasy"]', '["easy", "crazy"]', 5, "'crazy' .*'creasy'"),
        ('["easy", "creasy"]', '["easy", "easy"]', 5, "'easy' twice"),
        ('users = "feedback"', 'user = "feedback"', 14, "'users'"),
        ('policy = ["creasy"]', 'policy = ["creasi"]', 15, "no run has"),
        ("nodes = [32, 16]", "nodes = 3\nreplications = true", 21, "replications"),
        ('users = ["rigid"]\n', "users = 3\n", 24, "users = 3"),
        ("[policy.easy]", "[polici.easy]", 8, "'polici'"),
        ('"feedback"]', '"feedback"]\nseed = [1, 2]', 7, "replications"),
        ('"feedback"]', f'"feedback"]\nseed = {2**63}', 7, "finite number"),
        ('"feedback"]', '"feedback"]\nscheduler_options = [{ a = 1 }]', 7, "a text"),
        ('"feedback"]', '"feedback"]\nuser_options.a = [1]', 7, '"user_options.a" = .*'),
        ('users = "feedback"\npolicy = ["creasy"]', "", 13, "empty"),
        ('name = "base"', 'name = "../base"', 1, "name of a"),
        ('"feedback"]', '"feedback"]\nshake = []', 7, "'shake' is empty"),
        ("scheduler =", 'users = "rigid"\nscheduler =', 10, "'users' is set"),
    ],
)
def test_mistakes_point_at_their_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in BASE
    with pytest.raises(InputError, match=f"base.toml:{line}: .*{message}"):
        read(tmp_path, BASE.replace(old, new, 1), quick=line == 24)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"no table \[run\]"),
        ("[run]\n[[include]]\nnodes = 3\nreplications = 2\n", "replications"),
        ('extends = "no.toml"\n', "base.toml:1: .*'no.toml'"),
        ('extends = "base.toml"\n', "extends itself"),
        ("[run]\nusers = 'rigid'\n[[exclude]]\nusers = 'rigid'\n", "every run"),
        ("[run]\nuser_options = { }\n[[exclude]]\nuser_options = { }\n", "toml:4: .*not a label"),
        (
            "[run]\nnodes = 4\nsize_of = ['small']\n[size_of.small]\nnodes = 2\n"
            "[[exclude]]\nnodes = 4\n",
            "toml:7: .*the variant",
        ),
        # A table of results has each column once: a label would be lost, or hide a result.
        ("[run]\nreplication = ['a']\n[replication.a]\n", ":2: .*another column"),
        ('[run]\nnodes = 5\n"user_options.nodes" = [1, 2]\n', "another column"),
        ('[run]\n"scheduler_options.x" = 5\n"user_options.x" = [1, 2]\n', "another column"),
        # What every run would fail of is said before the first one.
        ("[run]\nnode_factor = -1\n", "positive number"),
        ("[run]\nplatform = 'none.xml'\n", "2: .*none.xml"),
        ("[run]\nscheduler = 'creazy'\n", "base.toml:2: .*'creasy'"),
        ("[run]\nscheduler_options = { depht = 1 }\n", "base.toml:2: .*'depht'"),
        ("report = 'none.py:report'\n[run]\n", "'none.py:report'"),
        ("measure = 'some.py:x'\n[run]\n", "not a function"),
    ],
)
def test_files_of_which_no_run_can_be_made(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "some.py").write_text("x = 1\n")
    with pytest.raises(BatschedError, match=message):
        prepare(read(tmp_path, text), tmp_path / "out")
    with pytest.raises(UsageError, match=r"table \[quick\]"):
        read(tmp_path, "[run]\n", quick=True)
    with pytest.raises(UsageError, match="UTF-8"):
        prepare(read(tmp_path, "[run]\n"), tmp_path / "out\udcff")


def test_more_runs_than_anybody_means_are_refused_before_they_are_made(tmp_path: Path) -> None:
    many, seeds = (", ".join(map(str, range(1, n))) for n in (1001, 200_002))
    for text, message in (
        (f"replications = {10**9}\n[run]\n", ":1: .*1000000000"),
        (f"[run]\n[quick]\nreplications = {10**18}\n", "10{18}"),
        (f"[run]\nlog = ['sample']\nnodes = [{many}]\nfirst = [{many}]\n", ":3: .*1000000 runs"),
        (f"[run]\nseed = [{seeds}]\n", "200001 runs"),  # compared with each other, it took minutes
    ):
        with pytest.raises(InputError, match=message):
            read(tmp_path, text, quick="quick" in text)


def test_folders_have_names_that_file_systems_take(tmp_path: Path) -> None:
    """At most 255 bytes, of characters that may take four each."""
    name = "\N{MUSICAL SYMBOL G CLEF}\N{CYRILLIC SMALL LETTER ZHE}" * 60
    text = f'[run]\nx = ["{name}", "y"]\n[x.y]\nfirst = 1\n[x."{name}"]\n'
    for run in prepare(read(tmp_path, text), tmp_path / "out"):
        run.folder.mkdir(parents=True)


def test_studies_are_found_by_name_and_files_by_theirs(tmp_path: Path) -> None:
    assert find_campaign("replay_feedback").name == "campaign.toml"
    assert find_campaign("replay_feedback/shake").name == "shake.toml"
    (tmp_path / "study.toml").write_text("[run]\n")
    for name in ("no_such_study", str(tmp_path / "study")):
        with pytest.raises(UsageError, match="study"):
            find_campaign(name)
    for wrong in ("'suficiency'", "'sufficiency/typo'", "5"):
        with pytest.raises(CampaignFileError, match=f"base.toml:1: extends = {wrong}: "):
            read(tmp_path, f"extends = {wrong}\n")


MORE = '[run]\nreplay = ["rigid", "a30"]\n[replay.a30]\nusers = "feedback"\n'


@pytest.mark.parametrize(
    ("text", "options", "has_report"),
    [
        ('title = "Ours"\nreplications = 3\n', {}, True),
        ('[run]\nlog = "a.swf"\nseed = 5\n', {}, True),
        ('[[exclude]]\nreplay = "a0"\n', {}, True),
        ('[replay.a30]\nusers = "feedback"\n', {}, True),  # which no run has
        ('[quick]\nreplay = "a0"\n', {"quick": True}, True),
        ('[quick]\nreplay = "a0"\nfirst = 9\n', {"quick": True}, False),
        (MORE, {}, False),
        ('[replay.rigid]\nusers = "feedback"\n', {}, False),  # a label that says something else
        ("[run]\nfirst = 100\n", {}, False),
        ('report = ""\n', {}, False),
    ],
)
def test_other_runs_than_a_study_s_do_not_get_its_report(
    tmp_path: Path, text: str, options: dict[str, Any], has_report: bool
) -> None:
    """What a study says of its runs is not said of others, which may have the same names.

    Its report and measures are those beside its own file, from wherever it is extended.
    """
    base = read_campaign(find_campaign("replay_feedback"))
    ours = read(tmp_path, f'extends = "replay_feedback"\nname = "ours"\n{text}', **options)
    if has_report:
        assert (ours.report, ours.hint) == (str(base.path.parent / "report.py:report"), base.hint)
        assert ours.is_part is ("replay = " in text)
    assert (ours.report is not None) == has_report
    assert has_report is False or ours.title == ("Ours" if "Ours" in text else base.title)
    fewer = 'change = "fewer"\n[change.fewer]\nnode_factor = 0.1\n'
    assert read(tmp_path, f'extends = "site"\n[run]\n{fewer}').report, "it is for any runs"


def test_lines_of_tables() -> None:
    """Keys may be quoted or dotted; arrays of tables are counted."""
    text = 'a = 1\n[x."y z"]\n"k l" = 2\n[[e]]\nb.c = 1\n[[e]]\n# b = 0\n  b = 2\n'
    assert find_key_line(text, (), "a") == 1
    assert find_key_line(text, ("x", "y z")) == 2
    assert find_key_line(text, ("x", "y z"), "k l") == 3
    assert find_key_line(text, ("e", 0), "b") == 5
    assert find_key_line(text, ("e", 1), "b") == 8
    assert find_key_line(text, ("e", 2), "b") is None


def test_lines_that_are_no_key_are_passed_over() -> None:
    """Each once: a search that went back in them would not come to an end."""
    lines = ["x" * 300, ". " * 300, "a." * 300 + "!", '"a" ' * 300]
    text = '[t]\nlong = """\n' + "\n".join(lines) + '\n"""\nlast = 1\n'
    assert find_key_line(text, ("t",), "last") == 4 + len(lines)


def test_a_plug_in_that_is_checked_does_not_take_requests_to_end(tmp_path: Path) -> None:
    """Its constructor runs in the process that ends the workers."""
    (tmp_path / "deaf.py").write_text(
        "import signal\nclass Deaf:\n    def __init__(self):\n"
        "        for number in (signal.SIGINT, signal.SIGTERM):\n"
        "            signal.signal(number, signal.SIG_IGN)\n"
        "    def schedule(self, now, queue, machine):\n        return []\n"
    )
    path = tmp_path / "deaf.toml"
    path.write_text('[run]\nlog = ["sample"]\nscheduler = "deaf.py:Deaf"\n')
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    prepare(read_campaign(path), tmp_path / "out")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
