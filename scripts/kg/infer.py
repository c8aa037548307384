"""`gumption kg infer` and `mine`: write the facts that rules entail, and mine the rules that a graph obeys."""

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from gumption.data import InputError
from gumption.data.settings import Count, Share, Whole
from gumption.scripts.apps import App, NewJson
from gumption.scripts.output import Json, count, print_json, print_table, shown, working

from .sources import Literals, Source, Update, Wait, check_place, only_graph, open_graph

Order = Literal["confidence", "pca-confidence", "contradiction-confidence", "support", "head-coverage"]

app = App()


@app.command(epilog="Example: gumption kg infer runs/kg.nq#wordcraft/train --rules rules.json --out runs/inferred.nq")
def infer(
    source: Source, *, rules: Path, into: str | None = None, out: Path | None = None, update: Update = None,
    wait: Wait = 5, provenance: bool = False, min_confidence: Share = 0.5,
    explain: Annotated[tuple[str, str, str] | None, typer.Option(metavar="SUBJECT RELATION OBJECT")] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Write the facts that rules entail into a graph of their own. Without #NAME all graphs are read.

    A folder or an endpoint is changed in place. A run continues an earlier one with the same rules: it follows new
    facts only, and removes facts that no longer follow. The confidence of a fact is that of its best proof: the product
    of the confidences of all its rules, where a rule of the file that states none is certain.

    :param rules: A JSON file such as {"rules": [{"symmetric": "combinesWith"}]}.
    :param into: The graph for what follows; NAME/inferred if not given.
    :param out: Where GRAPH is a file: the file for all of it afterwards.
    :param provenance: Also write what each fact was derived from, and its confidence.
    :param min_confidence: Leave out facts with less confidence, and use none of them to prove others.
    :param explain: Say how this fact follows, and write nothing.
    """
    from gumption.kg.names import Names
    from gumption.kg.rules.horn import read_rules
    from gumption.kg.rules.inference import explain as explained
    from gumption.kg.rules.inference import infer as inferred

    place = source if Path(source).exists() else source.partition("#")[0]
    is_file = Path(place).is_file()
    if is_file and explain is None and out is None:
        raise InputError(f"{place} is a file: say with --out which file to write, which may be the same one")
    if out is not None:
        if not is_file:
            raise InputError(f"{place} is changed in place: leave out --out")
        check_place(str(out))
    known = read_rules(rules)
    graph, name = open_graph(source, update=update, read_only=explain is not None, wait=wait)
    with graph:
        if explain is not None:
            names, (subject, relation, object_) = Names(graph, name), explain
            fact = names.label(subject), names.label(relation, "relation"), names.label(object_)
            with working("applying rules"):
                explanation = explained(graph, fact, known, name, into, min_confidence=min_confidence)
            if as_json:
                print_json(asdict(explanation))
            else:
                print(explanation)
            return
        with working("applying rules"):
            result = inferred(graph, known, name, into, provenance=provenance, min_confidence=min_confidence)
            if out is not None:
                graph.save(out)
    if as_json:
        print_json(asdict(result))
        return
    rows = [*result.by_rule.items(), ("facts stated", result.stated), ("facts entailed", result.entailed)]
    rows += [("of these uncertain", len(result.uncertain)), (f"below {min_confidence:g}, left out", result.below)]
    rows += [("new", result.added), ("removed", result.removed)]
    how = "only new facts were followed" if result.recomputed is None else f"computed anew: {result.recomputed}"
    print_table(["", "facts"], rows)
    if first := result.uncertain[:10]:
        cells = [shown((*fact, f"{confidence:.3f}")) for fact, confidence in first]
        caption = f"{len(first)} of {count(result.uncertain, 'uncertain fact')}"
        print_table(["subject", "relation", "object", "confidence"], cells, caption)
    print(f"written to the graph {result.into}; {how}")


@app.command(epilog="Example: gumption kg mine runs/kg.nq#wordcraft/train --min-confidence 0.8 --out rules.json")
def mine(
    source: Source, *, min_support: Whole = 10, min_head_coverage: Share = 0.01, min_confidence: Share = 0.5,
    min_pca_confidence: Share = 0.0, min_contradiction_confidence: Share = 0.0, sort_by: Order = "confidence",
    out: NewJson | None = None, top: Count = 25, literals: Literals = False, as_json: Json = False,
) -> None:  # fmt: skip
    """Find the rules that a graph mostly obeys (AMIE). Without #NAME it is the only graph, recipe nodes apart.

    :param min_support: Facts that the rule predicts and that are stated.
    :param min_head_coverage: Their share of the facts of that relation.
    :param min_confidence: Their share of all that the rule predicts.
    :param min_pca_confidence: The same, counting only predictions about what the relation says anything of.
    :param min_contradiction_confidence: The same, counting only predictions that are stated or contradicted: for graphs
        of which facts are missing, with --min-confidence 0. A relation that no other excludes has its PCA confidence
        here.
    :param sort_by: The figure that orders the rules: confidence, pca-confidence, contradiction-confidence, support or
        head-coverage.
    :param out: A JSON file of the rules, which `infer` understands.
    :param top: How many rules the table shows.
    """
    from gumption.kg.facts import learnable
    from gumption.kg.rules.mining import mine_rules, write_mined

    graph, name = open_graph(source)
    with graph:
        facts = learnable(*graph.arrays(name or only_graph(graph, source)), literals)
    with working("counting", 1) as bar:
        search = partial(
            mine_rules, facts, min_head_coverage=min_head_coverage, min_confidence=min_confidence,
            min_pca_confidence=min_pca_confidence, min_contradiction_confidence=min_contradiction_confidence,
            progress=bar and (lambda done, of: bar(completed=done, total=of)),
        )  # fmt: skip
        mined = others = search(min_support=min_support)
        least = min_support
        while not others and least > 1:
            least //= 2
            others = search(min_support=least)
    if not mined:
        best = max((each.support for each in others), default=0)
        advice = f"--min-support {best} finds some" if best else "no smaller --min-support finds any: lower the others"
        print(f"no rule reaches --min-support {min_support} and the other thresholds; {advice}", file=sys.stderr)
    mined.sort(key=lambda each: -getattr(each, sort_by.replace("-", "_")))  # ties keep the order of mining
    if out is not None:
        write_mined(out, mined, facts)
    if as_json:
        print_json([{"rule": str(each.rule), **each.figures()} for each in mined])
        return
    first = mined[:top]
    columns = {"head coverage": "head_coverage", "confidence": "confidence", "PCA confidence": "pca_confidence"}
    asked = min_contradiction_confidence > 0 or sort_by == "contradiction-confidence"
    if asked or any(each.contradicted_by for each in first):  # otherwise it only repeats the PCA confidence
        columns["contradiction confidence"] = "contradiction_confidence"
    rows = [(each.rule, each.support, *(f"{getattr(each, name):.3f}" for name in columns.values())) for each in first]
    caption = f"{len(first)} of {len(mined)} rules" + ("" if out is None else f", all written to {out}")
    print_table(["rule", "support", *columns], rows, caption)
    for head, by in sorted({each.rule.head: each.contradicted_by for each in first}.items(), key=str):
        if by:
            print(f"{head} is contradicted by {', '.join(map(str, by))}")
