"""Config of a SEGAR run: levels, observation, learner. On a CPU the same config reproduces the same bits."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from gymnasium import spaces

from gumption.agents.settings import GRAPH, NO_GRAPH, KnowledgeConfig
from gumption.data import InputError
from gumption.data.modules import name_of
from gumption.data.reading import read_json
from gumption.data.settings import Count, Frames, Positive, Seed, Share, Size, Weight, check, settings, shown
from gumption.envs.physics.factors import WIDTHS
from gumption.envs.physics.initialization import IDS, Initialization, entity_id
from gumption.envs.priors import Laws, Names, other_than_real
from gumption.envs.segar.configurations import WALLS, Levels, Split, configuration, draw_levels
from gumption.envs.segar.observations import ALL_FACTORS, ObservationSettings, is_built_in
from gumption.envs.segar.render import RendererSettings
from gumption.envs.segar.tasks import read_task

WORLD = "segar"
#: Minimal number of rows of a state: no named configuration of PuttPutt and Invisiball has more things.
THINGS = 6
#: Ids of the things that tasks refer to; they get the first rows.
FIRST = tuple(IDS.values())
#: Default number of parallel environments (appendix E.1).
NUM_ENVS = {"ppo": 64, "sac": 1}
DIRECTIONS = 16  # of the pushes of an agent with knowledge
#: Observation of ball, goal and tiles as numbers. It does not show which tile is a hole.
TILES: dict[str, Any] = {
    "kind": "multimodal",
    "parts": {
        "ball": {"kind": "entity", "id": "golfball", "factors": ["Position", "Velocity", "Mass"]},
        "goal": {"kind": "entity", "id": "goal", "factors": ["Position"]},
        "tiles": {"kind": "tiles", "n_things": 4, "factors": ["Position", "Heat", "Friction"], "unique_ids": ["goal"]},
    },
}


@settings
class SegarConfig(KnowledgeConfig):
    """A learner on n training levels; the defaults of PPO are those of the paper's Table 1.

    With knowledge (`kg` and the other fields of `KnowledgeConfig`) PPO chooses among 16 pushes, and the scores of each
    are mixed into its logits.

    :ivar world: segar.
    :ivar task: PuttPutt, PuttPuttNegDist, Gates, Invisiball, Billiards, or module:name of your own; without it, Gates
        where the levels have gates, else PuttPutt.
    :ivar levels: the distribution of training levels: the name of a configuration such as objectsx2-hard, a .json file
        with a distribution of your own, or its module:name; without it, the usual one of the task.
    :ivar test: that of test levels; without it, the same.
    :ivar num_levels: how many training levels there are; each episode plays one of them.
    :ivar level_seed: of the training levels; without it, the seed.
    :ivar test_levels: how many levels of the test part an evaluation plays.
    :ivar agent: network, or graph, which acts by `kg` alone, by the weights that are counted on training levels; it
        learns nothing, and an untrained network decides between pushes of which the graph says the same.
    :ivar names: what kinds of things are called: real, anonymous or shuffled.
    :ivar laws: counterfactual: tiles do what other tiles do, and objects what other objects do.
    :ivar observation: rgb (pixels), state (factors, your own too), names (of gates), tiles (ball, goal and tiles, but
        not which tile is a hole), or module:name of an Observation of your own; without it, names of gates, tiles with
        knowledge, else rgb.
    :ivar resolution: pixels of a side.
    :ivar frame_stack: how many frames the learner sees.
    :ivar hidden: names of factors that the observation leaves out.
    :ivar algorithm: ppo or sac, both of Stable-Baselines3.
    :ivar auxiliary: what PPO learns beside the returns: none, curl or spr.
    :ivar auxiliary_weight: of that loss.
    :ivar total_steps: environment steps.
    :ivar num_envs: environments at a time; without it the paper's, 64 of PPO and 1 of SAC.
    :ivar normalise_rewards: divide rewards by the running deviation of discounted returns, while it learns.
    :ivar learning_rate: of Adam.
    :ivar gamma: the discount.
    :ivar n_steps: steps of each environment between two updates of PPO.
    :ivar minibatches: into how many parts PPO divides these steps.
    :ivar epochs: how often PPO learns from each step.
    :ivar clip_range: of PPO's ratio.
    :ivar gae_lambda: of PPO's advantages.
    :ivar entropy_coefficient, value_coefficient: weights in PPO's loss.
    :ivar max_grad_norm: gradients of PPO are shortened to this norm.
    :ivar buffer_size: transitions that SAC keeps.
    :ivar batch_size: of an update of SAC.
    :ivar learning_starts: steps before SAC's first update.
    :ivar eval_interval: steps between evaluations, and between checkpoints; the environments begin anew after each.
    :ivar seed: fixes everything.
    :ivar device: auto, cpu or cuda.
    """

    world: str = WORLD
    task: str = ""
    levels: str = ""
    test: str | None = None
    num_levels: Size = 100
    level_seed: Seed | None = None
    test_levels: Size = 100
    agent: Literal["network", "graph"] = "network"
    names: Names = "real"
    laws: Laws = "real"
    observation: str = ""
    resolution: Size = 64
    frame_stack: Frames = 1
    hidden: tuple[str, ...] = ()
    algorithm: Literal["ppo", "sac"] = "ppo"
    auxiliary: Literal["none", "curl", "spr"] = "none"
    auxiliary_weight: Weight = 1.0
    total_steps: Count = 1_000_000
    num_envs: Size | None = None
    normalise_rewards: bool = False
    learning_rate: Positive = 1e-4
    gamma: Share = 0.999
    n_steps: Count = 30
    minibatches: Count = 4
    epochs: Count = 1
    clip_range: Positive = 0.2
    gae_lambda: Share = 0.95
    entropy_coefficient: Weight = 3e-4
    value_coefficient: Weight = 0.1
    max_grad_norm: Positive = 10.0
    buffer_size: Size = 100_000
    batch_size: Size = 256
    learning_starts: Count = 1_000
    eval_interval: Count = 100_000
    seed: Seed = 0
    device: str = "auto"

    FILES = ("levels", "test")

    def __post_init__(self) -> None:
        """:raises InputError: settings that do not go together, or an unknown configuration or factor."""
        object.__setattr__(self, "hidden", tuple(self.hidden))
        object.__setattr__(self, "task", self.task or ("Gates" if self.levels in WALLS else "PuttPutt"))
        task = read_task(self.task)
        self.check_knowledge()
        if self.agent == GRAPH and self.kg == "none":
            raise InputError(NO_GRAPH)
        if not self.observation:
            usual = task.usual.get("observation") or ("rgb" if self.kg == "none" else "tiles")
            object.__setattr__(self, "observation", usual)
        of_numbers = self.algorithm == "ppo" and task.action_space is None and self.observation != "rgb"
        if self.kg != "none" and not of_numbers:
            raise InputError(f"kg is {shown(self.kg)}: that is for ppo, a task of forces and an observation of numbers")
        if not self.levels and isinstance(task.levels, str):
            object.__setattr__(self, "levels", task.levels)
        if self.world != WORLD:
            raise InputError(f"world is {shown(self.world)}; a run of SEGAR's learners has {WORLD!r}")
        if self.auxiliary != "none" and (self.algorithm != "ppo" or self.observation != "rgb"):
            raise InputError(f"auxiliary is {self.auxiliary!r}; that is for algorithm='ppo' and observation='rgb'")
        if self.algorithm == "ppo" and (self.parallel * self.n_steps) % self.minibatches:
            raise InputError(
                f"minibatches is {self.minibatches}; it divides num_envs * n_steps = {self.parallel * self.n_steps}"
            )
        if self.algorithm == "ppo" and self.parallel * self.n_steps == self.minibatches:
            raise InputError("a minibatch has one step; give fewer minibatches, or more n_steps or num_envs")
        if ":" not in self.observation:
            check("observation", self.observation, Literal["rgb", "state", "names", "tiles"])
        elif self.hidden:
            raise InputError(f"hidden is for rgb and state; the observation {self.observation} says what it shows")
        if self.algorithm == "sac" and isinstance(task.action_space, spaces.Discrete | spaces.MultiDiscrete):
            raise InputError(f"sac acts by numbers of a box; the task {self.task} has choices: take ppo")
        for name in filter(None, ("train", self.test)):
            draw_levels(self._distribution(None if name == "train" else name), n=1)

    @property
    def played(self) -> dict[str, Any]:
        """Return the settings of the environments, except task, levels and observation."""
        pushes = {} if self.kg == "none" else {"directions": DIRECTIONS}
        return {**pushes, **other_than_real(names=self.names, laws=self.laws)}

    @property
    def parallel(self) -> int:
        """Return the number of parallel environments."""
        return self.num_envs or NUM_ENVS[self.algorithm]

    def draw(self, split: Split, levels: str | None = None) -> Levels:
        """Draw the training levels, or the test levels, which are the same for every seed.

        :param levels: another distribution.
        """
        if split == "test":
            return draw_levels(self._distribution(levels or self.test), "test", n=self.test_levels, seed=0)
        seed = self.seed if self.level_seed is None else self.level_seed
        return draw_levels(self._distribution(levels), "train", n=self.num_levels, seed=seed)

    def seen(self) -> ObservationSettings:
        if self.observation == "rgb":
            renderer = RendererSettings(resolution=self.resolution, hidden=self.hidden)
            return ObservationSettings(renderer=renderer, stack=self.frame_stack)
        if self.observation == "tiles":
            return ObservationSettings(**TILES, stack=self.frame_stack)
        if self.observation != "state":  # names, or one's own
            return ObservationSettings(kind=self.observation, stack=self.frame_stack)
        return replace(self.truth(), hidden=self.hidden, stack=self.frame_stack)

    def truth(self) -> ObservationSettings:
        """Return the observation of the full state, without hidden factors: a row per thing of training and test
        levels, things that tasks refer to first, including user-defined factors."""
        found = [self._distribution(None), self._distribution(self.test)]
        drawn = [configuration(each) if isinstance(each, str) else each for each in found]
        kinds = [kind for each in drawn for kind in each.kinds]
        names = {entity_id(kind, 0) for kind in kinds}
        own = {factor.root for kind in kinds for factor in kind.all_factors if not is_built_in(factor.root)}
        factors = (*ALL_FACTORS, *sorted((each for each in own if each.base in WIDTHS), key=name_of))
        return ObservationSettings(
            kind="state",
            n_things=max(THINGS, *(each.most for each in drawn)),
            unique_ids=tuple(name for name in FIRST if name in names),
            factors=tuple(map(name_of, factors)) if own else (),
        )

    def _distribution(self, levels: str | None) -> str | Initialization:
        """Return the name of a configuration, or the distribution in a file; None selects the training levels'.

        :raises InputError: no such distribution.
        """
        given = levels or self.levels or read_task(self.task).levels
        if isinstance(given, str) and given.endswith(".json"):
            return Initialization.read(read_json(Path(given)), given)
        return given if isinstance(given, str) else Initialization.read(given, f"levels of the task {self.task}")
