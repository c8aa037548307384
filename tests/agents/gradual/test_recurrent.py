"""The recurrent baseline: trained by V-trace, kept, resumed, and played in one stream."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from gumption.agents.gradual.recurrent import RecurrentAgent, RecurrentNetwork, train_recurrent
from gumption.agents.gradual.recurrent_config import RecurrentConfig
from gumption.data import InputError
from gumption.envs.gradual import Session, of_names

SMALL = {"tasks": ("micro4",), "batch_size": 8, "unroll_length": 8, "hidden_size": 16}


def test_in_numpy_it_is_the_network() -> None:
    torch.manual_seed(0)
    network = RecurrentNetwork(16)
    agent, state = RecurrentAgent(network, seed=1), network.first_state(1)
    said = ord(" ")
    for reward, byte in ((0, 65), (1, 66), (-1, 67)):
        logits, _, state = network(torch.tensor([[[byte, reward + 1, said]]]), state)
        assert np.allclose(agent.logits(reward, byte), logits[0, 0].detach().numpy(), atol=1e-5)


@pytest.mark.slow
def test_a_run_is_kept_resumed_and_played(tmp_path: Path) -> None:
    config = RecurrentConfig(**SMALL, total_steps=2_048, eval_interval=512)
    whole = train_recurrent(config, tmp_path / "whole", progress=False)
    assert whole["step"] == 2_048
    cut = tmp_path / "cut"
    for line in _interrupted(config, cut):
        assert line
    resumed = train_recurrent(config, cut, resume=True, progress=False)
    timed = {"wall_s", "steps_per_s"}
    assert {k: v for k, v in resumed.items() if k not in timed} == {k: v for k, v in whole.items() if k not in timed}
    lines = [[json.loads(text) for text in (run / "metrics.jsonl").read_text().splitlines()]
             for run in (tmp_path / "whole", cut)]  # fmt: skip
    assert [line["loss"] for line in lines[0]] == [line["loss"] for line in lines[1]]
    make = RecurrentAgent.load(cut)
    results = [Session(of_names(["micro4"]).tasks, make(0), max_steps=500).run() for _ in range(2)]
    assert results[0] == results[1]


def _interrupted(config: RecurrentConfig, run: Path) -> list[dict[str, float]]:
    """The metrics of a run that stops after its second line."""
    from gumption.agents.run_folder import RunFolder

    written: list[dict[str, float]] = []
    save = RunFolder.save

    def stopping(self: RunFolder, tensors: object, meta: object) -> None:
        save(self, tensors, meta)  # pyright: ignore[reportArgumentType]
        written.append({"saved": len(written)})
        if len(written) == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "save", stopping)
        with pytest.raises(KeyboardInterrupt):
            train_recurrent(config, run, progress=False)
    return written


def test_what_cannot_be_trained_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no 'micro99'"):
        train_recurrent(RecurrentConfig(tasks=("micro99",)), tmp_path / "run", progress=False)
    with pytest.raises(InputError, match="not a complete run"):
        RecurrentAgent.load(tmp_path / "nothing")


@pytest.mark.slow
def test_it_learns_to_be_rewarded(tmp_path: Path) -> None:
    config = RecurrentConfig(tasks=("micro4",), total_steps=600_000, eval_interval=100_000)
    train_recurrent(config, tmp_path / "run", progress=False)
    lines = [json.loads(text) for text in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["right"] > 2 * lines[0]["right"]
