"""MaskablePPO of sb3-contrib on ProbSol's tables: training, loading and evaluation of runs.

The learner acts in the form "objects" (what to do, with which disc, where). A graph, if there is one, advises which
disc. The loop is that of `gumption.agents.learners.sb3`; further figures are train_ and validation_solved and _rate,
the share of tasks solved and the mean solution rate, in one trial each. Training plays no task of the test part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from gumption.agents.advice import Advice
from gumption.agents.knowledge import Knowledge
from gumption.agents.learners.sb3 import SB3Learner, put_policy
from gumption.agents.run import opened, own_random_numbers, run_learner
from gumption.agents.run_folder import KNOWLEDGE, RunFolder, read_config, read_final, read_metrics
from gumption.data.errors import extra
from gumption.data.sealed import content_hash
from gumption.data.settings import checked
from gumption.envs import worlds
from gumption.envs.probsol.actions import COARSE, WHAT
from gumption.envs.probsol.certification import start_distance
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.settings import ActionForm
from gumption.envs.probsol.tasks import Task
from gumption.envs.sb3_adapter import SB3VecEnv
from gumption.kg.checkpoint import pick_device

from .config import GRAPH, WORLD, ProbSolConfig
from .evaluation import play_tasks, spread
from .lived import GraphRun, load_graph, train_graph
from .networks import TablePolicy

with extra("sb3", "learning ProbSol"):
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnvWrapper

KIND = "gumption/probsol/1"


class Latest:
    """The observations of the network: the n latest ones of the discs in the trial, a map at the points of the form
    "objects", and with advice its scores (B, M, K) of putting each disc down; `space` is their space."""

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
        """An observation (B, ...) with the ones before. :param begun: (B,) bool: trials that begin with it."""
        self.discs[:, 1:] = self.discs[:, :-1].copy()
        self.discs[begun] = 0.0
        self.discs[:, 0] = observation["discs"]
        if self.advice is not None:
            self.scores = {"scores": self.advice(self.tables, self._placing).cpu().numpy()}
        return {**observation, "discs": self.discs.copy(), "map": _coarse(observation["map"]), **self.scores}

    def last(self, observation: Any, i: int) -> dict[str, np.ndarray]:
        """The last observation of the trial of table i, which `see` will not get. It has the scores of the one before:
        only a choice of discs depends on them."""
        discs = np.concatenate([observation["discs"][None], self.discs[i, :-1]])
        scores = {name: part[i] for name, part in self.scores.items()}
        return {**observation, "discs": discs, "map": _coarse(observation["map"]), **scores}


def _coarse(grid: np.ndarray) -> np.ndarray:
    return grid[..., 1:-1:2, 1:-1:2]


class TrainingTables(VecEnvWrapper):
    """Tables with the observations of `Latest`, one trial an episode. The reward is 1 for a solved task, and `progress`
    times the change of the solution rate since the start, see `start_distance`: where the goal is far, only this
    teaches.

    With rewards for coming nearer than ever before, without a loss for going away, learners never came to CHECK.
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
        """(B,) solution rates at the start of the present tasks."""
        tables: Any = self.adapter.env.unwrapped
        return self.start[tables.tables.rows]


class Trained:
    """The player of a learner. It draws its actions with the probabilities of the policy, so that another trial is
    another try. A trial as long as those of its training ends with CHECK.

    :ivar chances: (B, n) probabilities of each part of its latest action. :ivar latest: its observations.
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
        :param without_knowledge: every score that the policy reads is 0.
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
class ProbSolRun:
    """The result of a training.

    :ivar final: figures of final.json; empty before the end. :ivar curve: lines of metrics.jsonl.
    :ivar run_dir: its folder, if any. :ivar model: of sb3-contrib. :ivar knowledge: the source of advice, if any.
    """

    config: ProbSolConfig
    final: dict[str, float]
    curve: list[dict[str, float]]
    run_dir: Path | None
    model: MaskablePPO = field(repr=False)
    knowledge: Knowledge | None = field(default=None, repr=False)

    def players(self, seed: int = 0) -> dict[str, Trained]:
        """Its players by name: trained, untrained and, of a run with knowledge, trained with its knowledge taken away.

        :param seed: draws their actions.
        """
        model = _untrained_model(self.config, self.config.tasks("train"), self.knowledge)
        found = {"trained": self.player(seed), "untrained": Trained(model, self.config, seed, self.knowledge)}
        if self.knowledge is not None:
            found["knowledge taken away"] = self.player(seed, without_knowledge=True)
        return found

    def player(self, seed: int = 0, *, without_knowledge: bool = False) -> Trained:
        """The trained player alone; see `Trained`."""
        return Trained(self.model, self.config, seed, self.knowledge, without_knowledge=without_knowledge)


def untrained_run(config: ProbSolConfig) -> ProbSolRun:
    """A run before its training: its trained player is the untrained one."""
    tasks = config.tasks("train")
    knowledge = _knowledge_of(config, tasks)
    return ProbSolRun(config, {}, [], None, _untrained_model(config, tasks, knowledge), knowledge)


def _untrained_model(config: ProbSolConfig, tasks: Sequence[Task], knowledge: Knowledge | None) -> MaskablePPO:
    """The learner at the beginning of a training of this config."""
    with own_random_numbers():
        return _make_model(config, tasks, knowledge)


def _knowledge_of(config: ProbSolConfig, tasks: Sequence[Task], kept: Path | None = None) -> Knowledge | None:
    if config.kg == "none":
        return None
    batch = ProbSolVectorEnv(1, task=tasks)
    arguments = {"task": config.task, "fold": config.fold, "laws": config.laws}
    device = str(pick_device(config.device))
    asked = worlds.find(WORLD), batch.vocabulary, batch.relations
    return Knowledge.of_run(kept, config, *asked, arguments, device=device)


def _advice(knowledge: Knowledge | None, tables: ProbSolVectorEnv) -> Advice | None:
    return None if knowledge is None else knowledge.advice(tables.vocabulary, tables.relations)


def _make_model(config: ProbSolConfig, tasks: Sequence[Task], knowledge: Knowledge | None) -> MaskablePPO:
    """A learner, whose weights depend on the seed alone."""
    tables = ProbSolVectorEnv(
        config.num_envs, autoreset_mode="SameStep", task=tasks, trial_number=1,
        actions="objects", quiz=False, laws=config.laws, max_actions=config.max_actions,
    )  # fmt: skip
    advice = _advice(knowledge, tables)
    asked = {"relations": () if advice is None else advice.relations, "kg_only": config.kg_only}
    return MaskablePPO(
        TablePolicy,
        TrainingTables(tables, config.stack, config.progress, advice),
        policy_kwargs={"features_extractor_kwargs": asked},
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
) -> ProbSolRun | GraphRun:
    """Train, or let the agent "graph" live, and keep metrics and checkpoints in a folder.

    :param run_dir: the folder; None keeps nothing.
    :param resume: go on from the folder's checkpoint, to the result of an uninterrupted run.
    :raises InputError: bad settings, a folder that is in use or has another config.
    """
    folder = opened(run_dir, config, resume)
    if folder is not None and folder.complete:
        return load_run(folder.path)
    if config.agent == GRAPH:
        return train_graph(config, folder, progress=progress)
    parts = {part: list(config.tasks(part)) for part in ("train", "validation")}
    kept = folder.path / KNOWLEDGE if folder is not None and folder.has_checkpoint else None
    knowledge = _knowledge_of(config, parts["train"], kept)
    about = {} if knowledge is None else {"knowledge": knowledge.about}

    def measure(model: BaseAlgorithm) -> dict[str, float]:
        found = {}
        for part, tasks in parts.items():
            player = Trained(model, config, config.seed, knowledge)  # pyright: ignore[reportArgumentType]
            figures = play_tasks(player, spread(tasks, config.eval_tasks), trials=1, laws=config.laws).figures()
            found |= {f"{part}_{name}": figures[name] for name in ("solved", "rate")}
        return found

    def make() -> SB3Learner:
        return SB3Learner(
            config,
            KIND,
            _make_model(config, parts["train"], knowledge),
            measure,
            lambda line: f"{line['validation_solved']:.0%} of validation tasks solved",
            manifest={
                "tasks": {part: content_hash([task.hash for task in tasks]) for part, tasks in parts.items()},
                "learner": "MaskablePPO",
                **about,
            },
            keep=lambda path: None if knowledge is None else knowledge.save(path / KNOWLEDGE),
            measured=("train_solved", min(len(parts["train"]), config.eval_tasks)),
        )

    learner, curve, final = run_learner(folder, make, progress=progress)
    model: Any = learner.model
    return ProbSolRun(config, final, curve, None if folder is None else folder.path, model, knowledge)


@checked
def load_run(run_dir: str | Path, *, device: str | None = None) -> ProbSolRun | GraphRun:
    """A run as of its last checkpoint, ready to play.

    :param device: other than the training's.
    :raises InputError: no run there, or a damaged one.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, ProbSolConfig, device=device)
    if config.agent == GRAPH:
        return load_graph(config, RunFolder.of(run_dir, config))
    tasks, knowledge = config.tasks("train"), None
    if config.kg != "none":
        batch = ProbSolVectorEnv(1, task=tasks)
        device = str(pick_device(config.device))
        knowledge = Knowledge.load(run_dir / KNOWLEDGE, batch.vocabulary, batch.relations, device)
    model, folder = _untrained_model(config, tasks, knowledge), RunFolder.of(run_dir, config)
    put_policy(folder, KIND, model)
    final = read_final(run_dir) if folder.complete else {}
    return ProbSolRun(config, final, read_metrics(run_dir), run_dir, model, knowledge)


@checked
def load_policy(run_dir: str | Path, **places: str | None) -> tuple[ProbSolConfig, MaskablePPO | GraphRun]:
    """The config of a run, and its model, or a run of the agent "graph"; see `load_run`."""
    run = load_run(run_dir, **places)
    return run.config, run if isinstance(run, GraphRun) else run.model
