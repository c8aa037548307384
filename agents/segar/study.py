"""Measures of a generalisation study: the gap between training and test levels, their distance, and the mutual
information of features and factors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from gumption.agents.evaluation import Player, means, name_of
from gumption.data import InputError
from gumption.data.modules import failure, of_module
from gumption.data.settings import Count, Seed, checked, shown, unknown
from gumption.envs.segar.configurations import DIFFICULTIES, Levels
from gumption.envs.segar.measures import READINGS, w2
from gumption.envs.segar.observations import MISSING, make_observation

from .evaluation import baselines, begin_levels, env_of, own_player, play_levels, random_player
from .probe import Information, ProbeSettings, information
from .training import SegarRun

#: Readings of the Wasserstein-2 distance in a study; see `gumption.envs.segar.measures.READINGS`.
DISTANCES = ("factors", "factors, Order", "types", "types, Order")
#: Player whose return is the lower end of the gap's scale; the yardstick's return is the upper end.
LOWER = "random"


def harder(levels: str) -> str | None:
    """Return the configuration at the next difficulty ("empty-medium" for "empty-easy"); None after the last."""
    kind, _, difficulty = levels.rpartition("-")
    if difficulty not in DIFFICULTIES[:-1]:
        return None
    return f"{kind}-{DIFFICULTIES[DIFFICULTIES.index(difficulty) + 1]}"


def generalisation(run: SegarRun, yardstick: Any = None) -> dict[str, dict[str, Any]]:
    """Evaluate a trained run on its training levels ("train"), on the test levels of its config ("test"), and, if both
    have the same distribution, on levels of the next difficulty ("harder").

    :param yardstick: player whose return on a set is 1 on the gap's scale; random actions are 0. Of several, the best
        on each set of levels counts. See `contenders`; default: the scripted player.
    :returns: set -> figures: mean return and success of players. Test sets also have "w2", their distances from the
        training levels; "yardstick", its name; and "gap": the training return minus the return on the set, divided by
        the difference between yardstick and random player on the set, None if the yardstick is no better.
    :raises InputError: no such player; a custom task without a scripted player, and no yardstick.
    """
    config = run.config
    train = config.draw("train")
    given = contenders(yardstick, run)
    found: dict[str, dict[str, Any]] = {"train": {"trained": figures_of(home(run), train)}}
    found["train"] |= {name: figures_of(one, train) for name, one in given.items()}
    there = {"test": config.draw("test")}
    if config.test is None and (further := harder(config.levels)) is not None:
        there["harder"] = config.draw("test", further)
    for name, levels in there.items():
        players: dict[str, Player] = {"trained": run.player, LOWER: random_player}
        if name == "test":
            players |= {**baselines(config.task), "untrained": run.setup.untrained().player}
        figures: dict[str, Any] = {each: played(run, levels, player) for each, player in players.items()}
        figures |= {each: figures_of(one, levels) for each, one in given.items() if each not in figures}
        figures |= gap(found["train"]["trained"]["return"], figures, list(given))
        figures["w2"] = {label: w2(train.scenes, levels.scenes, **READINGS[label]) for label in DISTANCES}
        found[name] = figures
    return found


# ---- The gap, and its reference players


class Contender(NamedTuple):
    """A player, and a factory of environments with its observation and actions.

    :ivar make: levels -> a batch with an environment per level.
    """

    player: Player
    make: Callable[[Levels], Any]
    task: str


def home(run: Any) -> Contender:
    """Return the player of a run, in the environments of its config."""
    config = run.config
    return Contender(run.player, lambda levels: env_of(config, levels), config.task)


def contenders(given: Any, run: Any) -> dict[str, Contender]:
    """Return name -> yardstick for a run's gap; a repeated name becomes "NAME (2)", as for two runs in memory.

    :param given: a yardstick or a list: "scripted" or another player without learning; a function or its "module:name",
        either a player (env, first) -> actions, which may read env.state, or a policy (observation, info) -> action for
        the run's observation; or a run of the same task: the result of a training, or `load_run` of its folder. None
        selects the scripted player.
    :raises InputError: no such player, the random player, or a run of another task.
    """
    mine = home(run)
    known = {name: player for name, player in baselines(mine.task).items() if name != LOWER}
    if given is None:
        if "scripted" not in known:
            raise InputError(
                f"the task {mine.task} has no scripted player: give a yardstick of the gap, such as a run of another "
                "learner or my_module:player"
            )
        given = "scripted"
    several = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not several:
        raise InputError("yardstick is empty: give at least one player")
    found: dict[str, Contender] = {}
    for one in several:
        name, player = _contender(one, run, known)
        if player.task != mine.task:
            raise InputError(
                f"the yardstick {name} plays {player.task}, and the run {mine.task}: give one of that task"
            )
        same = sum(known.partition(" (")[0] == name for known in found)
        found[f"{name} ({same + 1})" if same else name] = player
    return found


def _contender(given: Any, run: Any, known: Mapping[str, Player]) -> tuple[str, Contender]:
    """Return the name of a yardstick, and its player."""
    if hasattr(given, "config"):
        return str(getattr(given, "run_dir", None) or "a run in memory"), home(given)
    if not isinstance(given, str):
        if not callable(given):
            raise InputError(f"a yardstick is {shown(given)}; it is a player, its name, or a run")
        return name_of(given), home(run)._replace(player=own_player(given, name_of(given), _actions(run)))
    name = given
    if name in known:
        return name, home(run)._replace(player=known[name])
    if ":" in name:
        return name, home(run)._replace(player=own_player(of_module(name, "the yardstick"), name, _actions(run)))
    if name == LOWER:
        raise InputError(f"the yardstick is the {LOWER} player, which is the other end of the scale: give a better one")
    raise InputError(f"{unknown('the list of players', name, known)}; a yardstick is also a run, or MODULE:NAME")


def _actions(run: Any) -> gym.Space[Any]:
    """Return the space of a single action of a run."""
    return home(run).make(run.config.draw("train")).unwrapped.single_action_space


def figures_of(one: Contender, levels: Levels) -> dict[str, float]:
    """Return the mean return and success of a player on levels, each played once."""
    return means(play_levels(one.player, one.make(levels).unwrapped), "return", "success")


def gap(training: float, there: Mapping[str, Mapping[str, float]], yardsticks: Sequence[str]) -> dict[str, Any]:
    """Return the generalisation gap, and the player whose return is 1 on its scale.

    :param training: return on the training levels.
    :param there: name -> figures of the players on other levels, including "trained" and "random".
    :param yardsticks: names of players; the player with the highest return counts.
    :returns: "gap", None if that player is no better than the random player; "yardstick", its name.
    """
    best = max(yardsticks, key=lambda name: there[name]["return"])
    span = there[best]["return"] - there[LOWER]["return"]
    return {"gap": (training - there["trained"]["return"]) / span if span > 0 else None, "yardstick": best}


def told_gap(run: Any, levels: Levels, there: Mapping[str, Any], yardstick: Any) -> dict[str, Any]:
    """Return the gap of a run between its own training levels and other levels, for an evaluation.

    :param there: figures of the players on the levels. :param yardstick: see `contenders`.
    :returns: "players", including the yardsticks; "gap" and "yardstick" as in `gap`; "words", a text for people.
    """
    mine, given = home(run), contenders(yardstick, run)
    players = {**there, **{name: figures_of(one, levels) for name, one in given.items() if name not in there}}
    found = gap(figures_of(mine, run.config.draw("train"))["return"], players, list(given))
    best = found["yardstick"] + (f" (the best of {', '.join(given)})" if len(given) > 1 else "")
    words = f"no gap is told: {best} is no better than random actions there"
    if found["gap"] is not None:
        words = f"gap to the training levels {found['gap']:.3f}, where 1 is from random actions to {best}"
    return {"players": players, **found, "words": words}


@checked
def seen_and_true(
    run: SegarRun, levels: Levels, *, observations: Count = 5_000, seed: Seed = 0
) -> tuple[Any, np.ndarray]:
    """Return observations of a run's player on levels, and the factors of all entities for each observation.

    :returns: (n, ...), (n, k); the first episodes start on each level, later episodes on random levels.
    """
    config = run.config
    env = env_of(config, levels)
    truth = make_observation(config.truth())
    begin_levels(env, seed)
    pictures, factors = [], []
    everyone = np.arange(env.num_envs)
    for _ in range(-(-observations // env.num_envs)):
        truth.begin(env.state, everyone, everyone.tolist())
        rows: Any = truth.observe(env.state)
        pictures.append(env.observe())
        factors.append(rows.reshape(env.num_envs, -1))
        env.step_arrays(run.player(env, env.episode_begins()))
    numbers = np.concatenate(factors)[:observations]
    return np.concatenate(pictures)[:observations], np.where(numbers == MISSING, 0.0, numbers)


class Encoder(NamedTuple):
    """An encoder of observations.

    :ivar features: observations (n, ...) -> (n, d). :ivar about: description, including whether weights are random.
    """

    features: Callable[[Any], Any]
    about: str


RANDOM_NETWORK = "a random network: the run's encoder with the weights that its training began with"


def encoder_of(run: SegarRun, given: Any = "trained") -> Encoder:
    """Return an encoder of a run's observations.

    :param given: "trained", the run's own; "untrained", the same network with random weights; or a function of
        observations (n, ...) as the environment returns them, or its "module:name". The text attribute `about` of a
        function describes it, including whether its weights are random, which cannot be determined here.
    :raises InputError: no such encoder.
    """
    if given == "trained":
        steps = max([run.policy.num_timesteps, *(int(line["step"]) for line in run.curve)])
        return Encoder(run.features, f"the run's, trained for {steps:,} steps" if steps else RANDOM_NETWORK)
    if given == "untrained":
        return Encoder(run.setup.untrained().features, RANDOM_NETWORK)
    if isinstance(given, str) and ":" not in given:
        wrong = unknown("the list of encoders", given, ("trained", "untrained"))
        raise InputError(f"{wrong}; one of your own is MODULE:NAME")
    function: Any = of_module(given, "the encoder") if isinstance(given, str) else given
    if not callable(function):
        raise InputError(f"an encoder is {shown(function)}; it is a function of observations, or its name")
    name = given if isinstance(given, str) else name_of(given)
    told = getattr(function, "about", None)
    return Encoder(function, f"{name}: {told or 'whether its weights are random or trained is not told (about)'}")


def informed(
    run: SegarRun, levels: Levels, settings: ProbeSettings, *, observations: int = 5_000, encoder: Any = "trained"
) -> Information:
    """Probe an encoder on observations of a run's own player on levels.

    :param encoder: see `encoder_of`.
    """
    chosen = encoder_of(run, encoder)
    seen, factors = seen_and_true(run, levels, observations=observations, seed=settings.seed)
    try:
        features = chosen.features(seen)
    except Exception as error:
        name = encoder if isinstance(encoder, str) else name_of(encoder)
        raise failure(f"the encoder {name} failed", error) from error
    return information(features, factors, settings=settings, encoder=chosen.about)


def played(run: SegarRun, levels: Levels, player: Player) -> dict[str, float]:
    """Return the mean return and success of a player on levels, with the run's observation."""
    return figures_of(home(run)._replace(player=player), levels)
