"""What guides a WordCraft agent: the facts of its book's recipes, or a graph or predictor that a person gives."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

from gumption.agents.advice import Advice
from gumption.agents.fits import FitSettings
from gumption.agents.knowledge import Knowledge, PartFacts
from gumption.envs.wordcraft import RecipeBook, Split, WordCraftVectorEnv, facts, recipe_facts
from gumption.envs.wordcraft.facts import FactPart
from gumption.kg import WordVectors
from gumption.kg.checkpoint import pick_device
from gumption.kg.vocabulary import Triple

from .config import TrainConfig
from .cross_fit import cross_fitted

# The latest knowledge: the seeds of an experiment run one after another in a process, and all want the same.
_latest: dict[tuple, Knowledge] = {}


def part_facts(book: RecipeBook, split: Split) -> PartFacts:
    """The facts of a part of the recipes, by graph: wordcraft/PART, and the recipes as nodes in wordcraft/PART/recipes.
    A split without test recipes has no facts of that part."""

    def of_part(part: str) -> Mapping[str, Iterable[Triple]]:
        if part == "test" and not len(split.test_recipes):
            return {}
        which = cast("FactPart", part)
        return {
            f"wordcraft/{part}": facts(book, split=which, split_mode=split),
            f"wordcraft/{part}/recipes": recipe_facts(book, split=which, split_mode=split),
        }

    return of_part


def make_knowledge(config: TrainConfig, env: WordCraftVectorEnv) -> Knowledge:
    """The knowledge of a config that has some.

    :raises InputError: a source that is not there or does not fit the book; scores that it does not have.
    """
    device = str(pick_device(config.device))
    key = (config.kg, config.kg_scores, config.kg_calibrated, config.cross_fit, config.word_vectors, device)
    key = (*key, env.book.hash, env.split.hash)
    if key not in _latest or config.kg not in ("train", "full"):  # a person's file may have changed meanwhile
        _latest.clear()
        settings = FitSettings()
        made = Knowledge.of(
            config.kg,
            part_facts(env.book, env.split),
            env.book.entities,
            env.relations,
            wanted=config.kg_scores,
            calibrated=config.kg_calibrated,
            settings=settings,
            vectors=partial(_vectors, config.word_vectors),
            device=device,
        )
        _latest[key] = cross_fitted(made) if config.cross_fit else made
    return _latest[key]


def advice(knowledge: Knowledge, env: WordCraftVectorEnv) -> Advice:
    """The advice of some knowledge, with a mode of its own."""
    return Advice(knowledge.scores.twin(), env.vocabulary, env.relations)


def _vectors(word_vectors: str | None, labels: Sequence[str]) -> np.ndarray:
    vectors, report = WordVectors.load(word_vectors).guessed_vectors(labels)
    report.warn()
    return vectors
