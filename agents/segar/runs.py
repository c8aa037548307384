"""The evaluation of trained runs of SEGAR, of any learner, in a folder or in memory.

A run of PPO or SAC has a `SegarConfig`; one of the general learner, which chooses among pushes, a `WorldConfig`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from gumption.agents.evaluation import Greedy, Player, means
from gumption.agents.run_folder import NO_RUN
from gumption.agents.settings import CONFIG, WorldConfig
from gumption.agents.setup import load_policy, untrained
from gumption.agents.transcript import failures, transcript
from gumption.agents.watch import SHOWN, ActionPlayer, PolicyPlayer
from gumption.data import InputError
from gumption.data.sealed import read_sealed
from gumption.data.settings import Size, checked
from gumption.envs.segar.configurations import Levels, Split
from gumption.envs.segar.text import FACE

from . import guided
from .evaluation import BASELINES, baselines, play_levels

if TYPE_CHECKING:
    from gumption.agents.run import RunResult

    from .training import SegarRun


@checked
def evaluate(
    run: Any,
    *,
    partition: Split = "test",
    levels: str | None = None,
    num_levels: Size | None = None,
    device: str | None = None,
    yardstick: str | tuple[str, ...] | None = None,
    kg: str | None = None,
) -> dict[str, Any]:
    """Play levels once each with a run's most probable actions, and tell mean return and success.

    Beside it: the network before training, random actions, no action, and, of PuttPutt and Invisiball, a controller
    that people wrote (scripted); beside a run that knowledge guides, the same network with its knowledge taken away.

    :param run: its folder, or the result of a training.
    :param partition: train (the run's own training levels) or test.
    :param levels: another configuration, such as objectsx2-hard.
    :param num_levels: how many; without it as many as the config says.
    :param device: other than in training, of a run in a folder: auto, cpu or cuda.
    :param yardstick: also tell the gap between the run's own training levels and these, as a share of what lies between
        random actions and this player: scripted, no action, MODULE:NAME, or the folder of another run; of several, the
        best.
    :param kg: another source of knowledge that advises the same agent of PPO: train, full, a graph, or none, which
        takes its knowledge away.
    :returns: "levels", "partition", "num_levels", and "players": name -> "return" and "success"; "failures",
        sentences on the run's choices; with a yardstick also
        "gap" (None where it is no better than random actions) and "yardstick", its name.
    :raises InputError: no run there, or a damaged one; no such configuration or yardstick.
    """
    if yardstick is not None and partition == "train":
        raise InputError("a gap is that of other levels than those of the training: leave out yardstick, or partition")
    found: RunResult | SegarRun = run
    if not hasattr(run, "config"):
        found = read_run(run, device)
    elif device is not None:
        raise InputError("device is for a run in a folder: this one is in memory")
    if isinstance(found.config, WorldConfig):
        if kg is not None:
            raise InputError("kg is for runs of PPO; the knowledge of this run is part of its policy")
        if found.policy is None and found.run_dir is not None:  # pyright: ignore[reportAttributeAccessIssue]
            found = read_run(found.run_dir, None)
        told, drawn, figures, failed = _play_general(found, partition, levels, num_levels)
    else:
        given: Any = found if kg is None else found.advised(kg)  # pyright: ignore[reportAttributeAccessIssue]
        told, drawn, figures, failed = _play_forces(given, partition, levels, num_levels)
    about = f"{len(drawn)} {partition} levels of {told}"
    result = {"levels": told, "partition": partition, "num_levels": len(drawn), "players": figures, "about": about}
    result["failures"] = failed
    if yardstick is None:
        return result
    from .study import told_gap

    several = (yardstick,) if isinstance(yardstick, str) else yardstick
    given = [read_run(Path(one), device) if (Path(one) / CONFIG).is_file() else one for one in several]
    measured = told_gap(found, drawn, figures, given)
    words = measured.pop("words")
    return result | measured | {"about": f"{about}; {words}"}


#: The levels' name, the levels, figures of each player, and the failures of the trained one.
Played = tuple[str, Levels, dict[str, dict[str, float]], list[str]]


def _play_forces(run: SegarRun, partition: Split, levels: str | None, num_levels: int | None) -> Played:
    from .study import before_training, played

    config = run.config
    count = num_levels or (config.num_levels if partition == "train" else config.test_levels)
    drawn = replace(config, num_levels=count, test_levels=count).draw(partition, levels)
    name = levels or (config.levels if partition == "train" else config.test or config.levels)
    with transcript() as kept:
        figures = played(run, drawn, {"trained": run.player})
    others: dict[str, Player] = {"untrained": before_training(run), **baselines(config.task)}
    if run.advice is not None:
        others = {"knowledge taken away": replace(run, advice=None).player, **others}
    figures |= played(run, drawn, others)
    return name, drawn, figures, failures(kept)


@checked
def load(run_dir: Path, *, device: str | None = None) -> tuple[Any, Any]:
    """The config of a run, and its policy or model."""
    run = read_run(run_dir, device)
    return run.config, run.policy if isinstance(run.config, WorldConfig) else run.model


@checked
def read_run(run_dir: Path, device: str | None) -> Any:
    if "env" not in read_sealed(run_dir / CONFIG, missing=NO_RUN):  # no run of the general learner
        from .training import load_run

        return load_run(run_dir, device=device)
    from gumption.agents.run import RunResult

    config, policy = load_policy(run_dir, device=device)
    return RunResult(config, {}, [], run_dir, policy)


def general_settings(
    config: WorldConfig, partition: Split, levels: str | None, num_levels: int | None
) -> dict[str, Any]:
    """The environment's settings for a run of the general learner; `levels` and `num_levels` replace the config's."""
    given: dict[str, Any] = {"levels": levels, "num_levels": num_levels}
    changes = {name: value for name, value in given.items() if value is not None}
    return {**dict(config.env), "partition": partition, **changes}


def _play_general(run: Any, partition: Split, levels: str | None, num_levels: int | None) -> Played:
    settings = general_settings(run.config, partition, levels, num_levels)
    drawn: Any = gym.make_vec(guided.ID, num_envs=1, **settings).unwrapped
    if drawn.levels.split != partition:
        raise InputError(
            f"the run has its levels from a file of {drawn.levels.split} levels, so there are no {partition} levels; "
            "name others (--levels)"
        )
    env: Any = gym.make_vec(guided.ID, num_envs=len(drawn.levels), **{**settings, "levels": drawn.levels})

    def figures(player: Player) -> dict[str, float]:
        return means(play_levels(player, env), "return", "success")

    with transcript() as kept:
        found = {"trained": figures(Greedy(run.policy))}
    players: dict[str, Player] = {"untrained": untrained(run.config, run.policy.advice)}
    if run.policy.advice is not None:
        players["knowledge taken away"] = Greedy(run.policy, without_knowledge=True)
    found |= {name: figures(player) for name, player in {**players, **BASELINES}.items()}
    return drawn.levels.name or "a distribution of its own", drawn.levels, found, failures(kept)


# ---- An agent to watch.


@checked
def watch(run: Path, *, partition: Split = "test", level: str | None = None) -> PolicyPlayer | ActionPlayer:
    """The agent of a run on a level.

    :param partition: Which levels: train, those of its training, or test.
    :param level: A level by its name, as tilesx3-hard/test/0/7.  [default: drawn by the seed]
    """
    loaded = read_run(run, "cpu")
    shown: dict[str, Any] = {"options": {} if level is None else {"level": level}}
    shown["outcome"] = lambda env: FACE.told(env.describe(0), bool(env.results()[1][0]))
    if isinstance(loaded.config, WorldConfig):
        settings = general_settings(loaded.config, partition, None, None)
        env: Any = gym.make_vec(guided.ID, 1, **SHOWN, **settings).unwrapped
        turns = (f"{360 * turn / env.settings.directions:g} degrees" for turn in range(env.settings.directions))
        return PolicyPlayer(loaded.policy, env, labels=["none", *turns], question="push", **shown)
    levels, seen = loaded.config.draw(partition), loaded.config.seen()
    env = gym.make_vec("gumption/SEGAR-v0", 1, **SHOWN, task=loaded.config.task, levels=levels, observation=seen)
    env = env.unwrapped
    question = "action" if env.task.action_space is not None else "force"
    return ActionPlayer(loaded.player, env, question=question, **shown)
