"""Of what gumption keeps on disk, a changed byte or a file cut short is told, or what is read is what was written."""

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents import TrainConfig, train_impala
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import load_evaluation, save_evaluation
from gumption.agents.halma.runs import load_run, train_halma
from gumption.agents.run_folder import RunFolder, load_policy, read_final, read_metrics
from gumption.data import InputError, Note
from gumption.data.sealed import read_sealed, unverified
from gumption.envs.halma import HALMAVectorEnv, Mazes
from gumption.envs.halma import Memory as HALMAMemory
from gumption.envs.memory import RECORDS, TransitionMemory
from gumption.envs.record_memory import RecordMemory
from gumption.envs.segar import Memory as SEGARMemory
from gumption.envs.segar.env import PuttPuttVectorEnv
from gumption.envs.wordcraft import Memory, WordCraftVectorEnv
from gumption.kg import Calibration, ComplEx, KnowledgeGraph, load_predictor
from gumption.scripts import cli

Load = Callable[[Path], Any]

BOOK = "result\tingredient\tingredient\n" + "".join(
    f"{name}\t{a}\t{b}\n"
    for name, a, b in (
        ("mud", "water", "earth"), ("steam", "water", "fire"), ("lava", "earth", "fire"), ("brick", "mud", "fire"),
        ("stone", "lava", "air"), ("sand", "stone", "air"), ("glass", "sand", "fire"), ("wall", "brick", "brick"),
        ("rain", "sky", "water"), ("plant", "rain", "earth"), ("wood", "plant", "time"), ("tool", "stone", "wood"),
    )
)  # fmt: skip
FACTS = [(f"e{i}", f"r{i % 3}", f"e{i * 7 % 13}") for i in range(30)]
SMALL = (("num_envs", 4), ("batch_size", 32), ("hidden_size", 16), ("policy_delay", 20), ("candidates", 2),
         ("random_candidates", 1))  # fmt: skip


def silent(folder: Path, load: Load, places: int) -> list[str]:
    """The damages after which something else is read, and nothing is told: a bit of so many bytes of each file, evenly
    spread, and the file cut short there. TensorBoard's files are not read."""
    wanted, found = load(folder), []
    for path in sorted(folder.rglob("*")):
        whole = b"" if path.is_dir() or path.name.startswith("events.out") else path.read_bytes()
        for place in sorted({round(i) for i in np.linspace(0, len(whole) - 1, places)} if whole else ()):
            flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
            for how, damaged in (("changed", flipped), ("cut", whole[:place])):
                if how == "cut" and path.name == RECORDS:  # of a memory: a crash may do that, see test_memory.py
                    continue
                path.write_bytes(damaged)
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always", Note)
                    try:
                        same = load(folder) == wanted
                    except InputError:
                        continue
                if not same and not any(issubclass(one.category, Note) for one in told):
                    found.append(f"{path.name} {how} at {place}")
        if whole:
            path.write_bytes(whole)
    return found


def kept(memory: TransitionMemory) -> str:
    """The hash of its records; a torn end is told, as commands do."""
    if memory.warning:
        warnings.warn(memory.warning, Note, stacklevel=1)
    return memory.fingerprint


def weights(module: Any) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in module.state_dict().items()}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "small.tsv"
    path.write_text(BOOK)
    return path


def run_of_wordcraft(book: Path, folder: Path) -> Path:
    """A run of a moment, with a split file and a link predictor of its own."""
    WordCraftVectorEnv(1, recipe_book=str(book), split="by_recipe", num_distractors=1).split.save(folder / "split.json")
    config = TrainConfig(
        recipe_book=str(book), features="onehot", kg="train", kg_scores=("componentOf",), device="cpu",
        split=str(folder / "split.json"), preset="paper", total_steps=64, eval_interval=32, num_distractors=1,
        final_draws=1,
    )  # fmt: skip
    train_impala(config, folder / "run", progress=False)
    return folder / "run"


def test_of_a_run_of_wordcraft(book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "cache"))
    run = run_of_wordcraft(book, tmp_path)

    def load(run: Path) -> Any:
        config, policy = load_policy(run, recipe_book=str(book))
        figures = read_final(run), read_metrics(run), read_sealed(run / "manifest.json")
        return config, figures, weights(policy.network), weights(policy.advice.scores)

    assert silent(run, load, 4) == []


@pytest.mark.slow
def test_of_a_run_of_halma_with_a_graph(tmp_path: Path) -> None:
    config = HALMAConfig(episodes=2, log_interval=1, num_mazes=3, device="cpu", overrides=SMALL, kg="full")
    train_halma(config, tmp_path / "run", progress=False)
    evaluation = tmp_path / "run" / "evaluation.json"
    save_evaluation(evaluation, {"schema": "gumption/halma-evaluation/1", "config": {}, "n": 1})

    def load(folder: Path) -> Any:
        run = load_run(folder)
        scores = weights(run.policy.guide.knowledge.scores)
        figures = (
            run.final,
            run.curve,
            read_sealed(folder / "manifest.json"),
            load_evaluation(evaluation),
        )
        moves = kept(HALMAMemory.load(folder / "memory"))
        return run.config, run.mazes.fingerprint, figures, weights(run.policy.network), scores, moves

    assert silent(tmp_path / "run", load, 5) == []


@pytest.mark.parametrize("world", ["halma", "wordcraft", "segar"])
def test_of_a_memory(book: Path, tmp_path: Path, world: str) -> None:
    env: Any = WordCraftVectorEnv(2, recipe_book=str(book), split="none", num_distractors=1)
    if world == "halma":
        env = HALMAVectorEnv(2, num_mazes=3, max_steps=12)
    if world == "segar":
        env = PuttPuttVectorEnv(2, levels="tilesx2-easy", num_levels=3, observation="state")
    recorded = RecordMemory(env, tmp_path / "memory")
    recorded.reset(seed=0)
    recorded.action_space.seed(0)
    for _ in range(20):
        recorded.step(recorded.action_space.sample())
    recorded.close()

    def load(folder: Path) -> Any:
        if world == "halma":
            return kept(HALMAMemory.load(folder)), Mazes.load(folder / "mazes.jsonl").fingerprint
        if world == "segar":
            lived = SEGARMemory.load(folder)
            return kept(lived), lived.levels, lived.types
        memory = Memory.load(folder)
        return kept(memory), memory.entities

    assert silent(tmp_path / "memory", load, 9) == []


def test_of_a_predictor_and_its_calibration(tmp_path: Path) -> None:
    model = ComplEx.fit(FACTS, rank=4, epochs=2, device="cpu")
    model.save(tmp_path / "model")
    Calibration.fit(model, FACTS).save(tmp_path / "model", model)

    def load(folder: Path) -> Any:
        predictor = load_predictor(folder, "cpu")
        calibration = Calibration.load(folder, predictor)
        assert calibration is not None
        scores = predictor.object_scores(torch.arange(3), torch.arange(3)).numpy().tobytes()
        return scores, predictor.vocabulary.hash, calibration.object.tolist(), calibration.before, calibration.after

    assert silent(tmp_path / "model", load, 12) == []


@pytest.mark.slow
def test_of_a_graph_on_disk(tmp_path: Path) -> None:
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add(FACTS, graph="a")
        graph.annotate("a", {"license": "CC0"})

    def load(folder: Path) -> Any:
        with KnowledgeGraph(folder, read_only=True) as graph:
            return sorted(graph.triples()), graph.graphs(), graph.annotations("a"), graph.arrays()[1].tolist()

    assert silent(tmp_path / "kg", load, 3) == []


# ---- what is told, and how it is read all the same


def test_damage_is_told_and_read_where_nobody_verifies(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", {"world": "halma", "seed": 3})
    folder.begin({"seed": 3})
    folder.write_metrics([{"step": 1}, {"step": 2}])
    folder.add_metrics({"step": 3})
    folder.finish({"success": 0.5})
    for name, old, new, told in (
        ("final.json", "0.5", "0.9", "final.json: its content does not match its sha256"),
        ("metrics.jsonl", '"step": 2', '"step": 7', "metrics.jsonl:2: its content does not match its sha256"),
        ("config.json", '"seed": 3', '"seed": 4', "config.json: its content does not match its sha256"),
    ):
        path = folder.path / name
        whole = path.read_text()
        path.write_text(whole.replace(old, new))
        with pytest.raises(InputError, match=f"{told}.*; make it again.*with `gumption --no-verify"):
            _ = read_final(folder.path), read_sealed(folder.path / "config.json")
        path.write_text(whole)
    lines = (folder.path / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder.path / "metrics.jsonl").write_text("".join(lines[:2]))
    with pytest.raises(InputError, match=r"metrics\.jsonl: these are not the metrics that final\.json is of"):
        read_final(folder.path)
    with unverified():
        assert read_final(folder.path) == {"success": 0.5}
        assert read_metrics(folder.path) == [{"step": 1}, {"step": 2}]
    (folder.path / "metrics.jsonl").write_text(lines[0] + '{"step": 2}\n')
    with pytest.raises(InputError, match=r"metrics\.jsonl:2: it has no sha256, and the lines before it have one"):
        read_metrics(folder.path)


def test_a_file_that_lost_its_sha256_is_told(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", {"world": "halma", "seed": 3})
    folder.begin({"seed": 3})
    config = folder.path / "config.json"
    config.write_text('{"world": "halma", "seed": 4}')
    with pytest.raises(InputError, match=r"config\.json: it has no sha256, so it was changed or damaged"):
        read_sealed(config)
    with unverified():
        assert read_sealed(config) == {"world": "halma", "seed": 4}


def test_the_command_line_reads_what_is_damaged_with_no_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ComplEx.fit(FACTS, rank=4, epochs=2, device="cpu")
    model.save(tmp_path / "model")
    meta = tmp_path / "model" / "checkpoint.json"
    meta.write_text(meta.read_text().replace('"rank": 4', '"rank":  4').replace('"epochs": 2', '"epochs": 3'))
    ask = ["kg", "predict", str(tmp_path / "model"), "--subject", "e1", "--relation", "r1"]
    for option, code in (([], 2), (["--no-verify"], 0)):
        monkeypatch.setattr(sys, "argv", ["gumption", *option, *ask])
        with pytest.raises(SystemExit) as ended, unverified() if option else nullcontext():
            cli.main()
        said = capsys.readouterr()
        assert ended.value.code in (code, None if code == 0 else code), said.err
        assert ("checkpoint.json is not the file that was written" in said.err) == (code == 2)
