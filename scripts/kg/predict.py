"""`gumption kg predict`, `evaluate` and `calibrate`: query and rank with a fitted link predictor or rules; calibrate a
fitted link predictor."""

import warnings
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data import InputError, Note
from gumption.data.settings import Count
from gumption.scripts.apps import App
from gumption.scripts.kg.parts import side_rows
from gumption.scripts.output import Json, count, print_json, print_table, shown

from .sources import binary_graphs, only_graph, open_graph, read_facts

if TYPE_CHECKING:
    from gumption.kg.facts import Facts
    from gumption.kg.links.predictor import LinkPredictor

app = App()

_MODEL = "The folder of a fitted model{}."
Model = Annotated[Path, typer.Argument(help=_MODEL.format(""))]
ModelOrRules = Annotated[
    Path, typer.Argument(metavar="MODEL", help=_MODEL.format(", or a file of rules, which rank by their confidence"))
]
_SKIP = "Leave out facts with labels that the model was not fitted on; tells how many."
Skip = Annotated[bool, typer.Option("--skip-unknown", help=_SKIP)]
Known = Annotated[list[str] | None, typer.Option(help="True facts, GRAPH or GRAPH#NAME; may be repeated.")]


@app.command(epilog="Example: gumption kg predict runs/complex --subject fire --relation combinesWith -k 10")
def predict(
    model: ModelOrRules, *, relation: str, subject: str | None = None, object_: str | None = None,
    k: Annotated[Count, typer.Option("-k")] = 10, graph: list[str] | None = None, exclude_known: bool = False,
    words: str | None = None, why: bool = False, as_json: Json = False,
) -> None:  # fmt: skip
    """The k entities that most probably complete a fact.

    With --graph the probability is that of an answer which the graph does not have, calibrated where the model has
    been (`gumption kg calibrate`); without it, the model's plain softmax over all entities. Rules are applied to the
    facts of --graph (mined ones to those that they were mined from), and answers have the confidence of their best
    proof, which is shown.

    :param relation: A relation's name.
    :param subject: An entity's name: asks for objects.
    :param object_: An entity's name: asks for subjects.
    :param k: How many.
    :param graph: What is known, GRAPH or GRAPH#NAME: marks known answers. Repeatable.
    :param exclude_known: Leave out what --graph knows.
    :param words: Vectors for a label that a model fitted with words has not met: a file, or `shipped`.
    :param why: The nearest facts of --graph behind each answer.
    """
    if (subject is None) == (object_ is None):
        raise InputError("give either --subject or --object: the other one is what is predicted")
    if not graph and (why or exclude_known):
        raise InputError(f"{'--why' if why else '--exclude-known'} needs what is known: give --graph")
    facts = sorted({fact for source in graph or () for fact in read_facts(source, only=False)})

    from gumption.kg import Calibration
    from gumption.kg import why as explain
    from gumption.kg.names import Names

    predictor = _predictor(model, facts)
    if words is not None:
        predictor = _extended(predictor, subject or object_ or "", words)
    names = Names(predictor.vocabulary)
    relation = names.relation(relation)
    subject, object_ = (None if each is None else names.entity(each) for each in (subject, object_))
    question: dict[str, Any] = {"subject": subject, "relation": relation, "object": object_, "k": k}
    if model.is_file():
        _predict_by_rules(predictor, question, facts if exclude_known else [], as_json)
        return
    calibration = Calibration.load(model, predictor) if graph else None
    best = predictor.predict(**question)
    rows: list[dict[str, Any]] = [{"label": label, "score": score, "probability": p} for label, score, p in best]
    if graph:
        everything = len(predictor.vocabulary.entities)
        fresh = predictor.predict(**{**question, "k": everything}, without=facts, calibration=calibration)
        probabilities = {label: p for label, _, p in fresh}
        rows = [
            {"label": name, "score": score, "probability": probabilities.get(name), "known": name not in probabilities}
            for name, score, _ in (fresh[:k] if exclude_known else best)
        ]
    if why:
        for row in rows:
            fact = (subject or row["label"], relation, object_ or row["label"])
            reasons = explain(predictor, facts, fact, k=3)
            nearest = [{"fact": near, "similarity": similarity} for near, similarity in reasons.nearest]
            row["why"] = {"nearest": nearest, "paths": reasons.paths}
    if as_json:
        print_json(rows)
        return
    columns: dict[str, Any] = {
        "object" if object_ is None else "subject": lambda row: row["label"],
        "score": lambda row: f"{row['score']:.3f}",
        "probability": lambda row: None if row["probability"] is None else f"{row['probability']:.4f}",
        **({"known": lambda row: "known" if row["known"] else None} if graph else {}),
        **({"why": lambda row: "\n".join(_lines(row["why"]))} if why else {}),
    }
    print_table([*columns], [shown(cell(row) for cell in columns.values()) for row in rows])
    if not graph:
        print("probability: softmax over all entities")
    else:
        how = f"calibrated on {calibration.after.predictions} held-out answers" if calibration else "not calibrated"
        print(f"probability: among answers that are not known, {how}")


@app.command(
    epilog="Example: gumption kg evaluate runs/complex --test runs/kg.nq#wordcraft/test --known runs/kg.nq "
    "--skip-unknown"
)
def evaluate(
    model: ModelOrRules, *, test: str, known: Known = None, memory: Count | None = None, skip_unknown: Skip = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Filtered ranking of test facts: mean reciprocal rank and hits, overall, by side and by relation.

    Rules are applied to the facts of --known, without those of the test; mined ones to those that they were mined from.

    Other true answers are left out only where --known has them: a note counts those that it lacks, of the model's
    training and validation and of the graphs beside --test. The last line counts the test facts that were trained on.

    :param test: The graph whose facts are ranked: GRAPH#NAME, or GRAPH if it has one.
    :param memory: MiB that scores may take at a time.
    """
    predictor, facts, others, skipped = _held_out(model, test, known, skip_unknown)

    from gumption.kg import filtered_ranks
    from gumption.kg.facts import to_ids

    trained = predictor.count_trained(to_ids(predictor.vocabulary, facts), "test facts")
    _note_unfiltered(predictor, test, facts, others, trained is not None)
    budget = None if memory is None else memory << 20
    ranks = filtered_ranks(predictor, facts, known=others, memory=budget, progress=True)
    overall, relations = ranks.figures(), ranks.by_relation()
    if as_json:
        figures = {**overall, "by_side": ranks.by_side(), "by_relation": relations}
        print_json({"facts": len(ranks.facts), "trained_on": trained, "skipped": skipped, **figures})
        return
    print_table(*side_rows(ranks))
    rows = [(name, int(part["facts"]), *_decimals(part, overall)) for name, part in relations.items()]
    print_table(["relation", "facts", *overall], rows)
    print(count(ranks.facts, "test fact") + _trained(trained) + _left_out(skipped))


@app.command(
    epilog="Example: gumption kg calibrate runs/complex --held-out runs/kg.nq#wordcraft/validation "
    "--known runs/kg.nq#wordcraft/train --skip-unknown"
)
def calibrate(
    model: Model, *, held_out: str, known: Known = None, skip_unknown: Skip = False, as_json: Json = False,
) -> None:  # fmt: skip
    """Fit temperatures on held-out facts, so that stated probabilities match frequencies; kept with the model.

    Take a validation part (`gumption kg build wordcraft --partition validation`), not the facts of the test. The last
    line counts the facts that the model was trained on: on these its probabilities are too high.

    :param held_out: Facts that the model was not fitted on: GRAPH#NAME, or GRAPH.
    """
    if model.is_file():
        raise InputError(f"{model} is a file: only the folder of a fitted model can be calibrated")
    predictor, facts, others, skipped = _held_out(model, held_out, known, skip_unknown)

    from rich.console import Console

    from gumption.kg import Calibration
    from gumption.kg.facts import to_ids

    ids = to_ids(predictor.vocabulary, facts)
    trained = predictor.count_trained(ids, "held-out facts")
    with Console(stderr=True).status("fitting temperatures"):
        calibration = Calibration.fit(predictor, facts, others)
    calibration.save(model, predictor)
    before, after = asdict(calibration.before), asdict(calibration.after)
    if as_json:
        print_json({"before": before, "after": after, "trained_on": trained, "skipped": skipped})
        return
    rows = [(name.replace("_", " "), *_decimals(before, [name]), *_decimals(after, [name])) for name in before]
    print_table(["held-out answers", "before", "after"], rows)
    print(f"kept in {model}: {count(ids, 'held-out fact')}{_trained(trained)}{_left_out(skipped)}")


def _held_out(
    model: Path, source: str, known: list[str] | None, skip_unknown: bool
) -> "tuple[LinkPredictor, Facts, list[Facts], int]":
    """Return the predictor, the held-out facts, the known facts, and the number of facts that were left out.

    Facts with literals are kept only for a predictor that has learned literals.
    """
    from gumption.kg.facts import LeftOut, is_literal, is_triple_term, to_ids

    facts = read_facts(source, only=True)
    true = [read_facts(each, only=False) for each in known or ()]
    others: list[Facts] = [*true]
    predictor = _predictor(model, {fact for each in true for fact in each}.difference(facts))
    if not any(map(is_literal, predictor.vocabulary.entities)):
        left = LeftOut(*(sum(map(test, (fact[2] for fact in facts))) for test in (is_literal, is_triple_term)))
        left.note(f" of {source}")
        facts = [fact for fact in facts if not is_literal(fact[2]) and not is_triple_term(fact[2])]
    if skip_unknown:
        ids = to_ids(predictor.vocabulary, facts, skip=True)
        return predictor, (predictor.vocabulary, ids), others, len(facts) - len(ids)
    seen = set(predictor.vocabulary.entities)
    if new := sorted({entity for subject, _, object_ in facts for entity in (subject, object_)} - seen):
        has, them = ("has 1 entity", "it") if len(new) == 1 else (f"has {len(new)} entities", "them")
        place = "" if model.is_file() else f"fit it with --entities {source} to give {them} a place, or "
        raise InputError(
            f"{source} {has} that the model was not fitted on, such as {new[0]!r}: {place}leave their facts out with "
            "--skip-unknown"
        )
    return predictor, facts, others, 0


def _predictor(model: Path, facts: Iterable[tuple[str, str, str]]) -> "LinkPredictor":
    """Load the predictor in a folder, or make one from a file of rules, applied to these facts."""
    from gumption.kg import load_predictor

    if not model.is_file():
        return load_predictor(model)
    from gumption.kg.rules.prediction import RulePredictor

    return RulePredictor.load(model, facts)


def _predict_by_rules(predictor: Any, question: dict[str, Any], known: Any, as_json: bool) -> None:
    """Print the answers that follow from the rules, without known answers, each with its proof."""
    side, rows = "object" if question["object"] is None else "subject", []
    for label in (label for label, confidence, _ in predictor.predict(**question, without=known) if confidence > 0):
        fact = {**question, side: label}
        why = predictor.proof((fact["subject"], fact["relation"], fact["object"]))
        last = why.steps[-1]
        rows.append({"label": label, "confidence": last.confidence, "known": last.rule is None, "why": why})
    if as_json:
        print_json([{**row, "why": asdict(row["why"])["steps"]} for row in rows])
        return
    cells = [(r["label"], f"{r['confidence']:.3f}", "known" if r["known"] else None, str(r["why"])) for r in rows]
    print_table([side, "confidence", "known", "why"], list(map(shown, cells)), f"{count(rows, 'answer')} with a proof")


def _note_unfiltered(
    predictor: "LinkPredictor", source: str, facts: "Facts", others: "list[Facts]", marked: bool
) -> None:
    """Issue a Note with the number of true facts that are not left out of the ranking: training and validation facts of
    the model if `marked`, and facts of the sibling graphs of the test graph, whose names differ in the last part
    only."""
    import numpy as np

    from gumption.kg.facts import marks_of, to_ids

    vocabulary = predictor.vocabulary
    true = [predictor.trained_on, predictor.chosen_by] if marked else []
    graph, name = open_graph(source)
    with graph:
        start = (name or only_graph(graph, source)).rpartition("/")[0]
        for each in binary_graphs(graph):
            if each.rpartition("/")[0] == start:
                true.append(marks_of(vocabulary, to_ids(vocabulary, graph.triples(graph=each), skip=True)))
    known = np.concatenate([to_ids(vocabulary, each, skip=True) for each in (facts, *others)])
    everything = np.concatenate([marks for marks in true if marks is not None])
    if left := len(np.setdiff1d(everything, marks_of(vocabulary, known))):
        warnings.warn(
            f"not among --known: {left:,} of the facts that the model was trained on or chosen by, or that graphs "
            f"beside {source} have; as answers they count as wrong, so that the figures are too low: give them, too",
            Note,
            stacklevel=2,
        )


def _trained(number: int | None) -> str:
    return "; on which the model was trained is not known" if number is None else f", {number:,} of them trained on"


def _left_out(skipped: int) -> str:
    return f", {skipped} with unknown labels left out" if skipped else ""


def _lines(reasons: dict[str, Any]) -> list[str]:
    lines = [f"{each['similarity']:.2f} like {' '.join(each['fact'])}" for each in reasons["nearest"]]
    return lines + ["via " + ", ".join(" ".join(fact) for fact in path) for path in reasons["paths"]]


def _decimals(part: dict[str, Any], names: Any) -> list[str]:
    return [f"{part[name]:.4f}" if isinstance(part[name], float) else str(part[name]) for name in names]


def _extended(predictor: "LinkPredictor", label: str, words: str) -> "LinkPredictor":
    """Return the model extended by an entity with its word vector, unless the model has the entity."""
    from gumption.kg import ComplEx, WordVectors

    if not isinstance(predictor, ComplEx):
        raise InputError("--words is for a model that `gumption kg fit --words` made")
    if label in predictor.vocabulary.entities:
        return predictor
    return predictor.extended([label], WordVectors.load(None if words == "shipped" else words))
