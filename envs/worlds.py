"""List the worlds as data: code that serves all worlds reads this list and names no world.

A world has a folder of its name in envs, and where needed in agents, scripts, scripts/papers and scripts/people, and an
entry here. The entry names its parts as "module:name"; they are imported on first use. Its folder in envs holds the
environments and the facts. A general command serves for a part that the entry lacks: `gumption train`, `evaluate`,
`play`, `watch`, `bench` and `kg build` work for a world that has only its environments and `facts`.

`add(World(...))` adds a user's world, in a module that GUMPTION_WORLDS names (commas separate several modules).
"""

import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.errors import did_you_mean

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph
    from gumption.kg.leaks import Fact, Leaks

#: The parts that an entry may offer.
OFFERS = {
    "facts": "facts(partition=...) -> triples of labels; the part is train, test or all",
    "node_facts": "as `facts`: the nodes of facts of three parties, in triples",
    "nary": "the relations of three parties whose facts these are",
    "memory": "the class of the memory that gumption.envs.record_memory.RecordMemory keeps, with `load`",
    "add_memory": "add_memory(graph, memory, run): puts the facts of a memory into a graph; how many each graph got",
    "build": "the command `gumption kg build WORLD`",
    "config": "the config class of a run, with `from_json`",
    "setup": "a subclass of gumption.agents.setup.Setup, for the learner",
    "load": "load(run, **places) -> a result of gumption.agents.run, or (config, policy): a trained run, ready to act, "
    "where the general learner did not train it",
    "evaluate": "evaluate(run, ...) -> figures; its parameters are the options of `gumption evaluate RUN`",
    "train_command": "the command `gumption train WORLD`",
    "live": "the command `gumption live WORLD`: an agent that remembers, whose graph grows by what it sees",
    "evaluate_command": "the command `gumption evaluate RUN`, where it is more than `evaluate`",
    "splits": "the command `gumption splits WORLD`",
    "read_splits": "read_splits(path): reads a split file, or a folder of them; InputError for a changed one",
    "evaluate_policy": "evaluate_policy(policy, ...) -> figures of a function of a person's own, as `evaluate`",
    "text": "the world in words: rules(env), observe(env), parse(typed, env) -> what to do, told(info, over); "
    "`quit` is what stops, if q may be an answer",
    "begin": "begin(...) -> (env, text face), an episode for `gumption play WORLD`; its parameters are options",
    "study": "begin(...) -> (env, text face), a task of a study; `goal(env)` of the face, if any, tells the goal alone",
    "study_report": "report(tasks) -> (figures, lines of Markdown): what a study's report says beside success and time",
    "oracle": "oracle(batch, first) -> actions: a player that is told the solution of each task",
    "scripted": "scripted(batch, first) -> actions: a player that people wrote",
    "run_player": "run_player(run) -> a player as `oracle`, of a trained run whose policy is none of `load_policy`",
    "play": "game(...) -> a gumption.scripts.play.Game, episodes that `gumption play WORLD` plays in place of one; its "
    "parameters are options",
    "serve": "the command `gumption serve WORLD`, for agents that are programs of their own",
    "web": "a gumption.scripts.people.web.views.View: how the web home shows the world, and reads actions",
    "watch": "watch(run, ...) -> a gumption.agents.watch.Player; its parameters are options of `gumption watch`",
    "experiments": "experiments as data: name -> experiment",
    "bench": "cases of `gumption bench WORLD`",
    "data": "further commands of `gumption data`, to make data of one's own for the world",
    "tools": "further commands of its own: `gumption WORLD ...`",
}


@dataclass(frozen=True)
class Environment:
    """An environment that Gymnasium makes by its id.

    :ivar id: such as "gumption/WordCraft-v0".
    :ivar single, vector: "module:class" of one environment and of a batch.
    :ivar small: keyword arguments that make it small, for tests; `variants` are further arguments to test it with.
    :ivar held_out: keyword arguments for tasks that training does not use.
    :ivar margin: least advantage, in reward per step, of an agent that only looks up the world's facts over a random
        agent (tested); None to claim no advantage.
    """

    id: str
    single: str
    vector: str
    small: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[Mapping[str, Any], ...] = ()
    held_out: Mapping[str, Any] = field(default_factory=dict)
    margin: float | None = None


@dataclass(frozen=True)
class World:
    """The entry of a world.

    :ivar name: its name on the command line, in a run's config.json, and in its folders.
    :ivar title, about: its name in prose, and its aim in one sentence.
    :ivar source: the document that describes it.
    :ivar environments: at least one.
    :ivar offers: some of OFFERS -> "module:name".
    :ivar nodes: endings of the names of its graphs that hold nodes of n-ary facts, and no facts of two parties.
    :ivar fitted: whether a link predictor is fitted to its facts by default, because test facts must be inferred; if
        False, facts are looked up.
    :ivar seen: the render modes, of "ansi" and "rgb_array", that reveal nothing hidden from a player. If it is empty,
        the web home shows the text face or the observation.
    """

    name: str
    title: str
    about: str
    source: str
    environments: tuple[Environment, ...]
    offers: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    fitted: bool = False
    seen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """:raises InputError: an entry without environments, or with an offer that is not in OFFERS."""
        if not self.environments:
            raise InputError(f"the world {self.name!r} has no environment: its entry names one at least")
        for offer in self.offers:
            if offer not in OFFERS:
                hint = did_you_mean(offer, OFFERS, f"there are {', '.join(OFFERS)}")
                raise InputError(f"the world {self.name!r} offers {offer!r}, which nothing asks for; {hint}")

    def get(self, offer: str) -> Any:
        """Import and return the part of this name; None if the entry does not offer it.

        :raises InputError: the entry names a module or a name that does not exist.
        """
        assert offer in OFFERS, offer
        place = self.offers.get(offer)
        return None if place is None else self.load(place, offer)

    def facts(self, part: str, **given: Any) -> Iterator[tuple[str, str, str]]:
        """Return the facts of a part of the world: train, test or all, and validation if the world has it.

        :param given: further arguments of the world's `facts`.
        :raises InputError: a world that states no facts, or another part.
        """
        stated = self.get("facts")
        if stated is None:
            raise InputError(f"the world {self.name!r} states no facts")
        return stated(partition=part, **given)

    def leaks(self, graph: "KnowledgeGraph", name: str | None = None, part: str = "test", **given: Any) -> "Leaks":
        """Count the facts of a part that a graph states or entails, in any form; training facts are not counted for the
        test.

        :param name: one of the graph's named graphs; None for all of them.
        :param given: further arguments of the world's `facts`.
        :raises InputError: a world that states no facts, or no such part.
        """
        from gumption.kg.leaks import count_leaks  # the list of worlds is read without a graph

        return count_leaks(graph, name, self.asked(part, **given), self.get("nary") or ())

    def asked(self, part: str = "test", **given: Any) -> "frozenset[Fact]":
        """Return the facts of a part, with two and three parties; training facts are left out of the test."""
        from gumption.kg.leaks import asked_facts

        train = self._parties("train", given) if part == "test" else ()
        return asked_facts(self._parties(part, given), train, self.get("nary") or ())

    def training(self, **given: Any) -> Iterator[tuple[str, str, str]]:
        """Return the training facts, with two and three parties."""
        return self._parties("train", given)

    def _parties(self, part: str, given: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Yield the facts of a part, with two and three parties."""
        yield from self.facts(part, **given)
        if (nodes := self.get("node_facts")) is not None:
            yield from nodes(partition=part, **given)

    def played(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of an environment that its facts depend on: arguments of `facts` except `partition`."""
        stated = self.get("facts")
        asked = () if stated is None else inspect.signature(stated).parameters
        return {name: value for name, value in settings.items() if name in asked and name != "partition"}

    def load(self, place: str, what: str) -> Any:
        """Import and return the object at "module:name"; the name may have dots. Raise InputError as `get`."""
        module, _, name = place.partition(":")
        try:
            found = import_module(module)
        except ModuleNotFoundError as error:
            # An existing module that imports a missing one is another fault: its traceback is shown.
            if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
                raise
            raise InputError(
                f"the entry of the world {self.name!r} names {place!r} as its {what}: no module {module}"
            ) from None
        try:
            return attrgetter(name)(found)
        except AttributeError:
            raise InputError(
                f"the entry of the world {self.name!r} names {place!r} as its {what}: {module} has no {name!r}"
            ) from None


#: What belongs to no single world: offer -> places, "module:name".
ACROSS = {
    "experiments": (
        "gumption.scripts.papers.kg.experiments:EXPERIMENTS",
        "gumption.scripts.papers.across.graph_at_work:EXPERIMENTS",
    ),
    "bench": ("gumption.scripts.papers.kg.bench:CASES",),
}

WORLDS: dict[str, World] = {
    world.name: world
    for world in (
        World(
            name="wordcraft",
            title="WordCraft",
            about="Make a goal by combining words on a table.",
            source="Jiang et al. (2020), WordCraft: An Environment for Benchmarking Commonsense Agents",
            environments=(
                Environment(
                    "gumption/WordCraft-v0",
                    "gumption.envs.wordcraft.env:WordCraftEnv",
                    "gumption.envs.wordcraft.env:WordCraftVectorEnv",
                    small={"num_distractors": 3},
                    variants=(
                        {"depth": 2},
                        {"features": "onehot", "reward": "sparse", "names": "anonymous", "laws": "counterfactual"},
                    ),
                    held_out={"partition": "test"},
                    margin=0.3,
                ),
                Environment(
                    "gumption/LittleAlchemy-v0",
                    "gumption.envs.wordcraft.little_alchemy:LittleAlchemyEnv",
                    "gumption.envs.wordcraft.little_alchemy:LittleAlchemyVectorEnv",
                    small={"max_steps": 50},
                    margin=0.02,
                ),
            ),
            offers={
                "facts": "gumption.envs.wordcraft:facts",
                "node_facts": "gumption.envs.wordcraft:recipe_facts",
                "nary": "gumption.envs.wordcraft.facts:NARY",
                "memory": "gumption.envs.wordcraft:Memory",
                "add_memory": "gumption.envs.wordcraft:add_memory",
                "build": "gumption.scripts.wordcraft.commands:build",
                "data": "gumption.scripts.wordcraft.commands:app",
                "config": "gumption.agents.wordcraft.config:TrainConfig",
                "setup": "gumption.agents.wordcraft.setup:WordCraftSetup",
                "evaluate": "gumption.agents.wordcraft.evaluation:evaluate",
                "train_command": "gumption.scripts.wordcraft.commands:train",
                "live": "gumption.scripts.wordcraft.live:live",
                "play": "gumption.scripts.people.wordcraft.game:game",
                "study": "gumption.scripts.people.wordcraft.game:begin",
                "oracle": "gumption.agents.wordcraft.evaluation:oracle",
                "splits": "gumption.scripts.wordcraft.commands:splits",
                "read_splits": "gumption.envs.wordcraft.splits:Split.load",
                "evaluate_policy": "gumption.agents.wordcraft.evaluation:evaluate_policy",
                "watch": "gumption.agents.wordcraft.living:watch",
                "experiments": "gumption.scripts.papers.wordcraft.living:EXPERIMENTS",
                "bench": "gumption.scripts.papers.wordcraft.bench:CASES",
                "web": "gumption.scripts.people.wordcraft:VIEW",
            },
            nodes=("/recipes", "/evidence"),
            fitted=True,
            seen=("ansi", "rgb_array"),
        ),
        World(
            name="halma",
            title="HALMA",
            about="Find the way through hidden mazes by what coloured digits tell.",
            source="Xie et al. (2021), HALMA: Humanlike Abstraction Learning Meets Affordance in Rapid Problem Solving",
            environments=(
                Environment(
                    "gumption/HALMA-v0",
                    "gumption.envs.halma.env:HALMAEnv",
                    "gumption.envs.halma.env:HALMAVectorEnv",
                    small={"num_mazes": 5},
                    variants=(
                        {"observation": "visual", "names": "anonymous"},
                        {"max_opt_len": 1, "names": "shuffled", "laws": "counterfactual"},
                    ),
                    held_out={"maze_seed": 1},
                    margin=5.0,
                ),
            ),
            offers={
                "facts": "gumption.envs.halma:facts",
                "build": "gumption.scripts.halma.commands:build",
                "config": "gumption.agents.halma.config:HALMAConfig",
                "load": "gumption.agents.halma.runs:load_run",
                "train_command": "gumption.scripts.halma.commands:train",
                "evaluate_command": "gumption.scripts.papers.halma.commands:evaluate",
                "play": "gumption.scripts.people.halma.game:game",
                "tools": "gumption.scripts.papers.halma.commands:app",
                "splits": "gumption.scripts.halma.commands:splits",
                "read_splits": "gumption.envs.halma.splits:load_splits",
                "evaluate_policy": "gumption.agents.halma.evaluation:evaluate_policy",
                "watch": "gumption.agents.halma.watch:watch",
                "experiments": "gumption.scripts.papers.halma.experiments:EXPERIMENTS",
                "bench": "gumption.scripts.papers.halma.bench:CASES",
                "web": "gumption.scripts.people.halma:VIEW",
            },
            nodes=("/evidence",),
        ),
        World(
            name="gradual",
            title="Gradual",
            about="Learn one task after the other in a stream of bytes.",
            source="GoodAI (2017), General AI Challenge: Specifications of the First Round, Gradual Learning",
            environments=(
                Environment(
                    "gumption/Gradual-v0",
                    "gumption.envs.gradual.env:GradualEnv",
                    "gumption.envs.gradual.env:GradualVectorEnv",
                    small={"max_steps": 200},
                    variants=(
                        {"tasks": ["micro7.1", "micro14"], "names": "shuffled", "laws": "counterfactual"},
                        {"upstream_quirks": True, "names": "anonymous"},
                    ),
                ),
            ),
            offers={
                "facts": "gumption.envs.gradual:facts",
                "load": "gumption.agents.gradual.recurrent:load_policy",
                "tools": "gumption.scripts.papers.gradual.commands:app",
                "experiments": "gumption.scripts.papers.gradual.experiments:EXPERIMENTS",
                "bench": "gumption.scripts.papers.gradual.bench:CASES",
                "web": "gumption.scripts.people.gradual:VIEW",
                "begin": "gumption.scripts.people.gradual.game:begin",
                "serve": "gumption.scripts.papers.gradual.commands:serve",
            },
        ),
        World(
            name="segar",
            title="SEGAR",
            about="Bring balls to goals in a 2-D physics whose rules and distributions are data.",
            source="Hjelm et al. (2022), The Sandbox Environment for Generalizable Agent Research (SEGAR)",
            environments=tuple(
                Environment(
                    f"gumption/{name}-v0",
                    f"gumption.envs.segar.env:{kind}Env",
                    f"gumption.envs.segar.env:{kind}VectorEnv",
                    small={"num_levels": 5, "resolution": 32, "directions": 16, **small},
                    variants=({"directions": 0, "observation": "state", "names": "shuffled"},),
                    held_out={"partition": "test"},
                    margin=margin,
                )
                for name, kind, small, margin in (
                    # No margin: an agent that only looks up facts weighs burning as much as reaching the goal.
                    ("PuttPutt", "PuttPutt", {"levels": "tilesx2-medium"}, None),
                    ("PuttPuttNegDist", "PuttPuttNegDist", {"levels": "objectsx2-hard"}, None),
                    ("Invisiball", "Invisiball", {}, 0.015),
                    ("Billiards", "Billiards", {}, None),
                    ("SEGAR", "Segar", {"levels": "tilesx2-medium"}, None),
                )
            ),
            offers={
                "facts": "gumption.envs.segar.facts:facts",
                "memory": "gumption.envs.segar:Memory",
                "add_memory": "gumption.envs.segar:add_memory",
                "config": "gumption.agents.segar.config:SegarConfig",
                "load": "gumption.agents.segar.training:load_run",
                "evaluate": "gumption.agents.segar.runs:evaluate",
                "train_command": "gumption.scripts.segar.commands:train",
                "live": "gumption.scripts.segar.commands:live",
                "text": "gumption.envs.segar.text:FACE",
                "begin": "gumption.envs.segar.text:begin",
                "watch": "gumption.agents.segar.runs:watch",
                "experiments": "gumption.scripts.papers.segar.experiments:EXPERIMENTS",
                "tools": "gumption.scripts.papers.segar.commands:app",
                "bench": "gumption.scripts.papers.segar.bench:CASES",
                "web": "gumption.scripts.people.segar:VIEW",
            },
            nodes=("/evidence",),
        ),
        World(
            name="probsol",
            title="ProbSol",
            about="Solve six kinds of tasks on a table of magnets whose properties are found out by trying.",
            source="Shi et al. (2022), Semantics emerge from solving problems given abstract prior (ProbSol Worlds)",
            environments=(
                Environment(
                    "gumption/ProbSol-v0",
                    "gumption.envs.probsol.env:ProbSolEnv",
                    "gumption.envs.probsol.env:ProbSolVectorEnv",
                    small={"task": "fishing/0", "max_actions": 20},
                    variants=(
                        {"observation": "paper", "names": "anonymous"},
                        {"actions": "objects", "laws": "shuffled"},
                    ),
                    # As in `gumption evaluate RUN`: each test task in turn; steps cannot answer a quiz.
                    held_out={
                        "partition": "test",
                        "order": "sequential",
                        "trial_number": 10,
                        "quiz": False,
                        "task": "generated",
                    },
                ),
            ),
            offers={
                "facts": "gumption.envs.probsol.facts:facts",
                "memory": "gumption.envs.probsol.memory:Memory",
                "add_memory": "gumption.envs.probsol.knowledge_base:add_memory",
                "build": "gumption.scripts.probsol.commands:build",
                "config": "gumption.agents.probsol.config:ProbSolConfig",
                "load": "gumption.agents.probsol.training:load_run",
                "evaluate": "gumption.agents.probsol.runs:evaluate",
                "train_command": "gumption.scripts.probsol.commands:train",
                "experiments": "gumption.scripts.papers.probsol.experiments:EXPERIMENTS",
                "text": "gumption.envs.probsol.text:FACE",
                "splits": "gumption.scripts.probsol.commands:splits",
                "study": "gumption.scripts.people.probsol.study:begin",
                "study_report": "gumption.scripts.people.probsol.study:report",
                "oracle": "gumption.scripts.probsol.players:oracle",
                "scripted": "gumption.scripts.probsol.players:scripted",
                "run_player": "gumption.scripts.probsol.players:run_player",
                "tools": "gumption.scripts.papers.probsol.commands:app",
                "begin": "gumption.envs.probsol.env:begin",
                "watch": "gumption.agents.probsol.runs:watch",
                "bench": "gumption.scripts.papers.probsol.bench:CASES",
                "web": "gumption.scripts.people.probsol:VIEW",
            },
            nodes=("/evidence",),
        ),
    )
}


def register() -> None:
    """Register the environments of all listed worlds with Gymnasium."""
    for world in WORLDS.values():
        _register(world)


def add(world: World) -> None:
    """Add a world to the list, and its environments to Gymnasium's registry.

    :raises InputError: the name is taken.
    """
    if world.name in WORLDS:
        raise InputError(f"there is a world {world.name!r} already: give yours another name")
    WORLDS[world.name] = world
    _register(world)


def _register(world: World) -> None:
    import gymnasium as gym

    for environment in world.environments:
        # The environments check their input themselves, so Gymnasium's checker of each step is disabled.
        gym.register(
            id=environment.id,
            entry_point=environment.single,
            vector_entry_point=environment.vector,
            disable_env_checker=True,
        )


def find(name: str) -> World:
    """Return the world of a name; raise InputError with the nearest name if there is none."""
    worlds = known()
    if name not in worlds:
        hint = did_you_mean(name, worlds, f"there are {', '.join(worlds)}")
        raise InputError(f"unknown world {name!r}: {hint} (modules named by GUMPTION_WORLDS add others)")
    return worlds[name]


def known() -> Mapping[str, World]:
    """Return all worlds by name, including the worlds that the modules in GUMPTION_WORLDS add.

    :raises InputError: a module of GUMPTION_WORLDS does not exist.
    """
    for module in filter(None, (part.strip() for part in os.environ.get("GUMPTION_WORLDS", "").split(","))):
        if module in sys.modules:
            continue
        if "" not in sys.path:
            sys.path.insert(0, "")  # as `python -m` does: the current directory may hold the module
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.split(".")[0] and error.name != module:
                raise
            raise InputError(f"GUMPTION_WORLDS names {module!r}, and there is no such module here") from None
    return WORLDS


def environments() -> Iterator[tuple[World, Environment]]:
    """Yield every environment of every world."""
    for world in known().values():
        for environment in world.environments:
            yield world, environment
