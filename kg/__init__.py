"""The knowledge graph: facts as triples of labels, queries over them, and predictors trained on them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .facts import NaryRelation
    from .graph import KnowledgeGraph
    from .links.calibration import Calibration
    from .links.complex import ComplEx
    from .links.distmult import DistMult
    from .links.factor_model import FactorModel
    from .links.nary_predictor import NaryPredictor
    from .links.predictor import load_predictor, why
    from .links.pykeen_models import PyKEENPredictor, export_pykeen, load_pykeen
    from .links.pykeen_training import fit_pykeen
    from .links.ranking import evaluate_ranking, filtered_ranks
    from .links.training import F2, N3, Regularizer
    from .rules.horn import read_rules
    from .rules.inference import explain, infer
    from .rules.mining import mine_rules
    from .scores import RelationScores
    from .sources.external import import_atomic2020, import_conceptnet
    from .sources.linking import add_links, link
    from .sources.weights import add_weighted, fact_weights
    from .sources.wordnet import import_wordnet
    from .sources.words import WordVectors
    from .vocabulary import Vocabulary

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

# Imported at first access: the graph needs neither torch nor gensim, and a --help not even the graph.
_LAZY = {
    name: module
    for module, names in {
        "facts": "NaryRelation",
        "graph": "KnowledgeGraph",
        "links.calibration": "Calibration",
        "links.complex": "ComplEx",
        "links.distmult": "DistMult",
        "links.factor_model": "FactorModel",
        "links.nary_predictor": "NaryPredictor",
        "links.predictor": "load_predictor why",
        "links.pykeen_models": "PyKEENPredictor export_pykeen load_pykeen",
        "links.pykeen_training": "fit_pykeen",
        "links.ranking": "evaluate_ranking filtered_ranks",
        "links.training": "F2 N3 Regularizer",
        "rules.horn": "read_rules",
        "rules.inference": "explain infer",
        "rules.mining": "mine_rules",
        "scores": "RelationScores",
        "sources.external": "import_atomic2020 import_conceptnet",
        "sources.linking": "add_links link",
        "sources.weights": "add_weighted fact_weights",
        "sources.wordnet": "import_wordnet",
        "sources.words": "WordVectors",
        "vocabulary": "Vocabulary",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
