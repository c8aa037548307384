"""Facts in tables of people's own: which columns they are in, whether there is a header, and what is wrong where."""

import csv
import gzip
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.data.tables import FACT
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
    assert load(tmp_path, 'cup\tsays\t"a\\tb"\n', "x.tsv") == [("cup", "says", '"a\\tb"')], "a literal with a tab"


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
        ('a,b,c\na,"' + "b" * 140_000, {}, "x.csv:2: not a row of CSV: unexpected end of data"),
        ('a,b,c\na,"' + "b\n" * 9_000_000, {}, "x.csv:2: not a row of CSV: field larger than field limit (16777216)"),
        ("a,b,c\na,b," + "b" * 140_000 + ",d,e\n", {}, "x.csv:2: expected subject, relation, object"),
        ("a,b,c,d,e\n", {}, "--columns says which cells they are"),
        ("a b c\na d e\n", {}, "x.csv:1: expected subject, relation, object and perhaps a graph, none of them empty; "
         "found ['a b c']; --delimiter gives what separates the cells"),
        (b"a,b,c\n\xff,b,c\n", {}, "x.csv:2: the text is not UTF-8: invalid start byte"),
        ("", {"delimiter": ";;"}, "the delimiter is ';;': give one character"),
        ("", {"delimiter": '"'}, "the delimiter is '\"'"),
        ("", {"delimiter": "x"}, "the delimiter is 'x'"),
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
    with pytest.raises(InputError, match=r"x\.nt: columns, a header and a delimiter are for \.tsv and \.csv"):
        load(tmp_path, "", "x.nt", columns="1,2,3")
    for how in ({"header": False}, {"delimiter": ";"}):
        with pytest.raises(InputError, match="columns, a header and a delimiter are for"):
            load(tmp_path, "", "x.nt", **how)


# ---- The delimiter


@pytest.mark.parametrize("tab", [";", "\t", "|", ","])
@pytest.mark.parametrize("quoted", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_the_first_rows_show_the_delimiter(tmp_path, tab, quoted):
    facts = [(f"cup {n}", "has; a, price\tor|more\nof", "5,20" if n % 2 else "no") for n in range(40)]
    with (tmp_path / "x.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=tab, quoting=quoted).writerows([(n, *fact) for n, fact in enumerate(facts)])
    assert sorted(KnowledgeGraph.load(tmp_path / "x.csv", columns="2,3,4").triples()) == sorted(facts)


def test_the_delimiter_is_given_where_the_rows_do_not_show_it(tmp_path):
    text = "cup;usedFor;tea, milk, water\n"
    assert load(tmp_path, text) == [("cup;usedFor;tea", " milk", " water")]
    assert load(tmp_path, text, delimiter=";") == [("cup", "usedFor", "tea, milk, water")]
    assert load(tmp_path, "cup:usedFor:tea\n", delimiter=":") == [("cup", "usedFor", "tea")]
    for name in ("x.tsv", "x.txt"):  # then with the quotes of CSV
        assert load(tmp_path, 'cup\tsays\t"a ""b"""\n', name, delimiter="tab") == [("cup", "says", 'a "b"')]
    assert load(tmp_path, "cup,a\\tb,c\n", "x.tsv", delimiter=",") == [("cup", "a\\tb", "c")]


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.tuples(*[st.text(',;|\t"\n\ra ', min_size=1, max_size=6)] * 3), min_size=1, max_size=4), st.booleans()
)
def test_what_was_saved_keeps_its_commas(tmp_path_factory, facts, named):
    path = tmp_path_factory.getbasetemp() / "commas.csv"
    graph = KnowledgeGraph()
    graph.add(facts)
    if named:
        graph.add([("a;b;c", "d;e", "f")], graph="some")
    graph.save(path)
    assert KnowledgeGraph.load(path).content_hash() == graph.content_hash()


# ---- A first row that may be a header


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
@pytest.mark.parametrize("how", [{}, {"columns": "1,2,3"}])
def test_a_first_row_of_names_that_do_not_come_again_is_asked_about(tmp_path, name, how):
    text = "what,how,whom\ncup,usedFor,tea\nknife,usedFor,bread\n"
    text = text if name == "x.csv" else text.replace(",", "\t")
    with pytest.raises(
        InputError, match=rf"{name}:1: what, how, whom may be a header\. .* --header or --no-header .*--col"
    ):
        load(tmp_path, text, name, **how)
    facts = [("cup", "usedFor", "tea"), ("knife", "usedFor", "bread")]
    assert load(tmp_path, text, name, header=True) == facts
    assert load(tmp_path, text, name, columns="what,how,whom") == facts
    assert load(tmp_path, text, name, header=False) == [*facts, ("what", "how", "whom")]
    assert load(tmp_path, "\n" + text, name) == [*facts, ("what", "how", "whom")]  # an empty line: no header


@pytest.mark.parametrize(
    "rows",
    [
        ["fire,makes,steam"],
        ["fire,makes,steam", "water,makes,mud"],
        ["fire,makes,steam", "steam,drives,train"],
        ["fire,makes,steam", *(f"a{n},drives,b{n}" for n in range(900)), "fire,burns,wood"],
        ["/m/01,people/person,/m/02", "a,b,c"],
        ["00260881,_hypernym,00260622", "a,b,c"],
        ["http://e.org/a,http://e.org/b,http://e.org/c", "a,b,c"],
        ['a,b,"""text"""', "d,e,f"],
        ["a,b,a", "d,e,f"],
        ["cup,is,a thing from which people drink what is hot", "d,e,f"],
    ],
)
def test_a_fact_in_the_first_row_is_no_header(tmp_path, rows):
    assert len(load(tmp_path, "\n".join(rows))) == len(rows)


def test_graphs_that_others_share_load_without_a_question(shared_data):
    for folder in ("wn18rr", "fb15k237"):
        for part in ("train", "valid", "test"):
            with (shared_data / folder / f"{part}.txt").open(encoding="utf-8") as file:
                rows = [line.rstrip("\n").split("\t") for _, line in zip(range(1_001), file, strict=False)]
            assert not FACT.may_be_header(rows[0], enumerate(rows[1:]))[0]


@settings(max_examples=60, deadline=None)
@given(st.sets(st.tuples(*[st.sampled_from(["a", "b", "is", "what", "5"])] * 3), min_size=1, max_size=4))
def test_whatever_was_saved_is_read_without_a_question(tmp_path_factory, facts):
    graph = KnowledgeGraph()
    graph.add(facts)
    for name in ("saved.csv", "saved.tsv"):
        path = tmp_path_factory.getbasetemp() / name
        graph.save(path)
        assert KnowledgeGraph.load(path).content_hash() == graph.content_hash()


# ---- Cells of any length


@pytest.mark.parametrize("long", ["x" * 200_000, 'a "word", ' * 30_000, "line\n" * 60_000])
def test_a_long_literal_is_read_again_and_csv_keeps_its_limit(tmp_path, long):
    limit = csv.field_size_limit()
    graph = KnowledgeGraph()
    graph.add([("a", "says", json.dumps(long)), ("b", "says", "less"), (long, "is", "long")])
    for name in ("x.csv", "x.tsv", "x.csv.gz"):
        graph.save(tmp_path / name)
        assert KnowledgeGraph.load(tmp_path / name).content_hash() == graph.content_hash()
    assert csv.field_size_limit() == limit
