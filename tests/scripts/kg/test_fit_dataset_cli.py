"""`gumption kg fit` on a data set, with settings of a file, and with models of PyKEEN's."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gumption.data import InputError
from gumption.kg import ComplEx, KnowledgeGraph, evaluate_ranking, filtered_ranks, load_predictor
from gumption.scripts.kg.parts import read_dataset, read_parts

FIT = ("fit", "--epochs", "4", "--device", "cpu")


def facts_of(vocabulary, ids) -> dict[str, list]:
    return {part: vocabulary.ids_to_triples(rows) for part, rows in ids.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cycle of twelve things and its inverse, one file of it .tsv; test has a thing that train lacks."""
    folder = tmp_path / "cycle"
    folder.mkdir()
    rows = [f"e{i}\tnext\te{(i + 1) % 12}\n" for i in range(12)] + [f"e{(i + 1) % 12}\tlast\te{i}\n" for i in range(12)]
    for file, chosen in (
        ("train.txt", rows[:18]),
        ("valid.tsv", rows[18:20]),
        ("test.txt", [*rows[20:], "e0\tnext\tx\n"]),
    ):
        (folder / file).write_text("".join(chosen), encoding="utf-8")
    return folder


def rows_of(printed: str) -> dict[tuple[str, str], list[str]]:
    """(model, what is asked for) -> the other cells of a row."""
    lines = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in printed.splitlines() if "│" in line]
    return {(cells[0], cells[1]): cells[2:] for cells in lines}


def test_a_folder_is_trained_on_looked_at_and_tested(gumption, folder: Path) -> None:
    told = gumption.ok(*FIT, "--dataset", str(folder), "--out", "model", "--rank", "4", "--valid-every", "2")
    assert re.search(r"fitted on cycle: 18 facts, 13 entities, 4 epochs in [\d.]+ s, .* best valid MRR [\d.]+", told)
    parts = facts_of(*read_parts(folder))
    model = ComplEx.load("model", device="cpu")
    fitted = ComplEx.fit(
        parts["train"], rank=4, epochs=4, valid=parts["valid"], valid_every=2, device="cpu", vocabulary=model.vocabulary
    )
    assert model.score(parts["test"]).tolist() == fitted.score(parts["test"]).tolist()
    ranks = filtered_ranks(model, parts["test"], known=parts.values())
    rows = rows_of(told)
    sides = {"both": ranks.figures(), "objects": ranks.by_side()["object"], "subjects": ranks.by_side()["subject"]}
    for side, figures in sides.items():
        assert rows["complex", side][:4] == [f"{figure:.4f}" for figure in figures.values()]
    # Each relation's objects in train are all but a few entities, so a count tells next to nothing.
    assert float(rows["frequency", "both"][0]) < 0.4
    assert "5 test facts, filtered by train, valid and test" in told
    relations = "(2 inverse, near-duplicate or symmetric relations: last (inverse of next); next (inverse of last))"
    assert f"4 of 5 test facts follow from a training fact {relations}" in told
    told = gumption.ok(*FIT, "--dataset", str(folder), "--out", "model", "--resume")
    assert "model is complete: 4 epochs" in told
    assert rows_of(told)["complex", "both"][:4] == rows["complex", "both"][:4]
    assert rows_of(told)["complex", "both"][4] == "-"


def test_a_data_set_by_its_name_is_that_of_pykeen(gumption) -> None:
    from pykeen.datasets import Nations

    vocabulary, ids = read_dataset("Nations")
    theirs = Nations()
    for part, factory in (("train", theirs.training), ("valid", theirs.validation), ("test", theirs.testing)):
        assert factory is not None
        expected = sorted(map(tuple, factory.label_triples(factory.mapped_triples).tolist()))
        assert sorted(vocabulary.ids_to_triples(ids[part])) == expected
    told = gumption.ok(*FIT, "--dataset", "nations", "--out", "model", "--rank", "4")
    assert "fitted on nations: 1592 facts, 14 entities" in told


@pytest.mark.slow
def test_facts_of_entities_that_train_lacks_are_kept(shared_data: Path, tmp_path: Path) -> None:
    _, ids = read_dataset(str(shared_data / "wn18rr"))
    assert {part: len(rows) for part, rows in ids.items()} == {"train": 86835, "valid": 3034, "test": 3134}


def test_a_set_that_pykeen_only_gives_as_triples_is_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary, ids = read_dataset("nations")
    monkeypatch.setattr("gumption.scripts.kg.parts.ENDINGS", ())  # as for sets that PyKEEN reads out of an archive
    other, theirs = read_dataset("nations")
    assert other == vocabulary
    for part, rows in ids.items():
        assert np.array_equal(np.unique(rows, axis=0), np.unique(theirs[part], axis=0))


@pytest.mark.slow
def test_without_a_network_the_folder_way_is_told(tmp_path: Path) -> None:
    program = (
        "from gumption.data import InputError\nfrom gumption.scripts.kg.parts import read_dataset\n"
        "try: read_dataset('fb15k237')\nexcept InputError as error: print('refused:', error)"
    )
    nowhere = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "PYSTOW_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=nowhere, check=True)
    assert done.stdout.startswith("refused: PyKEEN cannot get the data set fb15k237 (")
    assert "give --dataset a folder of train.txt, valid.txt and test.txt" in done.stdout


def test_what_cannot_be_fitted(gumption, folder: Path) -> None:
    refused = gumption.refused
    assert "give either a GRAPH or --dataset" in refused(*FIT, "--out", "model")
    assert "give either a GRAPH or --dataset" in refused(*FIT, "kg.nq", "--dataset", "umls", "--out", "model")
    told = refused(*FIT, "--dataset", "umls", "--valid", "kg.nq", "--out", "model")
    assert "--valid is for a GRAPH; a data set has no use for it" in told
    told = refused(*FIT, "--dataset", "nation", "--out", "model")
    assert "'nation' is neither a folder of train.txt" in told
    assert "did you mean nations" in told
    told = refused(*FIT, "--dataset", str(folder.parent), "--out", "model")
    assert "has no train.txt or train.tsv: give the folder of train.txt, valid.txt and test.txt" in told
    (folder / "valid.tsv").unlink()
    assert "cycle has no valid.txt or valid.tsv" in refused(*FIT, "--dataset", str(folder), "--out", "model")


def test_settings_of_a_file_and_options_beside_them(gumption, folder: Path) -> None:
    Path("settings.json").write_text('{"rank": 3, "n3": 0.5, "epochs": 2, "word_dropout": 0.1}', encoding="utf-8")
    fit = ("fit", "--dataset", str(folder), "--device", "cpu", "--settings", "settings.json")
    gumption.ok(*fit, "--out", "model", "--n3", "0.25")
    settings = ComplEx.load("model", device="cpu").origin["settings"]
    told = {name: settings[name] for name in ("rank", "n3", "epochs", "word_dropout", "learning_rate")}
    assert told == {"rank": 3, "n3": 0.25, "epochs": 2, "word_dropout": 0.1, "learning_rate": 0.1}
    for content, message in (
        ('{"ranks": 3}', "settings.json: TrainingSettings has no 'ranks'; did you mean 'rank'?"),
        ("[3]", "settings.json: expected an object of settings"),
        ("{", "settings.json: not valid JSON"),
        ('{"rank": 0}', "settings.json: rank is 0; it is a whole number from 1 to 1,000,000"),
        ('{"rank": "many"}', "settings.json: rank is 'many'; it is a whole number"),
    ):
        Path("settings.json").write_text(content, encoding="utf-8")
        assert message in gumption.refused(*fit, "--out", "other")
    Path("settings.json").unlink()
    assert "settings.json: cannot be read" in gumption.refused(*fit, "--out", "other")


def test_a_model_of_pykeens_is_fitted_evaluated_and_asked(gumption) -> None:
    train, valid, test = (
        [(f"e{i}", "next", f"e{(i + step) % 20}") for i in range(first, 20, 3)]
        for first, step in ((0, 1), (1, 1), (2, 1))
    )
    train += [(f"e{i}", "skips", f"e{(i + 2) % 20}") for i in range(20)]
    graph = KnowledgeGraph()
    for name, facts in (("train", train), ("valid", valid), ("test", test)):
        graph.add(facts, graph=name)
    graph.save("kg.nq")
    told = gumption.ok(
        *FIT, "kg.nq#train", "--valid", "kg.nq#valid", "--entities", "kg.nq#test", "--model", "DistMult",
        "--rank", "6", "--learning-rate", "0.05", "--valid-every", "2", "--out", "model",
    )  # fmt: skip
    assert "fitted on train: 27 facts, 20 entities, 4 epochs" in told
    model = load_predictor("model", "cpu")
    assert type(model.model).__name__ == "DistMult"
    assert model.origin["settings"] == {"epochs": 4, "valid_every": 2, "seed": 0, "rank": 6, "learning_rate": 0.05}
    looks = {row["epoch"]: row["valid_mrr"] for row in model.origin["history"] if "valid_mrr" in row}
    assert list(looks) == [2, 4]
    assert evaluate_ranking(model, valid, known=[train, valid])["mrr"] == max(looks.values())
    assert model.origin["versions"]["torch"]
    figures = json.loads(gumption.ok("evaluate", "model", "--test", "kg.nq#test", "--known", "kg.nq", "--json"))
    assert figures["facts"] == len(test)
    assert len(json.loads(gumption.ok("predict", "model", "--subject", "e1", "--relation", "next", "--json"))) == 10
    refused = gumption.refused
    assert "--n3 is for complex; rotate has no use for it" in refused(
        *FIT, "kg.nq#train", "--model", "rotate", "--n3", "0.1", "--out", "other"
    )
    assert "PyKEEN has no model 'rotat'; did you mean rotate" in refused(
        *FIT, "kg.nq#train", "--model", "rotat", "--out", "other"
    )


def test_a_long_fit_without_a_terminal_tells_lines(gumption, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gumption.data.progress.SECONDS", 0.0)
    code, _, err = gumption(*FIT, "--dataset", "nations", "--model", "transe", "--out", "model")
    assert code == 0
    lines = [line for line in err.splitlines() if line.startswith("fitting transe: ")]
    assert len(lines) == 4
    assert re.fullmatch(r"fitting transe: 4 of 4, loss [\d.]+, \d+ s", lines[-1])


def test_reading_a_name_that_nobody_knows_is_bad_input() -> None:
    with pytest.raises(InputError, match="nor a data set of PyKEEN's"):
        read_dataset("no such set")
