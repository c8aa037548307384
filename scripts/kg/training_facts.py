"""What a link predictor is trained on, as the command line says it: a GRAPH with options, or a data set of parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.scripts.apps import refuse_foreign, was_typed
from gumption.scripts.parts import read_dataset

from .output import working
from .sources import READ, only_graph, open_graph, read_facts

if TYPE_CHECKING:
    import numpy as np

    from gumption.kg import Vocabulary
    from gumption.kg.links.training_settings import TrainingSettings
    from gumption.kg.vocabulary import Triple

OptionalSource = Annotated[
    str | None,
    typer.Argument(metavar="[GRAPH]", help=f"A {READ}, a folder or an http address; #NAME picks one graph."),
]
DataSet = Annotated[
    str | None,
    typer.Option(
        help="In place of a GRAPH: a data set that PyKEEN knows (umls, fb15k237, wn18rr, ...), or a folder of "
        "train, valid and test facts (.txt or .tsv)."
    ),
]
Valid = Annotated[str | None, typer.Option(help="Facts to stop by, GRAPH or GRAPH#NAME; the best is kept.")]
Known = Annotated[
    list[str] | None,
    typer.Option(help="True facts to leave out besides when --valid is ranked, GRAPH or GRAPH#NAME. Repeatable."),
]
_OF_A_GRAPH = ("valid", "known", "entities")


@dataclass(frozen=True)
class TrainingInput:
    """What is learned.

    :ivar name: of the graph or the data set.
    :ivar vocabulary: the labels, which may be more than those of the facts.
    :ivar train: (n, 3) int64 ids.
    :ivar valid: facts to look at, None without any.
    :ivar known: true facts besides.
    :ivar parts: the ids of all parts of a data set; empty of a graph.
    """

    name: str
    vocabulary: Vocabulary
    train: np.ndarray
    valid: list[Triple] | None
    known: list[Triple]
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)

    def hash(self) -> str:
        """sha256 (hex) of what is learned and what is looked at."""
        import numpy as np

        content = hashlib.sha256(self.vocabulary.hash.encode() + np.unique(self.train, axis=0).tobytes())
        content.update(json.dumps([sorted(self.valid or ()), sorted(self.known)]).encode())
        return content.hexdigest()


def check_source(context: typer.Context, source: str | None, dataset: str | None) -> None:
    """InputError unless one of the two is given, and only the options that go with it."""
    if (source is None) == (dataset is None):
        raise InputError("give either a GRAPH or --dataset")
    kind = "a GRAPH" if dataset is None else "a data set"
    refuse_foreign(context, dict.fromkeys(_OF_A_GRAPH, "a GRAPH"), kind, kind)
    if context.params.get("known") and context.params.get("valid") is None:
        raise InputError("--known is left out when --valid is ranked: give --valid, too")


def read_training_facts(
    source: str | None,
    dataset: str | None,
    valid: str | None = None,
    known: Sequence[str] | None = None,
    entities: Sequence[str] | None = None,
) -> TrainingInput:
    """The facts of a GRAPH with its options, or of a data set; InputError for what cannot be read."""
    if dataset is not None:
        with working(f"reading {dataset}"):
            vocabulary, parts = read_dataset(dataset)
            looked_at = vocabulary.ids_to_triples(parts["valid"])
        return TrainingInput(Path(dataset).name, vocabulary, parts["train"], looked_at, [], parts)
    assert source is not None
    graph, name = open_graph(source)
    with graph:
        name = name or only_graph(graph, source)
        vocabulary, ids = graph.arrays(name)
    held_out = None if valid is None else read_facts(valid, only=True)
    true = [fact for place in known or () for fact in read_facts(place, only=False)]
    others = [fact for place in entities or () for fact in read_facts(place, only=False)]
    return TrainingInput(name, vocabulary.extended([*(held_out or ()), *others]), ids, held_out, true)


def chosen_settings(context: typer.Context, file: Path | None, options: Mapping[str, Any]) -> TrainingSettings:
    """The settings of a file, and of the options where they were typed or the file does not have them.

    :raises InputError: as `read_settings`; a setting that is out of range.
    """
    from gumption.kg.links.training_settings import TrainingSettings

    given = {} if file is None else read_settings(file)
    typed = {name: value for name, value in options.items() if was_typed(context, name)}
    return TrainingSettings(**{**options, **given, **typed})


def read_settings(file: Path) -> dict[str, Any]:
    """A JSON object of names and values, such as best.json of `gumption kg tune`.

    :raises InputError: a file that is no such object, a setting that is unknown or out of range.
    """
    from gumption.kg.links.training_settings import TrainingSettings

    given = read_json(file, advice="write names and values of settings")
    if not isinstance(given, dict):
        raise InputError(f'{file}: expected an object of settings, such as {{"rank": 100}}')
    try:
        TrainingSettings(**given)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return given
