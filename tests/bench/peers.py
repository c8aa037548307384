"""The cases of `python -m tests.bench`: link prediction beside PyKEEN, stores beside rdflib and Oxigraph."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import typer
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.provenance import without_folders
from gumption.data.settings import Count, settings
from gumption.envs.wordcraft import facts
from gumption.kg import ComplEx, Vocabulary, evaluate_ranking
from gumption.scripts.apps import App
from gumption.scripts.bench import measure_cases
from gumption.scripts.kg.parts import read_parts
from gumption.scripts.measurement import BenchSettings, Case, Measurement, compared

from .large import FULL, large_rows
from .pykeen_peer import train_pykeen
from .ranking import ranking_rows
from .stores import store_rows
from .training import FactSets, fact_sets, one_thread, training_case
from .versions import version_rows


@settings
class Settings(BenchSettings):
    """What the cases run on."""

    recipe_book: str = "commonsense"
    wn18rr: Path | None = None
    against: Path | None = None
    triples: Annotated[int, Ge(100), Le(10**10)] = 500_000
    facts: Annotated[int, Ge(1000), Le(10**10)] = FULL


def complex_case(settings: Settings) -> Iterator[Measurement]:
    """ComplEx on the facts of the training recipes, against PyKEEN's ComplEx for as many epochs."""
    triples = list(facts(settings.recipe_book, partition="train"))
    started = perf_counter()
    model = ComplEx.fit(triples, seed=0, device=settings.device)
    seconds = perf_counter() - started
    mrr = evaluate_ranking(model, triples, known=[triples])["mrr"]
    vocabulary = Vocabulary.from_triples(triples)
    ids = vocabulary.triples_to_ids(triples)
    peer = train_pykeen(vocabulary, ids, rank=128, epochs=3, batch_size=512, clock=perf_counter)
    yield compared(
        f"ComplEx on {len(triples):,} training facts, {settings.device}",
        "s",
        [seconds],
        "PyKEEN's ComplEx, one epoch",
        peer.epoch_seconds,
        target="at most 210, and a filtered MRR on these facts above 0.9",
        met=seconds <= 210 * median(peer.epoch_seconds) and mrr > 0.9,
        details={"mrr_training_facts": mrr},
    )


def recipes_case(settings: Settings) -> Iterator[Measurement]:
    """Training on the facts of the recipe book, which has no validation facts, as the case kg does on other graphs."""
    train, test = (list(facts(settings.recipe_book, partition=part)) for part in ("train", "test"))
    return training_case(settings, [FactSets("Recipe graph", train, test, [])])


def kg_case(settings: Settings) -> Iterator[Measurement]:
    """Training against PyKEEN's loops, ranking against its evaluator, stores against rdflib's; or graphs against those
    of another version."""
    if settings.against is not None:
        yield from version_rows(settings, settings.against)
        return
    ranked = None if settings.wn18rr is None else read_parts(settings.wn18rr)  # refuses a wrong folder at once
    yield from training_case(settings, fact_sets())
    if ranked is None:
        print("bench kg: ranking is not measured: give --wn18rr FOLDER", file=sys.stderr)
    else:
        with one_thread():
            yield from ranking_rows(settings, *ranked)
    yield from store_rows(settings, settings.triples)


def large_case(settings: Settings) -> Iterator[Measurement]:
    """One graph of very many facts."""
    return large_rows(settings, settings.facts)


CASES = {
    "complex": Case(complex_case, Settings, code=("kg/links",)),
    "recipes": Case(recipes_case, Settings, code=("kg/links",)),
    "kg": Case(kg_case, Settings, code=("kg/links", "kg/store")),
    "large": Case(large_case, Settings, code=("kg/store", "kg/graph.py")),
}
app = App(add_completion=False)


@app.command(epilog="Example: python -m tests.bench kg --wn18rr wn18rr --markdown bench.md")
def bench(
    name: Annotated[list[str] | None, typer.Argument(metavar="NAME...")] = None,
    *,
    device: str = "cpu",
    repeats: Count = 5,
    recipe_book: str = "commonsense",
    wn18rr: Path | None = None,
    against: Path | None = None,
    triples: Annotated[int, Ge(100), Le(10**10)] = 500_000,
    facts: Annotated[int, Ge(1000), Le(10**10)] = FULL,
    out: Path | None = None,
    markdown: Path | None = None,
) -> None:
    """Measure link prediction and stores beside PyKEEN, rdflib and Oxigraph.

    The further name link-prediction draws the MRR over CPU time of ComplEx here and in PyKEEN; it has options of its
    own: python -m tests.bench link-prediction --help.

    :param name: One or more of complex, recipes, kg and large; without one, all of them.
    :param device: Where ComplEx is trained in the case complex: cpu or cuda.
    :param repeats: How often each short timing is taken.
    :param recipe_book: Name of a recipe book, or a file, for the cases complex and recipes.
    :param wn18rr: Folder with train.txt, valid.txt and test.txt, for the ranking of the case kg.
    :param against: A checkout of another version: the case kg only compares the speed of graphs with it.
    :param triples: Facts in each store of the case kg.
    :param facts: Facts of the case large.
    :param out: Write the figures as JSON.
    :param markdown: Write the table as Markdown.
    """
    for each in name or ():
        if each not in CASES:
            raise InputError(f"no bench of peers is called {each!r}; known are: {', '.join(CASES)}, link-prediction")
    chosen = {each: CASES[each] for each in name or CASES}
    options: dict[str, Any] = {
        "recipe_book": recipe_book,
        "wn18rr": wn18rr,
        "against": against,
        "triples": triples,
        "facts": facts,
    }
    command = without_folders(["python", "-m", "tests.bench", *sys.argv[1:]])
    measure_cases(chosen, {"": options}, device, repeats, out, markdown, command)
