"""Evaluate agents in the tests made for them: the columns of the paper's Table 1.

Each run is tested with its own mazes, because the diagnostic tests query pairs that its agent has not seen. The
interval of one run is over its mazes; the interval of several runs of one agent, which differ in their seeds, is over
the runs. Standard deviations divide by n, as in Table 1: otherwise three seeds whose scores are multiples of 5 % could
not give its 55.00 and 7.07.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np

from gumption.agents.evaluation import GivenPlayer, Keep, ends, name_of
from gumption.agents.transcript import failures, transcript
from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.sealed import read_sealed, write_sealed
from gumption.data.settings import Count, Size, check, checked, settings
from gumption.envs.halma import HALMAVectorEnv, Mazes
from gumption.envs.halma.diagnostics import (
    DYNAMIC,
    SHAPE,
    SPLITS,
    TESTS,
    TRAINING,
    matched_mazes,
    shape_of,
)
from gumption.envs.halma.maze import (
    Images,
    Observation,
    Panels,
)
from gumption.envs.halma.rules import RULES, OptLen, Rules
from gumption.envs.halma.splits import load_splits

from .acting import (
    Actor,
    KnowledgeActor,
    MakeActor,
    OracleActor,
    Percept,
    RandomActor,
    explored,
    panel_rows,
    play,
)
from .config import GRAPH, HALMAConfig

if TYPE_CHECKING:
    from gymnasium.spaces import MultiDiscrete

    from gumption.envs.halma.splits import Splits

    from .runs import HALMARun

SCHEMA = "gumption/halma-evaluation/1"
EVALUATION = "evaluation.json"  # file in a run's folder
MEASURES = ("rho_a", "rho_g", "rho_p")
RETURN = "return"  # one more measure: the discounted return of an episode, across its trials (equation 1)
WITH_OWN, WITH_GRAPH = " + own graph", " + given graph"
LIVED = "graph of its own moves"
ROWS = (*SPLITS, DYNAMIC)
SEEDS = (0, 1, 2)
MATCHED = "matched"  # key in a test's summary: the summary of random mazes of the same shape
# The columns next to a guided agent in every table. Its column "no knowledge" is another training, the agent MLP.
KNOWLEDGE_ONLY = "knowledge only"
UNTRAINED = "untrained network + KG"
TAKEN_AWAY = "trained network, KG taken away"
RANDOM, ORACLE = "random", "oracle"
COMPARISONS = (KNOWLEDGE_ONLY, UNTRAINED, TAKEN_AWAY, RANDOM, ORACLE)
DRAWN = ", options drawn"  # after the name of an agent of TD3, which otherwise takes the likeliest option

_OF_A_RUN = ("seed", "device", "space_model")  # settings that may differ among the runs of one agent

#: The summary of a test that a run lacks.
ABSENT: dict[str, Any] = {"mazes": 0, "reason": "the splits have no such test"}

Summary = dict[str, Any]  # summary of a test; see `evaluate_splits`


class Playable(Protocol):
    """A run that can be tested, such as `gumption.agents.halma.runs.HALMARun`."""

    @property
    def config(self) -> HALMAConfig: ...

    def actor(self) -> Actor: ...


@settings
class GivenAgent:
    """A person's own function (observation, info) -> options in the tests; see `GivenPlayer`.

    The observation is (B, 11, 19) uint8 of symbols, or (B, 128, 128, 3) uint8; the options are (B, 1 + T) integers: a
    direction and T primitives. info holds only what an agent perceives: "first" (B,) bool, an episode begins;
    "trial_over", "success" (B,) bool, "reward" (B,) float32 and "action" (B, 1 + T) of the previous move, zeros at the
    beginning; "action_mask" (B, 4 + 4 T); and for symbols "panel" (B, 11), their panel row.

    :ivar observation, images, panels: as in `HALMASettings`.
    :ivar single: the policy is for one environment: its observation, info and option have no leading axis.
    :ivar max_opt_len: T; `evaluate_splits` takes it from the splits.
    :ivar env: other settings of the environment.
    """

    policy: Callable[..., Any]
    name: str = ""
    observation: Observation = "symbolic"
    images: Images = "train"
    panels: Panels = "redrawn"
    single: bool = False
    max_opt_len: OptLen = 5
    env: Mapping[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> GivenAgent:
        """The agent itself, in place of a run's config."""
        return self

    def to_json(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("observation", "max_opt_len", "images", "panels")}
        return {"agent": label(self), **own, **self.env}

    def actor(self, test: str = "the test") -> Actor:
        space = HALMAVectorEnv(1, max_opt_len=self.max_opt_len, **self.env).single_action_space
        return _GivenActor(GivenPlayer(self.policy, space, single=self.single, name=label(self), where=test), self)


class _GivenActor:
    def __init__(self, player: GivenPlayer, agent: GivenAgent) -> None:
        self.player, self.agent = player, agent

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        size = len(percept.first)
        info = {
            "first": percept.first,
            "trial_over": percept.trial_over,
            "success": percept.reached,
            "reward": percept.reward,
            "action": percept.action,
            "action_mask": np.ones((size, int(cast("MultiDiscrete", self.player.space).nvec.sum())), dtype=np.int8),
        }
        if self.agent.observation == "symbolic":
            info["panel"] = panel_rows(percept.observation)
        return self.player.actions(percept.observation, info, size)


def label(config: HALMAConfig | GivenAgent) -> str:
    """Return an agent's name as in Table 1, with the graph that guides it."""
    if isinstance(config, GivenAgent):
        return config.name or name_of(config.policy)
    if config.agent == GRAPH:
        return LIVED
    return config.agent.upper() + config.guided * WITH_OWN + (config.kg != "none") * WITH_GRAPH


def images(config: HALMAConfig | GivenAgent, test: str) -> str:
    """Return the handwriting that an agent sees in a test.

    Decision: T has the handwriting of the training, all other tests have held-out handwriting. T therefore measures
    learning from the same panels, RT transfer.
    """
    return config.images if test == TRAINING else config.images.replace("train", "test")


def evaluate_splits(
    run: Playable | GivenAgent | Callable[..., Any],
    splits: Splits,
    *,
    seeds: Sequence[int] = SEEDS,
    tests: Sequence[str] | None = None,
    num_mazes: Size | None = None,
    matched: bool = False,
    keep: Callable[[str, Mapping[str, Summary]], None] | None = None,
    beside: Mapping[str, MakeActor] | None = None,
) -> dict[str, Any]:
    """Play every test of `splits` once with each seed, with the run's actor and with other actors for comparison.

    :param run: see `load_run`; or a function (observation, info) -> options, or a `GivenAgent`.
    :param seeds: seeds of the actor's draws, and of panels that are not fixed.
    :param tests: names of tests; None for all.
    :param num_mazes: play at most this number of mazes of each test, the first ones.
    :param matched: the run's actor also plays random mazes of the same shape as each generated test, see
        `matched_mazes`: tests are easier than random mazes, whose paths are longer.
    :param keep: called with the name and the summary of each test after it is played.
    :param beside: by name, other actors that play the same tests; see `comparisons`.
    :returns: {"schema", "agent", "config", "seeds", "knowledge", "tests", "failures": sentences about the choices of
        the run's actor, "beside": tests by name}; a test is {"mazes": their number, "reason": why it has none, or None,
        "rho_a", "rho_g", "rho_p", "return": {"mean", "std" over the seeds, "low", "high": the 95 % bootstrap interval
        over the mazes, "per_seed", "per_maze": the mean of each maze over the seeds}}. With `matched` a generated test
        has "matched", the same for the random mazes, with "shape": for "way", "dead ends" and "crossings" the means of
        the test and of the random mazes, and the mean difference. "choices" holds the non-default settings for reading
        the experience.
    :raises InputError: no seed, knowledge bases of options of another length, or a function that returns no options.
    """
    if not seeds:
        raise InputError("no seeds; give at least one")
    length = splits.manifest["knowledge"]["max_opt_len"]
    agent = cast(
        "Playable | GivenAgent", run if hasattr(run, "config") else GivenAgent(cast("Callable[..., Any]", run))
    )
    if isinstance(agent, GivenAgent):
        agent = replace(agent, max_opt_len=length, env={**agent.env, **splits.rules.changes})
    config = agent.config
    if length != config.max_opt_len:
        raise InputError(
            f"the splits were made for options of {length} primitives and the run has {config.max_opt_len}: "
            "give the run its own splits"
        )

    if not isinstance(config, GivenAgent) and splits.rules != config.rules:
        theirs, own = (rules.changes or "the paper's rules" for rules in (splits.rules, config.rules))
        raise InputError(f"the splits were made in a world of {theirs} and the run in one of {own}: give it its own")
    for test in tests or ():
        check("tests", test, Literal[tuple(splits)])
    chosen = [test for test in splits if tests is None or test in tests]

    played_mazes = {
        test: splits[test] if num_mazes is None else Mazes(splits[test].mazes[:num_mazes], splits.rules)
        for test in chosen
    }
    controls: dict[str, Mazes] = {}
    if matched:
        training, seed = splits.get(TRAINING, ()), splits.manifest.get("parameters", {}).get("seed", 0)
        generated = [test for test in chosen if test not in SPLITS[:2]]  # T and RT are random mazes themselves
        controls = {test: matched_mazes(played_mazes[test], seed=seed, but=training) for test in generated}

    def tests_of(make: MakeActor | None) -> dict[str, Summary]:
        played, beside_them = {}, {}
        for test, mazes in played_mazes.items():
            played[test] = play_test(agent, mazes, test, seeds, make)
            if make is None and test in controls:
                beside_them[test] = play_test(agent, controls[test], test, seeds, make)
            if keep is not None:
                keep(test, summarise(played[test]))
        found = _summaries(splits, played, None if tests is None else "not asked for")
        return _with_controls(found, beside_them, played_mazes, controls)

    with transcript() as kept:
        own = tests_of(None)
    return {
        "schema": SCHEMA,
        "agent": label(config),
        "config": json.loads(json.dumps(config.to_json())),  # in the form read from a file
        "seeds": list(seeds),
        "knowledge": splits.manifest["knowledge"]["fingerprint"],
        **({"choices": splits.choices} if splits.choices else {}),
        "tests": own,
        "failures": failures(kept),
        "beside": {name: tests_of(make) for name, make in (beside or {}).items()},
    }


@checked
def evaluate_policy(
    policy: Callable[..., Any],
    *,
    splits: Path,
    seeds: Count = 3,
    tests: tuple[str, ...] | None = None,
    num_mazes: Size | None = None,
    matched: bool = True,
    observation: Observation = "symbolic",
    images: Images = "train",
    panels: Panels = "redrawn",
    single: bool = False,
    name: str | None = None,
    keep: Keep | None = None,
    progress: bool = False,
    **env: Any,
) -> dict[str, Any]:
    """Play every test with a policy of your own, and report the paper's measures with their intervals.

    :param splits: folder of tests, as `gumption splits` makes it.
    :param seeds: how often each test is played, seeds 0, 1, ...
    :param tests: the names of those that are played, with commas between; without any, all.
    :param num_mazes: of each test at most so many.
    :param matched: also play random mazes of the shape of each generated test.
    :param observation: what it sees: symbolic or visual.
    :param images: handwriting of visual panels in training: train or train-full.
    :param panels: visual panels are redrawn at each look, or fixed.
    :param single: the policy is for one environment.
    :param keep: called with each test as it ends.
    :param progress: show the test that is played on stderr.
    :param env: other settings of the environment, see `HALMASettings`.
    :raises InputError: as `evaluate_splits`; no tests there, or no such test or setting.
    """

    agent = GivenAgent(policy, name or "", observation, images, panels, single, env=env)
    made = load_splits(splits)
    with Bar(len(tests or made), "playing", progress) as bar:
        done = 0

        def ended(test: str, figures: Mapping[str, Summary]) -> None:
            nonlocal done
            done += 1
            bar.show(done, test)
            if keep is not None:
                keep({"test": test, **figures})

        found = evaluate_splits(
            agent, made, seeds=range(seeds), tests=tests, num_mazes=num_mazes, matched=matched, keep=ended
        )
    played: dict[str, Summary] = {}
    for test, figures in found["tests"].items():
        if figures["mazes"]:
            row = "all diagnostic tests" if test == DYNAMIC else test
            played[row] = figures
            if MATCHED in figures:
                played[f"{row}, matched"] = figures[MATCHED]
    none = [f"{test}: {figures['reason']}" for test, figures in found["tests"].items() if not figures["mazes"]]
    about = f"valid moves, trials that reach the goal, efficiency; {seeds} seeds, intervals over the mazes"
    told = [about, *none, *told_shapes(found["tests"])]
    shown = {
        f"{row} ({figures['mazes']})": {measure: figures[measure] for measure in MEASURES}
        for row, figures in played.items()
    }
    return {**found, "players": {label(agent): shown}, "parts": "test (mazes)", "about": "\n".join(told)}


def play_test(
    run: Playable | GivenAgent, mazes: Mazes, test: str, seeds: Sequence[int], make: MakeActor | None = None
) -> np.ndarray:
    """Return measures (4, S, M) of an episode in each of M mazes and S seeds each, of the run's or `make`'s actor."""
    given = isinstance(run, GivenAgent)
    size = 1 if given and run.single else len(mazes)  # number of mazes played in parallel
    env = env_of(run.config, mazes, test, size)
    actor = make(env) if make is not None else run.actor(test) if given else run.actor()
    batches = np.arange(len(mazes)).reshape(-1, size)
    played = [[np.stack(play(actor, env, batch, seed)) for batch in batches] for seed in seeds]
    return np.stack([np.concatenate(parts, axis=1) for parts in played], axis=1)


def env_of(config: HALMAConfig | GivenAgent, mazes: Mazes, test: str, size: int | None = None) -> HALMAVectorEnv:
    """Return an environment for each maze of a test, or `size` of them, with the observations of the run's agent."""
    visual = config.observation == "visual"
    seen = {"panels": config.panels, "images": images(config, test)} if visual else {}
    more = config.env if isinstance(config, GivenAgent) else {"painter": config.painter}
    same = {"observation": config.observation, "max_opt_len": config.max_opt_len}
    return HALMAVectorEnv(size or len(mazes), mazes=mazes, autoreset_mode="SameStep", **same, **seen, **more)


def summarise(played: np.ndarray) -> Summary:
    """Summarise a test of one run, from its measures (4, S, M)."""
    found: Summary = {"mazes": played.shape[2], "reason": None}
    for measure, values in zip((*MEASURES, RETURN), played, strict=True):
        per_seed, per_maze = values.mean(1), values.mean(0)
        own = {"per_seed": _rounded(per_seed), "per_maze": _rounded(per_maze)}
        found[measure] = {**_spread(per_seed, per_maze), **own}
    return found


def _summaries(splits: Splits, played: Mapping[str, np.ndarray], left_out: str | None) -> dict[str, Summary]:
    """Summarise all tests of one run, from the measures of the played tests; user-defined tests come last.

    :param left_out: the reason why a test with mazes was not played.
    """
    tests: dict[str, Summary] = {}
    for test in dict.fromkeys((*SPLITS, *played)):
        reason = left_out if left_out and test in splits else splits.reasons.get(test, ABSENT["reason"])
        tests[test] = summarise(played[test]) if test in played else {"mazes": 0, "reason": reason}
    dynamic = [played[test] for test in TESTS if test in played]
    none = {"mazes": 0, "reason": "none of the diagnostic tests has mazes"}
    own = {test: tests.pop(test) for test in list(tests) if test not in SPLITS}
    return {**tests, DYNAMIC: summarise(np.concatenate(dynamic, axis=2)) if dynamic else none, **own}


def _with_controls(
    found: dict[str, Summary],
    played: Mapping[str, np.ndarray],
    tests: Mapping[str, Mazes],
    controls: Mapping[str, Mazes],
) -> dict[str, Summary]:
    """Add to each test the summary of its matched random mazes, whose measures are `played`."""
    shapes = {test: np.stack([shape_of(tests[test]), shape_of(mazes)]) for test, mazes in controls.items()}
    parts = {test: [test] for test in played}
    if dynamic := [test for test in TESTS if test in played]:
        parts[DYNAMIC] = dynamic
    for test, names in parts.items():
        shape = np.concatenate([shapes[name] for name in names], axis=1)
        figures = np.stack([*shape.mean(1), np.abs(shape[0] - shape[1]).mean(0)], axis=1)
        about = {
            name: dict(zip(("test", "random", "difference"), _rounded(of), strict=True))
            for name, of in zip(SHAPE, figures, strict=True)
        }
        found[test][MATCHED] = {**summarise(np.concatenate([played[name] for name in names], axis=2)), "shape": about}
    return found


def told_shapes(tests: Mapping[str, Summary]) -> list[str]:
    """Describe how close the matched random mazes are to each test, a line for each."""
    lines = []
    for test, found in tests.items():
        if MATCHED in found and test != DYNAMIC:
            parts = (
                f"{name} {of['test']:.1f} and {of['random']:.1f} ({of['difference']:.2f} apart)"
                for name, of in found[MATCHED]["shape"].items()
            )
            lines.append(f"{test} and its matched random mazes: {', '.join(parts)}")
    return lines


def rows_of(columns: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the tests of columns or of evaluations: `ROWS`, then user-defined tests."""
    return tuple(dict.fromkeys([*ROWS, *(test for column in columns for test in column["tests"])]))


def _spread(over: np.ndarray, resampled: np.ndarray) -> dict[str, float | None]:
    """Return mean and std of `over`, and the interval of the mean of `resampled`; None for a single value."""
    low, high = ends(resampled)
    std = None if len(over) < 2 else round(float(over.std()), 5)
    return {"mean": round(float(over.mean()), 5), "std": std, "low": low, "high": high}


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 5) for value in values]


class Exploring:
    """Play an actor's option with probability `greedy`, else a random option, as trained agents do."""

    def __init__(self, actor: Actor, greedy: float, rules: Rules = RULES) -> None:
        self.actor, self.greedy, self.rules = actor, greedy, rules

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        return explored(rng, self.actor.act(percept, rng), self.greedy, self.rules)


def comparisons(run: HALMARun) -> Mapping[str, MakeActor]:
    """Return, by name, further actors that play the tests of a run.

    For a run with knowledge these are COMPARISONS, with its final knowledge. An agent by TD3 takes the likeliest
    option, while the target of its critic draws options; acting by drawn options is therefore measured, too.
    """
    config = run.config
    others: dict[str, MakeActor] = {
        RANDOM: lambda _: RandomActor(config.max_opt_len, config.rules),
        ORACLE: OracleActor,
    }
    if config.agent == GRAPH:
        return others
    guide, found = run.policy.guide, dict[str, MakeActor]()
    if config.learner == "td3":
        found[label(config) + DRAWN] = lambda _: run.actor(drawn=True)
    if guide is None:
        return found
    greedy, rules = config.parameters.greedy_last, config.rules
    return found | {
        KNOWLEDGE_ONLY: lambda _: Exploring(KnowledgeActor(guide.knowledge, config.max_opt_len, rules), greedy, rules),
        UNTRAINED: lambda _: run.actor(trained=False),
        TAKEN_AWAY: lambda _: run.actor(guided=False),
        **others,
    }


def columns(evaluations: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the columns of Table 1 by the name of the agent.

    Runs that differ in their seed alone are one agent. Agents of the same name get the settings that differ appended.

    :param evaluations: results of `evaluate_splits`.
    :returns: by name {"agent", "config" without the seed, "runs": their number, "tests"}. After a guided agent follow
        the actors compared with it in each of its runs; they have "beside", the name of the agent. A test of one run is
        as in `evaluate_splits`; of several runs, mean, std and interval are over the "runs" that have the test,
        "per_run" holds the runs' means, "mazes" counts all their mazes, and "reason" explains missing tests.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for evaluation in evaluations:
        groups.setdefault(json.dumps(_settings_of(evaluation), sort_keys=True), []).append(evaluation)
    found: dict[str, dict[str, Any]] = {}
    names = _names(list(groups.values()))
    for name, group in zip(names, groups.values(), strict=True):
        first = group[0]
        about = {"config": _settings_of(first), "runs": len(group)}
        found[name] = {"agent": first["agent"], **about, "tests": _tests_together([one["tests"] for one in group])}
        differing = name.removeprefix(first["agent"])
        for other in first.get("beside", {}):
            tests = [one["beside"][other] for one in group if other in one.get("beside", {})]
            if len(tests) == len(group):
                found[other + differing] = {"agent": other, **about, "beside": name, "tests": _tests_together(tests)}
    every = rows_of(found.values())
    for column in found.values():
        column["tests"] = {test: column["tests"].get(test, {**ABSENT, "runs": 0}) for test in every}
    return found


def agents_of(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the columns without the actors compared with an agent."""
    return {name: column for name, column in found.items() if "beside" not in column}


def _tests_together(tests: Sequence[Mapping[str, Summary]]) -> dict[str, Summary]:
    return {test: together([one.get(test, ABSENT) for one in tests]) for test in dict.fromkeys([*ROWS, *chain(*tests)])}


def together(summaries: Sequence[Summary]) -> Summary:
    """Combine a test of several runs. A single run keeps its mean, deviation and interval."""
    have = [one for one in summaries if one["mazes"]]
    reasons = list(dict.fromkeys(one["reason"] for one in summaries if one["reason"]))
    found: Summary = {
        "mazes": sum(one["mazes"] for one in have),
        "runs": len(have),
        "reason": "; ".join(reasons) or None,
    }
    for measure in (*MEASURES, RETURN) if have else ():
        if any(measure not in one for one in have):  # saved evaluations may lack the return
            continue
        if len(have) == 1:
            found[measure] = {key: have[0][measure][key] for key in ("mean", "std", "low", "high")}
            continue
        means = np.array([one[measure]["mean"] for one in have])
        found[measure] = {**_spread(means, means), "per_run": _rounded(means)}
    if controls := [one[MATCHED] for one in have if MATCHED in one]:
        shapes = {
            name: {part: float(np.mean([one["shape"][name][part] for one in controls])) for part in parts}
            for name, parts in controls[0]["shape"].items()
        }
        found[MATCHED] = {**together(controls), "shape": shapes}
    return found


def _settings_of(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in which agents differ: the config, and how their experience was read for the tests."""
    config = {key: value for key, value in evaluation["config"].items() if key not in _OF_A_RUN}
    return {**config, **evaluation.get("choices", {})}


def _names(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return a name for each group of evaluations: the agent, and the settings that differ among its namesakes."""
    firsts = [(group[0]["agent"], _settings_of(group[0])) for group in groups]
    names = []
    for agent, own in firsts:
        same = [settings for other, settings in firsts if other == agent]
        differ = [key for key in own if any(one.get(key) != same[0].get(key) for one in same)]
        names.append(", ".join([agent, *(f"{key} {own[key]}" for key in differ)]))
    return names


def save_evaluation(path: Path, evaluation: Mapping[str, Any]) -> None:
    write_sealed(path, evaluation)


def load_evaluation(path: Path) -> dict[str, Any]:
    """:raises InputError: no such file, or another kind of file."""
    value = read_sealed(path, missing="no evaluation there: evaluate the run first", advice="evaluate the run again")
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise InputError(f"{path}: no evaluation of schema {SCHEMA}; evaluate the run again")
    # Missing fields, newer than the run, get their defaults, as in `RunConfig.from_json`.
    return {**value, "config": {**HALMAConfig().to_json(), **value["config"]}}
