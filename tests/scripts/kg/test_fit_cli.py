"""`gumption kg fit`, as it is called: validation, words, a stop and its continuation, several processes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gumption.data.writing import is_part
from gumption.envs.wordcraft import facts
from gumption.kg import ComplEx, KnowledgeGraph, Vocabulary, evaluate_ranking

NAMES = ["fire", "water", "earth", "air", "steam", "mud", "dust", "lava", "rain", "cloud"]
TRAIN = [(a, "near", b) for i, a in enumerate(NAMES) for j, b in enumerate(NAMES) if 0 < (i - j) % 10 < 4]
HELD_OUT = [TRAIN.pop(index) for index in (20, 11, 4)]
FIT = ("fit", "kg.nq#train", "--rank", "8", "--epochs", "6", "--device", "cpu")


@pytest.fixture
def gumption(gumption):
    """`gumption kg` in a folder with a graph of a training and a test part."""
    graph = KnowledgeGraph()
    graph.add(TRAIN, graph="train")
    graph.add([*HELD_OUT, ("fire", "near", "stone")], graph="test")
    graph.add([("recipe:a+b", "hasIngredient", "a")], graph="train/recipes")
    graph.save("kg.nq")
    return gumption


def same_bits(one: ComplEx, other: ComplEx) -> bool:
    return torch.equal(one.entity, other.entity) and torch.equal(one.relation, other.relation)


def test_the_model_is_that_of_python(gumption) -> None:
    told = gumption.ok(*FIT, "--out", "model", "--n3", "0.02", "--relation-weight", "0.1", "--seed", "3")
    assert re.fullmatch(
        r"fitted on train: 27 facts, 10 entities, 6 epochs in [\d.]+ s, loss [\d.]+; written to model\n", told
    )
    settings = {"rank": 8, "epochs": 6, "n3": 0.02, "relation_weight": 0.1, "seed": 3, "device": "cpu"}
    assert same_bits(ComplEx.load("model", device="cpu"), ComplEx.fit(TRAIN, **settings))
    assert sorted(path.name for path in Path().iterdir() if not is_part(path)) == ["kg.nq", "model"]


def test_validation_patience_and_labels_of_other_facts(gumption) -> None:
    told = gumption.ok(
        *FIT, "--out", "model", "--valid", "kg.nq#test", "--valid-every", "2", "--entities", "kg.nq#test"
    )
    assert "27 facts, 11 entities" in told
    model = ComplEx.load("model", device="cpu")
    assert "stone" in model.vocabulary.entities
    looks = [row["valid_mrr"] for row in model.origin["history"] if "valid_mrr" in row]
    assert len(looks) == 3
    assert f"best valid MRR {max(looks):.4f}" in told
    long = ("fit", "kg.nq#train", "--rank", "8", "--epochs", "500", "--device", "cpu", "--out", "stopped")
    gumption.ok(*long, "--valid", "kg.nq#test", "--valid-every", "1", "--patience", "2")
    assert len(ComplEx.load("stopped", device="cpu").origin["history"]) < 500


def test_a_model_that_reads_words_answers_about_a_word_it_never_met(gumption) -> None:
    gumption.ok(*FIT, "--out", "model", "--words", "shipped", "--word-mode", "gate", "--precision", "bfloat16")
    asked = ("predict", "model", "--subject", "stone", "--relation", "near", "-k", "3", "--json")
    code, _, err = gumption(*asked)
    assert code == 2
    assert "unknown entity 'stone'" in err
    answers = json.loads(gumption.ok(*asked, "--words", "shipped"))
    assert len(answers) == 3
    known = ("predict", "model", "--object", "fire", "--relation", "near", "-k", "3", "--json")
    assert gumption.ok(*known) == gumption.ok(*known, "--words", "shipped")
    gumption.ok(*FIT, "--out", "wordless")
    code, _, err = gumption("predict", "wordless", "--subject", "stone", "--relation", "near", "--words", "shipped")
    assert code == 2
    assert "fitted without word vectors" in err


def test_a_stopped_fit_goes_on_only_when_told(gumption) -> None:
    vocabulary = Vocabulary.from_triples(TRAIN)
    ComplEx.fit(TRAIN, rank=8, epochs=2, device="cpu", vocabulary=vocabulary, checkpoint="model.training")
    code, _, err = gumption(*FIT, "--out", "model")
    assert code == 2
    assert "model.training is the state of a fit that was stopped: give --resume, or remove it" in err
    gumption.ok(*FIT, "--out", "model", "--resume")
    gumption.ok(*FIT, "--out", "at-once")
    assert same_bits(ComplEx.load("model", device="cpu"), ComplEx.load("at-once", device="cpu"))
    assert not Path("model.training").exists()
    code, _, err = gumption(*FIT, "--out", "model")
    assert code == 2
    assert "model exists already: choose a new folder for the model" in err


def test_validation_leaves_out_what_is_known_besides(gumption) -> None:
    look = (*FIT, "--valid", "kg.nq#valid", "--valid-every", "6")
    graph = KnowledgeGraph.load("kg.nq")
    graph.add(HELD_OUT[:1], graph="valid")
    graph.add([(HELD_OUT[0][0], "near", name) for name in NAMES], graph="others")
    graph.add([("nobody", "near", "fire")], graph="others")
    graph.save("kg.nq")
    gumption.ok(*look, "--out", "alone")
    gumption.ok(*look, "--out", "field", "--known", "kg.nq#others", "--known", "kg.nq#train")
    alone, field = (ComplEx.load(name, device="cpu") for name in ("alone", "field"))
    known = [fact for fact in graph.triples(graph="others") if fact[0] != "nobody"]
    for model, filtered in ((alone, [TRAIN, HELD_OUT[:1]]), (field, [TRAIN, HELD_OUT[:1], known])):
        expected = evaluate_ranking(model, HELD_OUT[:1], known=filtered)["mrr"]
        assert model.origin["history"][-1]["valid_mrr"] == pytest.approx(expected)
    assert field.origin["history"][-1]["valid_mrr"] > alone.origin["history"][-1]["valid_mrr"]
    assert "nobody" not in field.vocabulary.entities
    code, _, err = gumption(*FIT, "--out", "x", "--known", "kg.nq#others")
    assert code == 2
    assert "--known is left out when --valid is ranked: give --valid, too" in err


def test_a_resumed_fit_has_so_many_epochs_in_all(gumption) -> None:
    vocabulary = Vocabulary.from_triples(TRAIN)
    begun = {"rank": 8, "device": "cpu", "vocabulary": vocabulary, "checkpoint": "model.training"}
    ComplEx.fit(TRAIN, epochs=4, **begun)
    code, _, err = gumption(*FIT, "--out", "model", "--resume", "--epochs", "3")
    assert code == 2
    assert "model.training has gone through 4 epochs: give at least as many, or remove it" in err
    assert "6 epochs" in gumption.ok(*FIT, "--out", "model", "--resume")
    assert len(ComplEx.load("model", device="cpu").origin["history"]) == 6
    Path("model.training").mkdir()
    assert gumption.ok(*FIT, "--out", "model", "--resume") == "model is complete: 6 epochs\n"
    assert not Path("model.training").exists()
    code, _, err = gumption(*FIT, "--out", "model", "--resume", "--epochs", "10")
    assert code == 2
    assert "model is complete with --epochs 6, and its state is not kept: fit 10 into a new folder" in err


def test_bad_input_leaves_nothing(gumption) -> None:
    for arguments, message in (
        (("--rank", "0"), "rank is 0; it is a whole number from 1 to 1,000,000"),
        (("--precision", "half"), "precision is 'half'"),
        (("--words", "no-such-file.bin"), "no such file of word vectors"),
        (("--valid", "kg.nq#tset"), "unknown graph 'tset': did you mean 'test'"),
        (("--device", "abacus"), "device 'abacus' cannot be used"),
    ):
        code, _, err = gumption(*FIT, "--out", "model", *arguments)
        assert code == 2
        assert message in err
    assert [path.name for path in Path().iterdir() if not is_part(path)] == ["kg.nq"]


def test_a_bad_setting_is_refused_before_anything_heavy_is_imported_or_read() -> None:
    program = (
        "import sys; from gumption.scripts import cli\n"
        "sys.argv = ['gumption', 'kg', 'fit', 'none.nq', '--out', 'model', '--weighting', 'facts']\n"
        "try: cli.main()\n"
        "except SystemExit as ended: print(ended.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "error: --weighting is 'facts'; it can be fact, query\n"
    assert done.stdout == "2 False\n"


@pytest.mark.slow
def test_torchrun_shares_the_entities_and_writes_once(gumption, tmp_path: Path) -> None:
    graph = KnowledgeGraph()
    graph.add(list(facts("commonsense", partition="train"))[:600], graph="train")
    graph.save("kg.nq")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, "-m", "gumption.scripts.cli", "kg", *FIT, "--out", "shared"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("fitted on train: 600 facts") == 1
    gumption.ok(*FIT, "--out", "alone")
    shared, alone = ComplEx.load("shared", device="cpu"), ComplEx.load("alone", device="cpu")
    torch.testing.assert_close(shared.entity, alone.entity, rtol=0, atol=2e-3)
    assert not (tmp_path / "shared.training").exists()
