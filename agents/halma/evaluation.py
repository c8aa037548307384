"""How trained agents do in the tests that were made for them: the columns of the paper's Table 1.

Each run is tested with its own mazes, because the diagnostic tests ask what its agent has not seen. One run is summed
up over its mazes, several runs of one agent over the runs: an interval tells how far another maze, or another training
with another seed, may be from the mean. Standard deviations divide by n, as those of Table 1 do: three seeds whose
scores are multiples of 5 % can give its 55.00 and 7.07 in no other way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from gumption.agents.statistics import bootstrap_interval
from gumption.data import InputError
from gumption.data.sealed import read_sealed, write_sealed
from gumption.envs.halma import HALMAVectorEnv, Mazes
from gumption.envs.halma.diagnostics import SPLITS, TESTS, TRAINING

from .acting import Actor, MakeActor, play
from .config import HALMAConfig
from .given import GivenAgent, GivenConfig

if TYPE_CHECKING:
    from gumption.envs.halma.splits import Splits

SCHEMA = "gumption/halma-evaluation/1"
EVALUATION = "evaluation.json"  # of a run
MEASURES = ("rho_a", "rho_g", "rho_p")
GUIDED, WITH_GRAPH = "written strategy + KG", " + given graph"
DYNAMIC = "dynamic"  # all mazes of the diagnostic tests taken together, as in Figs S14 and S15
ROWS = (*SPLITS, DYNAMIC)
SEEDS = (0, 1, 2)

# Of a test in a summary: its measures, each {"mean", "std", "low", "high"}, and what it is of.
Summary = dict[str, Any]


class Playable(Protocol):
    """What a run has to have to be tested; see `gumption.agents.halma.runs.HALMARun`."""

    @property
    def config(self) -> HALMAConfig: ...

    def actor(self) -> Actor: ...


def label(config: HALMAConfig | GivenConfig) -> str:
    """An agent's name as in Table 1. A guided agent is called what it is: people wrote its strategy (see prior.py)."""
    if isinstance(config, GivenConfig):
        return config.agent
    return GUIDED if config.guided else config.agent.upper() + (config.kg != "none") * WITH_GRAPH


def images(config: HALMAConfig | GivenConfig, test: str) -> str:
    """Whose handwriting an agent sees in a test.

    Decision: the training problems are shown in the handwriting of the training, all other tests in handwriting that
    was kept for tests. So T tells what was learned of the very panels, and RT what carries over.
    """
    return config.images if test == TRAINING else config.images.replace("train", "test")


def evaluate_splits(
    run: Playable | GivenAgent | Callable[..., Any],
    splits: Splits,
    *,
    seeds: Sequence[int] = SEEDS,
    tell: Callable[[str], None] | None = None,
    beside: Mapping[str, MakeActor] | None = None,
) -> dict[str, Any]:
    """Play every test of `splits` once with each seed, as the run's actor plays, and as others play beside it.

    :param run: see `load_run`; or any function (observation, info) -> options, see `GivenAgent`, which also takes one
        that is made for a single environment or for visual panels.
    :param seeds: of what is left to chance: what the actor draws, and how panels are drawn that are not fixed.
    :param tell: is called with the name of each test before it is played.
    :param beside: by name, others that play the same tests; see comparisons.py.
    :returns: {"schema", "agent", "config", "seeds", "knowledge", "tests", "beside": tests by name}; a test is {"mazes":
        how many, "reason": why there are none, or None, "rho_a", "rho_g", "rho_p": {"mean", "std" over the seeds,
        "low", "high": the 95 % bootstrap interval over the mazes, "per_seed", "per_maze": the mean of each maze over
        the seeds}}.
    :raises InputError: no seed, knowledge bases of options of another length, or a function that returns no options.
    """
    if not seeds:
        raise InputError("no seeds; give at least one")
    length = splits.manifest["knowledge"]["max_opt_len"]
    agent = cast(
        "Playable | GivenAgent", run if hasattr(run, "config") else GivenAgent(cast("Callable[..., Any]", run))
    )
    if isinstance(agent, GivenAgent):
        agent = replace(agent, max_opt_len=length)
    config = agent.config
    if length != config.max_opt_len:
        raise InputError(
            f"the splits were made for options of {length} primitives and the run has {config.max_opt_len}: "
            "give the run its own splits"
        )

    def tests_of(make: MakeActor | None) -> dict[str, Summary]:
        played = {}
        for test in splits:
            if tell is not None:
                tell(test)
            played[test] = play_test(agent, splits[test], test, seeds, make)
        return _summaries(splits, played)

    return {
        "schema": SCHEMA,
        "agent": label(config),
        "config": json.loads(json.dumps(config.to_json())),  # as it is once it was read from a file
        "seeds": list(seeds),
        "knowledge": splits.manifest["knowledge"]["fingerprint"],
        "tests": tests_of(None),
        "beside": {name: tests_of(make) for name, make in (beside or {}).items()},
    }


def play_test(
    run: Playable | GivenAgent, mazes: Mazes, test: str, seeds: Sequence[int], make: MakeActor | None = None
) -> np.ndarray:
    """The measures (3, S, M) of an episode in each of M mazes with each of S seeds.

    :param make: makes another actor than the run's.
    """
    given = isinstance(run, GivenAgent)
    size = 1 if given and run.single else len(mazes)  # so many mazes are played side by side
    env = env_of(run.config, mazes, test, size)
    actor = make(env) if make is not None else run.actor(test) if given else run.actor()
    batches = np.arange(len(mazes)).reshape(-1, size)
    played = [[np.stack(play(actor, env, batch, seed)) for batch in batches] for seed in seeds]
    return np.stack([np.concatenate(parts, axis=1) for parts in played], axis=1)


def env_of(config: HALMAConfig | GivenConfig, mazes: Mazes, test: str, size: int | None = None) -> HALMAVectorEnv:
    """An environment for each maze of a test, or so many, as the run's agent is to see them."""
    visual = config.observation == "visual"
    seen = {"panels": config.panels, "images": images(config, test)} if visual else {}
    return HALMAVectorEnv(
        size or len(mazes), mazes=mazes, observation=config.observation, max_opt_len=config.max_opt_len, **seen
    )


def summarise(played: np.ndarray) -> Summary:
    """A test of one run, from its measures (3, S, M)."""
    found: Summary = {"mazes": played.shape[2], "reason": None}
    for measure, values in zip(MEASURES, played, strict=True):
        per_seed, per_maze = values.mean(1), values.mean(0)
        found[measure] = {
            **_spread(per_seed, per_maze),
            "per_seed": _rounded(per_seed),
            "per_maze": _rounded(per_maze),
        }
    return found


def _summaries(splits: Splits, played: Mapping[str, np.ndarray]) -> dict[str, Summary]:
    """All tests of one run, from the measures of those that have mazes."""
    tests = {test: summarise(played[test]) if test in played else _absent(splits, test) for test in SPLITS}
    dynamic = [played[test] for test in TESTS if test in played]
    tests[DYNAMIC] = (
        summarise(np.concatenate(dynamic, axis=2))
        if dynamic
        else {"mazes": 0, "reason": "none of the diagnostic tests has mazes"}
    )
    return tests


def _absent(splits: Splits, test: str) -> Summary:
    return {"mazes": 0, "reason": splits.reasons.get(test, "the splits have no such test")}


def _spread(over: np.ndarray, resampled: np.ndarray) -> dict[str, float | None]:
    """Mean and standard deviation of `over`, and the bootstrap interval of the mean of `resampled`.

    One value alone tells of no spread: None.
    """
    estimate = bootstrap_interval(resampled)
    single = len(resampled) < 2
    return {
        "mean": round(float(over.mean()), 5),
        "std": None if len(over) < 2 else round(float(over.std()), 5),
        "low": None if single else round(estimate.low, 5),
        "high": None if single else round(estimate.high, 5),
    }


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 5) for value in values]


def columns(evaluations: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Runs of one agent together: what Table 1 shows, by the name of the agent.

    Runs that differ in their seed alone are one agent. Agents of one name get what else they differ in into their
    names.

    :param evaluations: of `evaluate_splits`.
    :returns: by name {"agent", "config" without the seed, "runs": how many, "tests"}; after a guided agent those that
        played beside each of its runs, which have "beside", the name of the agent. A test is as in `evaluate_splits`
        where there is one run; with several, mean, std and interval are over the runs that have the test, "runs" is how
        many these are, "per_run" their means, "mazes" how many these had together, and "reason" is why the others, or
        all, have none.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for evaluation in evaluations:
        groups.setdefault(json.dumps(_without_seed(evaluation["config"]), sort_keys=True), []).append(evaluation)
    found: dict[str, dict[str, Any]] = {}
    names = _names(list(groups.values()))
    for name, group in zip(names, groups.values(), strict=True):
        first = group[0]
        about = {"config": _without_seed(first["config"]), "runs": len(group)}
        found[name] = {"agent": first["agent"], **about, "tests": _tests_together([one["tests"] for one in group])}
        told = name.removeprefix(first["agent"])  # what it takes to tell it from others of that name
        for other in first.get("beside", {}):
            tests = [one["beside"][other] for one in group if other in one.get("beside", {})]
            if len(tests) == len(group):
                found[other + told] = {"agent": other, **about, "beside": name, "tests": _tests_together(tests)}
    return found


def agents_of(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The columns that are runs of agents, without those that played beside them."""
    return {name: column for name, column in found.items() if "beside" not in column}


def _tests_together(tests: Sequence[Mapping[str, Summary]]) -> dict[str, Summary]:
    return {test: together([one[test] for one in tests]) for test in ROWS}


def together(summaries: Sequence[Summary]) -> Summary:
    """A test of several runs; that of one run stays as it is, but for what each maze came to."""
    have = [one for one in summaries if one["mazes"]]
    reasons = list(dict.fromkeys(one["reason"] for one in summaries if one["reason"]))
    found: Summary = {
        "mazes": sum(one["mazes"] for one in have),
        "runs": len(have),
        "reason": "; ".join(reasons) or None,
    }
    for measure in MEASURES if have else ():
        if len(have) == 1:
            found[measure] = {key: have[0][measure][key] for key in ("mean", "std", "low", "high")}
            continue
        means = np.array([one[measure]["mean"] for one in have])
        found[measure] = {**_spread(means, means), "per_run": _rounded(means)}
    return found


def _without_seed(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in ("seed", "device", "space_model")}


def _names(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """A name for each group of evaluations: the agent, and what it takes to tell it from others of that name."""
    firsts = [group[0] for group in groups]
    names = []
    for first in firsts:
        same = [other["config"] for other in firsts if other["agent"] == first["agent"]]
        differ = [key for key in _without_seed(first["config"]) if any(one[key] != same[0][key] for one in same)]
        told = [f"{key} {first['config'][key]}" for key in differ]
        names.append(", ".join([first["agent"], *told]))
    return names


def save_evaluation(path: Path, evaluation: Mapping[str, Any]) -> None:
    """Write an evaluation as JSON."""
    write_sealed(path, evaluation)


def load_evaluation(path: Path) -> dict[str, Any]:
    """Read an evaluation.

    :raises InputError: no such file, or none of ours.
    """
    value = read_sealed(path, missing="no evaluation there: evaluate the run first", advice="evaluate the run again")
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise InputError(f"{path}: no evaluation of schema {SCHEMA}; evaluate the run again")
    # Fields of the config that came later than the run have their defaults, as in `RunConfig.from_json`.
    return {**value, "config": {**HALMAConfig().to_json(), **value["config"]}}
