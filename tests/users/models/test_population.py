"""Populations: who is in which member, whose names and chances are whose, and wrong files."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.errors import BatschedError, InputError, InvariantError, UsageError
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.behaviour.random_streams import Chance
from batsched_users.learning.ideal_machine import play_model
from batsched_users.models import population
from batsched_users.models.population import Population
from batsched_users.models.population_members import Member, split_workload

POPULATION = f"{population.__file__}:Population"
Write = Callable[[str], str]


def log_of(*jobs: tuple[str, float, str | None]) -> Workload:
    """A log of (id, submission, user); each job runs 10 s on one of 4 processors."""
    rows = [J(at, 1, 10, None, user, at + 10) for _, at, user in jobs]
    return workload(rows, 4, names=[name for name, *_ in jobs])


LOG = log_of(("1", 0, "a"), ("2", 5, "b"), ("3", 5, "a"), ("4", 7, "c"), ("5", 9, None))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a population file and return its name."""

    def file(text: str) -> str:
        path = tmp_path / "people.toml"
        path.write_text(textwrap.dedent(text))
        return str(path)

    return file


def submitted(users: Any) -> list[tuple[float, str, str | None]]:
    """Submission, id and user of all jobs where nobody waits."""
    return [(played.submit, played.job.id, played.job.user) for played in play_model(users)]


# Who is who -------------------------------------------------------------------------------------


def test_names_by_hand(write: Write) -> None:
    """Each member has its users' jobs; names tell the member; nobody's job is with the rest."""
    file = write("""
        [[member]]
        name = "one"
        model = "rigid"
        users = ["a"]
        [[member]]
        model = "rigid"
        rest = true
    """)
    users = Population(LOG, file=file)
    assert submitted(users) == [
        (0, "one:1", "one:a"),
        (5, "one:3", "one:a"),  # jobs of one instant are in order of the members
        (5, "rigid:2", "rigid:b"),
        (7, "rigid:4", "rigid:c"),
        (9, "rigid:5", None),
    ]
    assert users.profiles["one:r10"] == users.profiles["rigid:r10"] == LOG.profiles["r10"]
    assert users.profiles.get("r10") is None
    assert users.profiles.get("two:r10") is None
    assert list(users.profiles) == ["one:r10", "rigid:r10"]
    assert not users._active


def test_who_no_member_has_submits_nothing(write: Write) -> None:
    """In TOML one writes 12 as readily as "12"."""
    log = log_of(("1", 0, "12"), ("2", 1, "13"))
    users = Population(log, file=write(RIGID + "users = [12]"))
    assert submitted(users) == [(0, "1", "12")]


@given(
    users=st.integers(1, 40),
    named=st.integers(0, 5),
    shares=st.lists(st.floats(0.05, 0.6), min_size=1, max_size=4),
    rest=st.booleans(),
    seed=st.integers(0, 9),
)
def test_every_user_is_in_one_member(
    users: int, named: int, shares: list[float], rest: bool, seed: int
) -> None:
    """Each user at most once; all of them with a rest; shares to the user; jobs in log order."""
    log = log_of(*((str(n), n // 3, f"u{n % users}") for n in range(3 * users)))
    members = [Member(name=f"s{n}", model="rigid", share=s) for n, s in enumerate(shares)]
    if sum(shares) > 1:
        members = members[:1]
    if chosen := [f"u{n}" for n in range(min(named, users - 1))]:
        members.append(Member(name="named", model="rigid", users=list(chosen)))
    if rest:
        members.append(Member(name="rest", model="rigid", rest=True))
    try:
        parts = split_workload(Path("f"), members, log, Chance(seed))
    except InputError as error:
        assert "leaves it nobody" in str(error)  # noqa: PT017 - either is right
        return
    who = [{job.user for job in part.jobs} for part in parts]
    assert sum(map(len, who)) == len(set.union(*who))
    if rest:
        assert sum(len(part.jobs) for part in parts) == len(log.jobs)
    for member, users_of_part, part in zip(members, who, parts, strict=True):
        assert part.jobs == [job for job in log.jobs if job.user in users_of_part]
        assert (part.nb_res, part.profiles) == (log.nb_res, log.profiles)
        if member.users:
            assert users_of_part == set(chosen)
        if member.share is not None:
            assert len(users_of_part) == pytest.approx(member.share * (users - len(chosen)), abs=1)


def test_a_single_member_is_the_model(write: Write) -> None:
    """Names, chance and reactions are those of the model without a population."""
    sample = load_workload(find_log("sample"), make_rules(first=600))
    model, options = "fluid", {"seed": 5, "sessions": "arrival:30"}
    lines = "".join(f"options.{key} = {value!r}\n" for key, value in options.items())
    file = write(f"[[member]]\nmodel = '{model}'\nrest = true\n{lines}")
    alone = simulate(sample, users=model, user_options=options)
    member = simulate(sample, users=POPULATION, user_options={"file": file})
    assert alone.measured["overall"]["nb_jobs"] > 50
    assert member.jobs_csv() == alone.jobs_csv()


ECHO = '''
from math import inf, nan
from helpers.endless import Users

class Echo(Users):
    """Submits a job of 5 s, and the next when one has ended; notes what it is told."""
    def __init__(self, workload, *, nb_jobs=2):
        super().__init__(workload)
        self.left, self.told, self.log = nb_jobs, [], workload
    def job_ended(self, now, job, state):
        self.told.append((now, job.id, job.user, job.submitted.profile))
        self.left -= 1
        self.due = now if self.left else inf

class Empty(Users):
    def jobs_to_submit(self, now):
        return ()

class Nan(Users):
    def next_submission(self):
        return nan
'''


def test_ends_go_to_the_owner(tmp_path: Path, write: Write) -> None:
    """A member learns of its own jobs, under its own names; a file is found beside the TOML."""
    (tmp_path / "echo.py").write_text(ECHO)
    file = write("""
        [[member]]
        name = "a"
        model = "echo.py:Echo"
        [[member]]
        model = "echo.py:Echo"
        options = { nb_jobs = 1 }
    """)
    users = Population(LOG, file=file)
    assert submitted(users) == [(0, "a:1", "a:u"), (0, "Echo:1", "Echo:u"), (5, "a:2", "a:u")]
    models: list[Any] = [group.model for group in users._groups]
    assert [model.told for model in models] == [
        [(5, "1", "u", "p"), (10, "2", "u", "p")],
        [(5, "1", "u", "p")],
    ]
    assert [model.log.jobs for model in models] == [[], []]


@pytest.mark.parametrize("model", ["Empty", "Nan"])
def test_a_wrong_member_is_named(tmp_path: Path, write: Write, model: str) -> None:
    (tmp_path / "echo.py").write_text(ECHO)
    both = f'[[member]]\nmodel = "echo.py:Echo"\n[[member]]\nmodel = "echo.py:{model}"'
    with pytest.raises(InvariantError, match=rf"people\.toml: member '{model}': "):
        simulate(LOG, users=POPULATION, user_options={"file": write(both)})


RIGID = '[[member]]\nmodel = "rigid"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no member"),
        ("[[member", "TOML"),
        (RIGID + "shar = 0.5", "member 1: .*'shar'.*'share'"),
        ("[[member]]\nrest = true", "member 1: .*model"),
        ("[[member]]\nmodel = 'feedbak'", "member 'feedbak': .*'feedback'"),
        (RIGID + "name = 'a:b'", "name = 'a:b'"),
        (RIGID + "share = 0.1", "'rigid': share .*nobody"),
        (RIGID + "users = ['d']", "no user 'd'"),
        (RIGID + "share = 0.5\nrest = true", "member 1: share, rest"),
        (RIGID + "rest = true\n" + RIGID, "'rigid' is there twice"),
        (RIGID, "'rigid' .*never submit"),
        (f"{RIGID}share = 0.7\n{RIGID}name = 'b'\nshare = 0.7", "rigid 0.7, b 0.7"),
        (f"{RIGID}users = ['a']\n{RIGID}name = 'b'\nusers = ['a']", "'a' is in 'rigid'"),
        (f"{RIGID}rest = true\n{RIGID}name = 'b'\nrest = true", "'b': rest=true"),
        ("[[member]]\nmodel = 'feedback'\nusers = ['a']\noptions.session = 'x'", "'sessions'"),
        ("[[member]]\nmodel = 'tbuos'", "member 'tbuos': resampling"),
    ],
)
def test_wrong_files(write: Write, text: str, message: str) -> None:
    with pytest.raises((InputError, UsageError), match=rf"people\.toml: .*{message}") as error:
        Population(LOG, file=write(text))
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"file=nowhere\.toml"):
        Population(LOG, file="nowhere.toml")
    with pytest.raises(UsageError, match="option 'file'"):
        simulate(LOG, users=POPULATION)


def test_a_log_without_users(write: Write) -> None:
    """A rest may be the jobs of nobody; a share of nobody is none."""
    log = log_of(("1", 0, None), ("2", 1, None))
    assert len(submitted(Population(log, file=write(RIGID + "rest = true")))) == 2
    with pytest.raises(BatschedError, match="0 users"):
        Population(log, file=write(RIGID + "share = 0.5"))
