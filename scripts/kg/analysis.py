"""`gumption kg stats`, `draw`, `path`, `leaks`: statistics and drawings of a graph, paths and test facts in it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import Count, InnerShare, Seed, Whole
from gumption.scripts.apps import App, NewPlot, Written
from gumption.scripts.output import Json, count, print_json, print_table, shown, working

from .sources import READ, Source, binary_graphs, nary_relations, node_endings, open_graph, settings_of_facts

if TYPE_CHECKING:
    import numpy as np

    from gumption.envs.worlds import World
    from gumption.kg import KnowledgeGraph, Vocabulary
    from gumption.kg.leaks import Leaks
    from gumption.kg.views.analysis import GraphStatistics
    from gumption.kg.views.derivations import Derivation, Recipes

    Arrays = tuple[Vocabulary, np.ndarray]

app = App()
Picture = Annotated[Path, Written(file=True, endings=(".svg", ".png", ".html"))]

Basic = Annotated[
    list[str] | None,
    typer.Option(help="A basic entity of the recipes, instead of those that none makes; may be repeated."),
]


@app.command(epilog="Example: gumption kg stats runs/kg.nq --plot runs/kg-statistics.svg")
def stats(
    source: Source, *, plot: NewPlot | None = None, top: Whole = 10, basic: Basic = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Facts by relation, components, degrees, and where the graph has recipes how deep things lie.

    Without #NAME all graphs together, recipe nodes apart.

    :param plot: Also draw them to this .svg or .png file.
    :param top: How many of the entities with most facts to list.
    """
    from gumption.kg.views import analysis
    from gumption.kg.views.pictures import draw_statistics

    (vocabulary, ids), everything, _, basic = _read(source, *basic or ())
    statistics = analysis.graph_statistics(vocabulary, ids)
    most = analysis.top_entities(vocabulary, ids, top)
    depths = _depths(everything, basic or None)
    if plot is not None:
        draw_statistics(statistics, plot)
    if as_json:
        both = statistics.in_degree + statistics.out_degree
        degrees = {"in": statistics.in_degree, "out": statistics.out_degree, "both": both}
        sizes = statistics.component_sizes
        print_json(
            {
                "facts": statistics.facts,
                "entities": statistics.entities,
                "relations": [asdict(row) for row in statistics.relations],
                "components": {"count": len(sizes), "sizes": _distribution(sizes)},
                "degrees": {side: _distribution(values) for side, values in degrees.items()},
                "top": [{"entity": label, "in": into, "out": out} for label, into, out in most],
                "recipes": depths,
            }
        )
        return
    _print_statistics(statistics, most)
    if depths is not None:
        rows = [*depths["depth"].items(), *([("never", len(depths["unreachable"]))] if depths["unreachable"] else [])]
        caption = f"{depths['recipes']} recipes of {depths['things']} things from {', '.join(depths['basic'])}"
        print_table(["generations of combining", "things"], rows, caption)


@app.command(epilog="Example: gumption kg draw runs/kg.nq --around steam --hops 1 --out steam.svg")
def draw(
    source: Source, *, around: str, out: Picture, hops: Count = 1, max_nodes: Annotated[int, Ge(2), Le(300)] = 60,
) -> None:  # fmt: skip
    """Draw the surroundings of an entity. Without #NAME in all graphs together, recipe nodes apart.

    In a graph of recipe nodes each one is a dot that its ingredients and products are joined to.

    :param around: The name of the entity in the middle.
    :param out: A .svg or .png file, or .html to zoom and point in.
    :param hops: How many facts away an entity may be.
    :param max_nodes: At most so many entities: the nearest, then those with most facts, then by label.
    """
    from gumption.kg.views.analysis import neighbourhood
    from gumption.kg.views.pictures import draw_neighbourhood

    arrays, _, nodes, (around,) = _read(source, around)
    part = neighbourhood(*arrays, around, hops, max_nodes, nodes)
    with working("drawing"):
        draw_neighbourhood(part, out)
    left_out = f", {part.left_out} more entities left out (--max-nodes)" if part.left_out else ""
    n_ary = f" with {len(part.nodes)} n-ary facts" if part.nodes else ""
    print(
        f"{len(part.entities) - len(part.nodes)} entities and {len(part.facts)} facts{n_ary} drawn to {out}{left_out}"
    )


@app.command(epilog="Example: gumption kg path runs/kg.nq --goal train")
def path(
    source: Source, *, goal: str | None = None, basic: Basic = None, quick: bool = False,
    start: Annotated[str | None, typer.Option("--from")] = None,
    end: Annotated[str | None, typer.Option("--to")] = None, as_json: Json = False,
) -> None:  # fmt: skip
    """The recipes that make a goal, or the shortest path of facts between two entities.

    Recipes are read from all graphs or the one that #NAME picks; a path from all but recipe nodes.

    :param goal: What to make: the fewest combinations that lead to it.
    :param quick: With --goal: a short way at once, without a proof that none is shorter.
    :param start: With --to: the entity where a path begins.
    :param end: The entity where it ends.
    """
    from gumption.kg.views.analysis import shortest_path

    if (goal is None) == (start is None) or (start is None) != (end is None):
        raise InputError("give either --goal, or --from and --to")
    if goal is None and (basic or quick):
        raise InputError("--basic and --quick go with --goal: they are about recipes")
    arrays, everything, _, named = _read(
        source, *(each for each in (goal, start, end) if each is not None), *basic or ()
    )
    if goal is not None:
        recipes = _recipes(everything)
        with working("looking for the fewest combinations"):
            found = recipes.derive(named[0], named[1:] or None, prove=not quick)
        if as_json:
            print_json({**asdict(found), "minimal": found.minimal})
        else:
            _print_derivation(found)
        return
    start, end = named
    steps = shortest_path(*arrays, start, end)
    if as_json:
        print_json({"from": start, "to": end, "steps": steps})
    elif not steps:
        print(f"{start} is where the path begins and ends")
    else:
        _print_path(start, steps)


def _read(source: str, *named: str) -> tuple[Arrays, Arrays, set[str], list[str]]:
    """Return the facts that a command shows; the facts to read recipes from, of all graphs or of #NAME; the shown
    entities that are nodes of n-ary facts (subjects in graphs of recipe nodes); and the entities of these names."""
    from gumption.kg.facts import FactTable
    from gumption.kg.names import Names

    graph, name = open_graph(source)
    with graph:
        everything = graph.arrays(name)
        if not len(everything[1]):
            raise InputError(f"{source} has no facts")
        names = Names(graph, name)
        labels = [names.entity(each) for each in named]
        names = list(graph.graphs())
        chosen = binary_graphs(graph)
        if name is not None or len(chosen) in (0, len(names)):
            drawn = names if name is None else [name]
            nodes = {fact[0] for each in drawn if each.endswith(node_endings()) for fact in graph.triples(graph=each)}
            return everything, everything, nodes, labels
        return FactTable.joined([FactTable(*graph.arrays(each)) for each in chosen]).arrays(), everything, set(), labels


def _recipes(arrays: Arrays) -> Recipes:
    """Return the recipes of a graph: the n-ary facts of the first n-ary relation whose roles it has."""
    from gumption.kg.views.derivations import Recipes

    known = nary_relations()
    here = [relation for relation in known if set(relation.roles) <= set(arrays[0].relations)]
    return Recipes(*arrays, (here or known)[0])


def _depths(arrays: Arrays, basic: list[str] | None) -> dict[str, Any] | None:
    """Count the things by depth in the recipes of a graph; None without recipes, but InputError if `basic` is set."""
    import numpy as np

    try:
        recipes = _recipes(arrays)
    except InputError:
        if basic is not None:
            raise
        return None
    depth = recipes.depths(basic)
    never = np.flatnonzero(~np.isfinite(depth)).tolist()
    return {
        "recipes": len(recipes),
        "things": len(depth),
        "basic": sorted(basic or recipes.basic),
        "depth": _distribution(depth[np.isfinite(depth)].astype(int)),
        "unreachable": [recipes.things.entities[thing] for thing in never],
    }


def _distribution(values: np.ndarray) -> dict[int, int]:
    import numpy as np

    found, counts = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _print_statistics(statistics: GraphStatistics, most: list[tuple[str, int, int]]) -> None:
    from gumption.kg.names import prefixed

    sizes = statistics.component_sizes
    caption = (
        f"{statistics.facts:,} facts, {statistics.entities:,} entities, {len(statistics.relations)} relations, "
        f"{len(sizes):,} component{'' if len(sizes) == 1 else 's'}, the largest with {sizes[0]:,} entities"
    )
    columns = ["relation", "facts", "subj.", "obj.", "obj. /\nsubj.", "subj. /\nobj.", "class", "sym-\nmetric"]
    rows = [
        (prefixed(row.relation), *(f"{number:,}" for number in (row.facts, row.subjects, row.objects)),
         f"{row.objects_per_subject:.2f}", f"{row.subjects_per_object:.2f}", row.cardinality, f"{row.symmetric:.0%}")
        for row in statistics.relations
    ]  # fmt: skip
    print_table(columns, rows, caption)
    inverses = [
        shown((row.relation, row.inverse, f"{row.inverse_share:.0%}")) for row in statistics.relations if row.inverse
    ]
    if inverses:
        print_table(["relation", "inverse", "of its facts"], inverses)
    if most:
        print_table(
            ["entity with most facts", "as object", "as subject"],
            [(prefixed(e), f"{i:,}", f"{o:,}") for e, i, o in most],
        )


def _print_derivation(found: Derivation) -> None:
    if not found.steps:
        print(f"{found.goal} is a basic entity: there is nothing to combine")
        return
    steps = enumerate(found.steps, start=1)
    rows = [(number, " + ".join(step.ingredients), step.product, step.generation) for number, step in steps]
    proof = "no way is shorter" if found.minimal else f"any way has at least {found.at_least}"
    caption = f"{count(found.steps, 'combination')}; {proof}"
    print_table(["step", "combine", "to make", "generation"], rows, caption)


def _print_path(start: str, steps: tuple[tuple[tuple[str, str, str], ...], ...]) -> None:
    from gumption.kg.names import prefixed

    rows = []
    here = start
    for number, facts in enumerate(steps, start=1):
        there = facts[0][2] if facts[0][0] == here else facts[0][0]
        for fact in facts:
            forward = fact[0] == here
            relation = prefixed(fact[1])
            rows.append(shown((number, here, f"--{relation}->" if forward else f"<-{relation}--", there)))
        here = there
    print_table(["step", "from", "fact", "to"], rows, count(steps, "step"))


# ---- Test facts of a world that a graph contains or a predictor was trained on

_PARTS = ("train", "test")


@app.command(epilog="Example: gumption kg leaks game.nq --world wordcraft --split by_recipe")
def leaks(
    source: Annotated[
        str,
        typer.Argument(metavar="GRAPH", help=f"A {READ}, a folder or an http address, or the folder of a predictor."),
    ], *, world: str, split: str | None = None, train_ratio: InnerShare | None = None, split_seed: Seed | None = None,
    setting: list[str] | None = None, kg_map: Path | None = None, as_json: Json = False,
) -> None:  # fmt: skip
    """How many facts of a world's test part a graph states or entails, or a predictor was trained on, and of how many.

    They are answers for an agent that the graph or the predictor guides. A fact counts in any form: of two parties, or
    entailed by a node of three; under another name that the graph gives an entity (rdfs:label, owl:sameAs); entailed by
    rules, where `kg infer` has written it into the graph. Without #NAME all graphs are read. A predictor that does not
    say on what it was trained is refused.

    :param world: Whose test.
    :param split: How the world is split, where there are several ways.
    :param train_ratio: Share of the training part.
    :param split_seed: Seed of the draw.
    :param setting: NAME=VALUE: another setting of the world's facts, such as recipe_book=my.tsv. Repeatable.
    :param kg_map: A file of `gumption kg map`, with which the graph guides.
    """
    import inspect

    from gumption.envs import worlds
    from gumption.kg.checkpoint import has_checkpoint

    asked = worlds.find(world)
    facts = asked.get("facts")
    if facts is None:
        raise InputError(f"the world {world!r} states no facts")
    given = {"split": split, "train_ratio": train_ratio, "split_seed": split_seed}
    given = {name: value for name, value in given.items() if value is not None}
    known = [name for name in inspect.signature(facts).parameters if name != "partition"]
    if unknown := [name for name in given if name not in known]:
        option = unknown[0].replace("_", "-")
        raise InputError(f"the facts of {world!r} are not split in such a way: leave out --{option}")
    given |= settings_of_facts(asked, setting)
    if has_checkpoint(Path(source)):
        if kg_map is not None:
            raise InputError(f"--kg-map is for a graph, and {source} is a predictor")
        digest, counts = _of_predictor(source, asked, given)
    else:
        graph, name = open_graph(source)
        with graph, working("reading"):
            digest = graph.content_hash(name)
            if kg_map is not None:
                graph, name = _under_map(graph, name, kg_map, digest, [asked.asked(part, **given) for part in _PARTS])
            counts = {part: asked.leaks(graph, name, part, **given) for part in _PARTS}
    if as_json:
        found = {part: leaks._asdict() for part, leaks in counts.items()}
        print_json({"graph": source, "sha256": digest, "world": world, **found})
        return
    rows = [(part, *leaks) for part, leaks in counts.items()]
    told = counts["test"].stated
    verdict = f"it tells {told} answers of the test" if told else "nothing of the test is in it"
    print_table(["facts of", "stated", "of"], rows, f"{source} (sha256 {digest[:12]}): {verdict}")


def _under_map(
    graph: KnowledgeGraph, name: str | None, file: Path, digest: str, asked: list[frozenset[tuple[str, ...]]]
) -> tuple[Any, str | None]:
    """Return the graph under the names of the world, by the map in `file`, for the facts in `asked`."""
    from gumption.kg.mapping import NameMap, under_names
    from gumption.kg.vocabulary import unknown_label

    given = NameMap.load(file)
    given.check(digest, str(file), "the graph")
    facts = [fact for part in asked for fact in part]
    entities = {party for fact in facts for party in (fact[::2] if len(fact) == 3 else fact[1:])}
    relations = {fact[1] for fact in facts if len(fact) == 3}
    roles = {role for relation in nary_relations() for role in relation.roles}
    for kind, names, known in (("relation", given.relations, relations | roles), ("entity", given.entities, entities)):
        if unknown := next((one for one in names if one not in known), None):
            raise InputError(f"{file}: {unknown_label(kind, unknown, known)}, of the world's")
    relations.update(given.relations)
    return under_names(graph, name, sorted(entities), sorted(relations), given)


def _of_predictor(source: str, world: World, given: dict[str, Any]) -> tuple[str, dict[str, Leaks]]:
    """Return the predictor's hash and its count of each part; InputError if its training facts are not recorded."""
    from gumption.kg import load_predictor
    from gumption.kg.checkpoint import checkpoint_hash
    from gumption.kg.leaks import count_marked

    predictor = load_predictor(source, "cpu")
    found = {part: count_marked(predictor.trained_on, world.asked(part, **given)) for part in _PARTS}
    if any(leaks is None for leaks in found.values()):
        raise InputError(f"{source} does not say on what it was trained: what it knows of the test is not known")
    return checkpoint_hash(source), {part: leaks for part, leaks in found.items() if leaks is not None}
