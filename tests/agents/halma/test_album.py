"""Learning from places of fixed panels is learning from their pictures."""

import numpy as np
import torch

from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.training import Album, make_learner
from gumption.agents.learners.replay import Replay
from gumption.envs.halma import HALMAVectorEnv

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


def test_places_teach_what_their_pictures_teach():
    overrides = (("batch_size", 16), ("hidden_size", 16), ("num_envs", ENVS), ("sequence", 1), ("policy_delay", 2))
    config = HALMAConfig(agent="cnn+mlp", max_opt_len=1, panels="fixed", overrides=overrides)
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
