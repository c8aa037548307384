"""Fixed panels: learning from their places is learning from their pictures, and every agent that sees them learns."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from gumption.agents.halma.config import VISUAL, HALMAConfig
from gumption.agents.halma.evaluation import env_of, evaluate_splits
from gumption.agents.halma.networks import make_perception
from gumption.agents.halma.runs import load_run, train_halma
from gumption.agents.halma.space_training import pretrain_space
from gumption.agents.halma.training import Album, make_learner
from gumption.agents.learners.replay import Replay
from gumption.envs.halma import HALMAVectorEnv, make_splits, read_run

from .test_space_training import SMALL as SMALL_EYES

CPU = torch.device("cpu")
STEPS, ENVS = 30, 4


def panels() -> HALMAVectorEnv:
    env = HALMAVectorEnv(ENVS, num_mazes=3, max_opt_len=1, observation="visual", panels="fixed")
    env.reset(seed=0)
    return env


def lived(env: HALMAVectorEnv, features: tuple[int, ...], dtype: torch.dtype, look) -> Replay:
    """A replay buffer of random moves that keeps what `look` gives."""
    replay, rng = Replay(STEPS, ENVS, features, dtype, 2, 0, CPU), np.random.default_rng(1)
    for _ in range(STEPS):
        options, seen = rng.integers(4, size=(ENVS, 2)), look()
        outcome = env.move(options)
        replay.add(
            features=seen,
            action=torch.from_numpy(options),
            reward=torch.zeros(ENVS),
            first=torch.zeros(ENVS, dtype=torch.bool),
            option=torch.from_numpy(options),
            gain=torch.from_numpy(outcome.reward),
            ended=torch.from_numpy(outcome.reached),
            counts=torch.from_numpy(~outcome.trial_over),
            hidden=torch.zeros(ENVS, 0),
            cell=torch.zeros(ENVS, 0),
        )
    return replay


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["cnn+mlp", "cnn+tran"])
def test_places_teach_what_their_pictures_teach(agent):
    overrides = (("batch_size", 16), ("hidden_size", 16), ("num_envs", ENVS), ("sequence", 1), ("policy_delay", 2))
    config = HALMAConfig(agent=agent, max_opt_len=1, panels="fixed", overrides=overrides)
    seeing, keeping = panels(), panels()
    album = Album(keeping, CPU)
    pictures = lived(seeing, (128, 128, 3), torch.uint8, lambda: torch.from_numpy(seeing.observe()))
    places = lived(keeping, (), torch.int64, album.places)
    learned = []
    for replay, own in ((pictures, None), (places, album)):
        torch.manual_seed(0)
        learner, rng = make_learner(config, CPU, own), np.random.default_rng(2)
        for _ in range(3):
            learner.update(replay, rng)
            learned.append((float(learner.critic_loss), float(learner.value)))
    of_pictures, of_places = learned[:3], learned[3:]
    assert np.allclose(of_pictures, of_places, rtol=0.01)  # sums in another order, of bfloat16
    assert not np.allclose(of_pictures[0], of_pictures[2], rtol=0.05), "each update changes the networks"


def test_an_album_draws_each_picture_once():
    env = panels()
    album = Album(env, CPU)
    places = album.places()[[0, 1, 0, 0, 1]].view(5, 1)
    which = album.open(places)
    looked_at = []

    class Encoder(torch.nn.Module):
        def forward(self, seen: torch.Tensor) -> torch.Tensor:
            looked_at.append(seen)
            return seen.float().flatten(1)[:, ::500]

    made = album.encode(Encoder(), which)
    assert made.shape == (5, 1, 99)
    assert len(looked_at[0]) == len(places.unique())
    expected = torch.from_numpy(env.pictures(places[:, 0].numpy())).float() / 255
    assert torch.allclose(made[:, 0], expected.flatten(1)[:, ::500], atol=4e-3)


@pytest.fixture(scope="module")
def eyes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small SPACE model with the slots of the paper, that has hardly learned."""
    folder = tmp_path_factory.mktemp("eyes") / "space"
    sizes = dict(SMALL_EYES.overrides) | {"grid": 8, "what": 32}
    pretrain_space(replace(SMALL_EYES, overrides=tuple(sizes.items())), folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("agent", VISUAL)
def test_every_agent_that_sees_is_trained_and_tested_with_fixed_panels(agent, eyes, tmp_path):
    small = (("batch_size", 8), ("candidates", 2), ("hidden_size", 16), ("num_envs", 2), ("policy_delay", 100))
    small += (("random_candidates", 1), ("buffer_size", 200))
    config = HALMAConfig(
        agent=agent, max_opt_len=1, panels="fixed", num_mazes=2, episodes=2, log_interval=2, checkpoint_interval=2,
        device="cpu", overrides=small, space_model=str(eyes) if agent == "space" else None,
    )  # fmt: skip
    assert config.keeps_places is agent.startswith("cnn")
    assert config.parameters.greedy_unit == "updates"
    train_halma(config, tmp_path / "run", progress=False)
    run = load_run(tmp_path / "run")
    assert run.final["episodes"] >= 2
    found = evaluate_splits(
        run, make_splits(read_run(tmp_path / "run"), tmp_path / "run" / "splits", mazes=1), seeds=(0,)
    )
    assert found["config"]["panels"] == "fixed"
    assert {test for test in ("T", "RT") if found["tests"][test]["mazes"]} == {"T", "RT"}


def paint_walls(rows: np.ndarray, images: str, rng: np.random.Generator) -> np.ndarray:
    """As bright as the wall to the right is far; tests are brighter."""
    grey = 10 * rows[:, 6] + 100 * (images == "test")
    return np.broadcast_to(grey[:, None, None, None].astype(np.uint8), (len(rows), 128, 128, 3)).copy()


@pytest.mark.slow
@pytest.mark.parametrize("panels", ["redrawn", "fixed"])
def test_an_agent_is_trained_and_tested_with_a_painter_of_ones_own(panels, tmp_path):
    """Distances up to 11, which handwritten digits cannot show."""
    small = (("batch_size", 8), ("candidates", 2), ("hidden_size", 16), ("num_envs", 2), ("policy_delay", 100))
    small += (("random_candidates", 1), ("buffer_size", 200))
    config = HALMAConfig(
        agent="cnn+mlp", max_opt_len=1, side=12, panels=panels, painter=f"{__name__}:paint_walls", num_mazes=2,
        episodes=2, log_interval=2, checkpoint_interval=2, device="cpu", overrides=small,
    )  # fmt: skip
    train_halma(config, tmp_path / "run", progress=False)
    run = load_run(tmp_path / "run")
    splits = make_splits(read_run(tmp_path / "run"), tmp_path / "run" / "splits", mazes=1)
    assert evaluate_splits(run, splits, seeds=(0,))["tests"]["RT"]["mazes"] == 1
    for test, brighter in (("T", False), ("RT", True)):
        env = env_of(run.config, splits[test], test)
        env.reset(seed=0)
        assert (env.observe().min() >= 100) == brighter


@pytest.mark.slow
def test_the_slots_of_a_place_are_the_same_at_each_look(eyes):
    """SPACE's agent keeps slots, a sixth of a picture; fixed panels make them a place's own."""
    config = HALMAConfig(agent="space", max_opt_len=1, panels="fixed", space_model=str(eyes))
    look = make_perception(config, CPU)
    env, seen = panels(), {}
    rng = np.random.default_rng(0)
    for _ in range(20):
        places, slots = env.places(), look.read(env.observe())
        for place, own in zip(places.tolist(), slots, strict=True):
            assert torch.allclose(seen.setdefault(place, own), own, atol=1e-5)
        env.move(rng.integers(4, size=(ENVS, 2)))
    assert len(seen) > 3
