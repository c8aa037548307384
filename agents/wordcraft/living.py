"""A life in the open-ended game: mix, record, add the records to a graph, predict from it, and choose the next mix.

    world -> memory/ -> graph.nq, with evidence -> expected worth of each pair -> the next mix -> world

The memory is the whole state of an agent: the next mix depends only on its config and its records. So a life that was
killed resumes at the same mix, with the same bits. At the start of a chapter the agent's facts are read from the graph;
within a chapter the tried pairs and their products are added.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from gumption.agents.run import opened
from gumption.agents.run_folder import FINAL, load_policy, resumed_config
from gumption.agents.settings import RunConfig
from gumption.agents.watch import SHOWN, Candidate, Choice, Player, PolicyPlayer
from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.provenance import hardware, versions
from gumption.data.sealed import write_sealed
from gumption.data.settings import Seed, checked, settings
from gumption.data.writing import write_text
from gumption.envs.memory import FOLDER, HEADER, TransitionWriter
from gumption.envs.priors import Names
from gumption.envs.wordcraft import LittleAlchemyVectorEnv, Memory, WordCraftVectorEnv, add_memory
from gumption.envs.wordcraft.env import entity_features
from gumption.envs.wordcraft.memory import entity_file, stated_sightings
from gumption.kg import KnowledgeGraph
from gumption.kg.graph import open_graph
from gumption.kg.links.pair_regression import Association, PairRegression, Source

WORLD, GRAPH = "wordcraft", "graph.nq"
FIRST_CHAPTER, GROWTH = 10, 0.2  # mixes; a chapter has this share of all mixes before it, at least FIRST_CHAPTER
CURIOSITY = 0.1  # weight of the bonus for rarely used things, sqrt(log t / (n + 1)) as in Brändle et al. (2023)
DOUBT = 2.0  # prior mixes with mean success that each thing starts with
Agent = Literal["graph", "empowerment", "without-repeats", "random", "oracle"]
PAIRS = 24  # the most pairs of a choice that are shown
BLIND = ("without-repeats", "random", "oracle")  # agents that read no names


@settings
class LifeConfig(RunConfig):
    """A life.

    :ivar agent: "graph" mixes what it expects to make most new things; "empowerment" (after Brändle et al., 2023) what
        it expects to open most: a new thing counts as much as such things have made since. "without-repeats" mixes any
        pair that it has not tried, "random" any pair, and "oracle" is told the recipes.
    :ivar mixes: how long it lives.
    :ivar names: what things are called (`gumption.envs.priors`): of "shuffled" names word vectors and facts tell of
        other things, of "anonymous" ones nothing.
    :ivar beside: a graph of commonsense (a file, folder, address, or the name of one that ships) whose facts about
        the things count beside their words.
    :ivar recipe_book: name of a recipe book, or a file.
    :ivar word_vectors: file with word vectors, for a book whose words the shipped one lacks.
    :ivar seed: decides between equals.
    """

    agent: Agent = "graph"
    mixes: Annotated[int, Ge(1), Le(5_000)] = 1_000
    names: Names = "real"
    beside: str | None = None
    recipe_book: str = "commonsense"
    word_vectors: str | None = None
    seed: Seed = 0
    world: str = WORLD

    FILES = ("recipe_book", "word_vectors")
    PLACES = ("beside",)

    def __post_init__(self) -> None:
        """:raises InputError: settings that nothing would read."""
        if self.world != WORLD:
            raise InputError(f"a life in the world {self.world!r:.60}, not in {WORLD}")
        given = [name for name in ("beside", "word_vectors") if getattr(self, name) is not None]
        if self.agent in BLIND and (given or self.names != "real"):
            told = [*given, *(["names"] if self.names != "real" else [])]
            raise InputError(f"the agent {self.agent!r} reads no names: leave out {', '.join(told)}")
        if self.names == "anonymous" and given:
            raise InputError(f"anonymous things have no words and no facts: leave out {', '.join(given)}")


@dataclass(frozen=True)
class Life:
    """A finished life.

    :ivar memory: its records; `basic` (N,) bool, the things it began with.
    :ivar run_dir: its folder.
    """

    config: LifeConfig
    memory: Memory
    basic: np.ndarray
    run_dir: Path

    @property
    def made(self) -> np.ndarray:
        """(m,) int64, the number of things made after each mix, without the basic things."""
        return things_by_mix(self.memory, self.basic)


@checked
def things_by_mix(memory: Memory, basic: np.ndarray) -> np.ndarray:
    """Return (m,) int64, the number of things made by the end of each mix, without the `basic` (N,) bool things."""
    _, made = memory.mixes
    count, width = made.shape
    things, first = np.unique(made.ravel(), return_index=True)
    new = (things >= 0) & ~basic[things]
    return np.bincount(first[new] // width, minlength=count)[:count].cumsum()


class Explorer:
    """Chooses mixes from the results of earlier mixes.

    :ivar known: (N,) bool, the available things; `tried` (N, N) bool, the mixed pairs, in both orders.
    """

    def __init__(self, config: LifeConfig, env: LittleAlchemyVectorEnv) -> None:
        self.config, self.book, self.basic = config, env.book, env.basic
        self.things = None if config.agent in BLIND else described(config, env)
        self.forget()

    def forget(self) -> None:
        """Reset to the beginning of the life."""
        size = len(self.basic)
        self.known, self.mixes = self.basic.copy(), 0
        self.tried, self.times = np.zeros((size, size), dtype=bool), np.zeros(size)
        self.expects: PairRegression | None = None
        self._worth, self._expected = np.zeros((size, size)), self.known.copy()

    def learn(self, seen: np.ndarray) -> None:
        """Begin a chapter: replace the state by the content of a graph.

        :param seen: (k, 5) int64, the `sightings` in a graph.
        """
        self.forget()
        made = seen[seen[:, 2] >= 0]
        self.known[made[:, 2]] = True
        pairs, which = np.unique(seen[:, :2], axis=0, return_inverse=True)
        self.tried[pairs[:, 0], pairs[:, 1]] = self.tried[pairs[:, 1], pairs[:, 0]] = True
        once = np.zeros(len(pairs), dtype=np.int64)  # a mix that made several things counts once
        np.maximum.at(once, which.reshape(-1), seen[:, 3])
        self.mixes = int(once.sum())
        self.times = _per_thing(pairs, once, len(self.basic))
        if self.things is None:
            return
        first = np.full(len(self.basic), np.iinfo(np.int64).max)
        np.minimum.at(first, made[:, 2], made[:, 4])
        new = made[(first[made[:, 2]] == made[:, 4]) & ~self.basic[made[:, 2]]]
        place = np.zeros_like(self.tried, dtype=np.int64)
        place[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
        of_pair = place[new[:, 0], new[:, 1]]
        worth = np.bincount(of_pair, minlength=len(pairs)).astype(np.float64)
        if self.config.agent == "empowerment":
            mean = worth.mean()
            opened_by = (_per_thing(pairs, worth, len(self.basic)) + DOUBT * mean) / (self.times + DOUBT)
            worth = np.bincount(of_pair, opened_by[new[:, 2]] / max(mean, 1e-9), minlength=len(pairs))
        self.expects = PairRegression(self.things, pairs, worth, np.flatnonzero(~self.known))
        self._expected[:] = False

    def saw(self, first: int, second: int, made: np.ndarray) -> None:
        """Add a mix and the things that it made, as ids."""
        self.mixes += 1
        self.tried[first, second] = self.tried[second, first] = True
        self.times[[first, second] if first != second else first] += 1
        self.known[made] = True

    def choose(self, number: int) -> tuple[int, int]:
        """Return the pair of the mix of this number, as ids of available things.

        :param number: from 1; it and the seed break ties.
        """
        at_hand, worth = self.values()
        best = np.flatnonzero(worth == worth.max())
        chosen = np.random.Generator(np.random.PCG64([self.config.seed, number])).choice(best)
        first, second = divmod(int(chosen), len(at_hand))
        return int(at_hand[first]), int(at_hand[second])

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (K,) ids of the available things, and (K, K) the worth of each pair, -inf in the lower triangle and
        for pairs that are ruled out."""
        at_hand = np.flatnonzero(self.known)
        here = np.ix_(at_hand, at_hand)
        worth = np.zeros((len(at_hand), len(at_hand)))
        if self.config.agent == "oracle":
            worth = self._told()[here]
        elif self.expects is not None:
            if len(new := np.flatnonzero(self.known & ~self._expected)):
                found = self.expects.expected(new, at_hand)
                self._worth[np.ix_(new, at_hand)], self._worth[np.ix_(at_hand, new)] = found, found.T
                self._expected[new] = True
            curious = CURIOSITY * np.sqrt(np.log(self.mixes + 1) / (self.times[at_hand] + 1))
            worth = self._worth[here] + curious[:, None] + curious
        out = np.tri(len(at_hand), k=-1, dtype=bool)
        if self.config.agent != "random" and not (tried := out | self.tried[here]).all():
            out = tried
        return at_hand, np.where(out, -np.inf, worth)

    def _told(self) -> np.ndarray:
        """Return (N, N) float64, the number of new things that each pair makes, plus a fraction for their own uses."""
        a, b, product = self.book.recipes.T
        opens = np.bincount(self.book.recipes[:, :2].ravel(), minlength=len(self.basic))
        worth = np.zeros(self.tried.shape)
        new = ~self.known[product]
        np.add.at(worth, (a[new], b[new]), 1 + opens[product[new]] / (4 * len(self.book)))
        return np.maximum(worth, worth.T)


def _per_thing(pairs: np.ndarray, weight: np.ndarray, size: int) -> np.ndarray:
    """Return (size,) float64, the summed weights of each thing's pairs; a pair of a thing with itself counts once."""
    found = np.bincount(pairs[:, 0], weight, minlength=size)
    other = pairs[:, 0] != pairs[:, 1]
    return found + np.bincount(pairs[other, 1], weight[other], minlength=size)


@checked
def described(config: LifeConfig, env: LittleAlchemyVectorEnv) -> Association:
    """Return a life's prior information about things: their word vectors, and the facts of a second graph."""
    vectors = entity_features(env.book, "glove", word_vectors=config.word_vectors)[1:]
    sources = [Source.of_vectors(vectors)]
    if config.beside is not None:
        sources.append(facts_beside(config.beside, env.book.entities))
    return Association(sources)


@checked
def facts_beside(source: str, entities: tuple[str, ...]) -> Source:
    """Return a graph's facts as a source. A fact between two things links them. Things are similar if facts link them
    to the same names; rare names count more (inverse document frequency).

    :raises InputError: a graph without facts between these things.
    """
    graph, name = open_graph(source)
    with graph:
        stated = sorted({(one, other) for one, _, other in graph.triples(graph=name)})
    place = {label: i for i, label in enumerate(entities)}
    labels = dict.fromkeys([*entities, *(label for pair in stated for label in pair)])
    names = {label: i for i, label in enumerate(labels)}
    linked = np.eye(len(entities), len(names))
    for one, other in ((one, other) for pair in stated for one, other in (pair, pair[::-1]) if one in place):
        linked[place[one], names[other]] = 1.0
    links = linked[:, : len(entities)] * (1 - np.eye(len(entities)))
    if not links.any():
        raise InputError(f"{source} has no fact between two of these {len(entities)} things, such as {entities[0]!r}")
    return Source.of_vectors(linked * np.log(len(entities) / linked.sum(axis=0).clip(1)), links)


def chapter_of(mixes: int) -> int:
    """Return the number of mixes before the present chapter of a life with this number of mixes."""
    begun = 0
    while (end := chapter_end(begun)) <= mixes:
        begun = end
    return begun


def chapter_end(begun: int) -> int:
    """Return the number of mixes at the end of a chapter that began after `begun` mixes."""
    return begun + max(FIRST_CHAPTER, int(begun * GROWTH))


@checked
def live(
    config: LifeConfig,
    run_dir: Path,
    resume: bool = False,
    progress: bool = True,
    tell: Callable[[str], Any] | None = None,
) -> Life:
    """Play a life to its end, from the beginning or from the last mix in the folder's memory.

    :param tell: called with a sentence at the end of each chapter.
    :raises InputError: a folder that is in use, or of another life; a memory of another world or book.
    """
    folder = opened(run_dir, config, resume)
    assert folder is not None
    given = {"recipe_book": config.recipe_book, "names": config.names, "max_steps": 2 * config.mixes}
    env = LittleAlchemyVectorEnv(1, autoreset_mode="Disabled", **given)
    explorer = Explorer(config, env)
    try:
        folder.begin({"versions": versions(), "hardware": hardware("cpu"), "recipe_book": {"sha256": env.book.hash}})
        memory = _lived(explorer, env, remembered(run_dir, env), run_dir, progress, tell)
        return Life(config, memory, env.basic, run_dir)
    finally:
        folder.release()


@checked
def remembered(run_dir: Path, env: LittleAlchemyVectorEnv) -> Memory:
    """Read the memory in a run's folder up to its last complete mix, or return an empty memory.

    :raises InputError: a memory of another world or book, or a damaged one.
    """
    layout, folder = env.memory_layout, run_dir / FOLDER
    if not (folder / HEADER).is_file():
        return Memory(layout.records(0), layout, entities=env.book.entities)
    memory = Memory.read(folder, layout)
    return replace(memory, records=memory.records[: len(memory) // 2 * 2], entities=env.book.entities)


def _lived(
    explorer: Explorer,
    env: LittleAlchemyVectorEnv,
    memory: Memory,
    run_dir: Path,
    progress: bool,
    tell: Callable[[str], Any] | None,
) -> Memory:
    """Play the life, write its graph and figures into the folder, and return its memory."""
    config, run, graph = explorer.config, run_dir.resolve().name, KnowledgeGraph()

    def state(memory: Memory) -> None:
        """Add the memory to the graph, and save the graph in the folder."""
        add_memory(graph, memory, run)
        graph.save(run_dir / GRAPH)

    env.reset(seed=config.seed)
    for action in memory.records["action"].tolist():
        env.step(np.array([action]))
    pairs, made = memory.mixes
    begun = chapter_of(len(pairs))
    if begun:
        state(replace(memory, records=memory.records[: 2 * begun]))
        explorer.learn(stated_sightings(graph, run, env.book.entities))
    for pair, products in zip(pairs[begun:].tolist(), made[begun:], strict=True):
        explorer.saw(*pair, products[products >= 0])  # pyright: ignore[reportCallIssue]
    number, ends = len(pairs), chapter_end(begun)
    with (
        TransitionWriter(run_dir / FOLDER, memory.layout, keep=len(memory)) as writer,
        Bar(config.mixes, "living", progress) as bar,
    ):
        for name, text in entity_file(env.book).items():
            write_text(run_dir / FOLDER / name, text)
        while number < config.mixes and not env.success[0]:
            number += 1
            pair = explorer.choose(number)
            for thing in pair:
                before, action = env.memory_before(), np.array([thing])
                env.step(action)
                writer.append(*env.memory_fields(before, action, np.zeros(1, dtype=np.int64)))
            writer.write()
            products = env.products[0].astype(np.int64)
            explorer.saw(*pair, products[products > 0] - 1)
            if number == ends:
                writer.flush()
                memory = remembered(run_dir, env)
                state(memory)
                explorer.learn(stated_sightings(graph, run, env.book.entities))
                ends = chapter_end(number)
                if tell is not None:
                    tell(told(memory, env))
            bar.show(number, f"{int((env.discovered[0] & ~env.basic).sum())} things made")
    memory = remembered(run_dir, env)
    state(memory)
    final = {**figures(memory, env), "graph": graph.content_hash()}
    write_sealed(run_dir / FINAL, final)
    return memory


def figures(memory: Memory, env: LittleAlchemyVectorEnv) -> dict[str, Any]:
    """Return the figures of a life: mixes, things made (without the basic things), distinct recipes seen, pairs that
    made nothing, and the number of things made after each mix."""
    made, seen = things_by_mix(memory, env.basic), memory.sightings
    return {
        "mixes": len(made),
        "made": int(made[-1]),
        "recipes": int((seen[:, 2] >= 0).sum()),
        "nothing": int((seen[:, 2] < 0).sum()),
        "made_by_mix": made.tolist(),
    }


def summary(life: Life) -> str:
    """Return the result of a life as a sentence."""
    return f"{int(life.made[-1])} things made in {len(life.made):,} mixes"


def told(memory: Memory, env: LittleAlchemyVectorEnv) -> str:
    """Return the result of a life as a line, with the latest things made."""
    found = figures(memory, env)
    seen = memory.sightings
    seen = seen[seen[:, 2] >= 0]
    latest = seen[np.argsort(-seen[:, 4], kind="stable")][:3]
    names = [f"{a} + {b} = {c}" for a, b, c in ([env.book.entities[i] for i in row] for row in latest[:, :3].tolist())]
    return (
        f"after {found['mixes']:,} mixes: {found['made']} things made; the graph has {found['recipes']} recipes and "
        f"{found['nothing']} pairs that make nothing; latest: {'; '.join(names) or 'none'}"
    )


# ---- Lives and trained agents to watch.


class LifePlayer(Player):
    """Replays a life from its memory, up to its last mix, and shows the agent's expected worth of pairs."""

    def __init__(self, run: Path, config: LifeConfig) -> None:
        game: dict[str, Any] = {"recipe_book": config.recipe_book, "names": config.names, **SHOWN}
        self.memory = remembered(run, LittleAlchemyVectorEnv(1, **game))
        if not len(self.memory):
            raise InputError(f"{run}: this life has no mix yet; let it begin first")
        super().__init__(LittleAlchemyVectorEnv(1, max_steps=len(self.memory), **game))
        self.explorer = Explorer(config, self.env)

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.explorer.forget()
        self.mixes, self.ends = 0, chapter_end(0)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        thing = int(self.memory.records["action"][int(self.env.steps[0])])
        first = int(self.env.selection[0])
        if first:
            label = self.env.book.entities[thing]
            return np.array([thing]), (Choice(f"{self.env.book.label(first)} with", (Candidate(label, 1.0),), 0),)
        other = int(self.memory.records["action"][int(self.env.steps[0]) + 1])
        return np.array([thing]), (self._choice(thing, other),)

    def _choice(self, first: int, second: int) -> Choice:
        """Return the pairs with the highest expected worth, and the mixed pair."""
        at_hand, worth = self.explorer.values()
        names, flat = self.env.book.entities, worth.ravel()
        row, column = np.searchsorted(at_hand, sorted((first, second)))
        chosen = int(row * len(at_hand) + column)
        order = [int(pair) for pair in np.argsort(-flat, kind="stable")[:PAIRS] if np.isfinite(flat[pair])]
        if chosen not in order:
            order[-1] = chosen
        equals = int((flat == flat.max()).sum())
        candidates = tuple(
            Candidate(
                f"{names[at_hand[pair // len(at_hand)]]} + {names[at_hand[pair % len(at_hand)]]}",
                1 / equals if flat[pair] == flat.max() else 0.0,
                float(flat[pair]),
            )
            for pair in order
        )
        return Choice(f"mix {self.mixes + 1}: which pair", candidates, order.index(chosen), own="worth")

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        if self.env.selection[0]:
            return "selected", False
        self.mixes += 1
        part = replace(self.memory, records=self.memory.records[: 2 * self.mixes])
        (pairs, made), seen = part.mixes, part.sightings
        first, second = pairs[-1].tolist()
        self.explorer.saw(first, second, made[-1][made[-1] >= 0])
        if self.mixes == self.ends:
            self.explorer.learn(seen)
            self.ends = chapter_end(self.mixes)
        recipes = int((seen[:, 2] >= 0).sum())
        told = f"{self.env.last_mix(0)}; it knows {recipes} recipes and {len(seen) - recipes} pairs that make nothing"
        return told, bool(self.env.found[0].any())


class GoalPlayer(PolicyPlayer):
    """Plays tasks of one goal; the seed selects among several."""

    tasks: np.ndarray

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.env.set_tasks(self.env.np_random.choice(self.tasks, 1))


def watch(
    run: Path, *, partition: str | None = None, goal: str | None = None, recipe_book: str | None = None
) -> Player:
    """The agent of a run, on tasks of a partition; a life of `gumption live` from its beginning.

    :param partition: Part of the run's split: train, validation, test or all.  [default: test]
    :param goal: Play a task of this goal.  [default: drawn by the seed]
    :param recipe_book: File of the run's book, if it does not ship.
    """
    life = resumed_config(run, LifeConfig, {"recipe_book": recipe_book})
    if life is not None:
        if partition or goal:
            raise InputError(f"{run} is a life, which has no goals and no parts: leave out --partition and --goal")
        return LifePlayer(run, life)
    partition = partition or "test"
    config, policy = load_policy(run, recipe_book=recipe_book, device="cpu")
    env = WordCraftVectorEnv(1, **SHOWN, **config.env_settings(partition))
    told: dict[str, Any] = {"question": "what to select", "outcome": lambda env: env.last_mix(0) or "selected"}
    if goal is None:
        return PolicyPlayer(policy, env, **told)
    player = GoalPlayer(policy, env, **told)
    env.book.entity_id(goal)
    tasks = env.split.tasks(partition)
    player.tasks = np.array([task for task in tasks.tolist() if env.tasks[task].goal == goal], dtype=np.int64)
    if not len(player.tasks):
        some = ", ".join(sorted({env.tasks[task].goal for task in tasks.tolist()})[:5])
        raise InputError(f"no {partition} task has the goal {goal!r}; some that there are: {some}")
    return player
