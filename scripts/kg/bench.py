"""The case `kg` of `gumption bench`, each figure beside a peer of the same run, and the case `rules`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from annotated_types import Ge, Le

from gumption.data.settings import settings
from gumption.scripts.measurement import BenchSettings, Case, Measurement
from gumption.scripts.parts import read_parts


@settings
class Settings(BenchSettings):
    """What the case runs on."""

    wn18rr: Annotated[
        str | None, typer.Option(help="Folder with train.txt, valid.txt and test.txt, for the ranking.")
    ] = None
    triples: Annotated[Annotated[int, Ge(100), Le(10**10)], typer.Option(help="Facts in each store.")] = 500_000
    facts: Annotated[
        Annotated[int, Ge(1000), Le(10**10)] | None,
        typer.Option(help="Measure nothing but one graph of so many facts (the table: 5000000)."),
    ] = None

    @property
    def alone(self) -> bool:
        """A large graph is measured by itself."""
        return self.facts is not None


def kg_case(settings: Settings) -> Iterator[Measurement]:
    """Training against PyKEEN's loops, ranking against its evaluator, stores against rdflib's."""
    if settings.facts is not None:
        from .bench_large import large_rows

        yield from large_rows(settings, settings.facts)
        return
    from .bench_ranking import ranking_rows
    from .bench_stores import store_rows
    from .bench_training import fact_sets, one_thread, training_case

    ranked = None if settings.wn18rr is None else read_parts(Path(settings.wn18rr))  # a wrong folder is told at once
    yield from training_case(settings, fact_sets())
    if ranked is None:
        print("bench kg: ranking is not measured: give --wn18rr FOLDER", file=sys.stderr)
    else:
        with one_thread():
            yield from ranking_rows(settings, *ranked)
    yield from store_rows(settings, settings.triples)


def rules_case(settings: BenchSettings) -> Iterator[Measurement]:
    """Rule mining."""
    from .bench_mining import mining_rows

    yield from mining_rows(settings)


CASES = {"kg": Case(kg_case, Settings, "The case kg"), "rules": Case(rules_case)}
