"""Base classes of configs, and how a stored config is read. This module imports nothing heavy."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, asdict, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, Seed, Share, Size, settings
from gumption.data.writing import can_be_named
from gumption.kg.links.training_settings import TrainingSettings

CONFIG, MANIFEST = "config.json", "manifest.json"  # of a run's folder; see run_folder.py
#: Words of `--kg` that stand for the world's own facts -> the part of these.
OWN = {"train": "train", "full": "all"}
Mixing = Literal["linear", "softmax", "product"]  # how knowledge enters the logits; see policy.py
MIXINGS = get_args(Mixing)
Optimiser = Literal["rmsprop", "adam"]  # of the learner; see learners/impala.py
Reduction = Literal["sum", "mean"]
#: Sources of what a pair makes; see `KnowledgeConfig.kg_sources`.
WORDS, OUTSIDE, LINKS, RULES = SOURCES = ("words", "outside", "links", "rules")
# Those that a graph beside feeds where none are named. Beside rules, which know them, links added nothing on validation
# tasks of the shipped book.
FED = (WORDS, OUTSIDE, RULES)
#: Scores that are not of the world's relations, but channels of any graph and of word vectors; see gumption.kg.edges.
EDGES, _ = CHANNELS = ("edges", WORDS)
LookAhead = Literal["auto", "on", "off"]  # see gumption.kg.planning
GRAPH = "graph"  # the agent that has no network of its own: it plays by a graph
NO_GRAPH = "agent='graph' acts by a graph alone: add kg='train', 'full' or a graph"
Repeat = Literal["rule", "paper"]  # whether scores speak again for what is chosen already; see `GuidedConfig`
Overrides = tuple[tuple[str, Any], ...]  # parameters of a learner that differ from its defaults


def by_name(pairs: Overrides) -> Overrides:
    """The pairs in the order of their names.

    :raises InputError: a name twice.
    """
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{twice} is set twice")
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def place_name(place: str) -> str:
    """The name of a file or folder without the folders above it; #NAME, which may have slashes, stays as it is."""
    file, mark, graph = place.partition("#")
    return Path(file).name + mark + graph


@settings
class RunConfig:
    """The settings of a run, in any world. In config.json files and folders have their names only."""

    #: Fields that may name files, which a run copies: a text, a tuple of texts, or pairs of name and text.
    FILES: ClassVar[tuple[str, ...]] = ()
    #: Those of them that name a folder.
    FOLDERS: ClassVar[tuple[str, ...]] = ()
    #: Fields that name a thing which a run keeps in another form, such as a graph.
    PLACES: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        """A dict for json.dump."""
        value = asdict(self)
        for name in self.PLACES:
            value[name] = value[name] and place_name(value[name])
        return replaced(value, self.FILES, lambda field, text: Path(text).name if self._is_file(field, text) else text)

    @classmethod
    def from_json(cls, value: Any, **changes: Any) -> Self:
        """The config of such a dict. Fields that are newer than the run have their defaults.

        :param changes: fields to replace, such as the place of a file, where they are not None.
        :raises InputError: unknown or missing fields.
        """
        known = {field.name for field in fields(cls)}
        if not isinstance(value, dict) or ("seed" in known and "seed" not in value):
            raise InputError(f"not the config of a run: {value!r:.40}")
        if unknown := sorted(set(value) - known):
            raise InputError(f"not the config of a run: {', '.join(unknown)} unknown")
        return cls(**{**value, **{name: change for name, change in changes.items() if change is not None}})

    def files(self) -> dict[str, list[Path]]:
        """The existing files and folders, by the fields that name them.

        :raises InputError: two of one name in a field, which config.json could not tell apart.
        """
        found: dict[str, list[Path]] = {}

        def add(field: str, text: str) -> str:
            if self._is_file(field, text):
                path = Path(text)
                if any(path.name == other.name for other in found.get(field, ()) if path != other):
                    raise InputError(f"{field} names two files {path.name}; give one of them another name")
                found.setdefault(field, []).append(path)
            return text

        replaced(asdict(self), self.FILES, add)
        return found

    @classmethod
    def _is_file(cls, field: str, text: str) -> bool:
        """Whether a setting names an existing file or folder, rather than a thing that the world knows by name."""
        named = os.sep in text or Path(text).suffix != "" or field in cls.FOLDERS
        return named and can_be_named(text) and Path(text).exists()


def replaced(settings: Mapping[str, Any], names: Iterable[str], new: Callable[[str, str], str]) -> dict[str, Any]:
    """The settings, where each text in the fields of these names is replaced by new(field, text)."""

    def of(field: str, value: Any) -> Any:
        if isinstance(value, str):
            return new(field, value)
        return [of(field, part) for part in value] if isinstance(value, list | tuple) else value

    return {**settings, **{name: of(name, settings[name]) for name in names if name in settings}}


@settings
class KnowledgeConfig(RunConfig):
    """The knowledge of a run, in whatever world.

    :ivar kg: knowledge in the policy: "none", the world's facts of the training part ("train") or all of them ("full"),
        a graph (a file, folder or address, #NAME for one of its graphs), the folder of a link predictor, or a file of
        rules, which are applied to the facts of the training part.
    :ivar kg_fit: whether a link predictor is fitted to the facts, or they are looked up, 1 for a fact that is stated
        and 0 for any other; without it a graph of your own is looked up.
    :ivar kg_relations: what your graph or predictor calls a relation of the world, the world's name first
        (componentOf=ingredient_of); ^ before its name exchanges subject and object. It wins over `kg_map`.
    :ivar kg_map: a file of `gumption kg map`: which relations and entities of your graph stand for the world's.
    :ivar kg_rules: a file of rules, or one of the world's by its name, which are applied to the graph first.
    :ivar kg_beside: a graph beside the facts of `kg`. Where it states a relation of the world, by itself or by the
        relations and rules that are named, it is looked up beside the scores that are fitted. A graph of other
        relations, such as isA and partOf, feeds the sources of what a pair makes.
    :ivar kg_sources: the sources of what a pair makes, with commas between, a product of experts that held-out facts of
        `kg` weigh: words (the predictor by word vectors), outside (it knows each thing by the graph beside, too), links
        (facts of that graph between a party and the product) and rules (mined from that graph and the facts of `kg`).
        Without any, words alone, or all but links with a graph beside that feeds them.
    :ivar kg_shuffled: a seed; the world's entities then have each other's names in the graph, in the one beside where
        there is one, so that what is left of a success is not the graph's (a control).
    :ivar kg_scores: the relations whose scores are used, with commas between; without any, those of three parties where
        the knowledge has them, else all. Or "edges", for any graph: each of its relations, in each direction, is a
        channel whose worth is counted and learned on training tasks; "words" adds cosines of word vectors.
    :ivar kg_calibrated: log-ratios to chance, or the raw scores of the link predictor.
    :ivar kg_rank: of ComplEx, where it is fitted; see `gumption kg fit`.
    :ivar kg_epochs: of its fit.
    :ivar kg_n3: the weight of its regulariser.
    :ivar kg_reciprocal: whether it has a vector for each relation's inverse; without, its objective is that of Jiang et
        al. (2020), equation 2.
    :ivar kg_members: networks of each predictor that is fitted to facts of three parties.
    :ivar kg_seed: of the predictors that are fitted.
    """

    _: KW_ONLY
    kg: str = "none"
    kg_fit: bool | None = None
    kg_relations: tuple[tuple[str, str], ...] = ()
    kg_map: str | None = None
    kg_rules: str | None = None
    kg_beside: str | None = None
    kg_sources: tuple[str, ...] = ()
    kg_shuffled: Seed | None = None
    kg_scores: tuple[str, ...] = ()
    kg_calibrated: bool = True
    kg_rank: Size = TrainingSettings.rank
    kg_epochs: Count = TrainingSettings.epochs
    kg_n3: NonNegative = TrainingSettings.n3
    kg_reciprocal: bool = TrainingSettings.reciprocal
    kg_members: Size = 3
    kg_seed: Seed = TrainingSettings.seed

    #: Those of `TrainingSettings` that a run sets.
    COMPLEX: ClassVar = ("rank", "epochs", "n3", "reciprocal")
    #: Of a graph alone, and of a second source.
    OF_GRAPH: ClassVar = ("kg_map", "kg_rules", "kg_relations", "kg_shuffled")
    TWO: ClassVar = ("kg_beside", "kg_sources")
    PLACES = ("kg", "kg_map", "kg_rules", "kg_beside")

    def fit_settings(self) -> dict[str, Any]:
        """The settings of fits that differ from their defaults: rank, epochs, n3, reciprocal, members, seed."""
        chosen = {name: getattr(self, f"kg_{name}") for name in (*self.COMPLEX, "members", "seed")}
        return {name: value for name, value in chosen.items() if value != getattr(type(self), f"kg_{name}")}

    def apart(self) -> "tuple[Self, KnowledgeConfig]":
        """The config of the facts that are fitted, and that of the graph beside them."""
        without = {one.name: one.default for one in fields(self) if one.name in (*self.OF_GRAPH, *self.TWO)}
        of_graph = {name: getattr(self, name) for name in self.OF_GRAPH}
        return replace(self, **without), KnowledgeConfig(kg=self.kg_beside or "none", kg_fit=False, **of_graph)

    def check_knowledge(self) -> None:
        """:raises InputError: settings of knowledge without knowledge, or that exclude each other."""
        of_knowledge = [one for one in fields(self) if one.name.startswith("kg_") or one.name == "mixing"]
        given = [one.name for one in of_knowledge if getattr(self, one.name) != one.default]
        given += ["look_ahead"] if getattr(self, "look_ahead", "off") == "on" else []
        given += ["repeat"] if getattr(self, "repeat", "rule") == "paper" else []
        if self.kg == "none" and given:
            raise InputError(f"{', '.join(given)}: that is for knowledge; add kg='train', 'full' or a graph")
        if self.kg_fit is False and not self.kg_calibrated:
            raise InputError("raw scores are a link predictor's; facts that are looked up have none")
        if self.kg_fit is False and (set_ := self.fit_settings()):
            raise InputError(f"kg_{min(set_)}: that is for predictors that are fitted; leave out kg_fit=False")
        for name in ("kg_scores", "kg_sources"):
            named: tuple[str, ...] = getattr(self, name)
            if twice := next((each for each in named if named.count(each) > 1), None):
                raise InputError(f"{name} names {twice!r} twice")
        self._check_sources()
        self._check_channels()

    def _check_channels(self) -> None:
        if not (channels := set(CHANNELS).intersection(self.kg_scores)):
            return
        if others := [name for name in self.kg_scores if name not in channels]:
            raise InputError(f"kg_scores names {', '.join(sorted(channels))} and {others[0]}: take one or the other")
        unread = {"kg_beside", "kg_sources", "kg_calibrated", *(f"kg_{name}" for name in self.COMPLEX)}
        changed = [one.name for one in fields(self) if one.name in unread and getattr(self, one.name) != one.default]
        if changed or self.kg_fit:
            name = next(iter(changed), "kg_fit")
            raise InputError(
                f"{name} is for scores that are fitted, and kg_scores takes the edges of a graph: leave it out"
            )
        if getattr(self, "look_ahead", "off") == "on":
            raise InputError("look_ahead needs the scores of a relation that produces, and kg_scores takes edges")

    def _check_sources(self) -> None:
        for source in self.kg_sources:
            if source not in SOURCES:
                raise InputError(f"kg_sources names {source!r:.40}; it names some of {', '.join(SOURCES)}")
        if self.kg_sources and (self.kg_rules or self.kg_relations):
            raise InputError(
                "kg_rules and kg_relations are for a graph that is looked up, and kg_sources for one that feeds "
                "predictors: give one of them"
            )
        if {OUTSIDE, LINKS}.intersection(self.kg_sources) and self.kg_beside is None:
            raise InputError(f"kg_sources names {', '.join(self.kg_sources)}: name a graph of other facts (kg_beside)")


@settings
class GuidedConfig(KnowledgeConfig):
    """Knowledge that is mixed into the logits of a policy.

    :ivar mixing: "linear" (Jiang et al., 2020, equation 5), "softmax", "product" (learn without the knowledge, act with
        both), or MODULE:NAME of a subclass of `KGPolicy`.
    :ivar look_ahead: score a choice by the best derivation of the goal that it leaves possible, rather than by its own
        facts alone: "on", "off", or "auto", on for the agent "graph" and for goals that need several choices, where
        no scores are named, and the world and the knowledge have a relation that produces.
    :ivar repeat: "rule": a score that spoke for a thing does not speak for choosing it again, unless a fact pairs the
        thing with itself; "paper": it does, as in Jiang et al. (2020), whose agents chose one thing twice.
    """

    _: KW_ONLY
    mixing: str = "linear"
    look_ahead: LookAhead = "auto"
    repeat: Repeat = "rule"

    def check_knowledge(self) -> None:
        """:raises InputError: as of `KnowledgeConfig`; an unknown mixing."""
        if self.mixing not in MIXINGS and not all(self.mixing.partition(":")):
            raise InputError(
                f"mixing is {self.mixing!r:.40}; it is {', '.join(MIXINGS)} or MODULE:NAME of a subclass of KGPolicy"
            )
        super().check_knowledge()
        if self.kg_only and self.kg == "none":
            raise InputError(NO_GRAPH)
        if self.kg_only and self.mixing != "linear":
            raise InputError("agent='graph' adds the scores up: leave out mixing")

    @property
    def kg_only(self) -> bool:
        """Whether the graph plays alone, and nothing is learned."""
        return getattr(self, "agent", "") == GRAPH

    @property
    def looks_ahead(self) -> bool:
        """Whether the scores look ahead, in a world and with knowledge that allow it."""
        return self.look_ahead == "on" or (self.look_ahead == "auto" and self.kg_only and not self.kg_scores)


@settings
class WorldLearner:
    """Parameters of the learner (see `train_impala`) and of its network of one hidden layer."""

    batch_size: Size = 64
    unroll_length: Size = 4
    optimiser: Optimiser = "adam"
    learning_rate: NonNegative = 3e-3
    epsilon: NonNegative = 1e-8
    discount: Share = 0.99
    entropy_cost: NonNegative = 0.01
    baseline_cost: NonNegative = 0.5
    max_grad_norm: NonNegative = 40.0
    reduction: Reduction = "mean"
    hidden_size: Size = 128


@settings
class WorldConfig(GuidedConfig):
    """A training run in any world whose choices are candidates, one for each action, and that has no config of its own.

    :ivar agent: "network", or "graph", which acts by the scores of `kg` alone and learns nothing.
    :ivar env: settings of the environment.
    :ivar total_steps: environment steps.
    :ivar eval_interval: steps between evaluations, and between checkpoints.
    :ivar eval_episodes: episodes of an evaluation.
    :ivar overrides: parameters of the learner that differ from its defaults.
    :ivar supervised: learn from the right choices of the training tasks, in a world that states them, not from rewards.
    :ivar seed: fixes everything.
    :ivar device: auto, cpu or cuda.
    """

    world: str
    agent: Literal["network", "graph"] = "network"
    env: tuple[tuple[str, Any], ...] = ()
    total_steps: Count = 100_000
    eval_interval: Count = 20_000
    eval_episodes: Count = 500
    overrides: Overrides = ()
    supervised: bool = False
    seed: Seed = 0
    device: str = "auto"

    FILES = ("env",)

    def __post_init__(self) -> None:
        """:raises InputError: settings that do not go together, or parameters that the learner does not have."""
        for name in ("env", "overrides"):
            object.__setattr__(self, name, by_name(getattr(self, name)))
        self.check_knowledge()
        _ = self.learner

    @property
    def learner(self) -> WorldLearner:
        """The default parameters with the overrides."""
        return replace(WorldLearner(), **dict(self.overrides))
