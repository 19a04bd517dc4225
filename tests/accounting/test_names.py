"""Numbers for names, and pseudonyms."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.accounting.names import Names, Pseudonyms
from batsched_py.accounting.systems.slurm import Slurm
from batsched_py.errors import InputError
from helpers.accounting_records import sacct
from helpers.calling import command
from helpers.imports import imported

SALT = "never tell this to anybody"
SECRETS = ("annabel", "bobby", "alchemy", "botany", "annabels-thesis", "bobbys-code", SALT)


def numbered(names: Names, jobs: list[tuple[str, int]]) -> list[int]:
    places = [names.place(name, submit) for name, submit in jobs]
    return [names.numbers()[place] for place in places]


@given(st.permutations([("c", 30), ("a", 20), ("c", 10), ("b", 20), ("d", 5)]))
def test_the_order_of_the_records_does_not_matter(jobs: list[tuple[str, int]]) -> None:
    names = Names("user")
    numbered(names, jobs)
    assert names.by_number() == [(1, "d"), (2, "c"), (3, "a"), (4, "b")]


def test_whole_numbers_are_their_own() -> None:
    assert numbered(Names("user"), [("7", 0), ("5001", 1), ("", 2)]) == [7, 5001, -1]
    assert numbered(Names("user"), [("7", 0), ("x", 1)]) == [1, 2]
    assert numbered(Names("user"), [("07", 0), ("7", 1)]) == [1, 2]


def test_pseudonyms_are_numbered_in_their_own_order() -> None:
    """Not that of the names, nor of their submissions; a user is unlike an account of one name."""
    pseudonyms = Pseudonyms(SALT)
    users = [f"user{number}" for number in range(50)]
    names = Names("user", pseudonyms)
    numbers = numbered(names, [(user, at) for at, user in enumerate(users)])
    assert sorted(numbers) == list(range(1, 51))
    assert numbers not in (sorted(numbers), sorted(numbers, reverse=True))
    shown = dict(names.by_number())
    for user, number in zip(users, numbers, strict=True):
        assert shown[number] == pseudonyms.make("user", user)
        assert shown[number] != pseudonyms.make("group", user)
        assert shown[number] != Pseudonyms(SALT + "!").make("user", user)
    assert len(set(shown.values())) == 50
    assert list(shown.values()) == sorted(shown.values())


def test_pseudonyms_are_keyed_hashes() -> None:
    """By the definition of RFC 2104, computed by hand with the hash alone."""
    from hashlib import sha256

    key = SALT.encode().ljust(64, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in key) for pad in (0x36, 0x5C))
    digest = sha256(outer + sha256(inner + b"user\0ann").digest()).hexdigest()
    assert Pseudonyms(SALT).make("user", "ann") == digest[:32]


TEXT = sacct(
    {"JobID": 1, "User": "bobby", "Account": "alchemy", "JobName": "bobbys-code"},
    {"JobID": 2, "User": "annabel", "Account": "botany", "JobName": "annabels-thesis"},
    {"JobID": 3, "User": "annabel", "Account": "botany", "State": "CANCELLED by annabel"},
    {"JobID": "4|annabel|bobby"},
    {"JobID": 5, "User": "annabel", "Submit": "annabels-thesis"},
)


@pytest.mark.parametrize("job_names", [False, True])
def test_nothing_of_a_name_leaves(tmp_path: Path, job_names: bool) -> None:
    """Neither in files, nor in what is printed, nor is the salt, nor the path of the records."""
    home = tmp_path / "annabel"
    home.mkdir()
    (home / "records").write_text(TEXT)
    (tmp_path / "salt").write_text(f"{SALT}\n")
    arguments = ["--anonymise", "--salt-file", "salt", "--skip-bad-lines"]
    arguments += ["--job-names"] if job_names else []
    done = command(tmp_path, "import", "slurm", home / "records", "out.swf.gz", *arguments)
    assert done.returncode == 0, done.stderr
    written = gzip.decompress((tmp_path / "out.swf.gz").read_bytes()).decode()
    written += "".join(
        (tmp_path / f"out_{name}").read_text() for name in ("names.csv", "machine.toml")
    )
    for secret in SECRETS:
        assert secret not in written + done.stdout + done.stderr
    assert "Partition: 1 batch" in written
    assert "Queue: 1 normal" in written
    assert ("executable," in written) == job_names


def test_an_error_has_no_name_in_it_either(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        imported(Slurm, tmp_path, TEXT, anonymise=True, salt=SALT)
    assert "records0:5" in str(raised.value)
    assert not [secret for secret in SECRETS if secret in str(raised.value)]


def test_with_a_salt_a_person_is_the_same_in_each_import(tmp_path: Path) -> None:
    """The number differs where others are among the users; the pseudonym does not."""
    others = [{"JobID": number, "User": f"u{number}"} for number in range(9)]
    texts = [sacct({"User": 5001}), sacct(*others, {"JobID": 99, "User": 5001})]
    seen = []
    for text in texts:
        lines = imported(Slurm, tmp_path, text, anonymise=True, salt=SALT).names.splitlines()
        seen.append({line.split(",")[2] for line in lines if line.startswith("user,")})
    assert seen[0] < seen[1]
    assert seen[0] == {Pseudonyms(SALT).make("user", "5001")}
