"""`gumption kg leaks`: how much of a world's test a graph or a predictor already knows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data.settings import InnerShare, Seed
from gumption.scripts.apps import App

from .output import Json, print_json, print_table, working
from .sources import READ, open_graph

if TYPE_CHECKING:
    from gumption.envs.worlds import World
    from gumption.kg.leaks import Leaks

app = App()

_PARTS = ("train", "test")


@app.command(epilog="Example: gumption kg leaks game.nq --world wordcraft --split by_recipe")
def leaks(
    source: Annotated[
        str,
        typer.Argument(metavar="GRAPH", help=f"A {READ}, a folder or an http address, or the folder of a predictor."),
    ],
    world: Annotated[str, typer.Option(help="Whose test.")],
    split: Annotated[str | None, typer.Option(help="How the world is split, where there are several ways.")] = None,
    train_ratio: Annotated[InnerShare | None, typer.Option(help="Share of the training part.")] = None,
    split_seed: Annotated[Seed | None, typer.Option(help="Seed of the draw.")] = None,
    as_json: Json = False,
) -> None:
    """How many facts of a world's test part a graph states or entails, or a predictor was trained on, and of how many.

    An agent that these guide has been told these answers. A fact counts in any form: of two parties, or
    entailed by a node of three; under another name that the graph gives an entity (rdfs:label, owl:sameAs); entailed by
    rules, where `kg infer` has written it into the graph. Without #NAME all graphs are read. A predictor that does not
    say on what it was trained is refused.
    """
    import inspect

    from gumption.data import InputError
    from gumption.envs import worlds

    asked = worlds.find(world)
    facts = asked.get("facts")
    if facts is None:
        raise InputError(f"the world {world!r} states no facts")
    given = {"split": split, "train_ratio": train_ratio, "split_seed": split_seed}
    given = {name: value for name, value in given.items() if value is not None}
    if unknown := [name for name in given if name not in inspect.signature(facts).parameters]:
        option = unknown[0].replace("_", "-")
        raise InputError(f"the facts of {world!r} are not split in such a way: leave out --{option}")
    digest, counts = (_of_predictor if _is_predictor(source) else _of_graph)(source, asked, given)
    if as_json:
        found = {part: leaks._asdict() for part, leaks in counts.items()}
        print_json({"graph": source, "sha256": digest, "world": world, **found})
        return
    rows = [(part, *leaks) for part, leaks in counts.items()]
    told = counts["test"].stated
    verdict = f"it tells {told} answers of the test" if told else "nothing of the test is in it"
    print_table(["facts of", "stated", "of"], rows, f"{source} (sha256 {digest[:12]}): {verdict}")


def _is_predictor(source: str) -> bool:
    from gumption.kg.checkpoint import has_checkpoint

    return has_checkpoint(Path(source))


def _of_graph(source: str, world: World, given: dict[str, Any]) -> tuple[str, dict[str, Leaks]]:
    """The graph's hash, and how many facts of each part it knows."""
    graph, name = open_graph(source)
    with graph, working("reading"):
        return graph.content_hash(name), {part: world.leaks(graph, name, part, **given) for part in _PARTS}


def _of_predictor(source: str, world: World, given: dict[str, Any]) -> tuple[str, dict[str, Leaks]]:
    """As `_of_graph`; InputError for a predictor that does not say on what it was trained."""
    from gumption.data import InputError
    from gumption.kg import load_predictor
    from gumption.kg.checkpoint import checkpoint_hash
    from gumption.kg.leaks import count_marked

    predictor = load_predictor(source, "cpu")
    found = {part: count_marked(predictor.trained_on, world.asked(part, **given)) for part in _PARTS}
    if any(leaks is None for leaks in found.values()):
        raise InputError(f"{source} does not say on what it was trained: what it knows of the test is not known")
    return checkpoint_hash(source), {part: leaks for part, leaks in found.items() if leaks is not None}
