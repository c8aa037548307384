"""The knowledge graph: facts as triples of labels, queries over them, and predictors trained on them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .graph import KnowledgeGraph
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .calibration import Calibration
    from .complex import ComplEx
    from .explanation import why
    from .predictors import load_predictor
    from .pykeen_models import PyKEENPredictor, export_pykeen, load_pykeen
    from .ranking import evaluate_ranking, filtered_ranks
    from .recipe_predictor import RecipePredictor
    from .scores import RelationScores
    from .words import WordVectors

__all__ = [
    "Calibration",
    "ComplEx",
    "KnowledgeGraph",
    "PyKEENPredictor",
    "RecipePredictor",
    "RelationScores",
    "Vocabulary",
    "WordVectors",
    "evaluate_ranking",
    "export_pykeen",
    "filtered_ranks",
    "load_predictor",
    "load_pykeen",
    "why",
]

# These import torch or gensim, which the graph alone does not need: they are imported when first asked for.
_LAZY = {
    "Calibration": "calibration",
    "ComplEx": "complex",
    "PyKEENPredictor": "pykeen_models",
    "RecipePredictor": "recipe_predictor",
    "RelationScores": "scores",
    "WordVectors": "words",
    "evaluate_ranking": "ranking",
    "export_pykeen": "pykeen_models",
    "filtered_ranks": "ranking",
    "load_predictor": "predictors",
    "load_pykeen": "pykeen_models",
    "why": "explanation",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
