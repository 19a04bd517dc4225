"""Trained agents: their answers, their files, and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from msgspec.structs import replace

from batsched_py.environments import Agent, Encoder, Head, Observation, Start, load_agent
from batsched_py.errors import InputError, UsageError
from every_policy import AGENT
from helpers.agents import agents, make_agent
from helpers.calling import Called, command

TEXT = AGENT.read_text()


@given(agents())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, agent: Agent) -> None:
    path = tmp_path_factory.mktemp("agents") / "agent.json"
    agent.save(path)
    assert load_agent(path) == agent


def test_the_best_allowed_action() -> None:
    encoder = Encoder(window=3, features=("size",), machine_features=())
    agent = make_agent(Start(), 1, encoder=encoder)
    jobs, nothing = np.array([[0.1], [0.9], [0.5]], np.float32), np.empty(0, np.float32)
    (weight,), bias = agent.layers[0].weights[0], agent.layers[0].biases[0]
    rated = [size * weight + bias for size in (0.1, 0.9, 0.5, 0.0)]
    for mask in [*np.ndindex(2, 2, 2, 2)][1:]:
        allowed = np.array(mask, np.bool_)
        best = max((at for at in range(4) if mask[at]), key=lambda at: rated[at])
        assert agent.choose(Observation(jobs, nothing, allowed, 0.0)) == best


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (TEXT, "", "not JSON"),
        (TEXT, TEXT[:90], "not JSON"),
        (TEXT, "PK\x03\x04", "not JSON"),
        (TEXT, "[]", "Expected `object`"),
        (TEXT, "{}", "missing required field"),
        ('"note"', '"layers": [], "note"', "layers"),
        ('"note"', '"layer": [], "note"', "`layer`"),
        ("[0.1]}", "[0.1, 0.2]}", r"rows of \[1\] weights and 2 biases"),
        ("[[-1.0], [0.5], [2.0], [0.1]]", "[]", r"rows of \[\] weights"),
        ("[0.5]", "[0.5, 1]", r"rows of \[1, 2\] weights"),
        ("[0.5]", "[NaN]", "not JSON"),
        ("[0.5]", "[1e999]", "out of range"),
        ("[0.5]", "[null]", r"layers\[0\]\.weights\[1\]\[0\]"),
        (', "log_size"', "", "first with 3 inputs, the last with 1 outputs"),
        ('"log_size"', '"log_siz"', "did you mean 'log_size'"),
        ('"log_size"', '"log_wait"', "each once"),
        ('["free"]', '["fre"]', "machine_features=fre.*'free'"),
        ('"window": 16', '"window": 0', "window=0"),
        ('"window": 16', '"window": 1000000000', "window=1000000000"),
        ('"window": 16', '"arrangement": "end"', "submission, ends"),
        ('"Backfill"', '"Backfil"', "Backfil"),
        ('"Backfill"', '"Backfill", "order": "sfj"', "sfj"),
        ('"Backfill"', '"Order"', "Order: expected mlp"),
        ('"Backfill"}', '"Priority"}, "network": "mlp"', "Priority: expected kernel"),
    ],
)
def test_malformed_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "my_agent.json"
    assert old in TEXT
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(InputError, match=f"my_agent.json.*{message}"):
        load_agent(path)
    done = simulate(tmp_path, "-O", "weights=my_agent.json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("batsched-py: error: my_agent.json")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Head(commit="yes"), "commit 'yes': expected true or false"),  # type: ignore[arg-type]
        (lambda: Encoder(window=0), "window=0: expected a whole number from 1"),
        (lambda: replace(load_agent(AGENT), activation="relux"), "did you mean 'relu'"),
        (lambda: replace(load_agent(AGENT), decides="Priority"), "decides 'Priority'"),
    ],
)
def test_wrong_values(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def simulate(folder: Path, *options: str) -> Called:
    return command(folder, "simulate", "sample", "--first", "9", "--scheduler", "agent", *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "'agent' needs the option 'weights'"),
        (["-O", "weights=none.json"], "there is no file 'none.json'"),
        (["-O", "weights=."], ". is a folder"),
        (["-O", "weights="], "weights=: expected the path of a file"),
    ],
)
def test_wrong_options(tmp_path: Path, options: list[str], message: str) -> None:
    done = simulate(tmp_path, *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def test_a_campaign_runs_again_if_the_file_changes(tmp_path: Path) -> None:
    options = 'scheduler = "agent"\nscheduler_options = { weights = "agent.json" }\n'
    (tmp_path / "c.toml").write_text('[run]\nlog = "sample"\nfirst = 99\n' + options)
    for seed, nb_done, nb_runs in ((1, 0, 1), (1, 1, 1), (2, 0, 2)):
        make_agent(Start(), seed).save(tmp_path / "agent.json")
        done = command(tmp_path, "campaign", "c.toml", "-e", "out", "--no-report")
        assert f"1 run, {nb_done} of them done" in done.stderr
        written = "".join(path.read_text() for path in tmp_path.glob("out/runs/*/out_run.json"))
        assert len({*re.findall(r'"agent.json": "\w+"', written)}) == nb_runs
