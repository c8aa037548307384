"""The config of a training run: task, knowledge, learner. The same config reproduces the same bits."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le

from gumption.agents.settings import (
    CHANNELS,
    GRAPH,
    OWN,
    GuidedConfig,
    Optimiser,
    Overrides,
    Reduction,
    WorldLearner,
    by_name,
)
from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, Seed, Size, SmallShare, Whole, checked, settings
from gumption.envs.priors import Laws, Names
from gumption.envs.wordcraft.env import Features, Mixes, Reward, Rules
from gumption.envs.wordcraft.facts import MAKES, RELATION_NAMES
from gumption.envs.wordcraft.splits import TrainRatio
from gumption.envs.wordcraft.tasks import Depth

WORLD = "wordcraft"
Weights = Literal["softmax", "logits"]
WEIGHTS = get_args(Weights)


@settings
class Learner(WorldLearner):
    """Parameters of the learner and its network.

    :ivar batch_size: environments, all stepped at once.
    :ivar unroll_length: steps between two updates.
    :ivar optimiser: "rmsprop" or "adam"; the learning rate falls linearly to 0 at the end.
    :ivar entropy_cost, baseline_cost: weights of the losses beside the policy gradient.
    :ivar reduction: losses are summed or averaged over the batch.
    :ivar key_size, value_size: of the attention (Table 2); `hidden_size` of the simple MLP.
    :ivar value_layers: fully connected layers from the attention's sum to the value.
    :ivar encoder_size: width of the learned entity representations, 0 for frozen features.
    :ivar dropout: of features and free embeddings in the encoder.
    :ivar gated: see `SelfAttentionActorCritic`.
    """

    batch_size: Size = 128
    unroll_length: Size = 2
    optimiser: Optimiser = "rmsprop"
    learning_rate: NonNegative = 1e-3
    epsilon: NonNegative = 0.01
    reduction: Reduction = "sum"
    hidden_size: Size = 300
    key_size: Size = 300
    value_size: Size = 300
    value_layers: Annotated[int, Ge(1), Le(2)] = 1
    encoder_size: Annotated[int, Ge(0), Le(65_536)] = 0
    dropout: SmallShare = 0.0
    gated: bool = False


# Agent -> parameters that it ignores.
_UNREAD = {
    "attention": ("hidden_size",),
    GRAPH: ("hidden_size",),
    "mlp": ("key_size", "value_size", "value_layers", "gated"),
}
_OF_REWARDS = ("discount", "entropy_cost", "baseline_cost", "reduction")
# Settings of the environment.
_OF_ENV = (
    *("recipe_book", "depth", "num_distractors", "uniform_distractors", "alternatives", "max_mix_steps", "reward"),
    *("subgoal_rewards", "rules", "split", "train_ratio", "fit_validation", "split_seed", "names", "laws"),
)

PRESETS = {
    # Tables 1 and 2 of the paper; unspecified values (baseline cost, gradient norm, sums) are TorchBeast's.
    "paper": Learner(),
    "fast": Learner(
        batch_size=1024,
        optimiser="adam",
        learning_rate=3e-3,
        epsilon=1e-8,
        reduction="mean",
        key_size=128,
        value_size=64,
        value_layers=2,
        encoder_size=96,
        dropout=0.2,
        gated=True,
    ),
}


@settings
class TrainConfig(GuidedConfig):
    """One training run.

    :ivar recipe_book: name of a recipe book, or a file.
    :ivar word_vectors: file with word vectors, for a book whose words the shipped one lacks.
    :ivar depth: mixes that the goal needs, 1 to 6.
    :ivar num_distractors: entities on the table that the task does not need.
    :ivar uniform_distractors: draw them all alike instead of by how often recipes use them.
    :ivar alternatives: tables may offer other ways to the goal.
    :ivar max_mix_steps: mixes in an episode; the depth where it is not given.
    :ivar reward: "shaped" or "sparse".
    :ivar subgoal_rewards: rewards of 1 when an intermediate of the task is first made.
    :ivar rules: "correct", or "2020" for the recorded behaviour of the first release.
    :ivar split: how the book is split: by_recipe, by_goal, by_family, by_task, ..., none, or a split file.
    :ivar fit_validation: learn from the validation part, too: for the last fit, once settings are chosen.
    :ivar train_ratio: the share outside the test part; a fifth of it is the validation part.
    :ivar split_seed: another seed splits the book in another way; it also draws the features "random".
    :ivar names: what things are called: "real", "anonymous" (codes) or "shuffled" (each other's names).
    :ivar laws: "real", or "counterfactual": recipes make each other's products.
    :ivar features: "glove", "random" or "onehot", what the network knows an entity by.
    :ivar agent: "attention", "mlp", or "graph", which acts by the scores of `kg` alone and learns nothing.
    :ivar cross_fit: while learning, score facts by predictors that have not seen them (kg="train").
    :ivar supervised: learn from the right choices of the training tasks, not from rewards; see `SupervisedLearner`.
    :ivar weights: "softmax" or "logits"; see `SelfAttentionActorCritic`.
    :ivar preset: "paper" or "fast".
    :ivar overrides: Learner parameters that differ from the preset's.
    :ivar total_steps: environment steps.
    :ivar eval_interval: steps between evaluations on the validation tasks; also between checkpoints.
    :ivar test_curve: measure the test tasks then, too, for a figure: final.json has it, and nothing shows it before.
    :ivar final_draws: tables per task in the last evaluation.
    :ivar seed: of the weights, the tasks and the tables; the split has its own.
    :ivar device: "auto", "cpu" or "cuda".
    """

    recipe_book: str = "commonsense"
    word_vectors: str | None = None
    depth: Depth = 1
    num_distractors: Whole = 8
    uniform_distractors: bool = False
    alternatives: bool = False
    max_mix_steps: Mixes | None = None
    reward: Reward = "shaped"
    subgoal_rewards: bool = True
    rules: Rules = "correct"
    split: str = "by_recipe"
    fit_validation: bool = False
    train_ratio: TrainRatio = 0.8
    split_seed: Seed = 0
    names: Names = "real"
    laws: Laws = "real"
    features: Features = "glove"
    agent: Literal["attention", "mlp", "graph"] = "attention"
    cross_fit: bool = False
    supervised: bool = False
    weights: Weights = "softmax"
    preset: Literal["paper", "fast"] = "fast"
    overrides: Overrides = ()
    total_steps: Count = 3_000_000
    eval_interval: Count = 100_000
    test_curve: bool = False
    final_draws: Count = 10
    seed: Seed = 0
    device: str = "auto"
    world: str = WORLD

    FILES = ("recipe_book", "word_vectors", "split")

    def __post_init__(self) -> None:
        """:raises InputError: settings that do not go together, or parameters that the learner does not have."""
        if self.world != WORLD:
            raise InputError(f"a run of the world {self.world!r:.60}, not of {WORLD}")
        object.__setattr__(self, "overrides", by_name(self.overrides))
        for score in self.kg_scores:
            if score not in (*RELATION_NAMES, *CHANNELS):
                named = ", ".join(RELATION_NAMES)
                raise InputError(
                    f"kg_scores names {score!r}; it names some of {named}, or some of {', '.join(CHANNELS)}"
                )
        self._refuse_what_has_no_effect()
        learner = self.learner
        for name, _ in self.overrides:
            unread = _UNREAD[self.agent] + (_OF_REWARDS if self.supervised else ())
            if name in unread or (name == "dropout" and not learner.encoder_size):
                raise InputError(f"overrides names {name!r}, which this agent does not have")

    def _refuse_what_has_no_effect(self) -> None:
        """Refuse settings that nothing would read."""
        if self.agent == "mlp" and (self.kg != "none" or self.weights != "softmax"):
            raise InputError("the simple MLP has no attention: for kg or weights use agent='attention'")
        self.check_knowledge()
        own_facts = self.kg in OWN  # they contain recipes: without kg_scores, "makes" is scored
        if not self.kg_calibrated and (self.kg_scores == (MAKES.name,) or (own_facts and not self.kg_scores)):
            raise InputError(f"only the scores of ComplEx can be raw; {MAKES.name} is a log-ratio always")
        if self.cross_fit and (self.kg in ("none", "full") or self.kg_only):
            raise InputError(
                "cross_fit is for an agent that learns with kg='train' or a graph: elsewhere no score is held out"
            )
        if self.cross_fit and set(CHANNELS).intersection(self.kg_scores):
            raise InputError("cross_fit is for scores that are fitted, and edges are looked up: leave it out")
        if self.cross_fit and self.mixing == "product":
            raise InputError(
                "cross_fit is for a policy that reads scores while it learns; one of mixing='product' does not"
            )
        if self.supervised and own_facts and not self.cross_fit and self.mixing != "product":
            raise InputError(
                "the world's own facts state every right choice of a training task, and supervised learning would "
                "trust them on others: add cross_fit, or use mixing='product'"
            )
        if self.supervised and (self.reward != "shaped" or not self.subgoal_rewards):
            raise InputError("supervised learning sees no rewards: leave out reward and subgoal_rewards")

    @property
    def looks_ahead(self) -> bool:
        """As in `GuidedConfig`; also if a goal needs several mixes."""
        return super().looks_ahead or (self.look_ahead == "auto" and self.depth > 1 and not self.kg_scores)

    @property
    def learner(self) -> Learner:
        """Return the preset with the overrides."""
        return replace(PRESETS[self.preset], **dict(self.overrides))

    def files(self) -> dict[str, list[Path]]:
        """As in `RunConfig`, and a graph file whose facts are fitted again in parts when the run resumes."""
        found = super().files()
        if self.cross_fit and self.kg not in OWN and Path(self.kg).is_file():
            found["kg"] = [Path(self.kg)]
        return found

    @checked
    def env_settings(self, partition: str) -> dict[str, Any]:
        """Return keyword arguments of the environment that plays a partition."""
        return {**{name: getattr(self, name) for name in _OF_ENV}, "partition": partition}
