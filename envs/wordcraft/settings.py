"""The keyword arguments of the WordCraft environments, checked once, and the engine that they describe."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from gymnasium import spaces

from gumption.data import InputError
from gumption.data.settings import Seed, Whole, settings, unknown

from .engine import WordCraftEngine
from .episodes import EpisodeSampler
from .features import Features, entity_features
from .recipe_book import RecipeBook
from .splits import Partition, Split, TrainRatio, resolve_split
from .tasks import Depth, TaskList, enumerate_tasks

Mixes = Annotated[int, Ge(1), Le(10_000)]  # each has a slot of the table
Reward = Literal["shaped", "sparse"]
_OPTIONS = ("goal", "table", "intermediates")  # of reset


@settings
class WordCraftSettings:
    """
    :ivar recipe_book: a name ("commonsense", "alchemy2"), a .tsv or .json file, or a RecipeBook.
    :ivar depth: 1 to 3; the goal needs this many mixes.
    :ivar num_distractors: entities on the table that the task does not need.
    :ivar uniform_distractors: draw them all alike instead of by how often recipes use them.
    :ivar max_mix_steps: mixes in an episode, at least depth (which is the default); twice as many steps.
    :ivar subgoal_rewards: +1 when an intermediate of the task is first made (reward "shaped").
    :ivar split: a mode of `make_split`, None for no split, a Split, or the path of a split file.
    :ivar train_ratio, split_seed: of a split that is made here. The seed also draws the features "random".
    :ivar partition: "train", "test" or "all": which tasks are played.
    :ivar features: None, "glove", "random" or "onehot": feature vectors in the observation.
    :ivar word_vectors: file for "glove", where the shipped one lacks words of the book.
    :ivar reward: "shaped" (+1 goal, +1 subgoal, -0.1 for a useless mix) or "sparse" (1 or 0 at the end).
    :ivar shortcuts: keep tasks that need fewer mixes than depth.
    :ivar alternatives: allow distractors that open another way, by one mix that makes the goal or an intermediate.
    :ivar rules: "correct", or "2020" for the recorded behaviour of the first release: a pair makes only its last
        product in the file, distractors may repeat, empty slots select the last entity of the file, and tasks and
        tables are not filtered (shortcuts and alternatives are implied; a split leaves no task out).
    """

    # Of which a memory has the content.
    CONTENT: ClassVar = ("recipe_book", "word_vectors")

    recipe_book: str | PathLike[str] | RecipeBook = "commonsense"
    depth: Depth = 1
    num_distractors: Whole = 1
    uniform_distractors: bool = False
    max_mix_steps: Mixes | None = None
    subgoal_rewards: bool = True
    split: str | PathLike[str] | Split | None = "by_recipe"
    train_ratio: TrainRatio = 0.8
    split_seed: Seed = 0
    partition: Partition = "train"
    features: Features | None = None
    word_vectors: str | PathLike[str] | None = None
    reward: Reward = "shaped"
    shortcuts: bool = False
    alternatives: bool = False
    rules: Literal["correct", "2020"] = "correct"

    def __post_init__(self) -> None:
        if self.max_mix_steps is not None and self.max_mix_steps < self.depth:
            raise InputError(f"max_mix_steps is {self.max_mix_steps}; a task of depth {self.depth} needs {self.depth}")
        if self.word_vectors is not None and self.features != "glove":
            raise InputError(f"word_vectors are read by features='glove' only, features is {self.features!r}")


@dataclass(frozen=True, eq=False)
class World:
    """What settings describe: book, tasks, split, feature rows (N + 1, F) or None, and the observation of one env."""

    settings: WordCraftSettings
    book: RecipeBook
    tasks: TaskList
    split: Split
    features: np.ndarray | None
    names: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, settings: WordCraftSettings) -> "World":
        book = RecipeBook.load(settings.recipe_book)
        as_2020 = settings.rules == "2020"
        shortcuts = settings.shortcuts or as_2020
        tasks = enumerate_tasks(book, settings.depth, shortcuts)
        split = resolve_split(
            book, settings.split, settings.train_ratio, settings.split_seed, settings.depth, shortcuts, as_2020
        )
        features = None
        if settings.features is not None:
            features = entity_features(
                book, settings.features, seed=settings.split_seed, word_vectors=settings.word_vectors
            )
        return cls(settings, book, tasks, split, features, ("", *book.entities))

    def engine(self, num_envs: int) -> WordCraftEngine:
        settings = self.settings
        as_2020 = settings.rules == "2020"
        sampler = EpisodeSampler(
            self.tasks,
            settings.num_distractors,
            uniform=settings.uniform_distractors,
            alternatives=settings.alternatives,
            as_2020=as_2020,
        )
        return WordCraftEngine(
            self.tasks,
            self.split.tasks(settings.partition).astype(np.int32),
            num_envs,
            sampler,
            mixes=settings.max_mix_steps or settings.depth,
            subgoal_rewards=settings.subgoal_rewards,
            sparse=settings.reward == "sparse",
            as_2020=as_2020,
        )

    def observation_space(self, slots: int) -> spaces.Dict:
        """Of one environment with so many slots."""
        size = len(self.names)
        parts: dict[str, spaces.Space[Any]] = {
            "goal_index": spaces.Discrete(size),
            "table_index": spaces.MultiDiscrete([size] * slots),
            "selection_index": spaces.MultiDiscrete([size] * 2),
            "action_mask": spaces.MultiBinary(slots),
        }
        if self.features is not None:
            low, high, width = self.features.min(), self.features.max(), self.features.shape[1]
            for name, shape in (("goal", ()), ("table", (slots,)), ("selection", (2,))):
                parts[f"{name}_features"] = spaces.Box(low, high, (*shape, width), np.float32)
        return spaces.Dict(parts)

    def set_up(self, engine: WordCraftEngine, columns: np.ndarray, options: Mapping[str, Any]) -> None:
        """Put the task that reset options describe into the given columns: "goal" and "table" (labels, in order),
        and "intermediates", which give subgoal rewards.

        :raises InputError: unknown option or entity, a table that is empty or too large, a goal missing its table.
        """
        for name in options:
            if name not in _OPTIONS:
                raise InputError(unknown("reset", name, _OPTIONS))
        if "goal" not in options or "table" not in options:
            raise InputError(
                "reset options need both goal and table, e.g. {'goal': 'mud', 'table': ['water', 'earth']}"
            )
        goal = self.book.entity_id(options["goal"]) + 1
        table, wanted = (
            [self.book.entity_id(label) + 1 for label in _labels(options, name)] for name in ("table", "intermediates")
        )
        room = engine.slots - engine.max_mixes
        if not 0 < len(table) <= room:
            raise InputError(f"the table has {len(table)} entities; this environment takes 1 to {room} at the start")
        if len(set(table)) < len(table):
            raise InputError("the table names an entity twice; one can be selected twice, so name it once")
        if len(wanted) > engine.max_mixes - 1:
            raise InputError(
                f"{len(wanted)} intermediates; with {engine.max_mixes} mixes there can be {engine.max_mixes - 1}"
            )
        for column in columns:
            engine.place_by_hand(int(column), goal, table, wanted)


def _labels(options: Mapping[str, Any], name: str) -> list[Any]:
    given = options.get(name, [])
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InputError(f"reset option {name!r} is a list of names, found {given!r}")
    return list(given)
