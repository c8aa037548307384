"""The knowledge graph: facts as triples of labels, queries over them, and predictors trained on them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .facts import NaryRelation
from .graph import KnowledgeGraph
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .links.calibration import Calibration
    from .links.complex import ComplEx
    from .links.distmult import DistMult
    from .links.factor_model import FactorModel
    from .links.nary_predictor import NaryPredictor
    from .links.predictor import load_predictor, why
    from .links.pykeen_models import PyKEENPredictor, export_pykeen, load_pykeen
    from .links.pykeen_training import fit_pykeen
    from .links.ranking import evaluate_ranking, filtered_ranks
    from .links.regularizers import F2, N3, Regularizer
    from .rules.horn import read_rules
    from .rules.inference import explain, infer
    from .rules.mining import mine_rules
    from .scores import RelationScores
    from .sources.external import import_atomic2020, import_conceptnet
    from .sources.linking import add_links, link
    from .sources.weights import add_weighted, fact_weights
    from .sources.wordnet import import_wordnet
    from .sources.words import WordVectors

__all__ = [
    "F2",
    "N3",
    "Calibration",
    "ComplEx",
    "DistMult",
    "FactorModel",
    "KnowledgeGraph",
    "NaryPredictor",
    "NaryRelation",
    "PyKEENPredictor",
    "Regularizer",
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
    "fit_pykeen",
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
    "Calibration": "links.calibration",
    "ComplEx": "links.complex",
    "DistMult": "links.distmult",
    "F2": "links.regularizers",
    "FactorModel": "links.factor_model",
    "N3": "links.regularizers",
    "PyKEENPredictor": "links.pykeen_models",
    "NaryPredictor": "links.nary_predictor",
    "Regularizer": "links.regularizers",
    "RelationScores": "scores",
    "WordVectors": "sources.words",
    "add_links": "sources.linking",
    "add_weighted": "sources.weights",
    "evaluate_ranking": "links.ranking",
    "explain": "rules.inference",
    "export_pykeen": "links.pykeen_models",
    "fact_weights": "sources.weights",
    "filtered_ranks": "links.ranking",
    "fit_pykeen": "links.pykeen_training",
    "import_atomic2020": "sources.external",
    "import_conceptnet": "sources.external",
    "import_wordnet": "sources.wordnet",
    "infer": "rules.inference",
    "link": "sources.linking",
    "load_predictor": "links.predictor",
    "load_pykeen": "links.pykeen_models",
    "mine_rules": "rules.mining",
    "read_rules": "rules.horn",
    "why": "links.predictor",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
