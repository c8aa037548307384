"""WordCraft's Gymnasium environments and their settings: a native batch, and a single environment that wraps it."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from annotated_types import Ge, Le
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.data.settings import Seed, Whole, checked, refuse_unknown, settings, shown, whole_numbers
from gumption.envs.action_facts import ActionFacts, PlanningProblem, action_facts
from gumption.envs.memory import Layout
from gumption.envs.native import Arrays, NativeEnv, NativeVectorEnv, Numbers, RenderMode, check_batch
from gumption.envs.priors import Laws, Names
from gumption.kg import NaryRelation

from .engine import EpisodeSampler, WordCraftEngine
from .facts import MAKES, RELATION_NAMES, RELATIONS
from .memory import DONE, REFUSED, SUCCESS, entity_file, layout
from .recipe_book import PAD, RecipeBook
from .splits import Partition, Split, TrainRatio, resolve_split
from .tasks import Depth, enumerate_tasks

Mixes = Annotated[int, Ge(1), Le(10_000)]  # each has a slot of the table
Reward = Literal["shaped", "sparse"]
Features = Literal["glove", "random", "onehot"]
Rules = Literal["correct", "2020"]
RANDOM_SIZE = 300  # of the features "random"
_OPTIONS = ("goal", "table", "intermediates")  # of reset


@settings
class WordCraftSettings:
    """
    :ivar recipe_book: a name ("commonsense", "alchemy2"), a .tsv or .json file, or a RecipeBook.
    :ivar depth: 1 to 6; the goal needs this many mixes. From 4 on tasks are drawn; see `enumerate_tasks`.
    :ivar num_distractors: entities on the table that the task does not need.
    :ivar uniform_distractors: draw them all alike instead of by how often recipes use them.
    :ivar max_mix_steps: mixes in an episode, at least depth (which is the default); twice as many steps.
    :ivar subgoal_rewards: +1 when an intermediate of the task is first made (reward "shaped").
    :ivar split: a mode of `make_split`, None for no split, a Split, or the path of a split file.
    :ivar train_ratio, split_seed: of a split that is made here. The seed also draws the features "random".
    :ivar partition: "train", "validation", "test" or "all": which tasks are played. In training there are only the
        training recipes: distractors are drawn by how often these use them, and a pair makes what these say; in
        validation those of both; elsewhere, and in an episode that was set up with another task, all recipes.
    :ivar fit_validation: the validation part is a part of training, too; see `make_split`.
    :ivar features: None, "glove", "random" or "onehot": feature vectors in the observation.
    :ivar word_vectors: file for "glove", where the shipped one lacks words of the book.
    :ivar reward: "shaped" (+1 goal, +1 subgoal, -0.1 for a useless mix) or "sparse" (1 or 0 at the end).
    :ivar shortcuts: keep tasks that need fewer mixes than depth.
    :ivar alternatives: allow distractors that open another way, by one mix that makes the goal or an intermediate.
    :ivar rules: "correct", or "2020" for the recorded behaviour of the first release: a pair makes only its last
        product in the file, distractors may repeat, empty slots select the last entity of the file, and tasks and
        tables are not filtered (shortcuts and alternatives are implied; a split leaves no task out, has no validation
        part, and hides no recipe from training).
    :ivar names: "real"; "anonymous", codes without meaning; "shuffled", each thing has the name of another one.
    :ivar laws: "real", or "counterfactual": recipes make each other's products; see `RecipeBook.under`.
    """

    # Settings whose content a memory includes.
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
    fit_validation: bool = False
    features: Features | None = None
    word_vectors: str | PathLike[str] | None = None
    reward: Reward = "shaped"
    shortcuts: bool = False
    alternatives: bool = False
    rules: Rules = "correct"
    names: Names = "real"
    laws: Laws = "real"

    def __post_init__(self) -> None:
        if self.max_mix_steps is not None and self.max_mix_steps < self.depth:
            raise InputError(f"max_mix_steps is {self.max_mix_steps}; a task of depth {self.depth} needs {self.depth}")
        if self.word_vectors is not None and self.features != "glove":
            raise InputError(f"word_vectors are read by features='glove' only, features is {self.features!r}")


class WordCraftVectorEnv(NativeVectorEnv):
    """Play a batch of WordCraft episodes in arrays. Game, observation and keyword arguments are as in `WordCraftEnv`,
    with a leading batch axis.

    :ivar book, tasks, split: the RecipeBook, the TaskList of the depth, and the Split.
    :ivar goal: (B,), `table` (B, S), `selection` (B,) int16 env ids; `task_index` (B,) int32 into `tasks`, -1 for an
        episode set by options; `action_mask` (B, S) bool. These are views of the current state: copy them to keep them.

    Infos hold arrays: `success`, `invalid_action` (B,) bool, `invalid_actions` (B,) int64 count in the episode, and
    `action_mask` (B, S) int8. `describe(i)` returns names.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        """:raises InputError: bad settings; see `WordCraftSettings`."""
        check_batch(num_envs, render_mode)
        self.settings = given = WordCraftSettings(**settings)
        as_2020 = given.rules == "2020"
        shortcuts = given.shortcuts or as_2020
        self.book = book = RecipeBook.load(given.recipe_book).under(given.names, given.laws)
        self.tasks = enumerate_tasks(book, given.depth, shortcuts)
        self.split = resolve_split(
            book,
            given.split,
            given.train_ratio,
            given.split_seed,
            given.depth,
            shortcuts,
            as_2020,
            given.fit_validation,
        )
        recipes = None if as_2020 else self.split.known_recipes(given.partition)
        known = book if recipes is None else book.only(recipes)
        self.features = None
        if given.features is not None:
            self.features = entity_features(
                book, given.features, seed=given.split_seed, word_vectors=given.word_vectors
            )
        self._names = ("", *book.entities)
        sampler = EpisodeSampler(
            self.tasks, given.num_distractors, uniform=given.uniform_distractors, alternatives=given.alternatives,
            as_2020=as_2020, known=known,
        )  # fmt: skip
        allowed = self.split.tasks(given.partition).astype(np.int32)
        self.engine = WordCraftEngine(
            self.tasks, allowed, num_envs, sampler, mixes=given.max_mix_steps or given.depth,
            subgoal_rewards=given.subgoal_rewards, sparse=given.reward == "sparse", as_2020=as_2020,
        )  # fmt: skip
        space = self._observation_space()
        super().__init__(num_envs, render_mode, autoreset_mode, space, spaces.Discrete(self.engine.slots))
        self._first = np.zeros(num_envs, dtype=np.int16)  # the selection before the step, for `render`
        self._never = np.zeros(num_envs, dtype=bool)  # no truncation: the limits of an episode are part of the task

    def _observation_space(self) -> spaces.Dict:
        """Return the observation space of one environment."""
        size, slots = len(self._names), self.engine.slots
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

    # ---- the state

    @property
    def goal(self) -> np.ndarray:
        return self.engine.goal

    @property
    def table(self) -> np.ndarray:
        return self.engine.table.T

    @property
    def selection(self) -> np.ndarray:
        return self.engine.selection

    @property
    def task_index(self) -> np.ndarray:
        return self.engine.task

    @property
    def action_mask(self) -> np.ndarray:
        return self.table > PAD

    @property
    def success(self) -> np.ndarray:
        return self.engine.success

    def random_actions(self) -> np.ndarray:
        """Draw (B,) int64: a random occupied slot in each environment."""
        return self.engine.random_actions(self.np_random)

    def set_tasks(self, task_indices: Numbers, envs: Numbers | None = None) -> None:
        """Start tasks, with new distractors, in the first len(task_indices) environments or in `envs`.

        :raises InputError: more tasks than environments, or an index that `tasks` does not have.
        """
        tasks = whole_numbers("task_indices", task_indices, None)
        columns = self._columns(envs, len(tasks))
        if len(tasks) and not 0 <= tasks.min() <= tasks.max() < len(self.tasks):
            raise InputError(f"task indices lie between 0 and {len(self.tasks) - 1}")
        self.start()
        if not len(tasks):
            return
        self.engine.set_tasks(self.np_random, tasks, columns)
        self._over[columns] = False

    # ---- the interface that NativeVectorEnv requires

    def advance(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        if self.render_mode is not None:
            self._first[:] = self.engine.selection
        self.engine.step(actions, idle)

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.engine.reward, self.engine.done, self._never

    def renew(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        self.engine.renew(rng, None if len(columns) == self.num_envs else columns)

    def set_up(self, columns: np.ndarray, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        """Start the task of `WordCraftEnv`'s reset options in the columns.

        :raises InputError: unknown option or entity, goal or table missing, a table that is empty, too large or
            repeats an entity, or too many intermediates.
        """
        refuse_unknown("reset", options, _OPTIONS)
        if "goal" not in options or "table" not in options:
            raise InputError(
                "reset options need both goal and table, e.g. {'goal': 'mud', 'table': ['water', 'earth']}"
            )
        goal = self.book.entity_id(options["goal"]) + 1
        table, wanted = (
            [self.book.entity_id(label) + 1 for label in labels_of(options, name)]
            for name in ("table", "intermediates")
        )
        mixes = self.engine.max_mixes
        room = self.engine.slots - mixes
        if not 0 < len(table) <= room:
            raise InputError(f"the table has {len(table)} entities; this environment takes 1 to {room} at the start")
        if len(set(table)) < len(table):
            raise InputError("the table names an entity twice; one can be selected twice, so name it once")
        if len(wanted) > mixes - 1:
            raise InputError(f"{len(wanted)} intermediates; with {mixes} mixes there can be {mixes - 1}")
        for column in columns:
            self.engine.place_by_hand(int(column), goal, table, wanted)

    @property
    def memory_layout(self) -> Layout:
        return layout(self.engine.slots, self.book.hash)

    def episode_begins(self) -> np.ndarray:
        return self.engine.steps == 0

    def memory_before(self) -> tuple[np.ndarray, ...]:
        return self.table.copy(), self.selection.copy()

    def memory_fields(
        self, before: tuple[np.ndarray, ...], actions: np.ndarray, episode: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        engine, (table, selection) = self.engine, before
        flags = SUCCESS * engine.success + DONE * engine.done + REFUSED * engine.refused
        made = (engine.picked, engine.product, engine.reward, engine.task)
        return (engine.goal, table, selection, actions, *made, episode, flags)

    def memory_files(self) -> Mapping[str, str]:
        return entity_file(self.book)

    def observe(self) -> Arrays:
        engine, features = self.engine, self.features
        selection = np.zeros((self.num_envs, 2), dtype=np.int64)
        selection[:, 0] = engine.selection
        observation = {
            "goal_index": engine.goal.astype(np.int64),
            "table_index": np.ascontiguousarray(engine.table.T, dtype=np.int64),
            "selection_index": selection,
        }
        observation["action_mask"] = (observation["table_index"] > PAD).astype(np.int8)
        if features is not None:
            for name in ("goal", "table", "selection"):
                observation[f"{name}_features"] = features.take(observation[f"{name}_index"], axis=0)
        return observation

    def info_arrays(self) -> Arrays:
        engine = self.engine
        return {
            "success": engine.success.copy(), "invalid_action": engine.refused.copy(),
            "invalid_actions": engine.refusals.astype(np.int64), "action_mask": self.action_mask.astype(np.int8),
        }  # fmt: skip

    def describe(self, i: int) -> dict[str, Any]:
        self._check_place(i)
        engine, names = self.engine, self._names
        column = engine.table[:, i]
        selected = int(engine.selection[i])
        return {
            "goal": names[engine.goal[i]], "table": [names[entity] for entity in column[: engine.count[i]].tolist()],
            "selection": [names[selected]] if selected else [], "success": bool(engine.success[i]),
            "invalid_action": bool(engine.refused[i]), "invalid_actions": int(engine.refusals[i]),
            "action_mask": (column > PAD).astype(np.int8),
        }  # fmt: skip

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self._names

    @property
    def relations(self) -> tuple[str | NaryRelation, ...]:
        return RELATIONS

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        """Return the facts that support each slot: (candidate, combinesWith, selection) once an entity is selected,
        (candidate, componentOf, goal), and (candidate, makes, goal) with the selection as other ingredient or, while
        the selection is empty, with any entity on the table."""
        engine = self.engine
        table = engine.table.T.astype(np.int64)
        there = table > PAD
        selection = np.where(there, engine.selection[:, None], 0)
        goal = np.where(there, engine.goal[:, None], 0)
        parties = [(table, selection, 0), (table, goal, 0), (table, goal, selection)]
        chosen = engine.selection.astype(np.int64)[:, None]
        about = engine.goal[:, None].astype(np.int64)
        return action_facts(RELATION_NAMES, table.shape, parties, table, chosen, table[:, :, None], about)

    def needed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (B,) and (B,) int64: both ingredients of the first recipe of each task whose product is not on the
        table and whose ingredients are."""
        recipes = self.tasks.recipes[self.task_index]  # (B, depth), rows of the book
        a, b, product = (np.moveaxis(self.book.recipes[recipes], 2, 0) + 1).astype(np.int64)
        table = self.table

        def there(entity: np.ndarray) -> np.ndarray:
            return (table[:, None, :] == entity[..., None]).any(2)

        open_now = there(a) & there(b) & ~there(product)
        row, first = np.arange(len(table)), open_now.argmax(1)
        return a[row, first], b[row, first]

    def right_choices(self) -> np.ndarray:
        """Return (B, A) bool: the slots of the next recipe's ingredients; of the other once one is selected."""
        one, other = self.needed()
        one, other = np.where(self.selection == one, other, one), np.where(self.selection == other, one, other)
        return (self.table == one[:, None]) | (self.table == other[:, None])

    def planning_problem(self) -> PlanningProblem:
        """Return the planning problem: a mix applies the relation makes; its two choices are the ingredients."""
        engine = self.engine
        table = engine.table.T.astype(np.int64)
        return PlanningProblem(
            MAKES.name,
            table,
            engine.goal.astype(np.int64),
            table,
            engine.selection.astype(np.int64)[:, None],
            engine.tried.transpose(2, 1, 0).astype(np.int64),
            engine.max_mixes - engine.mixes.astype(np.int64),
        )

    def draw_frame(self, i: int, mode: RenderMode) -> Any:
        from .render import as_picture, as_text

        draw = as_text if mode == "ansi" else as_picture
        return draw(self.describe(i), self.last_mix(i))

    def last_mix(self, i: int) -> str:
        self._check_place(i)
        engine, name = self.engine, self.book.label
        if engine.refused[i]:
            return "refused: that slot holds nothing"
        if not engine.steps[i] or not engine.picked[i] or not self._first[i]:
            return ""
        made = f"makes {name(engine.product[i])}" if engine.product[i] else "makes nothing"
        return f"{name(self._first[i])} + {name(engine.picked[i])} {made}"

    # ---- saving

    def _state(self) -> dict[str, Any]:
        return self.engine.state_dict() | {"book": self.book.hash, "split": self.split.hash}

    HASHES = ("book", "split")
    LENGTHS_VARY = ("pool_task", "pool_table")

    def _go_on(self, state: Mapping[str, Any]) -> None:
        self.engine.load_state_dict(state, self.np_random)


class WordCraftEnv(NativeEnv):
    """Make the goal entity by combining two entities on a table (Jiang et al., 2020, section 3).

    Description: the table shows the base entities of a task and distractors, in random order. Selecting two entities
    (or one entity twice) mixes them. If the recipe book has a product for the pair, it joins the table: the goal if the
    pair can make it, else an intermediate of the task that is not made yet, else the first product in book order. Each
    mix clears the selection.

    Observation (Dict of env ids: 0 is nothing, i + 1 is entity i of `book.entities`):
        goal_index; table_index (S,), S = depth + 1 + num_distractors + mixes; selection_index (2,);
        action_mask (S,) int8, the occupied slots; with `features` also
        goal_features (F,), table_features (S, F), selection_features (2, F) float32.

    Actions: Discrete(S), the slot to select. An empty slot is refused: nothing is selected, a step is used, and
    `info["invalid_action"]` is true.

    Reward "shaped": +1 for the goal; +1 when an intermediate of the task is first made (0 with
    `subgoal_rewards=False`), 0 when it is made again; -0.1 for any other mix. "sparse": 1 for the goal, else 0.

    Termination: the goal is made, or after max_mix_steps mixes, or after twice as many steps.

    Info: goal, table and selection as names, success, invalid_action, invalid_actions (in this episode), action_mask.

    Reset options: {"goal": name, "table": names in order, "intermediates": names that give subgoal rewards (optional)}
    set up that task; an unknown name or too large a table raises InputError.

    Parameters: see `WordCraftSettings`; render_mode "ansi" or "rgb_array".
    """

    batch: WordCraftVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `WordCraftSettings`."""
        super().__init__(
            WordCraftVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings)
        )
        self.book, self.tasks, self.split = self.batch.book, self.batch.tasks, self.batch.split


def labels_of(options: Mapping[str, Any], name: str) -> list[Any]:
    given = options.get(name, [])
    if isinstance(given, str) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        raise InputError(f"reset option {name!r} is a list of names, found {shown(given)}")
    return list(given)


@checked
def entity_features(
    book: RecipeBook, kind: str, *, seed: Seed = 0, word_vectors: str | PathLike[str] | None = None
) -> np.ndarray:
    """Return (N + 1, F) float32 features of the entities; row 0 (PAD) is zero.

    - glove: word vectors of the labels (F = 100), from `word_vectors` or, by default, the shipped file. Labels without
      a vector get a guessed one, with a warning (see `WordVectors.guessed_vectors`).
    - random: independent draws from a Laplace distribution of mean 0 and standard deviation 0.4 (F = 300), by seed.
    - onehot: F = N.

    :raises InputError: unknown kind, or a file that holds no word vectors.
    """
    if kind == "glove":
        from gumption.kg import WordVectors

        rows, report = WordVectors.load(word_vectors).guessed_vectors(book.entities)
        report.warn()
    elif kind == "random":
        rng = np.random.Generator(np.random.PCG64(seed))
        rows = rng.laplace(0.0, 0.4 / np.sqrt(2.0), size=(len(book.entities), RANDOM_SIZE))
    elif kind == "onehot":
        rows = np.eye(len(book.entities))
    else:
        raise InputError(f"features is {kind!r}; it can be {', '.join(get_args(Features))} or None")
    return np.concatenate([np.zeros((1, rows.shape[1])), rows]).astype(np.float32)
