"""The replay buffer gives back moves in the order in which they were made."""

import numpy as np
import torch

from gumption.agents.learners.replay import Replay


def filled(steps: int, size: int = 10, num_envs: int = 3) -> Replay:
    """A buffer whose features, rewards and options tell their time step and environment."""
    replay = Replay(size, num_envs, (2,), torch.uint8, 2, 4, torch.device("cpu"))
    env = torch.arange(num_envs)
    for t in range(steps):
        replay.add(
            features=torch.stack([torch.full((num_envs,), t), env], 1),
            action=torch.full((num_envs, 2), (t + 1) % 4),
            reward=torch.full((num_envs,), float(t)),
            first=env == t % num_envs,
            option=torch.full((num_envs, 2), t % 4),
            gain=10.0 * t + env,
            ended=env == 1,
            counts=env != 2,
            hidden=torch.full((num_envs, 4), 0.5 * t),
            cell=torch.full((num_envs, 4), 0.25 * t),
        )
    return replay


def test_moves_follow_one_another_also_over_the_seam_of_the_ring():
    moves = filled(27).sample(500, 3, np.random.default_rng(0))
    time, env = moves.features[..., 0].long(), moves.features[..., 1].long()
    assert moves.features.shape == (500, 4, 2)
    assert (time.diff(dim=1) == 1).all()
    assert (env == env[:, :1]).all()
    assert set(time.flatten().tolist()) == set(range(17, 27))  # the latest ten, each of them
    assert set(env.flatten().tolist()) == {0, 1, 2}
    assert torch.equal(moves.gain, (10.0 * time + env)[:, :3])
    assert torch.equal(moves.reward, time.float())
    assert torch.equal(moves.option, (time % 4)[:, :3, None].expand(-1, -1, 2))
    assert torch.equal(moves.action, ((time + 1) % 4)[..., None].expand(-1, -1, 2))
    assert torch.equal(moves.first, env == time % 3)
    assert torch.equal(moves.ended, (env == 1)[:, :3])
    assert torch.equal(moves.counts, (env != 2)[:, :3])
    assert torch.equal(moves.memo.hidden[:, 0], 0.5 * time[:, 0])
    assert torch.equal(moves.memo.cell[:, 0], 0.25 * time[:, 0])


def test_a_buffer_is_ready_when_whole_sequences_are_in_it():
    assert not filled(4).ready(3)
    assert filled(5).ready(3)
    moves = filled(5).sample(100, 3, np.random.default_rng(0))
    assert set(moves.features[:, 0, 0].tolist()) == {0, 1}


def test_a_saved_buffer_gives_the_same_moves():
    replay, other = filled(27), filled(3)
    other.load_state_dict({name: part.clone() for name, part in replay.state_dict().items()})
    one, two = (buffer.sample(20, 2, np.random.default_rng(4)) for buffer in (replay, other))
    assert torch.equal(one.features, two.features)
    assert torch.equal(one.gain, two.gain)
