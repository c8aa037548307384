import json
import re

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import Vocabulary
from gumption.kg.vocabulary import (
    ENTITY,
    GRAPH,
    PREFIXES,
    RELATION,
    iri_to_label,
    label_to_iri,
    nearest_labels,
    object_to_term,
    term_to_label,
)
from tests.processor import cost

TRIPLES = [("water", "combinesWith", "fire"), ("fire", "componentOf", "steam"), ("fire", "combinesWith", "water")]

# Text that begins like the names which are treated in a special way, so that the search goes where errors would be.
LABELS = st.builds(
    "{}{}{}".format,
    st.sampled_from(
        ["", "http://x.org/", "urn:", ENTITY, ENTITY + "%66", ENTITY + "http%3A%2F%2F", RELATION, "-", "<a:"]
    ),
    st.text(min_size=1),
    st.sampled_from(["", ">", "."]),
)


def test_ids_are_places_in_sorted_labels():
    vocabulary = Vocabulary.from_triples(TRIPLES)
    assert vocabulary.entities == ("fire", "steam", "water")
    assert vocabulary.relations == ("combinesWith", "componentOf")
    assert vocabulary.entity_id("water") == 2
    assert vocabulary.relation_id("componentOf") == 1
    ids = vocabulary.triples_to_ids(TRIPLES)
    assert ids.dtype == np.int64
    assert ids.tolist() == [[2, 0, 0], [0, 1, 1], [0, 0, 2]]
    assert vocabulary.ids_to_triples(ids) == TRIPLES
    assert vocabulary.triples_to_ids([]).shape == (0, 3)


def test_extending_keeps_every_id():
    vocabulary = Vocabulary.from_triples(TRIPLES)
    longer = vocabulary.extended([("ash", "componentOf", "mud"), ("air", "above", "fire")])
    assert longer.entities == ("fire", "steam", "water", "air", "ash", "mud")
    assert longer.relations == ("combinesWith", "componentOf", "above")
    assert longer.hash != vocabulary.hash
    assert vocabulary.entities == ("fire", "steam", "water")


def test_hash_and_equality_follow_labels_and_their_order():
    vocabulary = Vocabulary.from_triples(TRIPLES)
    assert re.fullmatch("[0-9a-f]{64}", vocabulary.hash)
    assert Vocabulary.from_triples(reversed(TRIPLES)) == vocabulary
    assert Vocabulary.from_triples(reversed(TRIPLES)).hash == vocabulary.hash
    assert Vocabulary(vocabulary.entities[::-1], vocabulary.relations).hash != vocabulary.hash
    # The border between entities and relations counts, and so does that between labels.
    assert len({Vocabulary(["a"], ["b"]).hash, Vocabulary(["a", "b"], []).hash, Vocabulary(["ab"], []).hash}) == 3


@given(st.lists(st.text(min_size=1), unique=True), st.lists(st.text(min_size=1), unique=True))
def test_json_round_trip(entities, relations):
    vocabulary = Vocabulary(entities, relations)
    again = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert again == vocabulary
    assert again.hash == vocabulary.hash


def test_json_that_was_changed_is_refused():
    value = Vocabulary.from_triples(TRIPLES).to_json()
    value["entities"][0] = "ice"
    with pytest.raises(InputError, match="does not fit its hash"):
        Vocabulary.from_json(value)
    with pytest.raises(InputError, match="not a vocabulary: relations, hash missing"):
        Vocabulary.from_json({"entities": []})


def test_unknown_labels_name_their_neighbours():
    vocabulary = Vocabulary.from_triples(TRIPLES)
    with pytest.raises(InputError, match="unknown entity 'steem': did you mean 'steam'"):
        vocabulary.entity_ids(["fire", "steem"])
    with pytest.raises(InputError, match="unknown relation 'combineWith': did you mean 'combinesWith'"):
        vocabulary.relation_id("combineWith")
    with pytest.raises(InputError, match="unknown entity 'zzz': no known label is near it"):
        vocabulary.triples_to_ids([("fire", "componentOf", "zzz")])


@pytest.mark.parametrize("row", [[0, 0, 3], [-1, 0, 0], [0, 2, 0]])
def test_ids_outside_the_vocabulary_are_refused(row):
    vocabulary = Vocabulary.from_triples(TRIPLES)
    with pytest.raises(InputError, match=re.escape(f"{row} is outside this vocabulary, which has 3 entities")):
        vocabulary.ids_to_triples(np.array([[0, 0, 0], row]))


def test_a_label_occurs_once():
    with pytest.raises(InputError, match="the entity 'fire' occurs twice"):
        Vocabulary(["water", "fire", "fire"], [])
    with pytest.raises(InputError, match="the relation 'r' occurs twice"):
        Vocabulary([], ["r", "r"])


def test_iris_of_ordinary_labels():
    assert label_to_iri("fire") == "urn:gumption:entity:fire"
    assert label_to_iri("acid rain") == "urn:gumption:entity:acid%20rain"
    assert label_to_iri("componentOf", RELATION) == "urn:gumption:relation:componentOf"
    assert label_to_iri("recipe:fire+water") == "urn:gumption:entity:recipe%3Afire%2Bwater"
    assert label_to_iri("wordcraft/train", GRAPH) == "urn:gumption:graph:wordcraft%2Ftrain"


def test_foreign_iris_keep_their_names():
    for iri in ("http://example.org/Ångström", "https://example.org/a?b#c", "urn:isbn:0451450523", RELATION + "x"):
        assert label_to_iri(iri) == iri
        assert iri_to_label(iri) == iri
    assert iri_to_label("mailto:a@b.org") == "<mailto:a@b.org>"
    assert label_to_iri("<mailto:a@b.org>") == "mailto:a@b.org"
    # An IRI of gumption's own that is written in another way than gumption's is not the same node.
    assert iri_to_label(ENTITY + "%66ire") == ENTITY + "%66ire"


@given(LABELS, st.sampled_from([ENTITY, RELATION, GRAPH]))
def test_any_text_is_a_label(label, namespace):
    iri = label_to_iri(label, namespace)
    ox.NamedNode(iri)
    assert iri_to_label(iri, namespace) == label


@given(LABELS)
def test_an_encoded_label_is_legal_after_a_prefix(label):
    iri = label_to_iri(label)
    if iri.startswith(ENTITY) and iri != label:
        ox.Store().query(f"ASK {{ ?x gum:p ent:{iri[len(ENTITY) :]} }}", prefixes=PREFIXES)


@given(st.one_of(LABELS, st.builds('"{}"{}'.format, st.text(), st.sampled_from(["", "@en", "@en-GB", "^^<urn:t>"]))))
def test_any_text_is_the_label_of_an_object(label):
    term = object_to_term(label)
    if isinstance(term, ox.Literal):  # its text may be written in other ways
        [same] = ox.parse(f"<urn:s> <urn:p> {label} .", ox.RdfFormat.N_TRIPLES)
        assert term == same.object
        assert object_to_term(term_to_label(term)) == term
    else:
        assert term_to_label(term) == label


def test_literals_are_written_as_in_n_triples():
    assert object_to_term('"5"^^<http://www.w3.org/2001/XMLSchema#integer>') == ox.Literal(5)
    assert object_to_term('"eau"@fr') == ox.Literal("eau", language="fr")
    assert object_to_term('"colour"@en-GB') == ox.Literal("colour", language="en-gb")
    assert object_to_term('"a\tb"^^<http://www.w3.org/2001/XMLSchema#string>') == ox.Literal("a\tb")
    assert isinstance(object_to_term('<<(<urn:s> <urn:p> "o"@EN)>>'), ox.Triple)
    assert isinstance(object_to_term('"a" . <urn:s> <urn:p> "b"'), ox.NamedNode)
    assert isinstance(object_to_term('"unfinished'), ox.NamedNode)


def test_labels_that_name_nothing():
    with pytest.raises(InputError, match="an empty label names nothing"):
        label_to_iri("")
    with pytest.raises(InputError, match="not valid Unicode text"):
        label_to_iri("\ud800")


@pytest.mark.slow
def test_the_nearest_of_a_million_labels_are_found_quickly():
    words = ("stone", "water", "fire", "cloud", "engine", "acid rain", "steam engine")
    known = [f"{words[i % 7]} {i:06}" for i in range(1_000_000)] + ["steam turbine"]

    def looked_up() -> None:
        assert nearest_labels("steam tubrine", known)[0] == "steam turbine"
        assert nearest_labels("tseam turbine", known)[0] == "steam turbine"
        assert nearest_labels("qqqq", known) == []
        with pytest.raises(InputError, match="unknown entity 'steam turbin': did you mean 'steam turbine'"):
            Vocabulary(known, ()).entity_id("steam turbin")

    assert cost(looked_up) < 450
