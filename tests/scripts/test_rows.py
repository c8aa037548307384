"""Every row by the same rule: what plays in a row of an experiment is made as `gumption train` and `evaluate` make it,
from settings that the command line has. All definitions are tried; nothing is trained or fitted."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gumption.envs.halma.diagnostics import SPLITS
from gumption.scripts import cli
from gumption.scripts.experiment import known_experiments, make_jobs
from gumption.scripts.results import Experiment, Job

#: Without what other tests add to the list.
EXPERIMENTS = {
    name: one for name, one in known_experiments().items() if type(one.kind).__module__.startswith("gumption.")
}
#: Where the trainings of each world begin, and its command.
TRAININGS = {
    "wordcraft": "gumption.agents.learners.impala:train_impala",
    "halma": "gumption.agents.halma.runs:train_halma",
    "segar": "gumption.agents.segar.training:train_segar",
    "probsol": "gumption.agents.probsol.training:train_probsol",
}
PLAYERS = "gumption.agents.wordcraft.evaluation"
#: Experiments, and methods of others, whose rows are no agent of `gumption train`, and what they are instead.
APART: Mapping[str, str | Mapping[str, str]] = {
    "little-alchemy": "the open-ended game, whose players are not chosen by reward but by what they have not tried",
    "wordcraft-living": "lives: `gumption live wordcraft`",
    "gradual-curriculum": "agents of `gumption gradual run --agent`",
    "gradual-validation": "agents of `gumption gradual validate`",
    "gradual-variations": "agents of `gumption gradual vary`",
    "probsol-discovery": "an agent that lives in tasks of its experiment",
    "probsol-laws": "an agent that lives in tasks of its experiment",
    "graph-at-work": "the rows of other experiments",
    "wordcraft-edges": {"advised": "a trained agent that reads another graph"},
    "wn18rr": "link predictors, which play in no world",
    "halma-relearn": "facts of random moves, which nobody plays by",
    "kg-scale": "sizes and times of graphs, in which nobody plays",
    "probsol-families": {
        **dict.fromkeys(
            ("random", "do nothing", "scripted", "untrained", "without_kg"), "a row of `gumption evaluate`"
        ),
        "graph agent, facts that it lived": "an agent that lives in generated tasks before",
    },
    "halma-graph": {
        **dict.fromkeys(("random", "oracle"), "a row of `gumption evaluate`"),
        "part": "the first moves of a life",
        "false": "a life whose effects are exchanged",
        "taken away": "a planner without facts",
        **dict.fromkeys(SPLITS, "a life in the tests made from its memory"),
    },
    "probsol-graph": {
        **dict.fromkeys(("random", "none"), "a row of `gumption evaluate`"),
        **dict.fromkeys(("prior", "constant", "false"), "a run of `gumption train` that plays by other facts"),
        "oracle: knows the law": "the recorded solutions",
    },
    "segar-gates": {
        **dict.fromkeys(("random", "scripted", "oracle", "untrained"), "a row of `gumption evaluate`"),
        "advised": "`gumption evaluate --kg`",
    },
    "probsol-goals": {
        **dict.fromkeys(("random", "do nothing", "scripted"), "a row of `gumption evaluate`"),
        "naive": "the study's model of a person without a goal",
    },
}
TRIED = {name: one for name, one in EXPERIMENTS.items() if not isinstance(APART.get(name), str)}


class Caught(Exception):
    """Thrown where a training would begin."""


def jobs(experiment: Experiment, folder: Path) -> Iterator[Job]:
    common = {"device": "cpu"}
    if "wordcraft" in experiment.name:
        common |= {"recipe_book": "commonsense", "preset": "fast", "conceptnet": "linked.nq"}
    for job in make_jobs(experiment, common, [0], folder):
        if job.source is not None:  # as if the run that it looks into were complete
            job = replace(job, source=folder / "source")
        if job.method not in APART.get(experiment.name, ()):
            yield job


def world_of(experiment: Experiment) -> str:
    return experiment.name.partition("-")[0]


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What would be trained or played: the "config", and where it is not trained the "method"."""
    found: dict[str, Any] = {}

    def training(config: Any, *arguments: Any, **more: Any) -> Any:
        found.update(config=config, method="train")
        raise Caught

    def player(method: str, config: Any, *arguments: Any, **more: Any) -> Any:
        found.update(config=config, method=method)
        raise Caught

    for place in TRAININGS.values():
        monkeypatch.setattr(place.replace(":", "."), training)
    monkeypatch.setattr(f"{PLAYERS}.player_of", player)
    monkeypatch.setattr("gumption.agents.run_folder.load_policy", lambda *arguments, **more: (None, None))
    return found


def options(config: Any, world: str) -> list[str]:
    """The command line of a config: an option for each field that is not as by default."""
    from gumption.agents.halma.config import HALMAConfig
    from gumption.scripts.apps import FLAGS as SHARED
    from gumption.scripts.wordcraft.commands import FLAGS

    flags = {**SHARED, **(FLAGS if world == "wordcraft" else {})}
    if isinstance(config, HALMAConfig):
        from gumption.scripts.halma.commands import FLAGS as MINE

        flags |= MINE
    words: list[str] = []
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name == "world" or value == field.default:
            continue
        flag = flags.get(field.name, field.name.replace("_", "-"))
        if isinstance(value, bool):
            words.append(f"--{flag.lstrip('!')}" if value != flag.startswith("!") else f"--no-{flag}")
        elif isinstance(value, tuple) and value and isinstance(value[0], tuple):
            for name, each in value:
                words += [f"--{flag}", f"{name}={json.dumps(each)}"]
        else:
            words += [f"--{flag}", ",".join(value) if isinstance(value, tuple) else str(value)]
    return words


def test_each_experiment_is_tried_or_is_told_to_stand_apart() -> None:
    assert set(APART) <= set(EXPERIMENTS)
    worlds = {world_of(one) for one in TRIED.values()}
    assert worlds == set(TRAININGS)
    for name, methods in APART.items():
        if isinstance(methods, Mapping):
            there = {condition.method for condition in EXPERIMENTS[name].conditions.values()}
            assert {*methods, "train"} <= there


@pytest.mark.parametrize("name", TRIED)
def test_a_row_is_made_of_settings_that_the_command_line_has(
    name: str, caught: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, seen = TRIED[name], set[str]()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "final.json").write_text("{}")
    for job in jobs(experiment, tmp_path):
        if job.settings.get("agent") == "space":  # its eyes are another run
            continue
        caught.clear()
        with pytest.raises(Caught):
            experiment.kind.run(job, False)
        row = dict(caught)
        assert row["method"] in ("train", "untrained", "kg_only", "without_kg", "random", "oracle")
        seen.add(row["method"])
        words = ["train", world_of(experiment), *options(row["config"], world_of(experiment)), "--run", "run"]
        caught.clear()
        monkeypatch.setattr(sys, "argv", ["gumption", *words])
        with pytest.raises(Caught):
            cli.app()
        assert caught["config"] == row["config"], job.label
    assert "train" in seen or "kg_only" in seen


class Sentinel:
    """A player of the product's function: it always takes the same slots."""

    def __call__(self, env: Any, first: np.ndarray) -> np.ndarray:
        return np.arange(env.num_envs) % 3


@pytest.mark.parametrize("name", [name for name in TRIED if world_of(TRIED[name]) == "wordcraft"])
def test_nothing_is_added_to_the_player_of_a_row(
    name: str, caught: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play_tasks(player: Any, env: Any, *arguments: Any, **more: Any) -> Any:
        env.start()
        first = np.ones(env.num_envs, dtype=bool)
        for _ in range(2):
            np.testing.assert_array_equal(player(env, first), Sentinel()(env, first))
        raise Caught

    monkeypatch.setattr(TRAININGS["wordcraft"].replace(":", "."), lambda *arguments, **more: None)
    monkeypatch.setattr(f"{PLAYERS}.player_of", lambda *arguments, **more: Sentinel())
    for module in ("gumption.agents.wordcraft.evaluation", "gumption.scripts.papers.wordcraft.outside"):
        monkeypatch.setattr(f"{module}.play_tasks", play_tasks, raising=False)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "final.json").write_text("{}")
    one_of_each = {job.method: job for job in jobs(TRIED[name], tmp_path) if job.settings.get("depth", 1) == 1}
    for method, job in one_of_each.items():
        if method == "train" and not hasattr(TRIED[name].kind, "played"):
            continue  # its figures are those of the training itself
        with pytest.raises(Caught):
            TRIED[name].kind.run(job, False)
