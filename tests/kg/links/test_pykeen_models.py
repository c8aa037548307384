"""Models of PyKEEN's as predictors: trained for real, taken over from its folders, kept in ours, and given back."""

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.kg import ComplEx, Vocabulary, evaluate_ranking
from gumption.kg.checkpoint import load_checkpoint, save_checkpoint
from gumption.kg.links.pykeen_models import (
    PyKEENPredictor,
    build,
    describe,
    export_pykeen,
    load_pykeen,
    read_pickled_model,
)
from gumption.kg.vocabulary import Triple

MODELS = [
    ("TransE", {"embedding_dim": 6}, False),
    ("RotatE", {"embedding_dim": 6}, True),
    ("DistMult", {"embedding_dim": 6}, True),
    ("ConvE", {"embedding_dim": 12, "output_channels": 2}, True),
    ("TuckER", {"embedding_dim": 6}, False),
    ("PairRE", {"embedding_dim": 6}, False),
]


def tiny() -> list[Triple]:
    labels = [f'thing "{number}"' for number in range(9)] + ["NA", "tab\there"]  # hard on tables
    pairs = [(a, b) for a in range(len(labels)) for b in range(len(labels))]
    facts = [(labels[a], "after", labels[b]) for a, b in pairs if (a - b) % 11 in (1, 2)]
    return facts + [(labels[a], "twice", labels[b]) for a, b in pairs if 2 * a % 11 == b]


def trained(name: str, settings: dict, inverse: bool):
    from pykeen.pipeline import pipeline
    from pykeen.triples import TriplesFactory

    factory = TriplesFactory.from_labeled_triples(np.array(tiny()), create_inverse_triples=inverse)
    return pipeline(
        training=factory, testing=factory, model=name, model_kwargs=settings, random_seed=0, device="cpu",
        training_loop="lcwa", training_kwargs={"num_epochs": 2, "batch_size": 16, "use_tqdm": False},
        evaluation_kwargs={"use_tqdm": False, "batch_size": 32},
    )  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple]:
    """The result of each model's training and the folder where PyKEEN has saved it."""
    made: dict[str, tuple] = {}

    def result(name: str) -> tuple:
        if name not in made:
            _, settings, inverse = next(model for model in MODELS if model[0] == name)
            folder = tmp_path_factory.mktemp("pykeen") / name
            made[name] = trained(name, settings, inverse), folder
            made[name][0].save_to_directory(folder)
        return made[name]

    return result


@pytest.mark.slow
@pytest.mark.parametrize("name", [model[0] for model in MODELS])
def test_a_trained_model_predicts_here_as_there(results, name: str, tmp_path: Path) -> None:
    from pykeen.predict import predict_target

    result, folder = results(name)
    ours = PyKEENPredictor.from_result(result)
    vocabulary = ours.vocabulary
    assert set(vocabulary.relations) == {"after", "twice"}
    everything = torch.arange(2)
    expected = (
        result.model.predict_t(torch.tensor([[3, 0], [4, 1]])),
        result.model.predict_h(torch.tensor([[0, 3], [1, 4]])),
    )
    ours.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}
    for each in (ours, load_pykeen(folder, device="cpu"), PyKEENPredictor.load(tmp_path / "model", device="cpu")):
        assert each.vocabulary == vocabulary
        entities = torch.tensor([3, 4])
        torch.testing.assert_close(each.object_scores(entities, everything), expected[0], rtol=0, atol=0)
        torch.testing.assert_close(each.subject_scores(everything, entities), expected[1], rtol=0, atol=0)
    best = predict_target(result.model, head="NA", relation="after", triples_factory=result.training).df
    found = ours.predict(subject="NA", relation="after", k=3)
    assert [label for label, _, _ in found] == best["tail_label"].tolist()[:3]
    assert [score for _, score, _ in found] == pytest.approx(best["score"].tolist()[:3], rel=1e-5)
    figures = evaluate_ranking(ours, tiny())
    theirs = result.metric_results.get_metric("both.realistic.inverse_harmonic_mean_rank")
    assert figures["mrr"] == pytest.approx(theirs, abs=1e-6)


def test_what_a_score_takes_is_measured(results) -> None:
    entities = 11
    assert PyKEENPredictor.from_result(results("DistMult")[0]).score_bytes >= 12
    # TransE makes a number for each entity and dimension.
    assert PyKEENPredictor.from_result(results("TransE")[0]).score_bytes >= 4 + 2 * 4 * 6
    ours = PyKEENPredictor.from_result(results("TransE")[0])
    with pytest.raises(InputError, match="one query takes"):
        evaluate_ranking(ours, tiny(), memory=entities * 30)


class Bomb:
    """Does harm when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_importing_executes_nothing(results, tmp_path: Path) -> None:
    result, folder = results("TransE")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "training_triples").symlink_to(folder / "training_triples")
    result.model.interaction.harm = Bomb(tmp_path / "harm")
    try:
        torch.save(result.model, copy / "trained_model.pkl")
    finally:
        del result.model.interaction.harm
    with pytest.raises(InputError, match=r"pkl: the model's interaction.harm is a \w+.getattr\(...\)"):
        load_pykeen(copy)
    assert not (tmp_path / "harm").exists()
    torch.load(copy / "trained_model.pkl", weights_only=False)  # while this does what the file says
    assert (tmp_path / "harm").exists()


def structure_of(model: torch.nn.Module) -> tuple[dict, dict]:
    pickled, tensors = io.BytesIO(), {}
    torch.save(model, pickled)
    return describe(read_pickled_model(pickled), tensors), tensors


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ("class", "os.system", "os.system is not part of PyKEEN or torch.nn"),
        ("class", "pykeen.pipeline.pipeline", "pykeen.pipeline.pipeline is not a model or a part of one"),
        ("class", "pykeen.models.NoSuch", "pykeen.models.NoSuch is not in the installed version"),
        ("class", "pykeen.no_such.Thing", "pykeen.no_such.Thing is not in the installed version"),
        ("attributes", {"x": {"kind": "function", "name": "os.system"}}, "os.system is not a function that a model"),
        (
            "attributes",
            {"x": {"kind": "object", "class": "pykeen.nn.modules.TransEInteraction", "arguments": [], "state": {}}},
            "TransEInteraction is not a kind of value",
        ),
    ],
)
def test_a_changed_structure_is_refused(results, where: str, value: object, message: str) -> None:
    structure, tensors = structure_of(results("TransE")[0].model)
    with pytest.raises(InputError, match=message):
        build({**structure, where: value}, tensors)


def test_a_checkpoint_with_a_foreign_class_is_refused(results, tmp_path: Path) -> None:
    PyKEENPredictor.from_result(results("TransE")[0]).save(tmp_path / "model")
    meta = json.loads((tmp_path / "model/checkpoint.json").read_text())
    for change, message in (
        ({"class": "torch.nn.modules.linear.Identity"}, "Identity is not a model of PyKEEN's"),
        ({"parameters": ["none"]}, r"model: the model cannot be built again \('none'\)"),
        ({"class": "builtins.eval"}, "model: builtins.eval is not part of PyKEEN"),
    ):
        changed = {**meta, "model": {**meta["model"], **change}}
        save_checkpoint(tmp_path / "model", load_checkpoint(tmp_path / "model", meta["kind"])[0], changed)
        with pytest.raises(InputError, match=message):
            PyKEENPredictor.load(tmp_path / "model")


def copied(folder: Path, to: Path) -> Path:
    for path in folder.rglob("*"):
        if path.is_file():
            target = to / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return to


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("trained_model.pkl", None, r"trained_model.pkl is missing; save the result .*save_replicates=True"),
        ("training_triples/entity_to_id.tsv.gz", None, "entity_to_id.tsv.gz is missing; .*save_training=True"),
        ("training_triples/relation_to_id.tsv.gz", None, "relation_to_id.tsv.gz: cannot be read"),
        ("trained_model.pkl", b"", "not a model that torch.save wrote"),
        ("trained_model.pkl", b"\x80\x05N.", "not a model that torch.save wrote"),
        ("training_triples/entity_to_id.tsv.gz", b"\x1f\x8b id\tlabel\n", "entity_to_id.tsv.gz: cannot be read"),
        ("training_triples/entity_to_id.tsv.gz", "a\tb\n", "expected two columns, id and label"),
        ("training_triples/entity_to_id.tsv.gz", "id\tlabel\n1\tx\n", "the ids are not 0 to 0"),
        ("training_triples/entity_to_id.tsv.gz", "id\tlabel\n0\tx\n", "the model has 11 entities and 2 relations"),
    ],
)
def test_a_folder_that_lacks_parts(results, tmp_path: Path, part: str, content: object, message: str) -> None:
    import gzip

    folder = copied(results("TransE")[1], tmp_path / "copy")
    if content is None:
        (folder / part).unlink()
    else:
        (folder / part).write_bytes(content if isinstance(content, bytes) else gzip.compress(str(content).encode()))
    with pytest.raises(InputError, match=message):
        load_pykeen(folder)


def test_other_bad_input(results, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such folder"):
        load_pykeen(tmp_path / "nowhere")
    result, folder = results("TransE")
    folder = copied(folder, tmp_path / "copy")
    weight = result.model.entity_representations[0]._embeddings.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[0, 0] = float("nan")
    torch.save(result.model, folder / "trained_model.pkl")
    with torch.no_grad():
        weight.copy_(kept)
    with pytest.raises(InputError, match=r"entity_representations.0._embeddings.weight holds NaN or infinity"):
        load_pykeen(folder)
    torch.save({"a": torch.zeros(1)}, folder / "trained_model.pkl")
    with pytest.raises(InputError, match="holds no model"):
        load_pykeen(folder)
    with zipfile.ZipFile(folder / "trained_model.pkl", "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps(3)[:-1])
    with pytest.raises(InputError, match="or damaged"):
        load_pykeen(folder)
    with pytest.raises(InputError, match="the model has 11 entities and 2 relations, its labels are"):
        PyKEENPredictor(result.model, Vocabulary(["a"], ["r"]))


def test_a_result_without_labels_is_refused() -> None:
    class PipelineResult:
        training = object()

    with pytest.raises(InputError, match="train PyKEEN on a TriplesFactory with labels"):
        PyKEENPredictor.from_result(PipelineResult())  # type: ignore[arg-type]


@pytest.mark.parametrize("reciprocal", [True, False])
def test_ours_opens_in_pykeen_with_the_same_scores(reciprocal: bool, tmp_path: Path) -> None:
    from pykeen.models import model_resolver
    from pykeen.triples import TriplesFactory

    facts = [triple for triple in tiny() if "NA" not in triple]  # PyKEEN reads that label as nan
    ours = ComplEx.fit(facts, rank=5, epochs=3, reciprocal=reciprocal, device="cpu")
    folder = tmp_path / "exported"
    export_pykeen(ours, folder, facts)
    factory = TriplesFactory.from_path_binary(folder / "training_triples")
    assert sorted(map(tuple, factory.label_triples(factory.mapped_triples[: len(facts)]))) == sorted(facts)
    assert factory.create_inverse_triples == reciprocal
    config = json.loads((folder / "config.json").read_text())["pipeline"]
    assert config["dataset_kwargs"] == {"create_inverse_triples": reciprocal}
    made = model_resolver.make(config["model"], config["model_kwargs"], triples_factory=factory)
    made.load_state(folder / "model_state.pt")
    torch.load(folder / "model_state.pt", weights_only=True)
    whole = torch.load(folder / "trained_model.pkl", weights_only=False)
    ids = torch.from_numpy(ours.vocabulary.triples_to_ids(facts))
    back = load_pykeen(folder, device="cpu")
    assert back.vocabulary == ours.vocabulary
    for theirs in (made, whole, back.model):
        found = theirs.predict_t(ids[:, :2]), theirs.predict_h(ids[:, 1:])
        torch.testing.assert_close(found[0].detach(), ours.object_scores(ids[:, 0], ids[:, 1]), rtol=0, atol=1e-5)
        torch.testing.assert_close(found[1].detach(), ours.subject_scores(ids[:, 1], ids[:, 2]), rtol=0, atol=1e-5)
    scores = torch.from_numpy(ours.score(facts))
    torch.testing.assert_close(whole.predict_hrt(ids)[:, 0].detach(), scores, rtol=0, atol=1e-5)
    with pytest.raises(InputError, match="exported exists already"):
        export_pykeen(ours, folder)
    with pytest.raises(InputError, match="unknown entity 'stone'"):
        export_pykeen(ours, tmp_path / "other", [("stone", "after", "stone")])
    assert [path.name for path in tmp_path.iterdir()] == ["exported"]
    export_pykeen(ours, tmp_path / "other")  # without facts


# They need features of entities, or keep something else than tensors and settings.
BEYOND = {
    "complexliteral", "distmultliteral", "distmultliteralgated", "inductivenodepiece", "inductivenodepiecegnn",
    "nodepiece", "cooccurrencefiltered",
}  # fmt: skip


@pytest.mark.slow
def test_every_model_of_pykeens_comes_and_goes(tmp_path: Path) -> None:
    """Untrained, at their usual sizes: what their parts are made of is what matters here."""
    from pykeen.models import model_resolver
    from pykeen.triples import TriplesFactory

    plain, inverse = (
        TriplesFactory.from_labeled_triples(np.array(tiny()), create_inverse_triples=each) for each in (False, True)
    )
    vocabulary = Vocabulary(list(plain.entity_to_id), list(plain.relation_to_id))
    entities, relations = torch.tensor([3, 4]), torch.tensor([0, 1])
    names = sorted(set(model_resolver.lookup_dict) - BEYOND)
    assert len(names) >= 30
    for name in names:
        factory = inverse if name == "compgcn" else plain
        made = model_resolver.make(name, triples_factory=factory, random_seed=0)
        if name == "fixed":  # a mock of PyKEEN's, whose only weight is memory that nothing was written to
            torch.nn.init.zeros_(made.dummy)
        model = PyKEENPredictor(made, vocabulary)
        model.save(tmp_path / name)
        loaded = PyKEENPredictor.load(tmp_path / name, device="cpu")
        assert type(loaded.model) is type(model.model)
        torch.testing.assert_close(
            loaded.object_scores(entities, relations), model.object_scores(entities, relations), rtol=1e-5, atol=1e-5,
            equal_nan=True, msg=name,
        )  # fmt: skip
    model = model_resolver.make("nodepiece", triples_factory=inverse, random_seed=0)
    with pytest.raises(InputError, match=r"aggregation is a .*, which a checkpoint without pickles cannot hold"):
        PyKEENPredictor(model, vocabulary).save(tmp_path / "nodepiece")
    assert not (tmp_path / "nodepiece").exists()
