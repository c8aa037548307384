"""PPO of Stable-Baselines3 in the kitchen, without and with household facts: `python learn.py --out results`.

Half of the objects are for training. Rows are about the other half, unless they start with "objects of the training".
"""

import argparse
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from dish import FACTS, Dish
from kitchen import HERE, Kitchen
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from gumption.agents import Advice
from gumption.agents.plots import save_figure
from gumption.agents.statistics import bootstrap_interval
from gumption.data.provenance import hardware, versions
from gumption.data.writing import write_json, write_text
from gumption.envs.kg_wrapper import KGScores
from gumption.kg import KnowledgeGraph, infer
from gumption.kg.rules.horn import composition
from gumption.scripts.freshness import made_with

STEPS = 10_000
#: The code on which the figures depend: `gumption experiment --stale` reports whether it has changed.
RESTS_ON = (
    "scripts/papers/tutorial",
    "envs/kg_wrapper.py",
    "agents/advice.py",
    "kg/rules",
    "kg/scores.py",
    "kg/planning.py",
)
IDS, BOTH = ("ids",), ("ids", "scores")


def household() -> KnowledgeGraph:
    """Load the facts of the CSV, and infer further facts: a thing is cleaned and stored in the same way as its kind."""
    graph = KnowledgeGraph()
    graph.load_file(HERE / "household.csv", header=True)
    infer(graph, [composition("isA", relation, relation) for relation in Kitchen.relations])
    return graph


class NoKnowledge:
    """Advice without information: the score 0 for every fact."""

    relations = Kitchen.relations

    def score(self, facts):
        return np.zeros(facts.subject.shape, dtype=np.float32)


def split() -> tuple[np.ndarray, np.ndarray]:
    """Return half of the objects for training, and the other half for the test; the same for all agents and seeds."""
    order = np.random.default_rng(0).permutation(len(Kitchen().names))
    return np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])


def success(choose, objects, advice, observation=BOTH) -> float:
    """Return the share of tasks that succeed, each object once dirty and once clean; `choose` returns an action."""
    env = KGScores(Kitchen(objects), advice, observation=observation)
    won = []
    for thing in objects:
        for clean in (0, 1):
            seen, _ = env.reset(options={"object": thing, "clean": clean})
            over, info = False, {}
            while not over:
                seen, _, over, _, info = env.step(choose(seen, env.unwrapped))
            won.append(info["success"])
    return float(np.mean(won))


def learner(advice, objects, observation, seed) -> PPO:
    envs = make_vec_env(lambda: KGScores(Kitchen(objects), advice, observation=observation), n_envs=8, seed=seed)
    return PPO("MultiInputPolicy", envs, n_steps=64, batch_size=128, learning_rate=1e-3, seed=seed, device="cpu")


def run(seed: int, advice, steps: int) -> dict[str, float]:
    """Return row -> success for all compared agents, on the test objects unless the row states other objects."""
    train, test = split()
    rng = np.random.default_rng(seed)

    def greedy(model):
        return lambda seen, env: int(model.predict(seen, deterministic=True)[0])

    def best_known(seen, env):
        total = seen["kg_scores"].sum(axis=1)
        return int(rng.choice(np.flatnonzero(total == total.max())))

    def any_of_the_best(seen):
        scores = np.where(seen["counter"], seen["kg_scores"][:, 0], -1.0)
        return int(rng.choice(np.flatnonzero(scores == scores.max())))

    def told_what_counts(seen, env):
        return int(seen["kg_scores"][:, env.clean].argmax())

    alone = learner(advice, train, IDS, seed).learn(steps)
    guided = learner(advice, train, BOTH, seed)
    untrained = success(greedy(guided), test, advice)
    guided.learn(steps)
    return {
        "random": success(lambda seen, env: int(rng.integers(env.action_space.n)), test, advice),
        "no knowledge, trained": success(greedy(alone), test, advice, IDS),
        "knowledge only, nothing learned": success(best_known, test, advice),
        "knowledge, and a person's rule which fact counts": success(told_what_counts, test, advice),
        "knowledge, network not trained": untrained,
        "knowledge, trained": success(greedy(guided), test, advice),
        "knowledge, trained, then taken away": success(greedy(guided), test, NoKnowledge()),
        "oracle": success(lambda seen, env: env.right[env.object, env.clean], test, advice),
        "objects of the training: no knowledge": success(greedy(alone), train, advice, IDS),
        "objects of the training: knowledge": success(greedy(guided), train, advice),
        "dish of two steps: random": dishes(lambda seen: int(rng.choice(np.flatnonzero(seen["counter"]))), False),
        "dish of two steps: knowledge of the last step": dishes(any_of_the_best, False),
        "dish of two steps: looking ahead": dishes(any_of_the_best, True),
    }


def dishes(choose, look_ahead: bool, episodes: int = 50) -> float:
    """Return the share of dishes that are made with the facts of dishes.csv; `choose` returns an action."""
    graph, world = KnowledgeGraph(), Dish()
    graph.load_file(FACTS, header=True)
    env = KGScores(world, Advice(graph, world.vocabulary, world.relations, look_ahead=look_ahead))
    won = []
    for episode in range(episodes):
        seen, _ = env.reset(seed=episode)
        over, info = False, {}
        while not over:
            seen, _, over, _, info = env.step(choose(seen))
        won.append(info["success"])
    return float(np.mean(won))


def report(runs: list[dict[str, float]], out: Path, about: dict) -> None:
    """Write results.json, table.md and the plot into `out`."""
    success = {row: [one[row] for one in runs] for row in runs[0]}
    write_json(out / "results.json", {**about, "success": success})
    write_text(out / "table.md", table(success))

    def draw(figure) -> None:
        axis = figure.subplots()
        shown = [row for row in success if ":" not in row]
        for place, row in enumerate(shown):
            value, low, high = bootstrap_interval(success[row])
            axis.plot([low, high], [place, place], color="#0072b2", linewidth=2.2)
            axis.plot(value, place, "o", color="#0072b2")
        axis.set_yticks(range(len(shown)), shown)
        axis.set_xlim(-0.02, 1.02)
        axis.invert_yaxis()
        axis.set_xlabel("success on objects that were never met in training")

    save_figure(draw, (6.4, 3.0), out / "final")


def table(success: dict[str, list[float]]) -> str:
    """Return a Markdown table: mean success of each row over the seeds with its 95 % bootstrap interval."""
    lines = ["| agent | success |", "| --- | ---: |"]
    for row, each in success.items():
        value, low, high = bootstrap_interval(each)
        lines.append(f"| {row} | {value:.2f} ({low:.2f} to {high:.2f}) |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="PPO in a kitchen, without and with household facts.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=STEPS, help="of each training")
    parser.add_argument("--out", type=Path, default=Path("results"))
    chosen = parser.parse_args()
    world = Kitchen()
    advice = Advice(household(), world.vocabulary, world.relations)
    started = time.process_time()
    runs = [run(seed, advice, chosen.steps) for seed in range(chosen.seeds)]
    about = {
        "command": f"python learn.py --seeds {chosen.seeds} --steps {chosen.steps}",
        "versions": versions() | {"stable-baselines3": version("stable-baselines3")},
        "hardware": hardware(),
        "formats": made_with(RESTS_ON),
        "took_s": round(time.process_time() - started, 1),
    }
    report(runs, chosen.out, about)
    print((chosen.out / "table.md").read_text(encoding="utf-8"))
