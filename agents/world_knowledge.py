"""Knowledge of a run in any world, from the word of `--kg` to advice: a graph that is looked up, or a link predictor.

What a run asks is kept in its folder, as a graph or a predictor of its own, so that it can be asked again later.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.sealed import damaged, read_sealed
from gumption.envs.worlds import World
from gumption.kg import KnowledgeGraph, NaryRelation, load_predictor
from gumption.kg.checkpoint import checkpoint_hash, has_checkpoint
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.places import open_graph

from .advice import Advice
from .knowledge import OWN, UnknownEntities, learned_leaks, warn_of_leaks
from .run_folder import MANIFEST

GRAPH = "graph.nq"
PREDICTOR = "predictor"


@dataclass(frozen=True, eq=False)
class WorldKnowledge:
    """A graph or a predictor, and the advice that it gives.

    :ivar about: for a run's manifest: "source", the sha256 (hex) of "graph" or "predictor", and, of what is not made of
        the world's own facts, how many of the "test_facts" it states, entails or was trained on, or "not known".
    """

    advice: Advice
    source: Any
    about: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: str,
        world: World,
        vocabulary: Sequence[str],
        relations: Sequence[str | NaryRelation],
        device: str = "cpu",
        settings: Mapping[str, Any] | None = None,
    ) -> "WorldKnowledge":
        """
        :param source: "train" or "full", a graph (file, folder, address, perhaps with #NAME), or a predictor's folder.
        :param vocabulary: of the environment, `relations` too.
        :param settings: of the environment; those that the world's `facts` take, too, say of what they are.
        :raises InputError: a source that is not there or does not fit the world, or a world without facts.
        """
        if source not in OWN and has_checkpoint(Path(source)):
            predictor = load_predictor(source, device)
            about: dict[str, Any] = {"source": Path(source).name, "predictor": checkpoint_hash(source)}
            if world.get("facts") is not None:
                asked = world.asked(**world.played(settings or {}))
                about["test_facts"] = learned_leaks(source, predictor, asked)
            return cls(Advice(predictor, vocabulary, relations, device=device), predictor, about)
        graph = KnowledgeGraph()
        if source in OWN:
            graph.add(_facts(world, OWN[source], settings), graph=f"{world.name}/{OWN[source]}")
        else:
            given, name = open_graph(source)
            with given:
                for each in [name] if name is not None else given.graphs():
                    graph.add(given.triples(graph=each), graph=each)
        advice = Advice(graph, vocabulary, relations, device=device)
        about = {
            "source": source if source in OWN else Path(source).name,
            "graph": graph.content_hash(),
        }
        if source not in OWN:
            if advice.report:
                warnings.warn(f"{source}: {advice.report}", UnknownEntities, stacklevel=1)
            if world.get("facts") is not None:
                leaks = world.leaks(graph, **world.played(settings or {}))
                about["test_facts"] = leaks._asdict()
                warn_of_leaks(source, leaks)
        return cls(advice, graph, about)

    def save(self, folder: Path) -> None:
        """Keep the graph or the predictor in a run's folder."""
        self.source.save(folder / (GRAPH if isinstance(self.source, KnowledgeGraph) else PREDICTOR))


def kept_advice(
    folder: Path, vocabulary: Sequence[str], relations: Sequence[str | NaryRelation], device: str = "cpu"
) -> Advice:
    """The advice of what `WorldKnowledge.save` kept; InputError where it is missing or damaged."""
    return Advice(kept_source(folder, device), vocabulary, relations, device=device)


def kept_source(folder: Path, device: str = "cpu") -> KnowledgeGraph | LinkPredictor:
    """The graph or the predictor that `WorldKnowledge.save` kept; InputError where it is missing or damaged."""
    kept, manifest = folder / PREDICTOR, folder.parent / MANIFEST
    if kept.is_dir():
        return load_predictor(kept, device)
    source = KnowledgeGraph.load(folder / GRAPH)
    about = read_sealed(manifest).get("knowledge", {}) if manifest.is_file() else {}
    if about.get("graph", source.content_hash()) != source.content_hash():
        damaged(folder / GRAPH, f"these are not the facts that {MANIFEST} tells of")
    return source


def _facts(world: World, part: str, settings: Mapping[str, Any] | None) -> Any:
    if world.get("facts") is None:
        raise InputError(f"the world {world.name!r} states no facts: give a graph of your own")
    return world.facts(part, **world.played(settings or {}))
