"""Trained agents: their files, and errors; how a file that changes makes a run again."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given

from batsched_py.environments import Agent, Observation, Start, load_agent
from batsched_py.errors import InputError
from every_policy import AGENT
from helpers.agents import agents, make_agent
from helpers.calling import command

FILE = json.loads(AGENT.read_text())


@given(agents())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, agent: Agent) -> None:
    path = tmp_path_factory.mktemp("agents") / "agent.json"
    agent.save(path)
    assert load_agent(path) == agent
    decoded = msgspec.json.decode(path.read_bytes())
    path.write_text(json.dumps(decoded))  # as another program writes it
    assert load_agent(path) == agent


def changed(*keys: Any, to: Any) -> str:
    """Return the file with one value changed."""
    inside = content = deepcopy(FILE)
    for key in keys[:-1]:
        inside = inside[key]
    inside[keys[-1]] = to
    return json.dumps(content)


MALFORMED = {
    "empty": ("", "not JSON"),
    "cut off": (AGENT.read_text()[:90], "not JSON"),
    "no JSON": ("weights", "not JSON"),
    "binary": ("PK\x03\x04", "not JSON"),
    "a list": ("[]", "Expected `object`"),
    "no layers": (changed("layers", to=[]), "layers of shape none"),
    "no rows": (changed("layers", 0, "weights", to=[]), r"rows of \[\] weights"),
    "missing": ("{}", "missing required field"),
    "another field": (changed("layer", to=[]), "`layer`"),
    "too few inputs": (changed("encoder", "features", to=["size"]), "first with 2 inputs"),
    "too many outputs": (
        changed("layers", 0, to={"weights": [[1, 2]] * 4, "biases": [0, 0]}),
        "last with 1 outputs",
    ),
    "ragged": (changed("layers", 0, "weights", 1, to=[1, 2]), r"rows of \[1, 2\] weights"),
    "NaN": (changed("layers", 0, "biases", to=[float("nan")]), "not JSON"),
    "infinite": (changed("layers", 0, "biases", to=[10**400]), "number"),
    "null": (changed("layers", 0, "biases", to=[None]), r"layers\[0\]\.biases\[0\]"),
    "unknown feature": (changed("encoder", "features", to=["sizes"]), "did you mean 'size'"),
    "a feature twice": (changed("encoder", "features", to=["size"] * 2), "each once"),
    "unknown machine feature": (changed("encoder", "machine_features", to=["fre"]), "'fre'"),
    "unknown choice": (changed("decides", "type", to="Backfil"), "Backfil"),
    "unknown order": (changed("decides", "order", to="sfj"), "sfj"),
    "unknown network": (changed("network", to="cnn"), "cnn"),
    "kernel for Order": (changed("decides", to={"type": "Order"}), "Order: expected mlp"),
    "mlp for Priority": (
        changed("decides", to={"type": "Priority"}).replace('"note"', '"network": "mlp", "note"'),
        "Priority: expected kernel",
    ),
    "window of 0": (changed("encoder", "window", to=0), r"encoder\.window"),
    "huge window": (changed("encoder", "window", to=10**9), r"encoder\.window"),
    "arrangement": (changed("encoder", "arrangement", to="end"), "submission, ends"),
    "a name twice": (AGENT.read_text().replace('"note"', '"layers": [], "note"'), "layers"),
}


@pytest.mark.parametrize("wrong", MALFORMED)
def test_malformed_files(tmp_path: Path, wrong: str) -> None:
    content, message = MALFORMED[wrong]
    path = tmp_path / "my_agent.json"
    path.write_text(content)
    with pytest.raises(InputError, match=f"my_agent.json.*{message}"):
        load_agent(path)
    code, out, err = simulate(tmp_path, "-O", "weights=my_agent.json")
    assert (code, out) == (1, "")
    assert err.startswith("batsched-py: error: my_agent.json")
    assert err.count("\n") == 1


def simulate(folder: Path, *options: str) -> tuple[int, str, str]:
    return command(folder, "simulate", "sample", "--first", "9", "--scheduler", "agent", *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "'agent' needs the option 'weights'"),
        (("-O", "weights=none.json"), "there is no file 'none.json'"),
        (("-O", "weights=."), ". is a folder"),
        (("-O", "wights=none.json"), "wights"),
    ],
)
def test_wrong_options(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    code, out, err = simulate(tmp_path, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_campaign_runs_again_if_the_file_changes(tmp_path: Path) -> None:
    campaign = '[run]\nlog = "sample"\nfirst = 99\nscheduler = "agent"\n'
    campaign += 'scheduler_options = { weights = "agent.json" }\n'
    (tmp_path / "c.toml").write_text(campaign)
    for seed, nb_done, nb_runs in ((1, 0, 1), (1, 1, 1), (2, 0, 2)):
        make_agent(Start(), seed).save(tmp_path / "agent.json")
        done = command(tmp_path, "campaign", "c.toml", "-e", "out", "--no-report")
        assert f"1 run, {nb_done} of them done" in done.stderr
        described = [path.read_text() for path in tmp_path.glob("out/runs/*/out_run.json")]
        digests = {re.search(r'"agent.json": "(\w+)"', text)[1] for text in described}  # type: ignore[index]
        assert len(described) == len(digests) == nb_runs


def test_the_best_allowed_action() -> None:
    agent = make_agent(Start(), window=3, features=("size",), machine_features=())
    jobs = np.array([[0.1], [0.9], [0.5]], np.float32)
    rated = agent.rate(Observation(jobs, np.empty(0, np.float32), np.ones(4, bool), 0.0))
    for mask in np.ndindex(2, 2, 2, 2):
        seen = Observation(jobs, np.empty(0, np.float32), np.array(mask, bool), 0.0)
        if any(mask):
            assert rated[agent.choose(seen)] == max(rated[np.array(mask, bool)])
