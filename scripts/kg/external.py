"""`gumption kg import`, `link`, `map`, `import-pykeen`, `export-pykeen`: other projects' graphs and models."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import NonNegative, Whole
from gumption.scripts.apps import App, Written, pair
from gumption.scripts.output import Json, count, print_json, print_table, working

from .sources import FILES, Base, Source, Update, Wait, binary_graphs, changed_graph, new_folder, open_graph, read_facts

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph
    from gumption.kg.sources.external import Imported
    from gumption.kg.sources.linking import Link

app = App()
importers = App(no_args_is_help=True, help="Import ConceptNet, ATOMIC 2020 or WordNet into a graph.")
app.add_typer(importers, name="import")

NAMES_SHOWN = 3  # shown of the names that several entities share
EXAMPLES = 4  # of each kind of link in the table; twice as many of nearest

Out = Annotated[
    str,
    typer.Option(
        help=f"The graph to add to: a folder, which keeps memory bounded, a {FILES}, or an endpoint's http address. "
        "It is made where there is none."
    ),
]
Relations = Annotated[list[str] | None, typer.Option(help="Take this relation only; may be repeated.")]
SkipBad = Annotated[Whole, typer.Option(help="How many malformed lines of a file to pass over.")]


@importers.command(
    epilog='Example: gumption kg import conceptnet "$(gumption data fetch conceptnet)" --out runs/conceptnet'
)
def conceptnet(
    file: Path, *, out: Out, update: Update = None, wait: Wait = 5, graph: str = "conceptnet", language: str = "en",
    relations: Relations = None, min_weight: NonNegative | None = None, senses: bool = False, skip_bad: SkipBad = 0,
    as_json: Json = False,
) -> None:  # fmt: skip
    """ConceptNet 5, with its weights and licences. Links to other data sets (ExternalURL) are left out by default.

    :param file: Assertions (.csv) or the tab form (.tsv), plain or .gz, .bz2, .xz.
    :param graph: Name of the graph.
    :param language: Language of both ends; all for every one.
    :param min_weight: Leave out assertions that weigh less.
    :param senses: Keep senses: 'ice cream/n/wn/food'.
    """
    from gumption.kg.sources.external import import_conceptnet

    how: dict[str, Any] = {"language": None if language == "all" else language, "relations": relations}
    how |= {"min_weight": min_weight, "senses": senses, "skip_bad": skip_bad}
    with _importing(out, update, wait, [file], as_json) as (into, progress, done):
        done.append(import_conceptnet(into, file, name=graph, progress=progress, **how))


@importers.command(epilog="Example: gumption kg import atomic2020 train.tsv dev.tsv test.tsv --out runs/atomic")
def atomic2020(
    files: list[Path], *, out: Out, update: Update = None, wait: Wait = 5, graph: str = "atomic",
    relations: Relations = None, skip_bad: SkipBad = 0, as_json: Json = False,
) -> None:  # fmt: skip
    """ATOMIC 2020, each file in a graph of its own. Rows whose tail is "none" are left out.

    :param files: The files train.tsv, dev.tsv, test.tsv, or the zip they are in.
    :param graph: Start of the graphs' names: GRAPH/train and so on.
    """
    from gumption.kg.sources.external import import_atomic2020

    with _importing(out, update, wait, files, as_json) as (into, progress, done):
        done += import_atomic2020(into, files, name=graph, relations=relations, skip_bad=skip_bad, progress=progress)


@importers.command(epilog="Example: gumption kg import wordnet WordNet-3.1/dict --out runs/wordnet")
def wordnet(
    folder: Path, *, out: Out, update: Update = None, wait: Wait = 5, graph: str = "wordnet", as_json: Json = False
) -> None:
    """WordNet: synsets such as dog.n.01, their relations, and the words that they have (hasLemma).

    :param folder: The folder with data.noun, index.noun and so on.
    :param graph: Name of the graph.
    """
    from gumption.kg.sources.wordnet import import_wordnet

    with _importing(out, update, wait, [], as_json, lines="synsets") as (into, _, done):
        done.append(import_wordnet(into, folder, name=graph))


@app.command(epilog="Example: gumption kg link wordcraft conceptnet --out runs/kg")
def link(
    labels: str, targets: str, *, out: str | None = None, update: Update = None, wait: Wait = 5,
    graph: str | None = None, methods: list[str] | None = None,
    max_distance: Annotated[float, Ge(0), Le(2)] | None = None, vectors: Path | None = None, skip_bad: SkipBad = 0,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Link the entities of one graph to those of another by exact spelling, lemma, compound and nearest word vector.

    The table shows the links by kind. "refused" counts entities whose nearest vector is too far away, "none" the others
    without a partner. Examples of both "nearest" and "refused" end with the cosine distance.

    LABELS and TARGETS are each the first of these that fits: a named graph of --out; a file of ConceptNet, assertions
    or tab form; a file, folder or http address of a graph, with #NAME for one of its graphs; a world, whose facts are
    read; the name conceptnet, which is the file that gumption data fetch conceptnet has put into the cache folder
    (GUMPTION_DATA_DIR moves that).

    :param labels: Whose entities are to be linked.
    :param targets: Whose entities are to be found.
    :param out: A graph that has either side, as a named graph, and gets the links in place of earlier ones.
    :param graph: Name of the links' graph; links/LABELS/TARGETS if not given.
    :param methods: A method: exact, lemma, compound or nearest; may be repeated. All if not given.
    :param max_distance: Refuse a nearest vector at a larger cosine distance, from 0 to 2; 0.4 if not given.
    :param vectors: Word vectors for nearest, in word2vec's binary format.
    """
    from gumption.kg import KnowledgeGraph
    from gumption.kg.sources.linking import KINDS, MAX_DISTANCE, METHODS, add_links, coverage, remove_links
    from gumption.kg.sources.linking import link as make_links

    chosen = methods or list(METHODS)
    if unknown := [method for method in chosen if method not in METHODS]:
        raise InputError(f"--methods {unknown[0]!r} is not one of {', '.join(METHODS)}")
    for option, value in (("--vectors are", vectors), ("--max-distance is", max_distance)):
        if value is not None and "nearest" not in chosen:
            raise InputError(f"{option} for the method nearest: leave that out, or add --methods nearest")
    if out is None and (update or graph):
        raise InputError("--update and --graph say where links are written: add --out, or leave them out")
    with KnowledgeGraph() if out is None else changed_graph(out, update, wait) as store:
        (names, _), (others, said) = (_spellings(each, store, skip_bad) for each in (labels, targets))
        if not names:
            raise InputError(f"{labels} has no entities to link")
        farthest = MAX_DISTANCE if max_distance is None else max_distance
        loaded = None
        if "nearest" in chosen:
            from gumption.kg import WordVectors

            loaded = WordVectors.load(vectors)
        with working("linking"):
            links = make_links([*names], [*others], vectors=loaded, methods=chosen, max_distance=farthest)
        best: dict[str, Link] = {}  # the best link of each entity, which may have several names
        for each in sorted(links, key=lambda each: (KINDS.index(each.method), -each.score)):
            target = None if each.target is None else others[each.target]
            best.setdefault(names[each.label], replace(each, label=names[each.label], target=target))
        links = [best[label] for label in sorted(best)]
        name = graph or f"links/{_short(labels)}/{_short(targets)}"
        if out is not None:
            # The links repeat entities of the targets' graph, so its licence applies to them.
            how = ", ".join(chosen) + (f"; cosine distance up to {farthest:g} by {loaded.source}" if loaded else "")
            about = {"title": f"links from {labels} to {targets}", "description": f"made by gumption kg link: {how}"}
            remove_links(
                store, names.values(), others.values(), name
            )  # links of an earlier run, some of which may now be refused
            store.annotate(name, {**said, **about})
            add_links(store, links, name)
    many = coverage(links)
    if as_json:
        listed = [{**asdict(each), "distance": each.distance} for each in links]
        print_json({"targets": len(set(others.values())), "coverage": many, "links": listed})
        return
    tried = {*chosen, "none"} | ({"refused"} if loaded else set())
    rows = [
        (kind, many[kind], f"{many[kind] / len(links):.1%}", _examples(links, kind)) for kind in KINDS if kind in tried
    ]
    linked = len(links) - many["refused"] - many["none"]
    caption = (
        f"{linked} of {len(links)} entities of {labels} ({linked / len(links):.1%}) have a partner among the "
        f"{len(set(others.values()))} of {targets}" + (f"; links in {name}, written to {out}" if out else "")
    )
    if many["nearest"]:
        caption += (
            f". {count(range(many['nearest']), 'link')} by nearest word vector may lead to other things: "
            f"--max-distance D refuses those farther away than D (now {farthest:g})"
        )
    print_table(["kind", "number", "share", "examples"], rows, caption)


def _examples(links: "Sequence[Link]", kind: str) -> str:
    """Return examples spread over the links of a kind: nearest by falling distance, refused by rising distance."""
    from gumption.kg.names import local_name, prefixed

    found = [each for each in links if each.method == kind]
    number = EXAMPLES
    if kind == "nearest":
        found.sort(key=lambda each: each.score)
        number *= 2
    elif kind == "refused":
        found.sort(key=lambda each: -each.score)
    lines = []
    for each in found[:: max(1, len(found) // number)][:number]:
        same = each.target is None or (kind == "exact" and not local_name(each.target))
        line = each.label if same else f"{each.label} -> {prefixed(str(each.target))}"
        lines.append(line if each.distance is None else f"{line} ({each.distance:.2f})")
    return "\n".join(lines)


def _spellings(source: str, store: "KnowledgeGraph", skip_bad: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return name -> entity of LABELS or TARGETS (see the help of `link`), and the annotations of their graph."""
    from gumption.envs import worlds
    from gumption.kg.graph import is_address
    from gumption.kg.names import Names

    if source in store.graphs():
        return Names(store, source).spellings(), store.annotations(source)
    path = Path(source)
    if source in worlds.known() and not path.exists():
        stated = worlds.find(source).facts("all")
        return {label: label for subject, _, object_ in stated for label in (subject, object_)}, {}
    if source == "conceptnet" and not path.exists():
        from gumption.data.download import cache_folder
        from gumption.data.manifest import fetchable

        path = cache_folder() / fetchable()["conceptnet"].file
        if not path.is_file():
            raise InputError(
                f"ConceptNet is not at {path}: fetch it with `gumption data fetch conceptnet`, or name a file of it, "
                "or a graph made by `gumption kg import conceptnet`"
            )
    if path.is_file() and _is_conceptnet(path):
        from gumption.kg.sources.external import CONCEPTNET, conceptnet_entities

        with _progress([path]) as progress:
            entities = conceptnet_entities(path, skip_bad=skip_bad, progress=progress)
        return dict(zip(entities, entities, strict=True)), CONCEPTNET
    if not (path.exists() or is_address(source) or "#" in source):
        raise InputError(
            f"{source!r} is neither a graph of --out nor a file, a folder or an address of a graph, nor one of the "
            f"names {', '.join(worlds.known())} and conceptnet"
        )
    graph, name = open_graph(source)
    with graph:
        names = [name] if name else binary_graphs(graph)
        found = {text: entity for each in names for text, entity in Names(graph, each).spellings().items()}
        said = [graph.annotations(each) for each in names]
        keys = sorted({key for each in said for key in each})
        return found, {key: "; ".join(dict.fromkeys(x[key] for x in said if key in x)) for key in keys}


def _is_conceptnet(path: Path) -> bool:
    """Return whether a file is of ConceptNet; a .tsv must begin with a relation in ConceptNet's lower case."""
    from gumption.kg.sources.external import conceptnet_form
    from gumption.kg.store.files import is_rdf

    if is_rdf(path):
        return False
    try:
        return bool(conceptnet_form(path))
    except InputError:
        return False


def _short(source: str) -> str:
    """Return the name of a side in the name of the links' graph."""
    place, _, name = source.partition("#")
    return name or Path(place).name.split(".")[0]


@contextmanager
def _progress(files: Iterable[Path]) -> Iterator[Callable[[int], object] | None]:
    """Show a bar on stderr over the bytes of some files; yield None if stderr is not a terminal."""
    total = sum(file.stat().st_size for file in files if file.is_file())
    with working("reading, then storing", total) as shown:
        yield shown and (lambda read: shown(advance=read))


@contextmanager
def _importing(
    out: str, update: str | None, wait: float, files: Sequence[Path], as_json: bool, lines: str = "lines"
) -> "Iterator[tuple[KnowledgeGraph, Any, list[Imported]]]":
    """Yield the graph to import into, a function for progress, and a list of what was imported, which is then printed.

    :raises InputError: no fact was kept; nothing is written then.
    """
    done: list[Imported] = []
    with changed_graph(out, update, wait) as into, _progress(files) as progress:
        yield into, progress, done
        if not any(each.kept for each in done):
            raise InputError("no fact was kept, so nothing was written: name a file of this source that has facts")
    if as_json:
        print_json([asdict(each) for each in done])
        return
    rows: list[Any] = []
    for each in done:
        rows += [(each.graph, f"{lines} read", each.lines)]
        rows += [("", f"dropped: {reason}", number) for reason, number in each.dropped.items()]
        rows += [("", "kept", each.kept), ("", "new facts", each.new)]
    print_table(
        ["graph", "what", "number"], rows, f"{count([each for each in done if each.kept], 'graph')} written to {out}"
    )


# ---- Map the names of a graph to the names of a world.


@app.command("map", epilog="Example: gumption kg map pantry.ttl wordcraft --out map.toml")
def map_(
    source: Source, world: str, *, out: Annotated[Path, Written(file=True, endings=(".toml",))] | None = None,
    language: str = "", base: Base = None, setting: list[str] | None = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Propose which relations and entities of a graph stand for those of a world, for `--kg-map`.

    Entities are found by their names: label, IRI, rdfs:label, skos:prefLabel, schema:name, or the end of the IRI. Then
    each relation of the world is compared with each of the graph, in both directions, by the pairs of entities that
    both have in the world's training facts. Names decide between equals only, and where no pair speaks.

    :param out: A .toml file, to be looked over and changed.
    :param language: Of names that win over those without a language, such as de.
    :param setting: NAME=VALUE: a setting of the world's environment, such as recipe_book=my.tsv. Repeatable.
    """
    import gymnasium as gym

    from gumption.envs import worlds
    from gumption.kg.facts import relation_labels, relation_name, stated_name
    from gumption.kg.mapping import INVERSE, propose
    from gumption.kg.names import prefixed

    asked, given = worlds.find(world), dict(map(pair, setting or ()))
    if asked.get("facts") is None:
        raise InputError(f"the world {world!r} states no facts")
    env: Any = gym.make(asked.environments[0].id, **given)
    entities, relations = env.unwrapped.vocabulary[1:], env.unwrapped.relations
    env.close()
    graph, name = open_graph(source, base=base)
    with graph, working("comparing"):
        proposal = propose(graph, name, entities, relations, asked.training(**asked.played(given)), language)
    mapped = {mine for mine, each in proposal.evidence.items() if each.called}
    able = (relation_name(each) for each in relations if mapped.issuperset(relation_labels([each])))
    ranked = list(dict.fromkeys(map(stated_name, able)))
    if out is not None:
        proposal.map.save(out)
    if as_json:
        evidence = {mine: each._asdict() for mine, each in proposal.evidence.items()}
        known = {"known": proposal.known, "of": proposal.size, "several": dict(proposal.several)}
        print_json({"graph": proposal.map.graph, "entities": known, "relations": evidence, "ranks": ranked})
        return
    rows = [
        (mine, (INVERSE if each.called.startswith(INVERSE) else "") + prefixed(each.called.removeprefix(INVERSE)),
         each.links, "by its name" if each.by_name else f"{each.right / each.links:.0%}" if each.links else "", each.of)
        for mine, each in proposal.evidence.items()
    ]  # fmt: skip
    columns = ["of the world", "of the graph (^ backwards)", "links", "right", "training facts"]
    caption = (
        f"{len(mapped)} of {count(rows, 'relation')} mapped; {proposal.known} of {proposal.size} entities are known"
    )
    print_table(columns, rows, caption)
    print(f"choices can be ranked by {', '.join(ranked) or 'nothing'}")
    for mine, labels in list(proposal.several.items())[:NAMES_SHOWN]:
        print(f"left out, for it names {len(labels):,} entities of the graph: {mine}")
    if len(proposal.several) > NAMES_SHOWN:
        print(f"and {len(proposal.several) - NAMES_SHOWN} more such names")
    if out is not None:
        place = source if base is None else f"GRAPH (made by gumption kg load GRAPH {source} --base {base})"
        print(f"written to {out}; use it with --kg {place} --kg-map {out}")


# ---- Import models from PyKEEN and export them to PyKEEN.


@app.command("import-pykeen", epilog="Example: gumption kg import-pykeen results/transe --out runs/transe")
def import_pykeen(folder: Path, *, out: Path) -> None:
    """Convert a model that was trained with PyKEEN. Its pickle is read as data; nothing in it is executed.

    :param folder: A folder that PyKEEN's save_to_directory has written.
    :param out: A new folder for the model.
    """
    new_folder(out)

    from gumption.kg import load_pykeen

    predictor = load_pykeen(folder, device="cpu")
    predictor.save(out)
    print(f"{type(predictor.model).__name__} of {predictor.vocabulary!r} written to {out}")


@app.command(
    "export-pykeen",
    epilog="Example: gumption kg export-pykeen runs/complex --out results/complex --graph runs/kg.nq#wordcraft/train",
)
def export_pykeen(model: Path, *, out: Path, graph: str | None = None) -> None:
    """Write a fitted ComplEx as a folder that PyKEEN opens, with the same scores.

    :param model: The folder of a ComplEx that `gumption kg fit` has written.
    :param out: A new folder for PyKEEN.
    :param graph: Facts for training_triples: GRAPH#NAME, or GRAPH.
    """
    new_folder(out)

    from gumption.kg import ComplEx
    from gumption.kg import export_pykeen as export
    from gumption.kg.facts import is_literal

    fitted = ComplEx.load(model, device="cpu")
    literals = any(map(is_literal, fitted.vocabulary.entities))
    export(fitted, out, [] if graph is None else read_facts(graph, only=True, literals=literals))
    print(f"written to {out}")
