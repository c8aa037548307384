"""`gumption kg leaks`: how much of a world's test a graph already states."""

from __future__ import annotations

from typing import Annotated

import typer

from gumption.data.settings import InnerShare, Seed
from gumption.scripts.apps import App

from .output import Json, print_json, print_table, working
from .sources import Source, open_graph

app = App()


@app.command(epilog="Example: gumption kg leaks game.nq --world wordcraft --split by_recipe")
def leaks(
    source: Source,
    world: Annotated[str, typer.Option(help="Whose test.")],
    split: Annotated[str | None, typer.Option(help="How the world is split, where there are several ways.")] = None,
    train_ratio: Annotated[InnerShare | None, typer.Option(help="Share of the training part.")] = None,
    split_seed: Annotated[Seed | None, typer.Option(help="Seed of the draw.")] = None,
    as_json: Json = False,
) -> None:
    """How many facts of a world's test part a graph states, entailed ones in it included, and how many of all.

    An agent that such a graph guides has been told these answers. A fact counts in any form: of two parties, or
    entailed by a node of three; under another name that the graph gives an entity (rdfs:label, owl:sameAs); entailed by
    rules, where `kg infer` has written it into the graph. Without #NAME all graphs are read.
    """
    import inspect

    from gumption.data import InputError
    from gumption.envs import worlds

    asked = worlds.find(world)
    facts = asked.get("facts")
    if facts is None:
        raise InputError(f"the world {world!r} states no facts")
    given = {"split_mode": split, "train_ratio": train_ratio, "split_seed": split_seed}
    given = {name: value for name, value in given.items() if value is not None}
    if unknown := [name for name in given if name not in inspect.signature(facts).parameters]:
        option = unknown[0].removesuffix("_mode").replace("_", "-")
        raise InputError(f"the facts of {world!r} are not split in such a way: leave out --{option}")
    graph, name = open_graph(source)
    with graph, working("reading"):
        counts = {part: asked.leaks(graph, name, part, **given) for part in ("train", "test")}
        digest = graph.content_hash(name)
    if as_json:
        found = {part: leaks._asdict() for part, leaks in counts.items()}
        print_json({"graph": source, "sha256": digest, "world": world, **found})
        return
    rows = [(part, *leaks) for part, leaks in counts.items()]
    told = counts["test"].stated
    verdict = f"it tells {told} answers of the test" if told else "nothing of the test is in it"
    print_table(["facts of", "stated", "of"], rows, f"{source} (sha256 {digest[:12]}): {verdict}")
