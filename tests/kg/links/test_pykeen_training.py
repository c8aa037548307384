"""Models of PyKEEN's trained here by PyKEEN's loops."""

import re
from pathlib import Path

import pytest
import torch
from pykeen.models import model_resolver

from gumption.data import InputError
from gumption.kg import Vocabulary, evaluate_ranking, fit_pykeen, load_predictor
from gumption.kg.links.pykeen_training import trainable_models
from gumption.scripts.kg.parts import read_dataset

REPOSITORY = Path(__file__).resolve().parents[3]
CYCLE = [(f"e{i}", "next", f"e{(i + 1) % 12}") for i in range(12)]
INVERSE = [(b, "last", a) for a, _, b in CYCLE]


def test_one_seed_gives_the_same_bits_and_another_gives_others() -> None:
    one, same, other = (fit_pykeen(CYCLE, "distmult", epochs=3, seed=seed, device="cpu") for seed in (1, 1, 2))
    assert one.score(CYCLE).tolist() == same.score(CYCLE).tolist()
    assert one.score(CYCLE).tolist() != other.score(CYCLE).tolist()


def test_training_is_looked_at_and_stops_by_patience() -> None:
    told = []
    model = fit_pykeen(
        [*CYCLE, *INVERSE[:8]], "distmult", rank=4, epochs=40, learning_rate=0.5, valid=INVERSE[8:], valid_every=2,
        patience=2, device="cpu", progress=lambda epoch, words: told.append((epoch, words)),
    )  # fmt: skip
    history = model.origin["history"]
    looks = {row["epoch"]: row["valid_mrr"] for row in history if "valid_mrr" in row}
    best = max(looks, key=looks.__getitem__)
    assert len(history) == max(looks) == best + 4 < 40
    assert [epoch for epoch, _ in told] == [row["epoch"] for row in history]
    assert told[-1][1] == f"loss {history[-1]['loss']:.4f}, valid MRR {looks[best + 2]:.4f}"
    # The parameters are those of the best look, not the last.
    assert evaluate_ranking(model, INVERSE[8:], known=[CYCLE, INVERSE])["mrr"] == looks[best] > looks[best + 4]
    assert model.origin["loop"] == "sLCWA"


def test_true_facts_besides_are_left_out_of_the_look() -> None:
    vocabulary = Vocabulary.from_triples([*CYCLE, *INVERSE])
    known = [("e0", "next", f"e{i}") for i in range(12)]
    looks = [
        fit_pykeen(
            CYCLE[1:], "distmult", vocabulary=vocabulary, epochs=1, valid=CYCLE[:1], known=true, device="cpu"
        ).origin["history"][0]["valid_mrr"]
        for true in ((), known)
    ]
    assert looks[1] > looks[0]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("nosuchmodel", {}, "PyKEEN has no model 'nosuchmodel'"),
        ("ComplExLiteral", {}, "complexliteral cannot be trained on a graph: it needs numbers about each entity"),
        ("InductiveNodePiece", {}, "inductivenodepiece cannot be trained on a graph: it needs a second graph"),
        ("fixed", {}, "fixed cannot be trained on a graph: it has no embeddings to train"),
        ("distmult", {"rank": 0}, "rank is 0; it is a whole number from 1 to 1,000,000"),
        ("conve", {"rank": 2, "batch_size": 4}, "PyKEEN cannot train conve so: .*Kernel size can't be greater"),
        ("conve", {"batch_size": 256}, "conve is trained on whole batches only"),
        ("rescal", {"learning_rate": 1e30, "epochs": 3}, "the loss of rescal is no longer a finite number"),
    ],
)
def test_what_cannot_be_trained(model: str, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_pykeen(CYCLE, model, device="cpu", **{"epochs": 1, **options})


def test_no_facts_are_refused() -> None:
    with pytest.raises(InputError, match="there are no facts to learn from"):
        fit_pykeen([], "distmult")


def test_the_page_names_the_models_that_can_be_trained() -> None:
    page = " ".join((REPOSITORY / "kg" / "README.md").read_text(encoding="utf-8").split())
    [listed] = re.findall(r"models were trained here for an epoch, saved and loaded again: ([\w, ]+)\.", page)
    assert listed.split(", ") == trainable_models()
    [refused] = re.findall(r"Not trained are ([\w, ]+), which need", page)
    assert sorted([*trainable_models(), *refused.split(", ")]) == sorted(model_resolver.lookup_dict)


@pytest.mark.slow
@pytest.mark.parametrize("name", trainable_models())
def test_every_trainable_model_is_trained_kept_and_loaded(name: str, tmp_path: Path) -> None:
    vocabulary, ids = read_dataset("nations")
    valid = vocabulary, ids["valid"]
    rank = {"tucker": 16, "convkb": 16}.get(name)  # at their own size an epoch of these takes a minute
    model = fit_pykeen((vocabulary, ids["train"]), name, rank=rank, epochs=1, valid=valid, device="cpu")
    [row] = model.origin["history"]
    assert 0.2 < row["valid_mrr"] <= 1
    model.save(tmp_path / "model")
    loaded = load_predictor(tmp_path / "model", "cpu")
    assert loaded.origin == model.origin
    for each in (torch.tensor([3]), torch.tensor([0, 5])):
        assert torch.equal(model.object_scores(each, each), loaded.object_scores(each, each))
        assert torch.equal(model.subject_scores(each, each), loaded.subject_scores(each, each))
