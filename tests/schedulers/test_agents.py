"""Trained agents: their answers, their files, and errors."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from batsched_py.environments import Agent, Encoder, Observation, Start, load_agent
from batsched_py.errors import InputError
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


def changed(*keys: Any, to: Any) -> str:
    """Return the file with one value changed."""
    inside = content = deepcopy(json.loads(TEXT))
    for key in keys[:-1]:
        inside = inside[key]
    inside[keys[-1]] = to
    return json.dumps(content)


MLP = changed("decides", to={"type": "Priority"}).replace('"note"', '"network": "mlp", "note"')
TWO_OUTPUTS = {"weights": [[1, 2]] * 4, "biases": [0, 0]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        (TEXT[:90], "not JSON"),
        ("PK\x03\x04", "not JSON"),
        ("[]", "Expected `object`"),
        ("{}", "missing required field"),
        (TEXT.replace('"note"', '"layers": [], "note"'), "layers"),
        (changed("layer", to=[]), "`layer`"),
        (changed("layers", to=[]), "layers of shape none"),
        (changed("layers", 0, to=TWO_OUTPUTS), "last with 1 outputs"),
        (changed("layers", 0, "weights", to=[]), r"rows of \[\] weights"),
        (changed("layers", 0, "weights", 1, to=[1, 2]), r"rows of \[1, 2\] weights"),
        (changed("layers", 0, "biases", to=[float("nan")]), "not JSON"),
        (changed("layers", 0, "biases", to=[10**400]), "number"),
        (changed("layers", 0, "biases", to=[None]), r"layers\[0\]\.biases\[0\]"),
        (changed("encoder", "features", to=["size"]), "first with 2 inputs"),
        (changed("encoder", "features", to=["sizes"]), "did you mean 'size'"),
        (changed("encoder", "features", to=["size"] * 2), "each once"),
        (changed("encoder", "machine_features", to=["fre"]), "'fre'"),
        (changed("encoder", "window", to=0), r"encoder\.window"),
        (changed("encoder", "window", to=10**9), r"encoder\.window"),
        (changed("encoder", "arrangement", to="end"), "submission, ends"),
        (changed("decides", "type", to="Backfil"), "Backfil"),
        (changed("decides", "order", to="sfj"), "sfj"),
        (changed("decides", to={"type": "Order"}), "Order: expected mlp"),
        (MLP, "Priority: expected kernel"),
    ],
)
def test_malformed_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "my_agent.json"
    path.write_text(content)
    with pytest.raises(InputError, match=f"my_agent.json.*{message}"):
        load_agent(path)
    done = simulate(tmp_path, "-O", "weights=my_agent.json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("batsched-py: error: my_agent.json")


def simulate(folder: Path, *options: str) -> Called:
    return command(folder, "simulate", "sample", "--first", "9", "--scheduler", "agent", *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "'agent' needs the option 'weights'"),
        (["-O", "weights=none.json"], "there is no file 'none.json'"),
        (["-O", "weights=."], ". is a folder"),
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
