"""Any link predictor from its checkpoint folder, whichever kind it is of."""

import os
from importlib import import_module
from pathlib import Path

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import checked
from gumption.data.writing import present_folder
from gumption.kg.checkpoint import META

from .factor_model import OWN
from .predictor import LinkPredictor

# The kind that a checkpoint states, without its version, and the class that reads it.
KINDS = {
    "gumption/complex": ("complex", "ComplEx"),
    "gumption/distmult": ("distmult", "DistMult"),
    "gumption/pykeen": ("pykeen_models", "PyKEENPredictor"),
    "gumption/nary-predictor": ("nary_predictor", "NaryPredictor"),
}


@checked
def load_predictor(directory: str | os.PathLike[str], device: str = "auto") -> LinkPredictor:
    """The link predictor that some class's `save` has written.

    :raises InputError: no checkpoint, a damaged one, one of something else than a link predictor, or one of a class
        that gumption lacks: nothing is imported by the name that a checkpoint gives.
    """
    try:
        kind = parse_json((present_folder(Path(directory)) / META).read_text(encoding="utf-8"))["kind"]
    except OSError as error:
        raise InputError(f"{directory}: no checkpoint there ({error.strerror or error})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{directory}: the checkpoint is damaged ({error}); make it again") from None
    name = str(kind).rpartition("/")[0]
    if name.startswith(OWN):
        own = name.removeprefix(OWN)
        raise InputError(
            f"{directory}: a model of the class {own!r}, which gumption lacks: load it in Python by {own}.load"
        )
    if name not in KINDS:
        raise InputError(f"{directory}: a checkpoint of {kind!r}, which is no link predictor")
    module, predictor = KINDS[name]
    return getattr(import_module(f".{module}", __package__), predictor).load(directory, device)
