"""`gumption kg load`, `query`, `export`, `remove`, `validate` and `hash`: a graph as a store of facts."""

import re
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import typer

from gumption.data.errors import InputError, Note, located
from gumption.data.settings import Megabytes, Seed, SmallShare, Whole
from gumption.scripts.apps import App
from gumption.scripts.output import Json, count, print_json, print_table, shown, working

from .sources import FILES, READ, Base, Source, Timeout, Update, Wait, changed_graph, only_graph, open_graph

app = App()


@app.command(epilog="Example: gumption kg load runs/kg facts.csv --columns thing,relation,other --graph household")
def load(
    place: Annotated[
        str, typer.Argument(metavar="GRAPH", help=f"A {FILES}, a folder or an http address; made if not there.")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help=f"One {READ}, or several.")], *,
    graph: str | None = None, columns: str | None = None,
    header: Annotated[bool | None, typer.Option("--header/--no-header", show_default=False)] = None,
    delimiter: str | None = None, skip_bad: Whole = 0, base: Base = None, context: Path | None = None,
    update: Update = None, wait: Wait = 5, as_json: Json = False,
) -> None:  # fmt: skip
    """Add the facts of files to a graph, in bounded memory where it is a folder or an endpoint.

    Loading again adds only what is not there: after an interruption the same command does the rest.

    :param graph: Where facts go that a file puts in no named graph.
    :param columns: Of .csv and .tsv: SUBJECT,RELATION,OBJECT[,GRAPH], names in the header or numbers from 1.
    :param header: Whether their first line names the columns.
    :param delimiter: What separates their cells: ; for example, or the word tab. Without it the first rows show it.
    :param skip_bad: How many bad lines of a file are left out.
    :param context: A file in place of a context that a .jsonld file names by its address.
    """
    how: dict[str, Any] = {"columns": columns, "header": header, "delimiter": delimiter}
    how |= {"skip_bad": skip_bad, "base": base, "context": context}
    new = {}
    with changed_graph(place, update, wait) as into:
        for file in files:
            with working(f"loading {file}"):
                new[str(file)] = into.load_file(file, graph, **how)
        counts = into.graphs()
    if as_json:
        print_json({"new": new, "graphs": counts})
    else:
        print_table(["graph", "facts"], list(counts.items()))
        for file, number in new.items():
            print(f"{number} new from {file}")


@app.command(
    epilog="Example: gumption kg query runs/kg.nq 'SELECT ?x { ?x gum:componentOf ?goal }' --bind goal='acid rain'"
)
def query(
    source: Source, sparql: str, *, bind: list[str] | None = None, timeout: Timeout = None,
    memory_limit: Megabytes | None = None, allow_service: bool = False, base: Base = None,
    form: Annotated[str | None, typer.Option("--format")] = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Ask a graph a question in SPARQL. It is opened for reading only.

    :param sparql: SELECT, ASK, CONSTRUCT or DESCRIBE; gum:, ent:, rdf:, rdfs:, owl:, xsd:, skos:, schema: and prov:
        are declared.
    :param bind: VARIABLE=NAME: a label, an IRI, or what the graph calls it; may be repeated.
    :param memory_limit: How many megabytes the query may take.
    :param allow_service: Let SERVICE in the query ask other servers.
    :param form: Of SELECT and ASK sparql-json, csv, tsv or xml, of CONSTRUCT and DESCRIBE ttl, nt, rdf or jsonld: the
        terms as they are in RDF, for other programs.
    """
    if form is not None and as_json:
        raise InputError("give --format or --json: each is a form of the answer")
    labels: dict[str, Any] = {}
    for text in bind or ():
        variable, mark, label = text.partition("=")
        if not variable or not mark:
            raise InputError(f"--bind {text!r}: expected VARIABLE=LABEL, such as goal=mud")
        labels[variable.lstrip("?$")] = label
    for name in sorted({"timeout", "memory_limit", "allow_service", "terms", "format"}.intersection(labels)):
        taken = name if name == "terms" else f"--{name.replace('_', '-')}"
        raise InputError(f"--bind {name}: call the variable something else, because {taken} is another thing")
    graph, name = open_graph(source, timeout=timeout, base=base)
    with graph:
        if name is not None:
            raise InputError(f"a query sees all graphs: leave out #{name} and ask for GRAPH ?g {{ ... }} with g={name}")
        bound = _bound(graph, sparql, labels)
        answer = graph.query(sparql, memory_limit=memory_limit, allow_service=allow_service, format=form, **bound)
        if isinstance(answer, bytes):
            sys.stdout.buffer.write(answer)
            return
        row = answer[0] if isinstance(answer, list) and len(answer) == 1 else None
        nothing = not answer or (isinstance(row, dict) and not any(row.values()))  # for example a COUNT of 0
        unknown = _unknown_relations(graph, sparql) if nothing and not as_json else []
    if as_json:
        print_json(answer)
    elif isinstance(answer, bool):
        print("\n".join(["yes" if answer else "no", *unknown]))
    elif answer and isinstance(answer[0], dict):
        print_table(list(answer[0]), [shown(row.values()) for row in answer], count(answer, "row"))
        print("".join(f"{line}\n" for line in unknown), end="")
    elif answer:
        print_table(["subject", "relation", "object"], list(map(shown, answer)), count(answer, "fact"))
    else:
        print("\n".join(["nothing found", *unknown]))


@app.command(epilog="Example: gumption kg export runs/kg.nq#wordcraft/train --out train.tsv")
def export(
    source: Source, *,
    out: Annotated[Path, typer.Option(help=f"A {FILES}, or a new folder for a data set of three parts.")],
    validation_ratio: SmallShare | None = None, test_ratio: SmallShare | None = None, seed: Seed | None = None,
    form: Annotated[str | None, typer.Option("--format")] = None, split_families: bool = False,
    labels: bool = False, literals: Annotated[bool, typer.Option("--literals")] = False, as_json: Json = False,
) -> None:  # fmt: skip
    """Write a graph, or the one that #NAME picks, to a file of another kind, with its licences.

    Where --out has no ending, one named graph is split at random into train.txt, valid.txt and test.txt, as PyKEEN and
    others read them, or with --format huggingface into Parquet files that datasets.load_dataset reads. Every entity and
    relation is in the training part, and facts that follow from each other by inverse, near-duplicate or symmetric
    relations are in one part; manifest.json has these relations, shares, seed, counts and hashes.

    :param validation_ratio: Of a data set: share of the valid part; 0.1.
    :param test_ratio: Of a data set: share of the test part; 0.1.
    :param seed: Of a data set: which facts go where; 0.
    :param form: Of a data set: tsv, or huggingface (Parquet with a card); tsv.
    :param split_families: Of a data set: draw each fact by itself, also where one follows from another.
    :param labels: Of an RDF file: state the rdfs:label of the entities and relations, too, for other programs.
    :param literals: Of a data set: keep facts with literals: numbers and texts.
    """
    from gumption.kg.graph import split_source

    if not out.suffix:
        if labels:
            raise InputError(f"{out}: --labels is for RDF files")
        from .split import follows_text, write_parts

        shares = {"valid": 0.1 if validation_ratio is None else validation_ratio}
        shares["test"] = 0.1 if test_ratio is None else test_ratio
        how: dict[str, Any] = {"form": form or "tsv", "together": not split_families, "literals": literals}
        graph, name = open_graph(source)
        with graph, working(f"writing {out}"):
            manifest = write_parts(graph, name or only_graph(graph, source), out, shares, seed or 0, **how)
        if as_json:
            print_json(manifest)
            return
        facts = manifest["facts"]
        print(", ".join(f"{part} {number}" for part, number in facts.items()) + f" facts written to {out}")
        if manifest["alike"]:
            print(follows_text(manifest["test_facts_that_follow"], facts["test"], manifest["alike"]))
        return
    if (validation_ratio, test_ratio, seed, form) != (None, None, None, None) or split_families or literals:
        options = "--split-families, --literals, --validation-ratio, --test-ratio, --seed and --format"
        raise InputError(f"{out}: {options} are for a folder, a name without an ending")
    place = Path(split_source(source)[0])
    if place.exists() and out.exists() and out.samefile(place):
        raise InputError(f"{out} is the graph that is read: write to another file")
    graph, name = open_graph(source)
    with graph:
        with working(f"writing {out}"):
            graph.save(out, name, labels=labels)
            names = list(graph.graphs()) if name is None else [name]
            number = len(graph) if name is None else graph.graphs().get(name, 0)
        about = {each: said for each in names if (said := graph.annotations(each))}
    if as_json:
        print_json({"out": str(out), "facts": number, "about": about})
        return
    print(f"{count(range(number), 'fact')} written to {out}")
    for each, said in about.items():
        print(f"{each}: " + ", ".join(f"{key} {said[key]}" for key in ("license", "attribution") if key in said))


@app.command(epilog="Example: gumption kg remove runs/kg.nq#wordcraft/train --object steam")
def remove(
    source: Source, *, subject: str | None = None, relation: str | None = None, object_: str | None = None,
    update: Update = None, wait: Wait = 5, as_json: Json = False,
) -> None:  # fmt: skip
    """Remove the facts with these labels, or the whole graph that #NAME picks with what is said about it.

    A note counts the facts that `kg infer` entailed of the removed ones, if it kept proofs (--provenance).

    :param subject: Of the facts to remove.
    :param relation: Of the facts to remove.
    :param object_: Of the facts to remove.
    """
    from gumption.kg.graph import split_source
    from gumption.kg.names import Names
    from gumption.kg.rules.inference import stale_without
    from gumption.kg.vocabulary import unknown_graph

    place, name = split_source(source)
    whole = subject is relation is object_ is None
    if whole and name is None:
        raise InputError(f"say what to remove: {place}#NAME for a whole graph, or --subject, --relation or --object")
    with changed_graph(place, update, wait) as graph, working("removing"):
        if whole:
            stale = stale_without(graph, set(graph.triples(graph=name)), name)
            number = graph.drop(str(name))
        else:
            if name is not None and name not in graph.graphs():
                raise InputError(unknown_graph(name, graph.graphs()))
            names = Names(graph, name)
            things = [None if each is None else names.label(each) for each in (subject, object_)]
            kind = None if relation is None else names.label(relation, "relation")
            facts = list(graph.triples(things[0], kind, things[1], graph=name))
            stale = stale_without(graph, facts, name)
            number = graph.remove(facts, graph=name)
        counts = graph.graphs()
    if as_json:
        print_json(
            {"removed": number, "graphs": counts, "stale": {into: resting for into, (resting, _) in stale.items()}}
        )
    else:
        print_table(["graph", "facts"], list(counts.items()))
        print(f"{count(range(number), 'fact')} removed")
    for into, (resting, of) in stale.items():
        which = "its facts may be stale, for no proofs are kept"
        which = which if resting is None else f"{count(range(resting), 'fact')} rested on what was removed"
        again = f"gumption kg infer {place}{'' if of is None else f'#{of}'} --rules FILE --into {into}"
        again += (f" --out {place}" if Path(place).is_file() else "") + ("" if resting is None else " --provenance")
        warnings.warn(f"{into}: {which}; renew it with the same rules: {again}", Note, stacklevel=1)


@app.command(epilog="Example: gumption kg validate runs/kg.nq --shapes wordcraft")
def validate(source: Source, *, shapes: str, as_json: Json = False) -> None:
    """Check a graph's facts against SHACL shapes; the exit code is 1 where they do not conform.

    :param shapes: The name of a world, or a file of SHACL shapes in Turtle.
    """
    from dataclasses import asdict

    from gumption.kg.store.shapes import validate as validated

    file = _shapes_file(shapes)
    graph, name = open_graph(source)
    with graph, working("validating"):
        report = validated(graph, file, name)
    nodes = "checked" if report.checked is None else count(range(report.checked), "node") + " checked"
    if as_json:
        print_json(asdict(report))
    elif report.violations:
        rows = [(v.subject, v.relation, v.value, v.message, v.severity) for v in report.violations]
        caption = f"{count(rows, 'thing')} found, {nodes}"
        print_table(["subject", "relation", "value", "what is wrong", "severity"], rows, caption)
    if not as_json and report.conforms:
        print(f"conforms to {shapes}: {nodes}")
    if not report.conforms:
        raise typer.Exit(1)


@app.command(name="hash", epilog="Example: gumption kg hash runs/kg.nq#wordcraft/train")
def content_hash(source: Source) -> None:
    """A hash of the facts as a set, the same in every kind of store and file."""
    graph, name = open_graph(source)
    with graph, working("hashing"):
        print(graph.content_hash(name))


def _shapes_file(shapes: str) -> Path:
    import gumption.envs

    if Path(shapes).is_file():
        return Path(shapes)
    worlds = {file.parent.name: file for file in sorted(Path(gumption.envs.__path__[0]).glob("*/shapes.ttl"))}
    if shapes not in worlds:
        raise InputError(f"there are no shapes {shapes!r}: name a file, or one of the worlds {', '.join(worlds)}")
    return worlds[shapes]


def _unknown_relations(graph: Any, sparql: str) -> list[str]:
    """Return a message for each relation that a query names and the graph lacks, since it may be mistyped."""
    from gumption.kg.vocabulary import RELATION, unknown_label

    starts = ["gum:", f"<{RELATION}", *re.findall(rf"(?i:prefix)\s+([\w.-]*:)\s*<{RELATION}>", sparql)]
    named = re.findall(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, starts))})([\w%-]+)", sparql)
    names = dict.fromkeys(map(unquote, named))
    try:
        missing = [name for name in names if next(graph.triples(relation=name), None) is None]
        known = [row["r"] for row in graph.query("SELECT DISTINCT ?r { ?s ?r ?o }")] if missing else []
    except InputError:  # exceeds --timeout: the answer is printed without these messages
        return []
    return [unknown_label("relation", name, known) for name in missing]


def _bound(graph: Any, sparql: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return variable -> label of the named entity, relation or graph; a literal need not be in the graph."""
    from gumption.kg.names import Names
    from gumption.kg.store.sparql import label_terms, variable_namespaces
    from gumption.kg.vocabulary import GRAPH, RELATION, unknown_graph

    if not names:
        return names
    label_terms(sparql, names)  # raises an error for a name that is not a variable
    spaces, known, bound = variable_namespaces(sparql), Names(graph), {}
    for variable, name in names.items():
        if spaces[variable] == GRAPH:
            if name not in (graphs := graph.graphs()):
                raise InputError(f"--bind {variable}: {unknown_graph(name, graphs)}")
            bound[variable] = name
            continue
        with located(f"--bind {variable}"):
            find = known.relation if spaces[variable] == RELATION else known.entity
            bound[variable] = name if name.startswith('"') else find(name)
    return bound
