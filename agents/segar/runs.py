"""The evaluation of trained runs of SEGAR, in a folder or in memory. Functions import what needs Stable-Baselines3, so
that help opens without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.agents.evaluation import Player
from gumption.agents.settings import CONFIG
from gumption.agents.transcript import failures, transcript
from gumption.agents.watch import SHOWN, ActionPlayer, PolicyPlayer
from gumption.data import InputError
from gumption.data.settings import Size, checked
from gumption.envs.segar.configurations import Levels, Split
from gumption.envs.segar.text import FACE

from .evaluation import baselines, env_of

if TYPE_CHECKING:
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
    from .study import told_gap
    from .training import load_run

    found: SegarRun = run
    if not hasattr(run, "config"):
        found = load_run(run, device=device)
    elif device is not None:
        raise InputError("device is for a run in a folder: this one is in memory")
    told, drawn, figures, failed = _play(found if kg is None else found.advised(kg), partition, levels, num_levels)
    about = f"{len(drawn)} {partition} levels of {told}"
    result = {"levels": told, "partition": partition, "num_levels": len(drawn), "players": figures, "about": about}
    result["failures"] = failed
    if yardstick is None:
        return result
    several = (yardstick,) if isinstance(yardstick, str) else yardstick
    given = [load_run(Path(one), device=device) if (Path(one) / CONFIG).is_file() else one for one in several]
    measured = told_gap(found, drawn, figures, given)
    words = measured.pop("words")
    return result | measured | {"about": f"{about}; {words}"}


#: The levels' name, the levels, figures of each player, and the failures of the trained one.
Played = tuple[str, Levels, dict[str, dict[str, float]], list[str]]


def _play(run: SegarRun, partition: Split, levels: str | None, num_levels: int | None) -> Played:
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
    """The config of a run, and its model."""
    from .training import load_run

    run = load_run(run_dir, device=device)
    return run.config, run.model


# ---- An agent to watch.


@checked
def watch(run: Path, *, partition: Split = "test", level: str | None = None) -> PolicyPlayer | ActionPlayer:
    """The agent of a run on a level.

    :param partition: Which levels: train, those of its training, or test.
    :param level: A level by its name, as tilesx3-hard/test/0/7.  [default: drawn by the seed]
    """
    from .training import load_run, watched

    loaded = load_run(run, device="cpu")
    shown: dict[str, Any] = {"options": {} if level is None else {"level": level}}
    shown["outcome"] = lambda env: FACE.told(env.describe(0), bool(env.results()[1][0]))
    env = env_of(loaded.config, loaded.config.draw(partition), 1, **SHOWN)
    if loaded.advice is not None:
        turns = (f"{360 * turn / env.settings.directions:g} degrees" for turn in range(env.settings.directions))
        policy = watched(loaded.model, loaded.advice).eval()
        return PolicyPlayer(policy, env, labels=["none", *turns], question="push", **shown)
    question = "action" if env.task.action_space is not None else "force"
    return ActionPlayer(loaded.player, env, question=question, **shown)
