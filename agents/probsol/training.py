"""MaskablePPO of sb3-contrib on ProbSol's tables: training, loading and evaluation of runs.

The learner acts in the form "objects" (verb, disc, point). A graph, if there is one, gives advice on the disc. The
training loop is in `gumption.agents.learners.sb3`; further metrics are train_ and validation_solved and _rate, the
share of tasks solved and the mean solution rate, in one trial each. Training plays no task of the test part.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from gumption.agents.advice import Advice
from gumption.agents.knowledge import Knowledge
from gumption.agents.learners.sb3 import SB3Run, SB3Setup, load_sb3, ppo_settings, train_sb3
from gumption.agents.run import Line, opened
from gumption.agents.run_folder import RunFolder, read_config
from gumption.agents.settings import GRAPH
from gumption.data.errors import extra
from gumption.data.sealed import content_hash
from gumption.data.settings import checked
from gumption.envs.probsol.actions import COARSE, WHAT
from gumption.envs.probsol.certification import start_distance
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.settings import ActionForm
from gumption.envs.probsol.tasks import Task
from gumption.envs.sb3_adapter import SB3VecEnv

from .config import ProbSolConfig
from .evaluation import play_tasks, spread
from .lived import GraphRun, load_graph, train_graph
from .networks import TablePolicy

with extra("sb3", "learning ProbSol"):
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecEnvWrapper

KIND = "gumption/probsol/1"


class Latest:
    """Build the observations of the network: the n latest observations of the discs in the trial, a map at the points
    of the form "objects", and the advice's scores (B, M, K) for putting each disc down; `space` is their space."""

    def __init__(self, tables: ProbSolVectorEnv, stack: int, advice: Advice | None = None) -> None:
        seen: Any = tables.single_observation_space
        self.tables, self.advice = tables, advice
        self._placing = np.full((tables.num_envs, 1), WHAT.index("place"))
        self.discs = np.zeros((tables.num_envs, stack, *seen["discs"].shape), dtype=np.float32)
        self.space = spaces.Dict(
            {
                **seen.spaces,
                "discs": spaces.Box(-1.0, 1.0, self.discs.shape[1:], np.float32),
                "map": spaces.Box(0, 1, (5, COARSE, COARSE), np.uint8),
            }
        )
        self.scores: dict[str, np.ndarray] = {}
        if advice is not None:
            each = (tables.tables.discs, len(advice.relations))
            self.space = spaces.Dict({**self.space.spaces, "scores": spaces.Box(-np.inf, np.inf, each, np.float32)})

    def see(self, observation: Any, begun: np.ndarray) -> dict[str, np.ndarray]:
        """Add an observation (B, ...) to the earlier ones. :param begun: (B,) bool: a trial begins with it."""
        self.discs[:, 1:] = self.discs[:, :-1].copy()
        self.discs[begun] = 0.0
        self.discs[:, 0] = observation["discs"]
        if self.advice is not None:
            self.scores = {"scores": self.advice(self.tables, self._placing).cpu().numpy()}
        return {**observation, "discs": self.discs.copy(), "map": _coarse(observation["map"]), **self.scores}

    def last(self, observation: Any, i: int) -> dict[str, np.ndarray]:
        """Return the last observation of the trial of table i, which `see` does not receive. It contains the scores of
        the previous observation: only a choice of discs depends on them."""
        discs = np.concatenate([observation["discs"][None], self.discs[i, :-1]])
        scores = {name: part[i] for name, part in self.scores.items()}
        return {**observation, "discs": discs, "map": _coarse(observation["map"]), **scores}


def _coarse(grid: np.ndarray) -> np.ndarray:
    return grid[..., 1:-1:2, 1:-1:2]


class TrainingTables(VecEnvWrapper):
    """Tables with the observations of `Latest`, one trial per episode. The reward is 1 for a solved task, plus
    `progress` times the change of the solution rate, from its value by `start_distance`. If the goal is far, this is
    the only learning signal.

    With rewards for new minima of the distance, without a loss for larger distances, learners never learned to CHECK.
    """

    def __init__(self, tables: ProbSolVectorEnv, stack: int, progress: float, advice: Advice | None = None) -> None:
        self.adapter = SB3VecEnv(tables)
        self.latest, self.progress = Latest(tables, stack, advice), progress
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
        """Return (B,), the solution rates at the start of the present tasks."""
        tables: Any = self.adapter.env.unwrapped
        return self.start[tables.tables.rows]


class Trained:
    """The player of a trained policy. It samples actions from the policy, so that trials differ. A trial that reaches
    the length of training trials ends with CHECK.

    :ivar chances: (B, n) probabilities of each part of the latest action. :ivar latest: its observations.
    """

    actions: ActionForm = "objects"

    def __init__(
        self,
        model: MaskablePPO,
        config: ProbSolConfig,
        seed: int = 0,
        knowledge: Knowledge | None = None,
        *,
        without_knowledge: bool = False,
    ) -> None:
        """
        :param knowledge: the source of advice for the tasks to play.
        :param without_knowledge: set every score that the policy reads to 0.
        """
        self.model, self.config, self.seed = model, config, seed
        self.knowledge, self.without = knowledge, without_knowledge

    def begin(self, batch: ProbSolVectorEnv) -> None:
        advice = _advice(self.knowledge, batch)
        self.latest = Latest(batch, self.config.stack, advice)
        self.trial = np.zeros(batch.num_envs, dtype=np.int64)
        self.random = torch.Generator().manual_seed(self.seed)

    @torch.no_grad()
    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        policy: Any = self.model.policy
        policy.set_training_mode(False)
        begun, self.trial = batch.tables.trials != self.trial, batch.tables.trials.copy()
        seen = policy.obs_to_tensor(self.latest.see(batch.observe(), begun))[0]
        if self.without:
            seen["scores"] = torch.zeros_like(seen["scores"])
        chances = policy.get_distribution(seen, action_masks=batch.action_mask()).distributions
        self.chances = [part.probs.cpu() for part in chances]
        parts = [torch.multinomial(each, 1, generator=self.random) for each in self.chances]
        actions = torch.cat(parts, dim=1).numpy()
        late, free = batch.tables.actions >= self.config.max_actions, batch.tables.hand == 0
        actions[late & free, 0], actions[late & ~free, 0] = WHAT.index("check"), WHAT.index("put_down")
        return actions


@dataclass(frozen=True)
class ProbSolRun(SB3Run):
    """A run of MaskablePPO."""

    def players(self, seed: int = 0) -> dict[str, Trained]:
        """Return players by name: trained, untrained and, for a run with knowledge, trained without its knowledge.

        :param seed: of their actions.
        """
        players = {"trained": self.player(seed), "untrained": self.setup.untrained().player(seed)}
        if self.setup.knowledge is not None:
            players["knowledge taken away"] = self.player(seed, without_knowledge=True)
        return players

    def player(self, seed: int = 0, *, without_knowledge: bool = False) -> Trained:
        """Return the trained player; see `Trained`."""
        return Trained(self.policy, self.config, seed, self.setup.knowledge, without_knowledge=without_knowledge)


class ProbSolSetup(SB3Setup):
    """The tasks, tables and metrics of MaskablePPO."""

    kind = KIND
    config_class = ProbSolConfig
    measured = property(lambda self: ("train_solved", min(len(self.tasks), self.config.eval_tasks)))

    @cached_property
    def tasks(self) -> list[Task]:
        """Return the training tasks."""
        return list(self.config.tasks("train"))

    @cached_property
    def parts(self) -> dict[str, list[Task]]:
        return {"train": self.tasks, "validation": list(self.config.tasks("validation"))}

    def asked(self) -> tuple[Any, dict[str, Any]]:
        config = self.config
        return ProbSolVectorEnv(1, task=self.tasks), {"task": config.task, "fold": config.fold, "laws": config.laws}

    def run(self, model: Any, final: Line, curve: list[Line], run_dir: Path | None) -> ProbSolRun:
        return ProbSolRun(self.config, final, curve, run_dir, model, self)

    def measure(self, model: Any) -> Line:
        config, line = self.config, {}
        for part, tasks in self.parts.items():
            player = Trained(model, config, config.seed, self.knowledge)
            figures = play_tasks(player, spread(tasks, config.eval_tasks), trials=1, laws=config.laws).figures()
            line |= {f"{part}_{name}": figures[name] for name in ("solved", "rate")}
        return line

    def words(self, line: Line) -> str:
        return f"{line['validation_solved']:.0%} of validation tasks solved"

    def inputs(self) -> dict[str, Any]:
        hashes = {part: content_hash([task.hash for task in tasks]) for part, tasks in self.parts.items()}
        return {"tasks": hashes, "learner": "MaskablePPO"}

    def make_model(self) -> MaskablePPO:
        config = self.config
        tables = ProbSolVectorEnv(
            config.num_envs, autoreset_mode="SameStep", task=self.tasks, trial_number=1,
            actions="objects", quiz=False, laws=config.laws, max_actions=config.max_actions,
        )  # fmt: skip
        advice = _advice(self.knowledge, tables)
        mixed = {"relations": () if advice is None else advice.relations, "kg_only": config.kg_only}
        return MaskablePPO(
            TablePolicy,
            TrainingTables(tables, config.stack, config.progress, advice),
            policy_kwargs={"features_extractor_kwargs": mixed},
            batch_size=config.batch_size,
            **ppo_settings(config),
        )


def _advice(knowledge: Knowledge | None, tables: ProbSolVectorEnv) -> Advice | None:
    return None if knowledge is None else knowledge.advice(tables.vocabulary, tables.relations)


@checked
def train_probsol(
    config: ProbSolConfig, run_dir: str | Path | None = None, *, resume: bool = False, progress: bool = True
) -> ProbSolRun | GraphRun:
    """Train with `train_sb3`, or run the tries of the agent "graph"."""
    if config.agent == GRAPH:
        folder = opened(run_dir, config, resume)
        if folder is not None and folder.complete:
            return load_graph(config, folder)
        return train_graph(config, folder, progress=progress)
    return train_sb3(ProbSolSetup, config, run_dir, resume=resume, progress=progress)


@checked
def load_run(run_dir: str | Path, *, device: str | None = None) -> ProbSolRun | GraphRun:
    """Load a run at its last checkpoint; see `load_sb3`."""
    config = read_config(Path(run_dir), ProbSolConfig, device=device)
    if config.agent == GRAPH:
        return load_graph(config, RunFolder.of(run_dir, config))
    return load_sb3(ProbSolSetup, run_dir, device)
