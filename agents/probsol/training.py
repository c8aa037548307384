"""MaskablePPO of sb3-contrib on ProbSol's tables: a run with its folder, and a run that is loaded.

The learner acts in the form "objects" (what to do, with which disc, where). Its figures beside those of
`gumption.agents.learners.sb3`, whose loop it runs in: train_ and validation_solved and _rate, the share of tasks solved
and the mean solution rate, in one trial each. The test part is never played in training.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnvWrapper

from gumption.agents.learners.sb3 import own_random_numbers, put_policy, train_model
from gumption.agents.run_folder import RunFolder, read_config, read_final, read_metrics
from gumption.data.sealed import content_hash
from gumption.data.settings import checked
from gumption.envs.probsol.actions import COARSE
from gumption.envs.probsol.certification import start_distance
from gumption.envs.probsol.settings import ActionForm
from gumption.envs.probsol.tasks import Task
from gumption.envs.probsol.vector_env import ProbSolVectorEnv
from gumption.envs.sb3_adapter import SB3VecEnv
from gumption.kg.checkpoint import pick_device

from .config import ProbSolConfig
from .evaluation import play_tasks, spread
from .networks import TablePolicy

KIND = "gumption/probsol/1"


class Latest:
    """Observations as the network takes them: the n latest ones of the discs in the trial, and a map at the points of
    the form "objects".

    :ivar space: their space.
    """

    def __init__(self, tables: ProbSolVectorEnv, stack: int) -> None:
        seen: Any = tables.single_observation_space
        self.discs = np.zeros((tables.num_envs, stack, *seen["discs"].shape), dtype=np.float32)
        self.space = spaces.Dict(
            {
                **seen.spaces,
                "discs": spaces.Box(-1.0, 1.0, self.discs.shape[1:], np.float32),
                "map": spaces.Box(0, 1, (5, COARSE, COARSE), np.uint8),
            }
        )

    def see(self, observation: Any, begun: np.ndarray) -> dict[str, np.ndarray]:
        """An observation (B, ...) with those before it. :param begun: (B,) bool: trials that begin with it."""
        self.discs[:, 1:] = self.discs[:, :-1].copy()
        self.discs[begun] = 0.0
        self.discs[:, 0] = observation["discs"]
        return {**observation, "discs": self.discs.copy(), "map": _coarse(observation["map"])}

    def last(self, observation: Any, i: int) -> dict[str, np.ndarray]:
        """The last observation of the trial of table i, which is not kept."""
        discs = np.concatenate([observation["discs"][None], self.discs[i, :-1]])
        return {**observation, "discs": discs, "map": _coarse(observation["map"])}


def _coarse(grid: np.ndarray) -> np.ndarray:
    return grid[..., 1:-1:2, 1:-1:2]


class TrainingTables(VecEnvWrapper):
    """Tables whose observations are those of `Latest`, one trial an episode. The reward is 1 for a solved task, and
    `progress` times the change of the solution rate, which begins as it is at the start but for the rule that something
    has to change: where the goal is far, this is what there is to learn from.

    Rewards for coming nearer than ever before, without a loss for going away, were tried: learners never came to CHECK.
    """

    def __init__(self, tables: ProbSolVectorEnv, stack: int, progress: float) -> None:
        self.adapter = SB3VecEnv(tables)
        self.latest, self.progress = Latest(tables, stack), progress
        super().__init__(self.adapter, observation_space=self.latest.space)
        self.start = 1.0 - start_distance(tables.tasks)

    def reset(self) -> Any:
        seen = self.latest.see(self.adapter.reset(), np.ones(self.num_envs, dtype=bool))
        self.rate = self._begin()
        return seen

    def step_wait(self) -> Any:
        observation, reward, done, infos = self.adapter.step_wait()
        rate = self.adapter.infos["solution_rate"].copy()
        for i in np.flatnonzero(done).tolist():
            infos[i]["terminal_observation"] = self.latest.last(infos[i]["terminal_observation"], i)
            rate[i] = infos[i]["solution_rate"]
        reward += (self.progress * (rate - self.rate)).astype(np.float32)
        self.rate = np.where(done, self._begin(), rate)
        return self.latest.see(observation, done), reward, done, infos

    def _begin(self) -> np.ndarray:
        """(B,) solution rates at the start of what the tables now have."""
        tables: Any = self.adapter.env.unwrapped
        return self.start[tables.tables.rows]


class Trained:
    """The player of a learner: its actions are drawn with the probabilities that the policy gives them, so that another
    trial is another try."""

    actions: ActionForm = "objects"

    def __init__(self, model: MaskablePPO, stack: int, seed: int = 0) -> None:
        self.model, self.stack, self.seed = model, stack, seed

    def begin(self, batch: ProbSolVectorEnv) -> None:
        self.latest = Latest(batch, self.stack)
        self.trial = np.zeros(batch.num_envs, dtype=np.int64)
        self.random = torch.Generator().manual_seed(self.seed)

    @torch.no_grad()
    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        policy: Any = self.model.policy
        policy.set_training_mode(False)
        begun, self.trial = batch.tables.trials != self.trial, batch.tables.trials.copy()
        seen = policy.obs_to_tensor(self.latest.see(batch.observe(), begun))[0]
        chances = policy.get_distribution(seen, action_masks=batch.action_mask()).distributions
        parts = [torch.multinomial(part.probs.cpu(), 1, generator=self.random) for part in chances]
        return torch.cat(parts, dim=1).numpy()


@dataclass(frozen=True)
class ProbSolRun:
    """What a training came to.

    :ivar config: of the run. :ivar final: figures of final.json; empty before the end.
    :ivar curve: lines of metrics.jsonl. :ivar run_dir: its folder, if any. :ivar model: of sb3-contrib.
    """

    config: ProbSolConfig
    final: dict[str, float]
    curve: list[dict[str, float]]
    run_dir: Path | None
    model: MaskablePPO = field(repr=False)

    def player(self, seed: int = 0) -> Trained:
        """The trained player; the seed draws its actions."""
        return Trained(self.model, self.config.stack, seed)

    def untrained(self, seed: int = 0) -> Trained:
        """The player that the training began with."""
        return Trained(untrained_model(self.config), self.config.stack, seed)


def untrained_model(config: ProbSolConfig) -> MaskablePPO:
    """The learner that a training of this config begins with."""
    with own_random_numbers():
        return _make_model(config, config.tasks("train"))


def _make_model(config: ProbSolConfig, tasks: Sequence[Task]) -> MaskablePPO:
    """Its weights depend on the seed alone."""
    tables = ProbSolVectorEnv(
        config.num_envs, autoreset_mode="SameStep", task=tasks, trial_number=1,
        actions="objects", quiz=False, laws=config.laws, max_actions=config.max_actions,
    )  # fmt: skip
    return MaskablePPO(
        TablePolicy,
        TrainingTables(tables, config.stack, config.progress),
        learning_rate=config.learning_rate,
        n_steps=config.n_steps,
        batch_size=config.batch_size,
        n_epochs=config.epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_range,
        ent_coef=config.entropy_coefficient,
        vf_coef=config.value_coefficient,
        max_grad_norm=config.max_grad_norm,
        seed=config.seed,
        device=pick_device(config.device),
    )


@checked
def train_probsol(
    config: ProbSolConfig, run_dir: str | Path | None = None, *, resume: bool = False, progress: bool = True
) -> ProbSolRun:
    """Train, and keep metrics and checkpoints in a folder.

    :param run_dir: the folder; None keeps nothing.
    :param resume: go on from the folder's checkpoint, to the result of an uninterrupted run.
    :raises InputError: bad settings, a folder that is in use or has another config.
    """
    folder = None if run_dir is None else run_folder(Path(run_dir), config)
    if folder is not None:
        folder.check(resume)
        if folder.complete:
            return load_run(folder.path)
    parts = {part: list(config.tasks(part)) for part in ("train", "validation")}

    def measure(model: BaseAlgorithm) -> dict[str, float]:
        found = {}
        for part, tasks in parts.items():
            player = Trained(model, config.stack, config.seed)  # pyright: ignore[reportArgumentType]
            figures = play_tasks(player, spread(tasks, config.eval_tasks), trials=1, laws=config.laws).figures()
            found |= {f"{part}_{name}": figures[name] for name in ("solved", "rate")}
        return found

    model, curve = train_model(
        config,
        KIND,
        lambda: _make_model(config, parts["train"]),
        measure,
        lambda line: f"{line['validation_solved']:.0%} of validation tasks solved",
        folder=folder,
        manifest={
            "tasks": {part: content_hash([task.hash for task in tasks]) for part, tasks in parts.items()},
            "learner": "MaskablePPO",
        },
        progress=progress,
    )
    return ProbSolRun(config, dict(curve[-1]), curve, None if folder is None else folder.path, model)  # pyright: ignore[reportArgumentType]


def load_run(run_dir: str | Path, *, device: str | None = None) -> ProbSolRun:
    """A run as of its last checkpoint, ready to play.

    :param device: other than the training's.
    :raises InputError: no run there, or a damaged one.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, ProbSolConfig, device=device)
    model, folder = untrained_model(config), run_folder(run_dir, config)
    put_policy(folder, KIND, model)
    return ProbSolRun(config, read_final(run_dir) if folder.complete else {}, read_metrics(run_dir), run_dir, model)


def run_folder(path: Path, config: ProbSolConfig) -> RunFolder:
    """The folder of a run with this config."""
    return RunFolder(path, config.to_json(), lambda stored: ProbSolConfig.from_json(stored).to_json())
