"""The knowledge graph: facts as triples of labels, queries over them, and predictors trained on them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .graph import KnowledgeGraph
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .complex import ComplEx
    from .ranking import evaluate_ranking
    from .recipe_predictor import RecipePredictor
    from .scores import RelationScores
    from .words import WordVectors

__all__ = [
    "ComplEx",
    "KnowledgeGraph",
    "RecipePredictor",
    "RelationScores",
    "Vocabulary",
    "WordVectors",
    "evaluate_ranking",
]

# These import torch or gensim, which the graph alone does not need: they are imported when first asked for.
_LAZY = {
    "ComplEx": "complex",
    "RecipePredictor": "recipe_predictor",
    "RelationScores": "scores",
    "WordVectors": "words",
    "evaluate_ranking": "ranking",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
