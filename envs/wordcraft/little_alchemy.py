"""Little Alchemy, an open-ended game: make as many entities as possible from a few basic ones."""

from collections.abc import Collection, Mapping
from os import PathLike
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.data.settings import LARGEST, refuse_unknown, settings
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.memory import Layout
from gumption.envs.native import Arrays, NativeEnv, NativeVectorEnv, RenderMode, check_batch
from gumption.envs.priors import Laws, Names

from .env import labels_of
from .facts import COMBINES_WITH
from .memory import DONE, REFUSED, SUCCESS, entity_file, layout
from .recipe_book import PAD, RecipeBook


@settings
class LittleAlchemySettings:
    """
    :ivar recipe_book: as for WordCraft.
    :ivar basic: names to start from; by default the entities that nothing makes, and air, earth, fire and water where
        the book has them.
    :ivar max_steps: of a game; a mix takes two.
    :ivar names, laws: as for WordCraft.
    """

    recipe_book: str | PathLike[str] | RecipeBook = "commonsense"
    basic: Collection[str] | None = None
    max_steps: Annotated[int, Ge(2), Le(LARGEST)] = 2_000
    names: Names = "real"
    laws: Laws = "real"


class LittleAlchemyVectorEnv(NativeVectorEnv):
    """Play a batch of games; see `LittleAlchemyEnv`.

    :ivar discovered, reachable: (B, N) bool.
    :ivar selection: (B,) int16 env id or PAD.
    :ivar found: (B, N) bool, the entities that the latest step discovered; `products` (B, P) int16 env ids of all its
        products, known ones included.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        """:raises InputError: bad settings, see `LittleAlchemySettings`; an unknown entity, or no basic one."""
        check_batch(num_envs, render_mode)
        given = LittleAlchemySettings(**settings)
        self.book = book = RecipeBook.load(given.recipe_book).under(given.names, given.laws)
        self._names = ("", *book.entities)
        size = len(book.entities)
        self.basic = book.basic.copy()
        if given.basic is not None:
            self.basic[:] = False
            self.basic[[book.entity_id(label) for label in given.basic]] = True
        if not self.basic.any():
            raise InputError(f"recipe book {book.name}: no basic entity to start from; name some in `basic`")
        self._all = _closure(book, self.basic)
        self.reachable = np.tile(self._all, (num_envs, 1))
        self.max_steps = given.max_steps
        self.discovered = np.tile(self.basic, (num_envs, 1))
        self.selection = np.zeros(num_envs, dtype=np.int16)
        self.steps, self.refusals = np.zeros((2, num_envs), dtype=np.int64)
        self.refused = np.zeros(num_envs, dtype=bool)
        self.found = np.zeros((num_envs, size), dtype=bool)
        self.products = np.zeros((num_envs, book.several.shape[1]), dtype=np.int16)
        self._mixed = np.zeros((num_envs, 2), dtype=np.int64)  # the pair of the latest mix, for `render`
        self._new = np.zeros((num_envs, size), dtype=bool)  # the entities that this mix discovered
        self._rows = np.arange(num_envs)
        self._reward = np.zeros(num_envs, dtype=np.float32)
        self._terminated, self._truncated = np.zeros((2, num_envs), dtype=bool)
        space = spaces.Dict({"discovered": spaces.MultiBinary(size), "selection_index": spaces.Discrete(size + 1)})
        super().__init__(num_envs, render_mode, autoreset_mode, space, spaces.Discrete(size))

    @property
    def success(self) -> np.ndarray:
        return self._terminated

    def random_actions(self) -> np.ndarray:
        """Draw (B,) int64: a random discovered entity in each game."""
        chance = self.np_random.random(self.discovered.shape)
        return np.where(self.discovered, chance, -1.0).argmax(axis=1)

    def advance(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        book, playing = self.book, np.ones(self.num_envs, dtype=bool) if idle is None else ~idle
        accepted = playing & self.discovered[self._rows, actions]
        self.refused = playing & ~accepted
        self.refusals += self.refused
        self.steps += playing
        mixing = accepted & (self.selection > PAD)
        self.found[:] = False
        self.products[:] = PAD
        rows = np.flatnonzero(mixing)
        code = book.single[self.selection[rows].astype(np.int64) * (len(book.entities) + 1) + actions[rows] + 1]
        products = np.where(code[:, None] < 0, book.several[np.maximum(-code.astype(np.int64), 0)], 0)
        products[:, 0] = np.where(code > 0, code, products[:, 0])
        self.products[rows] = products
        for product in products.T:
            made = product > PAD
            self.found[rows[made], product[made] - 1] = True
        self.found &= ~self.discovered
        if self.render_mode is not None:
            self._mixed[rows] = np.stack([self.selection[rows], actions[rows] + 1], 1)
            self._new[rows] = self.found[rows]
        self.discovered |= self.found
        self.selection = np.where(accepted, np.where(mixing, PAD, actions + 1), self.selection).astype(np.int16)
        self._reward = self.found.sum(axis=1).astype(np.float32)
        self._terminated = playing & (self.discovered >= self.reachable).all(axis=1)
        self._truncated = playing & ~self._terminated & (self.steps >= self.max_steps)

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._reward, self._terminated, self._truncated

    def renew(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        self._begin(columns, self.basic, self._all)

    def set_up(self, columns: np.ndarray, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        """Start with {"discovered": names} in addition to the basic entities.

        :raises InputError: unknown option, not a list, or unknown entity.
        """
        refuse_unknown("reset", options, ["discovered"])
        discovered = self.basic.copy()
        discovered[[self.book.entity_id(label) for label in labels_of(options, "discovered")]] = True
        self._begin(columns, discovered, _closure(self.book, discovered))

    def _begin(self, columns: np.ndarray, discovered: np.ndarray, reachable: np.ndarray) -> None:
        self.discovered[columns] = discovered
        self.reachable[columns] = reachable
        self.found[columns] = False
        self._mixed[columns] = PAD
        self._new[columns] = False
        for state in (self.selection, self.steps, self.refusals, self.refused, self._terminated, self._truncated):
            state[columns] = 0

    def observe(self) -> Arrays:
        return {"discovered": self.discovered.astype(np.int8), "selection_index": self.selection.astype(np.int64)}

    def info_arrays(self) -> Arrays:
        return {
            "success": self._terminated.copy(), "num_discovered": self.discovered.sum(axis=1),
            "invalid_action": self.refused.copy(), "invalid_actions": self.refusals.copy(),
            "action_mask": self.discovered.astype(np.int8),
        }  # fmt: skip

    def describe(self, i: int) -> dict[str, Any]:
        self._check_place(i)
        selected = int(self.selection[i])
        return {
            "table": self.book.labels(np.flatnonzero(self.discovered[i]) + 1),
            "selection": [self.book.label(selected)] if selected else [],
            "found": self.book.labels(np.flatnonzero(self.found[i]) + 1),
            "num_discovered": int(self.discovered[i].sum()), "success": bool(self._terminated[i]),
            "invalid_action": bool(self.refused[i]), "invalid_actions": int(self.refusals[i]),
            "action_mask": self.discovered[i].astype(np.int8),
        }  # fmt: skip

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self._names

    @property
    def relations(self) -> tuple[str, ...]:
        return (COMBINES_WITH,)

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        """Return the fact that supports each discovered entity: (candidate, combinesWith, selection)."""
        candidates = np.where(self.discovered, np.arange(1, len(self.basic) + 1), PAD)
        selection = np.where(self.discovered, self.selection[:, None], PAD)
        parties = [(candidates, selection, 0)]
        chosen, no_goal = self.selection[:, None].astype(np.int64), np.zeros((self.num_envs, 0), dtype=np.int64)
        things = candidates[:, :, None]
        return action_facts(self.relations, candidates.shape, parties, None, chosen, things, no_goal)

    def draw_frame(self, i: int, mode: RenderMode) -> Any:
        from .render import discoveries

        self._check_place(i)
        total = int(self.reachable[i].sum())
        return discoveries(self.describe(i), total, mode, self.last_mix(i), self.latest_finds(i))

    def last_mix(self, i: int) -> str:
        """Return the latest mix in words, "" before the first."""
        self._check_place(i)
        if self.refused[i]:
            return "refused: that is not known"
        if not self._mixed[i].any():
            return ""
        new = self.latest_finds(i)
        made = f"makes {', '.join(new)}" if new else "makes nothing new"
        return f"{' + '.join(self.book.labels(self._mixed[i]))} {made}"

    def latest_finds(self, i: int) -> list[str]:
        """Return the names of the entities that the latest mix discovered."""
        self._check_place(i)
        return self.book.labels(np.flatnonzero(self._new[i]) + 1)

    # ---- memory

    @property
    def memory_layout(self) -> Layout:
        return layout(0, self.book.hash, self.products.shape[1])

    def episode_begins(self) -> np.ndarray:
        return self.steps == 0

    def memory_before(self) -> tuple[np.ndarray, ...]:
        return (self.selection.copy(),)

    def memory_fields(
        self, before: tuple[np.ndarray, ...], actions: np.ndarray, episode: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        over = self._terminated | self._truncated
        flags = SUCCESS * self._terminated + DONE * over + REFUSED * self.refused
        nothing = np.zeros((self.num_envs, 0), dtype=np.int16)
        picked = np.where(self.refused, PAD, actions + 1)
        task = np.full(self.num_envs, -1)
        return (self._rows * 0, nothing, *before, actions, picked, self.products, self._reward, task, episode, flags)

    def memory_files(self) -> Mapping[str, str]:
        return entity_file(self.book)

    # ---- saving

    _STATE = ("discovered", "reachable", "selection", "steps", "refusals", "refused")

    def _state(self) -> dict[str, Any]:
        return {name: getattr(self, name).copy() for name in self._STATE} | {"book": self.book.hash}

    HASHES = ("book",)

    def _go_on(self, state: Mapping[str, Any]) -> None:
        for name in self._STATE:
            getattr(self, name)[...] = state[name]


class LittleAlchemyEnv(NativeEnv):
    """Make as many entities as you can (the game that WordCraft simplifies; Jiang et al., 2020, section 3).

    Description: the basic entities are known at the start. Selecting two known entities, or one twice, mixes them:
    every product of the pair becomes known, and the selection is cleared. Nothing is random.

    Observation (Dict): discovered (N,) int8, by entity of `book.entities`; selection_index, 0 or entity + 1.

    Actions: Discrete(N), the entity to select. An unknown entity is refused: a step is used, and
    `info["invalid_action"]` is true.

    Reward: the number of entities that became known.

    Termination: all reachable entities are known. Truncation: after max_steps steps (two per mix).

    Info: table (known entities), selection and found (discovered by this step) as names, num_discovered, success,
    invalid_action, invalid_actions, action_mask.

    Reset options: {"discovered": names known at the start in addition to the basic ones}.

    Parameters: see `LittleAlchemySettings`; render_mode "ansi" or "rgb_array".
    """

    batch: LittleAlchemyVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `LittleAlchemySettings`."""
        super().__init__(
            LittleAlchemyVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings)
        )
        self.book = self.batch.book


def _closure(book: RecipeBook, basic: np.ndarray) -> np.ndarray:
    """Return (N,) bool: the basic entities and all entities that can be made from them."""
    known = basic.copy()
    while True:
        makeable = known[book.recipes[:, 0]] & known[book.recipes[:, 1]]
        more = known.copy()
        more[book.recipes[makeable, 2]] = True
        if (more == known).all():
            return known
        known = more
