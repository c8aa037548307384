"""`gumption kg predict`, `evaluate`, `calibrate` and the bridge to PyKEEN, as they are called."""

import json
from pathlib import Path

import pytest

from gumption.data import Note
from gumption.kg import KnowledgeGraph

ANIMALS = ["ant", "bee", "cat", "dog", "elk"]
FACTS = [(a, "after", b) for n, a in enumerate(ANIMALS) for b in ANIMALS[:n]]
HELD_OUT = [("elk", "after", "ant"), ("dog", "after", "bee"), ("cat", "after", "ant")]
TRAIN = [fact for fact in FACTS if fact not in HELD_OUT] + [("ant", "likes", "bee")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a train and a test part, and a model of the train part."""
    from gumption.kg import ComplEx

    folder = tmp_path_factory.mktemp("predict")
    graph = KnowledgeGraph()
    graph.add(TRAIN, graph="train")
    graph.add([*HELD_OUT, ("fox", "after", "ant")], graph="test")
    graph.save(folder / "kg.nq")
    model = ComplEx.fit(TRAIN, rank=8, epochs=40, seed=2, device="cpu")
    model.save(folder / "model")
    model.save(folder / "calibrated")
    return folder


@pytest.fixture
def gumption(gumption, monkeypatch: pytest.MonkeyPatch, folder: Path):
    """`gumption kg` where the graph and the model are."""
    monkeypatch.chdir(folder)
    return gumption


ASKED = ("predict", "model", "--subject", "elk", "--relation", "after")


def test_predict_marks_or_leaves_out_what_is_known(gumption) -> None:
    plain = json.loads(gumption.ok(*ASKED, "--json"))
    assert [set(row) for row in plain] == [{"label", "score", "probability"}] * 5
    known = {o for s, p, o in TRAIN if (s, p) == ("elk", "after")}
    rows = json.loads(gumption.ok(*ASKED, "--graph", "kg.nq#train", "--json"))
    assert [row["label"] for row in rows] == [row["label"] for row in plain]
    assert {row["label"] for row in rows if row["known"]} == known
    assert all((row["probability"] is None) == row["known"] for row in rows)
    assert sum(row["probability"] or 0 for row in rows) == pytest.approx(1)
    fresh = json.loads(gumption.ok(*ASKED, "--graph", "kg.nq#train", "--exclude-known", "--json"))
    assert fresh == [row for row in rows if not row["known"]]
    more = json.loads(gumption.ok(*ASKED, "--graph", "kg.nq#train", "--graph", "kg.nq#test", "--json"))
    assert {row["label"] for row in more if row["known"]} == known | {"ant"}
    table = gumption.ok(*ASKED, "--graph", "kg.nq#train", "-k", "2")
    assert "known" in table
    assert "among answers that are not known, not calibrated" in table
    assert "softmax over all entities" in gumption.ok(*ASKED)


def test_predict_says_why(gumption) -> None:
    asked = ("predict", "model", "--object", "ant", "--relation", "after", "--graph", "kg.nq#train", "--why")
    rows = json.loads(gumption.ok(*asked, "--json"))
    reasons = next(row["why"] for row in rows if row["label"] == "elk")
    assert set(reasons) == {"nearest", "paths"}
    facts = {tuple(each["fact"]) for each in reasons["nearest"]}
    assert facts
    assert facts <= set(TRAIN)
    assert all(0 < each["similarity"] <= 1 for each in reasons["nearest"])
    assert reasons["paths"]
    for path in reasons["paths"]:
        assert {tuple(fact) for fact in path} <= set(TRAIN)
    table = gumption.ok(*asked, "-k", "1")
    assert " like " in table
    assert "via " in table


def test_calibrate_is_kept_with_the_model_and_used(gumption, folder: Path) -> None:
    asked = ("predict", "calibrated", *ASKED[2:], "--graph", "kg.nq#train", "--json")
    before = json.loads(gumption.ok(*asked))
    fit = ("calibrate", "calibrated", "--held-out", "kg.nq#test", "--known", "kg.nq#train")
    code, _, err = gumption(*fit)
    assert code == 2
    assert "kg.nq#test has 1 entity that the model was not fitted on, such as 'fox': fit it with --entities" in err
    report = json.loads(gumption.ok(*fit, "--skip-unknown", "--json"))
    assert report["skipped"] == 1
    assert report["after"]["likelihood"] > report["before"]["likelihood"]
    assert report["before"]["predictions"] == 2 * len(HELD_OUT)
    after = json.loads(gumption.ok(*asked))
    assert [row["label"] for row in after] == [row["label"] for row in before]
    assert [row["probability"] for row in after] != [row["probability"] for row in before]
    table = gumption.ok("predict", "calibrated", *ASKED[2:], "--graph", "kg.nq#train")
    assert "calibrated on 6 held-out answers" in table
    table = gumption.ok(*fit, "--skip-unknown")
    assert "likelihood" in table
    assert "kept in calibrated: 3 held-out facts, 0 of them trained on, 1 with unknown labels left out" in table


def test_evaluate_tells_sides_and_relations(gumption) -> None:
    asked = ("evaluate", "model", "--test", "kg.nq#test", "--known", "kg.nq#train")
    code, _, err = gumption(*asked)
    assert code == 2
    assert "fit it with --entities kg.nq#test to give it a place, or leave their facts out with --skip-unknown" in err
    found = json.loads(gumption.ok(*asked, "--skip-unknown", "--json"))
    assert (found["facts"], found["skipped"]) == (len(HELD_OUT), 1)
    sides = found["by_side"]
    assert found["mrr"] == pytest.approx((sides["object"]["mrr"] + sides["subject"]["mrr"]) / 2)
    assert list(found["by_relation"]) == ["after"]
    assert found["by_relation"]["after"]["mrr"] == pytest.approx(found["mrr"])
    code, out, err = gumption("evaluate", "model", "--test", "kg.nq#train", "--memory", "1", "--json")
    assert (code, set(json.loads(out)["by_relation"])) == (0, {"after", "likes"})
    assert f"{len(TRAIN)} of the {len(TRAIN)} test facts are training facts of the model" in err
    assert f"note: not among --known: {len(HELD_OUT)} of the facts" in err
    table = gumption.ok(*asked, "--skip-unknown")
    for text in ("objects", "subjects", "both", "after", "3 test facts, 0 of them trained on, 1 with unknown"):
        assert text in table


def test_to_pykeen_and_back(gumption, folder: Path) -> None:
    assert gumption.ok("export-pykeen", "model", "--out", "pykeen", "--graph", "kg.nq#train") == "written to pykeen\n"
    out = gumption.ok("import-pykeen", "pykeen", "--out", "back")
    assert out.startswith("ComplEx of Vocabulary(5 entities and 2 relations")
    assert {path.suffix for path in (folder / "back").iterdir()} == {".json", ".safetensors"}
    ours, theirs = (json.loads(gumption.ok("predict", model, *ASKED[2:], "--json")) for model in ("model", "back"))
    assert [row["label"] for row in ours] == [row["label"] for row in theirs]
    assert [row["score"] for row in ours] == pytest.approx([row["score"] for row in theirs], abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*ASKED, "-k", "0"), "-k"),
        (("predict", "none", *ASKED[2:]), "none: no checkpoint there"),
        (("predict", "model", "--subject", "elkk", "--relation", "after"), "unknown entity 'elkk': did you mean 'elk'"),
        (("predict", "model", "--subject", "elk", "--relation", "aft"), "unknown relation 'aft': did you mean 'after'"),
        ((*ASKED, "--object", "ant"), "give either --subject or --object"),
        ((*ASKED, "--why"), "--why needs what is known: give --graph"),
        ((*ASKED, "--exclude-known"), "--exclude-known needs what is known: give --graph"),
        ((*ASKED, "--graph", "kg.nq#tran"), "unknown graph 'tran'"),
        ((*ASKED, "--graph", "empty.nq", "--why"), "there are no known facts that the predictor has labels of"),
        (("evaluate", "model", "--test", "empty.nq"), "empty.nq has no facts"),
        (("evaluate", "model", "--test", "fox.tsv", "--skip-unknown"), "there are no test facts to rank"),
        (("import-pykeen", "none", "--out", "x"), "none: no such folder"),
        (("import-pykeen", "model", "--out", "x"), "model: trained_model.pkl is missing"),
        (("import-pykeen", "model", "--out", "model"), "model exists already"),
        (("export-pykeen", "none", "--out", "x"), "none: no checkpoint there"),
        (("export-pykeen", "model", "--out", "model"), "model exists already"),
        (("export-pykeen", "model", "--out", "x", "--graph", "fox.tsv"), "unknown entity 'fox'"),
    ],
)
def test_bad_input_is_told_and_nothing_is_written(gumption, folder: Path, arguments: tuple, message: str) -> None:
    KnowledgeGraph().save(folder / "empty.nq")
    (folder / "fox.tsv").write_text("fox\tafter\tant\n")
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = gumption(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("asked", [ASKED[2:], ("--test", "kg.nq#test"), ("--held-out", "kg.nq#test")])
def test_a_model_of_a_class_of_your_own_is_refused(gumption, tmp_path: Path, asked: tuple[str, ...]) -> None:
    from gumption.kg import DistMult

    class Own(DistMult):
        """Another model than DistMult, whatever it changes."""

    command = {"--subject": "predict", "--test": "evaluate", "--held-out": "calibrate"}[asked[0]]
    Own.fit(TRAIN, rank=2, epochs=1, device="cpu").save(tmp_path / "own")
    code, out, err = gumption(command, str(tmp_path / "own"), *asked)
    assert (code, out) == (2, "")
    assert "own: a model of the class 'Own', which gumption lacks: load it in Python by Own.load" in err
    DistMult.fit([*TRAIN, *HELD_OUT, ("fox", "after", "ant")], rank=2, epochs=1, device="cpu").save(tmp_path / "ours")
    code, _, err = gumption(command, str(tmp_path / "ours"), *asked)
    assert (code, "4 of the 4" in err) == (0, command != "predict")


def test_facts_that_a_model_was_trained_on_or_chosen_by_are_counted(gumption, tmp_path: Path) -> None:
    """The files of a data set: each in a graph of its own place, so that only the marks in the model tell."""
    from gumption.kg import Calibration, ComplEx, fit_pykeen

    parts = {"train": [*TRAIN, *HELD_OUT[:1]], "valid": HELD_OUT[1:2], "test": HELD_OUT[2:]}
    for part, facts in parts.items():
        graph = KnowledgeGraph()
        graph.add(facts)
        graph.save(tmp_path / f"{part}.tsv")
    files = {part: str(tmp_path / f"{part}.tsv") for part in parts}
    model = str(tmp_path / "model")
    fit = ("fit", files["train"], "--out", model, "--rank", "4", "--epochs", "2", "--valid")
    code, out, err = gumption(*fit, files["valid"])
    assert (code, err) == (0, "")
    asked = ("evaluate", model, "--test", files["test"], "--known", files["train"])
    code, out, err = gumption(*asked)
    assert "1 test fact, 0 of them trained on" in out
    assert "note: not among --known: 1 of the facts" in err
    assert gumption(*asked, "--known", files["valid"])[2] == ""
    code, out, err = gumption("calibrate", model, "--held-out", files["train"], "--known", files["train"], "--json")
    assert (code, json.loads(out)["trained_on"]) == (0, len(parts["train"]))
    assert f"{len(parts['train'])} of the {len(parts['train'])} held-out facts are training facts" in err
    with pytest.warns(Note, match="1 of the 2 held-out facts are training facts"):
        Calibration.fit(ComplEx.load(model, "cpu"), [HELD_OUT[0], HELD_OUT[1]], [])
    with pytest.warns(Note, match="1 of the 2 validation facts are training facts"):
        ComplEx.fit(parts["train"], valid=HELD_OUT[:2], rank=2, epochs=1, device="cpu")
    with pytest.warns(Note, match="1 of the 2 validation facts are training facts"):
        fit_pykeen(parts["train"], "distmult", valid=HELD_OUT[:2], rank=2, epochs=1, device="cpu")
    code, _, err = gumption("tune", files["train"], "--valid", files["train"], "--out", str(tmp_path / "t"), *TUNED)
    assert (code, err.count("validation facts are training facts")) == (0, 1)
    code, _, err = gumption("export-pykeen", model, "--out", str(tmp_path / "pykeen"))
    assert (code, f"0 training triples are written, and {len(parts['train'])} facts of the fit" in err) == (0, True)


TUNED = ("--trials", "2", "--epochs", "1", "--valid-every", "1", "--rank", "2", "--device", "cpu")
