"""The configs of HALMA's trainings, and of the pretraining of SPACE. The same config gives the same bits."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, get_args

from annotated_types import Ge, Le, MultipleOf

from gumption.agents.learners.parameters import MPOParameters, ReplayParameters, TD3Parameters
from gumption.agents.settings import GRAPH, KnowledgeConfig, Overrides, RunConfig, by_name
from gumption.data import InputError
from gumption.data.settings import Count, InnerShare, NonNegative, Positive, Seed, Size, Whole, settings, shown, unknown
from gumption.envs.halma.maze import Images, MeanBranches, MeanDepth, NumMazes, Panels
from gumption.envs.halma.rules import RULES, OptLen, PanelsEqual, Rules, Side
from gumption.envs.halma.visual import DIGITS
from gumption.envs.priors import Laws, Names

Symbolic = Literal["mlp", "lstm", "tran", "tran+lstm"]
Visual = Literal["cnn+mlp", "cnn+tran", "space"]
SYMBOLIC, VISUAL = get_args(Symbolic), get_args(Visual)
WORLD = "halma"
SPACE_WORLD = "halma-space"  # world name of a pretraining, which is no run of an agent
MAX_STEPS = 500  # of an episode (L, Table S3)
LEARNERS: dict[str, type[ReplayParameters]] = {"mpo": MPOParameters, "td3": TD3Parameters}


@settings
class MazeConfig(RunConfig):
    """The mazes of a training.

    :ivar num_mazes: how many.
    :ivar maze_seed: draws the mazes.
    :ivar mean_depth: mean number of cells of a branch of a maze, at least 1.
    :ivar mean_branches: mean number of branches of a maze.
    """

    _: KW_ONLY
    num_mazes: NumMazes = 100
    maze_seed: Seed = 0
    mean_depth: MeanDepth = 2
    mean_branches: MeanBranches = 5

    @property
    def mazes(self) -> dict[str, Any]:
        """These settings by name."""
        return {field.name: getattr(self, field.name) for field in fields(MazeConfig)}


# MPO's parameters where an agent or its panels need values other than the defaults; TD3 has Table S1's throughout.
#
# At the default rate the features of agents with attention die: the actor's before the critic has learned anything,
# the critic's when values begin to rise.
TUNED: dict[str, dict[str, Any]] = {
    agent: {"learning_rate": 3e-4, "critic_learning_rate": 3e-4} for agent in ("tran", "tran+lstm", *VISUAL)
}
# Half as many updates with twice as many moves each take less time. Environments and batch grow together to keep the
# replays per move (batch_size / num_envs): with two instead of four, TRAN+LSTM reached goals anywhere but learned no
# short paths. TRAN learns as much with the defaults.
TUNED["tran+lstm"] |= {"num_envs": 64, "batch_size": 256}

# The paper's agents learn after each step: Table S1's 100,000 steps are as many updates. Here one update follows
# num_envs steps, at three times the rate (3e-4, not 1e-4), so that 33,333 updates change the networks as much. 2,000
# episodes are at most 31,250 updates (500 moves each, 32 environments): the probability rises until the training ends.
# Counted in steps it would reach its end after 3,125 updates, when a network can hardly distinguish pictures.
FIXED_PANELS: dict[str, Any] = {"greedy_unit": "updates", "greedy_steps": 33_333}


@settings
class HALMAConfig(MazeConfig, KnowledgeConfig):
    """One training run.

    :ivar agent: one of Table 1: "mlp", "lstm", "tran" and "tran+lstm" see symbols, "cnn+mlp", "cnn+tran" and "space"
        see panels; or "graph", without a network: it plans by facts of what its own moves changed.
    :ivar learner: "mpo", ours, or "td3", the paper's with Table S1.
    :ivar objective: returns end with the "trial", or run across the trials of an "episode" (equation 1).
    :ivar guided: look up the facts of the agent's own knowledge bases, and mix them into its logits (symbols only).
    :ivar guide_weight: of each fact that speaks for a choice, of `guided` or of a graph that is given; logits are some
        units apart.
    :ivar guide_interval: episodes after which the knowledge bases are made anew from the memory.
    :ivar max_opt_len: T, primitives of an option.
    :ivar adjusted: turn mazes so that colours are uniform, and leave out those with panels of more than 8 digits.
    :ivar side: mazes fit into a box of so many cells both ways.
    :ivar panels_equal: where a crossing is as far as the wall: "both" digits, or "one", the wall's.
    :ivar primitives: with commas between: numbers of cells, and MODULE:NAME of your own.
    :ivar panels: visual panels are "redrawn" at each look, or "fixed": one picture for each cell of a maze.
    :ivar images: handwriting of visual panels, see `HALMASettings`.
    :ivar painter: of visual panels: "digits", or MODULE:NAME of your own.
    :ivar names: what digits, colours and shapes look like: "real", "anonymous", or "shuffled" among their kind.
    :ivar laws: "counterfactual": colours and shapes indicate other directions.
    :ivar space_model: folder of a pretrained SPACE model, for agent="space".
    :ivar episodes: so many are played, and more where several end in the last step.
    :ivar steps: environment steps after which the training ends in any case.
    :ivar log_interval: episodes between lines of metrics.
    :ivar checkpoint_interval: episodes between checkpoints.
    :ivar overrides: parameters of the learner that differ from its defaults.
    """

    agent: Symbolic | Visual | Literal["graph"] = "mlp"
    learner: Literal["mpo", "td3"] = "mpo"
    objective: Literal["trial", "episode"] = "trial"
    guided: bool = False
    guide_weight: float = 100.0
    guide_interval: Count = 100
    max_opt_len: OptLen = 5
    adjusted: bool = False
    side: Side = RULES.side
    panels_equal: PanelsEqual = RULES.panels_equal
    primitives: str = RULES.primitives
    panels: Panels = "redrawn"
    images: Images = "train"
    painter: str = DIGITS
    names: Names = "real"
    laws: Laws = "real"
    space_model: str | None = None
    episodes: Count = 2000
    steps: Count | None = None
    log_interval: Count = 20
    checkpoint_interval: Count = 200
    overrides: Overrides = ()
    seed: Seed = 0
    device: str = "auto"
    world: str = WORLD

    FILES = FOLDERS = ("space_model",)

    def __post_init__(self) -> None:
        """:raises InputError: settings that do not go together, or parameters that the learner does not have."""
        object.__setattr__(self, "overrides", by_name(self.overrides))
        if self.world != WORLD:
            raise InputError(f"a run of the world {self.world!r:.60}, not of {WORLD}")
        self.check_knowledge()
        if self.agent == GRAPH and (self.has_knowledge or self.learner != "mpo" or self.objective != "trial"):
            raise InputError(
                "agent='graph' plans by its own facts and trains no network: leave out guided, kg, learner, objective"
            )
        if self.painter != DIGITS and (self.agent not in VISUAL or self.agent == "space"):
            sees = "symbols" if self.agent not in VISUAL else "what its model was pretrained on, handwritten digits"
            raise InputError(f"painter={shown(self.painter)} is for agents with a CNN; {self.agent} sees {sees}")
        if self.side > 10 and self.agent in VISUAL and self.painter == DIGITS:
            raise InputError(
                f"side is {self.side}: handwritten digits show distances up to 9; {self.agent} sees panels, so give a "
                "painter of your own"
            )
        if self.has_knowledge and self.agent in VISUAL:
            raise InputError(f"{self.agent} sees pictures; knowledge is about digits: guided and kg need symbols")
        if self.guided and self.kg != "none":
            raise InputError(f"an agent is guided by its own knowledge bases or by a graph, kg={self.kg!r}: choose one")
        if not self.has_knowledge and self.guide_weight != 100:
            raise InputError("guide_weight needs guided or kg")
        if not self.guided and self.guide_interval != 100:
            raise InputError("guide_interval needs guided=True")
        if self.agent not in VISUAL and self.images != "train":
            raise InputError(f"images are for agents that see panels; {self.agent} sees symbols")
        if self.agent not in VISUAL and self.panels != "redrawn":
            raise InputError(f"panels={self.panels!r} is for agents that see panels; {self.agent} sees symbols")
        if (self.space_model is not None) != (self.agent == "space"):
            raise InputError("agent='space' and space_model go together: it is the folder of a pretrained model")
        first = MAX_STEPS * self.parameters.num_envs
        if self.steps is not None and self.steps < first:
            raise InputError(f"steps is {self.steps}; the first episodes may take {first:,}: give at least so many")
        _ = self.rules

    @property
    def rules(self) -> Rules:
        """The rules of the world."""
        return Rules(self.side, self.panels_equal, self.primitives, self.names, self.laws)

    @cached_property
    def parameters(self) -> ReplayParameters:
        """The parameters of the learner: its defaults, changed by TUNED and FIXED_PANELS (MPO) and the overrides, with
        at most as many environments as episodes."""
        tuned = TUNED.get(self.agent, {}) | (FIXED_PANELS if self.panels == "fixed" else {})
        own = tuned if self.learner == "mpo" else {}
        chosen = replace(LEARNERS[self.learner](), **(own | dict(self.overrides)))
        return chosen if chosen.num_envs <= self.episodes else replace(chosen, num_envs=self.episodes)

    @property
    def has_knowledge(self) -> bool:
        """Whether knowledge is mixed into the logits."""
        return self.guided or self.kg != "none"

    @property
    def recurrent(self) -> bool:
        return self.agent.endswith("lstm")

    @property
    def observation(self) -> str:
        """The kind of the environment's observations: "symbolic" or "visual"."""
        return "visual" if self.agent in VISUAL else "symbolic"

    @property
    def keeps_places(self) -> bool:
        """Whether the replay buffer stores places instead of pictures; see `gumption.agents.halma.training`."""
        return self.panels == "fixed" and self.agent.startswith("cnn") and self.painter == DIGITS


def learned_by(config: Mapping[str, Any]) -> str:
    """Return the name of a run's learner for tables, with its objective unless that is the trial. A config without a
    learner is MPO's."""
    if config.get("agent") == GRAPH:
        return "facts of its own moves"
    return config.get("learner", "mpo").upper() + " over episodes" * (config.get("objective") == "episode")


# ---- SPACE


class Anneal(NamedTuple):
    """A value that changes linearly from `start` to `end` between two training steps, and is constant outside."""

    start: float
    end: float
    first_step: Whole
    last_step: Whole

    def at(self, step: int) -> float:
        done = (step - self.first_step) / max(self.last_step - self.first_step, 1)
        return self.start + (self.end - self.start) * min(max(done, 0.0), 1.0)


PRESENCE_PRIOR = Anneal(0.1, 0.01, 4_000, 10_000)
TEMPERATURE = Anneal(2.5, 2.5, 0, 10_000)
SCALE_MEAN = Anneal(-1.0, -2.0, 10_000, 20_000)
Eights = Annotated[int, Ge(8), Le(65_536), MultipleOf(8)]


@settings
class SpaceConfig:
    """The settings of a SPACE model (Lin et al., 2020; HALMA, appendices E.2 and F.3); the defaults are the published
    ones for an 8x8 grid.

    :ivar image_size: side of the pictures the model sees; larger ones are averaged down to it.
    :ivar grid: cells along a side; `glimpse` pixels along the side of an object's glimpse.
    :ivar what: width of z_what; a slot is z_what and z_pres, 33 numbers (HALMA, Table S2).
    :ivar base, features: width of the foreground's first convolution, and of a cell's feature vector.
    :ivar components: K of the background; `mask`, `component`, `hidden` are the widths of z_m, z_c and their LSTMs.
    :ivar background_base: width of the background's narrowest convolutions.
    :ivar foreground_std, background_std: of the colours around mu_fg and mu_k (fixed).
    :ivar presence_prior: the prior probability of z_pres.
    :ivar temperature: of the relaxed Bernoulli distribution of z_pres.
    :ivar scale_mean, scale_std: of the prior of z_where's scale, before the sigmoid.
    :ivar fixed_alpha, fixed_alpha_steps: the foreground's share of every pixel in the first steps. If it were free from
        the start, objects would paint plain regions too.
    :ivar boundary, boundary_weight: thickness in glimpse pixels and weight of the boundary loss; 0 turns it off.
    """

    image_size: Literal[64, 128] = 128
    grid: Size = 8
    glimpse: Literal[8, 16, 32] = 32
    what: Size = 32
    base: Eights = 16
    features: Annotated[int, Ge(16), Le(65_536), MultipleOf(16)] = 128
    components: Size = 5
    mask: Size = 32
    component: Size = 32
    hidden: Size = 64
    background_base: Eights = 32
    foreground_std: Positive = 0.15
    background_std: Positive = 0.15
    presence_prior: Anneal = PRESENCE_PRIOR
    temperature: Anneal = TEMPERATURE
    scale_mean: Anneal = SCALE_MEAN
    scale_std: Positive = 0.1
    fixed_alpha: InnerShare = 0.1
    fixed_alpha_steps: Whole = 4_000
    boundary: Whole = 6
    boundary_weight: NonNegative = 1000.0

    def __post_init__(self) -> None:
        """:raises InputError: sizes that do not fit each other, or a value out of range."""
        ratio = self.image_size // max(self.grid, 1)
        if self.image_size not in (64, 128) or ratio * self.grid != self.image_size or ratio not in (2, 4, 8, 16):
            raise InputError(
                f"image_size is {self.image_size} and grid {self.grid}; image_size is 64 or 128, and 2, 4, 8 or 16 "
                "times the grid"
            )
        prior, heat = self.presence_prior, self.temperature
        if min(*prior[:2], *heat[:2]) <= 0 or max(prior[:2]) >= 1:
            raise InputError("presence_prior lies between 0 and 1, and temperature above 0")
        if 2 * self.boundary >= self.glimpse:
            raise InputError(f"boundary is {self.boundary}; it is less than half a glimpse, {self.glimpse}")

    @property
    def cells(self) -> int:
        return self.grid**2

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> "SpaceConfig":
        """:raises InputError: a name that is missing or unknown, or a value out of range."""
        names = {field.name for field in fields(cls)}
        if not isinstance(value, dict) or set(value) != names:
            wrong = sorted(names ^ set(value)) if isinstance(value, dict) else "all"
            raise InputError(f"these are not the settings of a SPACE model: {wrong} missing or unknown")
        anneals = ("presence_prior", "temperature", "scale_mean")
        try:
            made: dict[str, Any] = {name: Anneal(*one) if name in anneals else one for name, one in value.items()}
            return cls(**made)
        except TypeError as error:
            raise InputError(f"the settings of a SPACE model are of the wrong type ({error})") from None


@settings
class SpaceLearning:
    """The training of SPACE; the defaults are the published ones.

    :ivar optimiser: of the foreground, "rmsprop" or "adam"; the background has Adam.
    :ivar foreground_rate, background_rate: learning rates.
    :ivar max_norm: of the gradient, over both.
    """

    optimiser: Literal["rmsprop", "adam"] = "rmsprop"
    foreground_rate: Positive = 1e-5
    background_rate: Positive = 1e-3
    max_norm: Positive = 1.0


# "fast" is a narrow model for two cores: pictures of 64 pixels (as legible to a linear classifier as 128), half the
# width, one background component (the background of a panel is black), and priors annealed within three thousand
# steps instead of twenty thousand.
PRESETS = {
    "paper": (SpaceConfig(), SpaceLearning()),
    "fast": (
        SpaceConfig(
            image_size=64,
            glimpse=16,
            base=8,
            features=64,
            components=1,
            hidden=32,
            background_base=8,
            presence_prior=Anneal(0.1, 0.001, 500, 3_000),
            temperature=Anneal(2.5, 1.0, 0, 3_000),
            scale_mean=Anneal(-1.5, -1.5, 0, 1),
            scale_std=0.3,
            fixed_alpha_steps=500,
            boundary=1,
            boundary_weight=100.0,
        ),
        SpaceLearning(optimiser="adam", foreground_rate=5e-4, background_rate=3e-3),
    ),
}


@settings
class PretrainingConfig(MazeConfig):
    """One pretraining of SPACE on the panels of training mazes.

    :ivar steps: updates; a run may go on with more.
    :ivar preset: the model: "paper", or "fast", a narrower one for a CPU.
    :ivar batch_size: panels in an update, of the mazes of the training.
    :ivar images: handwriting: "train", or "train-full", all of MNIST.
    :ivar log_interval: steps between lines of metrics.
    :ivar checkpoint_interval: steps between checkpoints, each with a picture in plots/.
    :ivar overrides: settings of `SpaceConfig` and `SpaceLearning` that differ from the preset's.
    :ivar seed: fixes everything.
    :ivar device: auto, cpu or cuda.
    """

    steps: Count = 20_000
    preset: Literal["paper", "fast"] = "paper"
    batch_size: Size = 16
    images: Images = "train"
    log_interval: Count = 50
    checkpoint_interval: Count = 1_000
    overrides: Overrides = ()
    seed: Seed = 0
    device: str = "auto"
    world: str = SPACE_WORLD

    def __post_init__(self) -> None:
        """:raises InputError: settings that do not go together, or that SPACE does not have."""
        object.__setattr__(self, "overrides", by_name(self.overrides))
        if self.world != SPACE_WORLD:
            raise InputError(f"a run of the world {self.world!r:.60}, not of {SPACE_WORLD}")
        if self.steps % self.log_interval or self.checkpoint_interval % self.log_interval:
            raise InputError("steps and checkpoint_interval are multiples of log_interval")
        known = {field.name for kind in (SpaceConfig, SpaceLearning) for field in fields(kind)}
        for name, _ in self.overrides:
            if name not in known:
                raise InputError(unknown("SPACE", name, sorted(known)))
        _ = self.model, self.learning

    @property
    def model(self) -> SpaceConfig:
        return SpaceConfig.from_json(self._overridden(PRESETS[self.preset][0]))

    @property
    def learning(self) -> SpaceLearning:
        return SpaceLearning(**self._overridden(PRESETS[self.preset][1]))

    def _overridden(self, part: SpaceConfig | SpaceLearning) -> dict[str, Any]:
        return {name: dict(self.overrides).get(name, value) for name, value in asdict(part).items()}
