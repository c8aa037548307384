"""Facts in tables of people's own: which columns they are in, whether there is a header, and what is wrong where."""

import csv
import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

FACTS = [("cup", "usedFor", "drinking, hot"), ("knife", "locatedAt", "drawer")]
CELL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def load(tmp_path, text, name="x.csv", **how):
    content = text.encode() if isinstance(text, str) else text
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    graph = KnowledgeGraph()
    graph.load_file(tmp_path / name, **how)
    return list(graph.triples())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=5),
    st.permutations(["subject", "weight", "relation", "object"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_the_columns_of_any_table_are_found(tmp_path_factory, triples, order, ending, by_name):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator=ending, quoting=csv.QUOTE_ALL)
        writer.writerow(order)
        for subject, relation, object_ in triples:
            row = {"subject": subject, "relation": relation, "object": object_, "weight": ""}
            writer.writerow([row[name] for name in order])
    wanted = ["subject", "relation", "object"]
    columns = wanted if by_name else [order.index(name) + 1 for name in wanted]
    graph = KnowledgeGraph.load(path, columns=columns, header=True)
    expected = KnowledgeGraph()
    expected.add(triples)
    assert list(graph.triples()) == list(expected.triples())


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ('cup,usedFor,"drinking, hot"\nknife,locatedAt,drawer\n', {}),
        ('\ufeffcup,usedFor,"drinking, hot"\r\n\r\nknife,locatedAt,drawer', {"header": False}),
        ('subject,relation,object\ncup,usedFor,"drinking, hot"\nknife,locatedAt,drawer\n', {"header": True}),
        ('Tail,Head,Relation\n"drinking, hot",cup,usedFor\ndrawer,knife,locatedAt\n', {"header": True}),
        ('object,thing,rel\n"drinking, hot",cup,usedFor\ndrawer,knife,locatedAt\n', {"header": True}),
        ('a,b,c\ncup,usedFor,"drinking, hot"\nknife,locatedAt,drawer\n', {"header": True}),
        ('n,a,rel,b\n1,cup,usedFor,"drinking, hot"\n2,knife,locatedAt,drawer\n', {"columns": "a,rel,b"}),
        ('n,"a, b",rel,x\n1,cup,usedFor,"drinking, hot"\n2,knife,locatedAt,drawer\n', {"columns": '"a, b", rel, 4'}),
        ('1,cup,usedFor,"drinking, hot"\n2,knife,locatedAt,drawer\n', {"columns": (2, 3, 4)}),
        ('n,a,r,b\n1,cup,usedFor,"drinking, hot"\n2,knife,locatedAt,drawer\n', {"columns": "2,3,4", "header": True}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_tables_of_all_kinds(tmp_path, text, how, name):
    assert load(tmp_path, text, name, **how) == FACTS


def test_tsv_has_columns_too(tmp_path):
    text = "n\tthing\trel\tother\n1\tcup\tusedFor\tdrinking, hot\n2\tknife\tlocatedAt\tdrawer\n"
    assert load(tmp_path, text, "x.tsv", columns="thing,rel,other") == FACTS
    assert load(tmp_path, 'cup\tsays\t"a\\tb"\n', "x.tsv") == [("cup", "says", '"a\tb"')]


def test_a_column_names_the_graph(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("subject,relation,object,graph\ncup,in,box,home\ncup,on,desk,office\n")
    assert KnowledgeGraph.load(path, header=True).graphs() == {"home": 1, "office": 1}
    assert KnowledgeGraph.load(path, columns="1,2,3,4", header=True).graphs() == {"home": 1, "office": 1}
    assert KnowledgeGraph.load(path, columns="1,2,3", header=True, graph="mine").graphs() == {"mine": 2}


HEADERS = [
    "subject,relation,object",
    "Head,rel,Tail",
    "s,p,o",
    "x,Predicate,y",
    "source,is,target",
    "id,subject,obj,rel",
]


@pytest.mark.parametrize("first", HEADERS)
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_a_header_is_not_taken_for_a_fact(tmp_path, first, name):
    tab = "," if name == "x.csv" else "\t"
    text = first.replace(",", tab) + "\n" + tab.join(("cup", "in", "box", "home")[: first.count(",") + 1]) + "\n"
    with pytest.raises(InputError, match=rf"{name}:1: .* looks like a header\. Say whether it is one: .*--no-header"):
        load(tmp_path, text, name)
    assert len(load(tmp_path, text, name, header=False)) == 2


def test_a_saved_table_is_read_without_being_asked(tmp_path):
    graph = KnowledgeGraph()
    graph.add([("object", "relation", "subject"), ("\ufeffa", "b", "c\r\nd")])
    for name in ("x.csv", "x.tsv", "x.csv.gz"):
        graph.save(tmp_path / name)
        assert KnowledgeGraph.load(tmp_path / name).content_hash() == graph.content_hash()
    graph = KnowledgeGraph()
    graph.add(FACTS)
    graph.save(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes() == b'cup,usedFor,"drinking, hot"\r\nknife,locatedAt,drawer\r\n'


@pytest.mark.parametrize(
    ("text", "how", "message"),
    [
        ("a,b,c\na,b\n", {}, "x.csv:2: expected subject, relation, object and perhaps a graph, none of"),
        ("a,b,c\na,,c\n", {}, "x.csv:2: expected subject"),
        ("a,b,c,d,e\n", {}, "x.csv:1: expected subject"),
        ("a,rel,other\n", {"columns": "a,rel,othr"}, "x.csv:1: there is no column 'othr' (did you mean 'other'?)"),
        ("thing,rel,x\n", {"columns": "thing,rel,other"}, "there is no column 'other': there are thing, rel, x"),
        ("a,b,c\n", {"columns": "1,2,4"}, "x.csv:1: there is no column 4: the row has 3"),
        ("a,rel,rel,b\n", {"columns": "a,rel,b"}, "x.csv:1: 2 columns are called 'rel': give its number"),
        ("a,b,c,w\n", {"header": True}, "x.csv:1: the header is a, b, c, w: say which columns are subject, relation"),
        ("n,a,b,c\n1,x,y,z\n2,x,y\n", {"columns": "a,b,c"}, "x.csv:3: 3 cells where the header has 4"),
        ("1,x,y,z\n2,x,y\n", {"columns": "2,3,4"}, "x.csv:2: 3 cells where the first row has 4"),
        ("n,a,b,c\n1,x,,z\n", {"columns": "a,b,c"}, "x.csv:2: the cell of the relation, column 3 (b), is empty"),
        ("1,x,y,\n", {"columns": "2,3,4"}, "x.csv:1: the cell of the object, column 4, is empty"),
        ('a,b,c\na,"b"x,c\n', {}, "x.csv:2: not a row of CSV: ',' expected after '\"' (is a quote"),
        ('a,b,c\na,"b,c\nd,e,f\n', {}, "x.csv:2: not a row of CSV: unexpected end of data"),
        ('a,b,"c\nd"\na,b\n', {}, "x.csv:3: expected subject"),
        ('a,b,c\na,"' + "b" * 140_000, {}, "x.csv:2: not a row of CSV: field larger than field limit"),
        (b"a,b,c\n\xff,b,c\n", {}, "x.csv:2: the text is not UTF-8: invalid start byte"),
        ("", {"columns": "a,b"}, "the columns are 'a,b': give the names of 3 different ones"),
        ("", {"columns": "a,b,b"}, "the columns are 'a,b,b'"),
        ("", {"columns": (0, 1, 2)}, "the columns are (0, 1, 2)"),
        ("", {"columns": "a,b,c", "header": False}, "the column 'a' has a name and the table no header"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path, text, how, message):
    with pytest.raises(InputError, match=re.escape(message)):
        load(tmp_path, text, **how)


def test_bad_rows_are_skipped_and_others_kept(tmp_path):
    text = b'n,a,b,c\n1,cup,in,box\n2,x\n3,"x"y,in,box\n4,\xff,in,box\n5,,in,box\n6,cup,on,desk\n'
    with pytest.warns(UserWarning, match=r"^4 bad lines were skipped: .*x.csv:3: .*x.csv:4: .*x.csv:5: "):
        assert load(tmp_path, text, columns="a,b,c", skip_bad=4) == [("cup", "in", "box"), ("cup", "on", "desk")]


def test_columns_are_for_tables(tmp_path):
    with pytest.raises(InputError, match=r"x\.nt: columns and a header are for \.tsv and \.csv files"):
        load(tmp_path, "", "x.nt", columns="1,2,3")
    with pytest.raises(InputError, match="columns and a header are for"):
        load(tmp_path, "", "x.nt", header=False)
