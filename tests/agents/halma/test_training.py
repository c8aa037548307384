"""Both learners learn what options are worth; their runs are kept, go on after a kill, and come out the same."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from gumption.agents.halma.acting import play
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.runs import load_run, train_halma
from gumption.agents.halma.training import Training, make_learner
from gumption.agents.learners.replay import Replay
from gumption.agents.run_folder import RunFolder, read_final, read_metrics
from gumption.data import InputError
from gumption.data.sealed import write_sealed
from gumption.envs.halma import HALMAVectorEnv, Mazes
from gumption.envs.halma.memory import REACHED, TRIAL_OVER, Memory

TINY = (("batch_size", 16), ("hidden_size", 16), ("num_envs", 8), ("greedy_steps", 2000), ("sequence", 8))
CPU = torch.device("cpu")
LEARNERS = ["mpo", "td3"]


def tiny(agent: str = "mlp", **settings) -> HALMAConfig:
    """One maze, the goal two cells from the start: its episodes end soon."""
    given = {"episodes": 17, "num_mazes": 1, "maze_seed": 7787, "max_opt_len": 1, "checkpoint_interval": 3}
    return HALMAConfig(agent=agent, **{**given, "log_interval": 1, "overrides": TINY, **settings})


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def content(run_dir: Path) -> dict[str, object]:
    """All bits of a run that do not tell the time."""
    tensors = load_file(run_dir / "checkpoint" / "tensors.safetensors")
    meta = json.loads((run_dir / "checkpoint" / "checkpoint.json").read_text())
    del meta["sha256"]  # of the time, too
    final, lines = read_final(run_dir), read_metrics(run_dir)
    for part in (meta, final, *lines):
        for name in ("wall_s", "steps_per_s", "seconds"):
            part.pop(name, None)
    bits = {name: (tensor.dtype, tuple(tensor.shape), tensor.numpy().tobytes()) for name, tensor in tensors.items()}
    memory = Memory.load(run_dir / "memory")
    return {
        "tensors": bits,
        "meta": meta,
        "metrics": lines,
        "final": final,
        "memory": (len(memory), memory.fingerprint),
    }


# ---- what is learned


def lesson_config(learner: str, batch_size: int, hidden_size: int, *more: tuple[str, float]) -> HALMAConfig:
    overrides = (("batch_size", batch_size), ("sequence", 1), ("hidden_size", hidden_size), *more)
    return HALMAConfig(learner=learner, max_opt_len=1, overrides=overrides)


def lesson(config: HALMAConfig) -> Replay:
    """Moves in one panel that all reach the goal: options to the right bring 100, others are stopped and bring -5."""
    rng = np.random.default_rng(0)
    tokens = 1 + config.max_opt_len
    replay = Replay(200, 8, (11, 19), torch.uint8, tokens, 0, CPU)
    for _ in range(200):
        options = torch.from_numpy(rng.integers(4, size=(8, tokens)))
        right = options[:, 0] == 2
        replay.add(
            features=torch.ones(8, 11, 19, dtype=torch.uint8),
            action=options,
            reward=torch.zeros(8),
            first=torch.zeros(8, dtype=torch.bool),
            option=options,
            gain=torch.where(right, 100.0, -5.0),
            ended=right,
            counts=torch.ones(8, dtype=torch.bool),
            hidden=torch.zeros(8, 0),
            cell=torch.zeros(8, 0),
        )
    return replay


QUICK = (("learning_rate", 1e-3), ("critic_learning_rate", 1e-3), ("target_rate", 0.97))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "more"), [("mpo", ()), pytest.param("td3", QUICK, marks=pytest.mark.slow)], ids=LEARNERS
)
def test_values_and_choices_come_to_what_the_equations_say(learner, more):
    config = lesson_config(learner, 64, 32, *more)
    torch.manual_seed(0)
    learner, replay, rng = make_learner(config, CPU), lesson(config), np.random.default_rng(0)
    for _ in range(1500):
        learner.update(replay, rng)
    made = learner.critic.body.encoder(torch.ones(1, 11, 19))
    options = torch.tensor([[[direction, 1] for direction in range(4)]])
    with torch.no_grad():
        values = torch.minimum(*learner.critic(made[:, None], options))[0]
        chances = learner.actor.log_likelihood(learner.actor.body.encoder(torch.ones(1, 11, 19)), options).exp()[0]
    right = 0.05 * 100
    assert values[2].item() == pytest.approx(right, abs=0.1)
    # Elsewhere: stopped, and from the same panel once more; the actor takes the right one by then.
    assert values[[0, 1, 3]].tolist() == pytest.approx([-0.05 * 5 + 0.95 * right] * 3, abs=0.25)
    assert chances[2] > 20 * chances[[0, 1, 3]].max()


@pytest.mark.parametrize("learner", LEARNERS)
def test_moves_that_do_not_count_teach_nothing(learner):
    config = lesson_config(learner, 16, 16)
    torch.manual_seed(0)
    learner, replay = make_learner(config, CPU), lesson(config)
    replay.parts["counts"][:] = False
    before = [parameter.clone() for parameter in learner.critic.parameters()]
    learner.update(replay, np.random.default_rng(0))
    assert learner.critic_loss == 0
    assert all(torch.equal(a, b) for a, b in zip(before, learner.critic.parameters(), strict=True))


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_actor_waits_for_the_policy_delay_and_targets_follow_slowly(learner):
    """TD3's targets wait with the actor."""
    config = lesson_config(learner, 16, 16)
    torch.manual_seed(0)
    learner, replay, rng = make_learner(config, CPU), lesson(config), np.random.default_rng(0)
    actor, target = learner.actor.enter.weight.clone(), learner.target_critic.values[0].enter.weight.clone()
    for _ in range(4):
        learner.update(replay, rng)
    assert torch.equal(learner.actor.enter.weight, actor)
    assert torch.equal(learner.target_critic.values[0].enter.weight, target) == (config.learner == "td3")
    learner.update(replay, rng)
    assert not torch.equal(learner.actor.enter.weight, actor)
    moved = (learner.target_critic.values[0].enter.weight - target).abs().max()
    trained = (learner.critic.values[0].enter.weight - target).abs().max()
    assert 0 < moved < 0.05 * trained


def test_td3_s_actor_climbs_the_critic_s_first_value():
    """The gradient of its only step is that of -Q1 through one-hot choices, and the critic stays as it is."""
    config = lesson_config("td3", 16, 16)
    torch.manual_seed(0)
    learner, replay = make_learner(config, CPU), lesson(config)
    moves = replay.sample(16, 1, np.random.default_rng(0))
    critic = [parameter.clone() for parameter in learner.critic.parameters()]
    torch.manual_seed(5)
    learner.update_actor(moves, np.random.default_rng(0))
    stepped = [parameter.grad.clone() for parameter in learner.actor.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(critic, learner.critic.parameters(), strict=True))

    torch.manual_seed(0)
    fresh = make_learner(config, CPU)
    torch.manual_seed(5)
    made, seen = (one.body.encoder(moves.features[:, 0]) for one in (fresh.actor, fresh.critic))
    options = fresh.actor.relaxed(made, 1.0)
    assert torch.equal(options.detach(), torch.nn.functional.one_hot(options.argmax(-1), 4).float())
    (-fresh.critic(seen, options)[0].mean()).backward()
    gradients = [parameter.grad for parameter in fresh.actor.parameters()]
    assert all(torch.allclose(a, b, atol=1e-7) for a, b in zip(stepped, gradients, strict=True))
    assert any(gradient.abs().max() > 0 for gradient in gradients)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["trial", "episode"])
def test_where_a_value_ends(objective, tmp_path):
    """Equation 1 is a return across the trials of an episode: only the episode's end ends it, and every move counts."""
    config = tiny(objective=objective, overrides=(*TINY, ("greedy_first", 0.0), ("greedy_last", 0.0)))
    env = HALMAVectorEnv(8, num_mazes=1, maze_seed=7787, max_opt_len=1, trials=3, max_trial_steps=6, max_steps=15)
    training = Training(config, env, tmp_path)
    for _ in range(200):
        training.learn(None)
    training.memory.flush()
    flags = Memory.load(tmp_path / "memory").flags.reshape(200, 8)[:-1]
    training.close()
    reached, over = (flags & REACHED) != 0, (flags & TRIAL_OVER) != 0
    features, first, ended, counts = (
        training.replay.parts[name][:200].numpy() for name in ("features", "first", "ended", "counts")
    )
    done, start = first[1:], features[0, 0]
    by_time = over & ~reached & ~done
    assert by_time.any()
    assert (reached & ~done).any()
    assert (done & ~reached).any()
    assert (features[1:][over] == start).all(), "what follows a trial is the next one's first panel"
    if objective == "trial":
        assert np.array_equal(ended[:-1], reached)
        assert np.array_equal(counts[:-1], reached | ~over)
    else:
        assert np.array_equal(ended[:-1], done)
        assert counts.all()


@pytest.mark.slow
def test_a_training_of_so_many_steps_ends_with_them():
    run = train_halma(tiny(num_mazes=20, max_opt_len=5, episodes=999, steps=4000, overrides=TINY), progress=False)
    assert (run.final["steps"], run.final["learner"]) == (4000, "mpo")
    assert run.final["episodes"] == run.curve[-1]["episode"] < 999


@pytest.mark.slow
def test_an_agent_learns_its_mazes():
    overrides = (("batch_size", 64), ("num_envs", 32), ("greedy_steps", 20_000))
    run = train_halma(HALMAConfig(num_mazes=3, episodes=192, max_opt_len=3, overrides=overrides, seed=1))
    assert run.run_dir is None
    assert run.final["episodes"] >= 192
    assert run.curve[-1]["greedy"] == pytest.approx(0.95)
    env = HALMAVectorEnv(len(run.mazes), mazes=run.mazes, max_opt_len=3)
    measures = play(run.actor(), env, np.arange(len(run.mazes)))
    assert measures.rho_g.mean() > 0.6
    assert run.curve[-1]["finished_trials"] > 3 * max(run.curve[0]["finished_trials"], 0.2)


# ---- runs


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A short run of a guided agent."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs") / "kept"
    run = train_halma(tiny(guided=True, guide_interval=4), folder)
    torch.set_num_threads(threads)
    return run


def test_a_run_keeps_what_it_was_and_what_it_met(kept):
    folder = kept.run_dir
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "config.json",
        "manifest.json",
        "mazes.jsonl",
        "metrics.jsonl",
        "checkpoint",
        "memory",
        "final.json",
    }
    memory = Memory.load(folder / "memory")
    assert len(memory) == kept.final["steps"]
    assert memory.lost == 0
    mazes = Mazes.load(folder / "mazes.jsonl")
    assert list(mazes) == list(kept.mazes)
    # Each record is one that the mazes allow: the panel is one of its maze's, and so is the next.
    for panels in (memory.before, memory.after):
        known = {(m, row.tobytes()) for m in range(len(mazes)) for row in mazes.rows[m][mazes.inside[m]]}
        assert {(int(m), row.tobytes()) for m, row in zip(memory.maze, panels, strict=True)} <= known
    assert memory.valid.mean() == pytest.approx(
        np.mean([np.any(a != b) for a, b in zip(memory.before, memory.after, strict=True)])
    )
    one = memory.episode == 3
    assert (np.diff(memory.trial[one]) >= 0).all()
    assert read_metrics(folder) == kept.curve
    assert read_final(folder) == kept.final


def test_a_run_that_is_loaded_plays_like_the_one_that_was_trained(kept):
    loaded = load_run(kept.run_dir)
    assert loaded.config == kept.config
    assert loaded.final == kept.final
    env = HALMAVectorEnv(2, mazes=kept.mazes, max_opt_len=1)
    for seed in (0, 1):
        one, two = (play(run.actor(), env, np.zeros(2, dtype=int), seed) for run in (kept, loaded))
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.slow
def test_few_episodes_are_not_a_whole_batch():
    """Of 32 environments at a time all episodes would end in one step."""
    overrides = (("batch_size", 16), ("hidden_size", 16))
    run = train_halma(HALMAConfig(episodes=2, num_mazes=2, device="cpu", overrides=overrides))
    assert run.final["episodes"] == 2
    assert run.final["steps"] <= 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        tiny(),
        pytest.param(tiny(learner="td3", objective="episode", episodes=9), marks=pytest.mark.slow),
        pytest.param(tiny("lstm"), marks=pytest.mark.slow),
        pytest.param(tiny(guided=True, guide_interval=4), marks=pytest.mark.slow),
        pytest.param(tiny("cnn+mlp", panels="fixed", episodes=9), marks=pytest.mark.slow),
    ],
    ids=["mlp", "td3", "lstm", "guided", "fixed panels"],
)
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(config, tmp_path, monkeypatch, kept):
    whole = kept.run_dir if config.guided else tmp_path / "whole"
    if not config.guided:
        train_halma(config, whole)

    class Stop(Exception):
        pass

    saved, save, learn = [], RunFolder.save, Training.learn

    def stop_after_five_more_steps(self, bar):
        learn(self, bar)
        saved.extend(saved[-1:])
        if len(saved) > 6:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "save", lambda *given: (save(*given), saved.append(given)))
        patch.setattr(Training, "learn", stop_after_five_more_steps)
        with pytest.raises(Stop):
            train_halma(config, tmp_path / "stopped")
    with pytest.raises(InputError, match="holds a run already; go on with it"):
        train_halma(config, tmp_path / "stopped")
    kept_moves = json.loads((tmp_path / "stopped" / "checkpoint" / "checkpoint.json").read_text())["memory"]
    assert 0 < kept_moves < len(Memory.load(tmp_path / "stopped" / "memory"))  # the rest is made again
    train_halma(config, tmp_path / "stopped", resume=True)
    assert content(tmp_path / "stopped") == content(whole)


@pytest.mark.slow
def test_a_run_survives_a_real_kill(tmp_path):
    config = tiny(episodes=60, checkpoint_interval=8)
    program = (
        "import torch; torch.set_num_threads(1)\n"
        "from gumption.agents.halma.config import HALMAConfig\n"
        "from gumption.agents.halma.runs import train_halma\n"
        f"train_halma(HALMAConfig.from_json({config.to_json()!r}), 'run', resume=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    meta, until = tmp_path / "run" / "checkpoint" / "checkpoint.json", time.monotonic() + 60
    while not meta.is_file() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "run" / "final.json").exists()
    train_halma(config, tmp_path / "run", resume=True)
    train_halma(config, tmp_path / "whole")
    assert content(tmp_path / "run") == content(tmp_path / "whole")


def test_what_is_no_place_for_a_run_is_told(kept, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(InputError, match="notes exists and is not a run; choose another name"):
        train_halma(tiny(), tmp_path / "notes")
    with pytest.raises(InputError, match=r"a\.txt is a file; choose another name"):
        train_halma(tiny(), tmp_path / "notes" / "a.txt")
    with pytest.raises(InputError, match="was begun with another guide_weight, seed"):
        train_halma(tiny(guided=True, guide_interval=4, seed=5, guide_weight=1.0), kept.run_dir, resume=True)


def test_what_is_no_run_is_told(kept, tmp_path):
    with pytest.raises(InputError, match=r"nothing/config\.json: not a complete run"):
        load_run(tmp_path / "nothing")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"copy/config\.json: not valid JSON \(Expecting"):
        load_run(copy)
    other = kept.config.to_json() | {"agent": "tran"}
    write_sealed(copy / "config.json", other)
    for name in ("checkpoint", "mazes.jsonl"):
        (copy / name).symlink_to(kept.run_dir / name)
    with pytest.raises(InputError, match="the checkpoint does not fit the network of its config"):
        load_run(copy)
    write_sealed(copy / "config.json", kept.config.to_json())
    with pytest.raises(InputError, match="memory"):
        load_run(copy)


def test_a_complete_run_that_is_asked_for_again_stays_as_it_is(kept):
    files = ("metrics.jsonl", "final.json", "memory/records.bin")
    before = [(kept.run_dir / name).read_bytes() for name in files]
    again = train_halma(kept.config, kept.run_dir, resume=True)
    assert again.final == kept.final
    assert [(kept.run_dir / name).read_bytes() for name in files] == before
    steps = [line["step"] for line in kept.curve]
    assert len(set(steps)) == len(steps)
