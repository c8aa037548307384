"""The knowledge graph: facts as triples of labels, queries over them, and predictors trained on them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .graph import KnowledgeGraph
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .atomic import import_atomic2020
    from .calibration import Calibration
    from .complex import ComplEx
    from .conceptnet import import_conceptnet
    from .explanation import why
    from .inference import infer
    from .linking import add_links, link
    from .predictors import load_predictor
    from .proof import explain
    from .pykeen_models import PyKEENPredictor, export_pykeen, load_pykeen
    from .ranking import evaluate_ranking, filtered_ranks
    from .recipe_predictor import RecipePredictor
    from .rule_mining import mine_rules
    from .rules import read_rules
    from .scores import RelationScores
    from .weights import add_weighted, fact_weights
    from .wordnet import import_wordnet
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
    "add_links",
    "add_weighted",
    "evaluate_ranking",
    "explain",
    "export_pykeen",
    "fact_weights",
    "filtered_ranks",
    "import_atomic2020",
    "import_conceptnet",
    "import_wordnet",
    "infer",
    "link",
    "load_predictor",
    "load_pykeen",
    "mine_rules",
    "read_rules",
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
    "add_links": "linking",
    "add_weighted": "weights",
    "evaluate_ranking": "ranking",
    "explain": "proof",
    "export_pykeen": "pykeen_models",
    "fact_weights": "weights",
    "filtered_ranks": "ranking",
    "import_atomic2020": "atomic",
    "import_conceptnet": "conceptnet",
    "import_wordnet": "wordnet",
    "infer": "inference",
    "link": "linking",
    "load_predictor": "predictors",
    "load_pykeen": "pykeen_models",
    "mine_rules": "rule_mining",
    "read_rules": "rules",
    "why": "explanation",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
