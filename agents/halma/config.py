"""What a HALMA run is made of: agent, mazes, learner. A run is its config: the same one gives the same bits."""

from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le

from gumption.agents.settings import KnowledgeConfig, Overrides, by_name
from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, Seed, Share, Size, settings
from gumption.envs.halma.maze import Images, MeanBranches, MeanDepth, NumMazes, OptLen, Panels

Symbolic = Literal["mlp", "lstm", "tran", "tran+lstm"]
Visual = Literal["cnn+mlp", "cnn+tran", "space"]
SYMBOLIC, VISUAL = get_args(Symbolic), get_args(Visual)
WORLD = "halma"


@settings
class TD3Parameters:
    """Parameters of the learner; what Table S1 of the paper states has its value there unless a reason is given.

    :ivar num_envs: environments, all stepped at once; each step of the batch is followed by one update.
    :ivar learning_rate, critic_learning_rate: of Adam. Table S1 has 1e-4 for the actor, with an update per environment
        step; here one update follows num_envs steps, so there are so many times fewer of them and each is larger.
    :ivar batch_size, discount, policy_delay, buffer_size: as in TD3; the target networks keep `target_rate` of
        themselves in each update of the critic.
    :ivar reward_scale: of rewards as the critic sees them, so that values are a few units.
    :ivar greedy_first, greedy_last, greedy_steps: the probability of the greedy option rises linearly from the first
        value to the last over so many environment steps or updates, as `greedy_unit` says: "steps" or "updates".
    :ivar candidates: options per state that the actor is fitted to, the better the critic values them; of these
        `random_candidates` are drawn as in exploration and the others, at least half, from the actor itself.
    :ivar temperature: of that preference, in scaled reward.
    :ivar hidden_size: units of all layers (Table S2).
    :ivar sequence, burn_in: moves in a row that an agent with an LSTM learns from, after so many that only bring its
        state up to date. Short ones, since moves in a row show few panels: 8 of 16 teach what 8 mazes do, 32 of 4 what
        32 do.
    :ivar max_grad_norm: of the critic's gradient.
    """

    num_envs: Size = 32
    learning_rate: NonNegative = 1e-3
    critic_learning_rate: NonNegative = 1e-3
    adam_epsilon: NonNegative = 1e-8
    batch_size: Size = 128
    reward_scale: NonNegative = 0.05
    discount: Share = 0.95
    policy_delay: Count = 5
    target_rate: Share = 0.995
    buffer_size: Annotated[int, Ge(1), Le(10**8)] = 10_000
    greedy_first: Share = 0.1
    greedy_last: Share = 0.95
    greedy_steps: Count = 100_000
    greedy_unit: Literal["steps", "updates"] = "steps"
    candidates: Annotated[int, Ge(2), Le(65_536)] = 12
    random_candidates: Annotated[int, Ge(0), Le(65_536)] = 4
    temperature: NonNegative = 0.02
    hidden_size: Size = 128
    sequence: Size = 4
    burn_in: Annotated[int, Ge(0), Le(65_536)] = 4
    max_grad_norm: NonNegative = 10.0

    def __post_init__(self) -> None:
        """:raises InputError: numbers that do not fit each other."""
        if 2 * self.random_candidates > self.candidates:
            raise InputError(f"random_candidates is {self.random_candidates}; it is at most half of the candidates")
        if self.batch_size % self.sequence:
            raise InputError(f"batch_size is {self.batch_size}; it is a multiple of sequence, {self.sequence}")
        if self.hidden_size % 4:
            raise InputError(f"hidden_size is {self.hidden_size}; it is a multiple of 4, the heads of the attention")
        if self.buffer_size < self.num_envs * (self.sequence + self.burn_in + 2):
            raise InputError(
                f"buffer_size is {self.buffer_size}: no room for sequences of {self.num_envs} environments"
            )


# At the rate of the others the features of agents with attention die: the actor's before the critic knows anything,
# the critic's when values begin to rise.
TUNED: dict[str, dict[str, Any]] = {
    agent: {"learning_rate": 3e-4, "critic_learning_rate": 3e-4} for agent in ("tran", "tran+lstm", *VISUAL)
}
# Half the updates, each of twice the moves, take less time. Environments and batch grow together, since what is learned
# turns on how often a move is replayed (batch_size / num_envs times): at twice instead of four times TRAN+LSTM found
# goals anywhere, but learned no short ways. TRAN learns as much with the defaults.
TUNED["tran+lstm"] |= {"num_envs": 64, "batch_size": 256}

# Table S1's 100,000 steps are as many updates: the paper's agents learn after each step. Here one update follows
# num_envs steps, at three times the rate (3e-4, not 1e-4), so that 33,333 updates change the networks as much. 2,000
# episodes are at most 31,250 updates (500 moves each, 32 environments): the probability rises until the training ends.
# Counted in steps it had risen after 3,125 updates, when a network had hardly begun to tell pictures apart.
FIXED_PANELS: dict[str, Any] = {"greedy_unit": "updates", "greedy_steps": 33_333}


@settings
class HALMAConfig(KnowledgeConfig):
    """One training run.

    :ivar agent: one of Table 1: "mlp", "lstm", "tran" and "tran+lstm" see symbols, "cnn+mlp", "cnn+tran" and "space"
        see panels.
    :ivar guided: mix scores from the agent's own knowledge graph into its logits (symbols only).
    :ivar guide_weight: of the scores: those of `guided` lie between -1 and 1, and differences of 0.05 decide; of a
        graph that is looked up each fact that speaks for a choice counts 1. Logits are some units apart.
    :ivar guide_interval: episodes between two times that the knowledge is made anew from the memory.
    :ivar max_opt_len: T, primitives of an option.
    :ivar num_mazes: mazes of the training.
    :ivar maze_seed: fixes which they are.
    :ivar mean_depth: mean number of cells of a branch of a maze, at least 1.
    :ivar mean_branches: mean number of branches of a maze.
    :ivar panels: visual panels are "redrawn" at each look, or "fixed": one picture for each cell of a maze.
    :ivar images: whose handwriting visual panels show, see `HALMASettings`.
    :ivar space_model: folder of a pretrained SPACE model, for agent="space".
    :ivar episodes: so many are played, and more where several end in the last step.
    :ivar log_interval: episodes between two lines of metrics.
    :ivar checkpoint_interval: episodes between two checkpoints.
    :ivar overrides: TD3Parameters that differ from the defaults.
    """

    agent: Symbolic | Visual = "mlp"
    guided: bool = False
    guide_weight: float = 100.0
    guide_interval: Count = 100
    max_opt_len: OptLen = 5
    num_mazes: NumMazes = 100
    maze_seed: Seed = 0
    mean_depth: MeanDepth = 2
    mean_branches: MeanBranches = 5
    panels: Panels = "redrawn"
    images: Images = "train"
    space_model: str | None = None
    episodes: Count = 2000
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
        if self.told and self.agent in VISUAL:
            raise InputError(f"{self.agent} sees pictures; knowledge is about digits: guided and kg need symbols")
        if self.guided and self.kg != "none":
            raise InputError(f"an agent is guided by its own knowledge or by a graph, kg={self.kg!r}: choose one")
        if not self.told and self.guide_weight != 100:
            raise InputError("guide_weight needs guided or kg")
        if not self.guided and self.guide_interval != 100:
            raise InputError("guide_interval needs guided=True")
        if self.agent not in VISUAL and self.images != "train":
            raise InputError(f"images are for agents that see panels; {self.agent} sees symbols")
        if self.agent not in VISUAL and self.panels != "redrawn":
            raise InputError(f"panels={self.panels!r} is for agents that see panels; {self.agent} sees symbols")
        if (self.space_model is not None) != (self.agent == "space"):
            raise InputError("agent='space' and space_model go together: it is the folder of a pretrained model")
        _ = self.learner

    @property
    def learner(self) -> TD3Parameters:
        """The default parameters, those tuned for the agent, those of fixed panels, and the overrides; no more
        environments than episodes."""
        fixed = FIXED_PANELS if self.panels == "fixed" else {}
        chosen = replace(TD3Parameters(), **(TUNED.get(self.agent, {}) | fixed | dict(self.overrides)))
        return chosen if chosen.num_envs <= self.episodes else replace(chosen, num_envs=self.episodes)

    @property
    def told(self) -> bool:
        """Whether knowledge is mixed into the logits."""
        return self.guided or self.kg != "none"

    @property
    def recurrent(self) -> bool:
        """Whether the agent has an LSTM."""
        return self.agent.endswith("lstm")

    @property
    def observation(self) -> str:
        """What the environment shows: "symbolic" or "visual"."""
        return "visual" if self.agent in VISUAL else "symbolic"

    @property
    def keeps_places(self) -> bool:
        """Whether its replay buffer keeps places in place of pictures; see `gumption.agents.halma.td3`."""
        return self.panels == "fixed" and self.agent.startswith("cnn")
