"""Evaluation of trained SEGAR runs, in a folder or in memory. Imports that need Stable-Baselines3 are inside functions,
so that help works without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.agents.evaluation import Player, compared, loaded
from gumption.agents.settings import CONFIG
from gumption.agents.watch import SHOWN, ActionPlayer, PolicyPlayer
from gumption.data import InputError
from gumption.data.settings import Size, checked
from gumption.envs.segar.configurations import Split
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
    from .study import played, told_gap
    from .training import load_run

    trained: SegarRun = loaded(run, load_run, device=device)
    shown = trained if kg is None else trained.advised(kg)
    config = shown.config
    count = num_levels or (config.num_levels if partition == "train" else config.test_levels)
    drawn = replace(config, num_levels=count, test_levels=count).draw(partition, levels)
    name = levels or (config.levels if partition == "train" else config.test or config.levels)
    players: dict[str, Player] = {"trained": shown.player}
    if shown.advice is not None:
        players["knowledge taken away"] = replace(shown, advice=None).player
    untrained = replace(shown, policy=shown.setup.untrained().policy)
    players |= {"untrained": untrained.player, **baselines(config.task)}
    found = compared(players, lambda player: played(shown, drawn, player))
    about = f"{len(drawn)} {partition} levels of {name}"
    result = {"levels": name, "partition": partition, "num_levels": len(drawn), **found, "about": about}
    if yardstick is None:
        return result
    several = (yardstick,) if isinstance(yardstick, str) else yardstick
    given = [load_run(Path(one), device=device) if (Path(one) / CONFIG).is_file() else one for one in several]
    measured = told_gap(trained, drawn, found["players"], given)
    words = measured.pop("words")
    return result | measured | {"about": f"{about}; {words}"}


# ---- Watching an agent


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
        policy = watched(loaded.policy, loaded.advice).eval()
        return PolicyPlayer(policy, env, labels=["none", *turns], question="push", **shown)
    question = "action" if env.task.action_space is not None else "force"
    return ActionPlayer(loaded.player, env, question=question, **shown)
