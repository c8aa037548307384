"""Define Gradual's experiments: steps of agents on the curriculum, gradual learning, forgetting, and variations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from gumption.data import InputError
from gumption.scripts.papers.gradual.validation import (
    CHAINS,
    KEPT,
    NOT_TOLD,
    Chain,
    Remembered,
    Varied,
    compare,
    find_agent,
    gradual_learning,
    not_forgetting,
    play_knower,
    remembered,
    vary,
)
from gumption.scripts.results import Condition, Experiment, Job, Kind, table, with_interval

CURRICULUM, VALIDATION, VARIATIONS = "gradual-curriculum", "gradual-validation", "gradual-variations"
AS_IT_IS = "as it is"
RECURRENT = "recurrent"  # the method of an agent trained on other streams before it plays
AGAIN = "again"  # the method of the condition that plays tasks once more


TOLD_STEPS = "Steps of each task, median of the runs that passed it, and how many did where not all:"


class GradualRuns(Kind):
    """Runs on the CPU."""

    code = ("envs/gradual", "agents/gradual")

    def settings(self, options: Any, device: str) -> dict[str, Any]:
        if device not in ("auto", "cpu"):
            raise InputError(f"--device {device}: agents of Gradual run on the CPU; leave it out")
        return {"device": "cpu"}

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        return {"runs": dict(found), "target": condition.target}


class CurriculumRuns(GradualRuns):
    """Run an agent through the curriculum of the challenge."""

    title = "Gradual's curriculum"

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        from gumption.envs.gradual import Session, challenge

        curriculum, started = challenge(), process_time()
        if job.method == "knower":
            result = play_knower(curriculum, job.seed)
        else:
            name = _recurrent(job, progress) if job.method == RECURRENT else job.settings["agent"]
            agent = find_agent(name)(job.seed)
            result = Session(curriculum.tasks, agent, seed=job.seed, max_steps=job.settings["max_steps"]).run()
        return {**result.figures(), "cpu_s": round(process_time() - started, 2)}

    def words(self, found: Mapping[str, Any]) -> str:
        return f"{_passed(found)} tasks passed, {found['steps']:,} steps"

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        rows = _runs(results)
        shown = [name for name, runs in rows.items() if any(_passed(run) for run in runs)]
        names = [task["task"] for task in max((run["tasks"] for runs in rows.values() for run in runs), key=len)]
        steps = [[name, *(middle(_steps(rows[agent], name), "-", "({})") for agent in shown)] for name in names]
        return [self.headline(results), TOLD_STEPS, "", *table(["task", *shown], steps), ""]

    def headline(self, results: Mapping[str, Any]) -> str:
        lines = []
        for agent, runs in _runs(results).items():
            passed = sorted({_passed(run) for run in runs})
            solved = [run["steps"] for run in runs if run["ended"] == "solved"]
            steps = "not solved"
            if len(solved) == len(runs):
                steps = f"{median(solved):,.0f} ({min(solved):,} to {max(solved):,})"
            told = str(passed[0]) if len(passed) == 1 else f"{passed[0]} to {passed[-1]}"
            lines.append([agent, str(len(runs)), told, steps, f"{median(run['cpu_s'] for run in runs):.1f} s"])
        return "\n".join(table(["agent", "seeds", "tasks passed", "steps", "CPU time"], lines)) + "\n"

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        from gumption.agents.plots import plot_steps

        rows = _runs(results)
        if "perfect knower" not in rows:
            return []
        steps = {
            agent: {
                name: median(passed)
                for name in (task["task"] for task in rows["perfect knower"][0]["tasks"])
                if (passed := [one for one in _steps(runs, name) if one is not None])
            }
            for agent, runs in rows.items()
        }
        knower = {name: int(each) for name, each in steps.pop("perfect knower").items()}
        return list(plot_steps({agent: own for agent, own in steps.items() if own}, knower, directory / "steps"))


class ValidationRuns(GradualRuns):
    """Run chains of tasks: a condition is a chain, a run plays both arms with a single seed, in all orders."""

    title = "Gradual's validation"

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        made, settings = find_agent(job.settings["agent"]), job.settings
        how = {"seeds": 1, "first_seed": job.seed, "max_steps": settings["max_steps"], "orders": settings["orders"]}
        if job.method == AGAIN:
            return {
                "tasks": [_of_seed(one.figures(), "fresh") for one in not_forgetting(made, settings["tasks"], **how)]
            }
        chain = Chain(tuple(settings["prerequisites"]), settings["target"])
        [one] = gradual_learning(made, [chain], **how)
        return _of_seed(one.figures(), "alone", "knower")

    def words(self, found: Mapping[str, Any]) -> str:
        if "tasks" in found:
            return ""
        after = ", ".join(str(order["after"]) for order in found["orders"])
        return f"{after} steps after, {found['alone']} alone"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        row, runs, limit = super().figures(condition, found), list(found.values()), condition.settings["max_steps"]
        if condition.method == AGAIN:
            tasks = zip(*(run["tasks"] for run in runs), strict=True)
            return {**row, "again": [_remembered(runs_of_task, limit).figures() for runs_of_task in tasks]}
        arms = ([run[arm] for run in runs] for arm in ("alone", "knower"))
        orders, after = _by_order(runs, "after")
        return {**row, "comparison": compare("", orders, after, *arms, limit=limit).figures()}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        lines, parts = [self.headline(results)], []
        for row in results["rows"]:
            found = row.get("comparison", {"orders": ()})
            for number, order in enumerate(found["orders"], 1):
                figures = middle(order["after"]), with_ends(order), yes(order["passed"])
                parts.append([row["condition"], str(number), ", ".join(order["order"]), *figures])
        if parts:
            heads = ["chain", "order", "tasks", "steps after", "ratio", "passed"]
            lines += ["Each order of the tasks that come first:", "", *table(heads, parts, left=3), ""]
        for row in results["rows"]:
            if "again" in row:
                told = "Played again after all, median steps of all orders, and the verdict of each order:"
                heads = ["task", "new", "just learned", "new / just learned", "again", "verdict", "by order"]
                lines += [told, "", *table(heads, map(line_of_task, row["again"])), ""]
                told = {tuple(order["order"]) for one in row["again"] for order in one["orders"]}
                lines += [f"Orders: {'; '.join(sorted(map(', '.join, told)))}.", ""]
        return lines

    def headline(self, results: Mapping[str, Any]) -> str:
        lines = []
        for row in results["rows"]:
            again = [one["verdict"] for one in row.get("again", ())]
            orders = {tuple(order["order"]) for one in row.get("again", ()) for order in one["orders"]}
            cells = [str(len(orders)), *"-----", count_verdicts(again)]
            if (found := row.get("comparison")) is not None:
                figures = with_ends(found), f"{found['at_most']:.2f}", f"{found['p']:.2g}"
                after = [steps for order in found["orders"] for steps in order["after"]]
                steps = middle(after), middle(found["alone"])
                cells = [str(len(found["orders"])), *steps, *figures, yes(found["passed"])]
            lines.append([row["condition"], str(len(row["runs"])), *cells])
        heads = ["chain", "seeds", "orders", "steps after", "steps alone", "ratio", "at most", "p", "passed"]
        return "\n".join(table(heads, lines)) + "\n"


class VariationRuns(GradualRuns):
    """Run variations of tasks: a condition is a variation, a run plays each task separately, with a single seed."""

    title = "Gradual's variations"

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        from gumption.envs.gradual import Variation, all_tasks, load_variations

        settings = job.settings
        named = {one.name: one for one in (Variation(AS_IT_IS), *load_variations())}
        tasks = [all_tasks()[name] for name in settings["tasks"]]
        how = {"seeds": 1, "first_seed": job.seed, "max_steps": settings["max_steps"]}
        [one] = vary(find_agent(settings["agent"]), tasks, [named[settings["variation"]]], **how)
        return {"steps": {name: steps[0] for name, steps in one.steps.items()}}

    def words(self, found: Mapping[str, Any]) -> str:
        return f"{sum(steps is not None for steps in found['steps'].values())} tasks passed"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        steps = {
            name: tuple(run["steps"][name] for run in found.values()) for name in next(iter(found.values()))["steps"]
        }
        return {**super().figures(condition, found), "varied": Varied("", steps).figures()}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        rows = {row["condition"]: row["varied"]["steps"] for row in results["rows"]}
        steps = [
            [name, *(middle(one[name], "-", "({})") for one in rows.values())] for name in next(iter(rows.values()))
        ]
        return [self.headline(results), TOLD_STEPS, "", *table(["task", *rows], steps), ""]

    def headline(self, results: Mapping[str, Any]) -> str:
        lines = []
        for row in results["rows"]:
            steps, seeds = row["varied"]["steps"], len(row["runs"])
            some = sum(any(one is not None for one in arm) for arm in steps.values())
            lines.append([row["condition"], str(seeds), f"{row['varied']['passed']} of {len(steps)}", str(some)])
        return "\n".join(table(["variation", "seeds", "tasks passed by all", "by some"], lines)) + "\n"


def _of_seed(figures: Mapping[str, Any], *arms: str) -> dict[str, Any]:
    """Return the results of a single seed, without statistics over seeds."""
    orders = [
        {name: value if name == "order" else value[0] for name, value in order.items() if isinstance(value, list)}
        for order in figures["orders"]
    ]
    names = {name: figures[name] for name in ("task",) if name in figures}
    return {**names, "orders": orders, **{arm: figures[arm][0] for arm in arms}}


def _by_order(runs: Sequence[Mapping[str, Any]], *arms: str) -> list[list[Any]]:
    """Return the orders, and each arm by order, by run."""
    orders = list(zip(*(run["orders"] for run in runs), strict=True))
    return [[one[0]["order"] for one in orders], *([[run[arm] for run in one] for one in orders] for arm in arms)]


def _remembered(runs: Sequence[Mapping[str, Any]], limit: int) -> Remembered:
    orders, learned, again = _by_order(runs, "learned", "again")
    return remembered(runs[0]["task"], orders, [run["fresh"] for run in runs], learned, again, limit)


def line_of_task(one: Mapping[str, Any]) -> list[str]:
    """Return the cells of a line in the table of tasks played again."""
    arms = ([steps for order in one["orders"] for steps in order[arm]] for arm in ("learned", "again"))
    learned, again = map(middle, arms)
    verdicts = ", ".join(order["verdict"] for order in one["orders"])
    return [one["task"], middle(one["fresh"]), learned, with_ends(one), again, one["verdict"], verdicts]


def with_ends(figures: Mapping[str, Any]) -> str:
    """Format a ratio with its interval, from the figures of `Compared` or `Remembered`."""
    return with_interval({**figures, "mean": figures["ratio"]}, ".2f")


def count_verdicts(verdicts: Sequence[str]) -> str:
    """Format counts such as "3 of 4 kept, 1 not told"."""
    kept, told = verdicts.count(KEPT), len(verdicts) - verdicts.count(NOT_TOLD)
    return f"{kept} of {told} kept" + f", {len(verdicts) - told} not told" * (told < len(verdicts))


def _recurrent(job: Job, progress: bool) -> str:
    """Train a recurrent agent on many streams of the curriculum, and return the folder of its run."""
    from gumption.agents.gradual.recurrent import train_recurrent
    from gumption.agents.gradual.recurrent_config import RecurrentConfig

    folder = job.directory / "training"
    config = RecurrentConfig(total_steps=job.settings["training_steps"], seed=job.seed, device="cpu")
    train_recurrent(config, folder, resume=True, progress=progress)
    return str(folder)


def _runs(results: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    return {row["condition"]: list(row["runs"].values()) for row in results["rows"]}


def _passed(run: Mapping[str, Any]) -> int:
    return sum(task["passed"] for task in run["tasks"])


def _steps(runs: Sequence[Mapping[str, Any]], name: str) -> list[int | None]:
    """Return the steps of a task in each run; None if it was not passed."""
    return [
        next((task["steps"] for task in run["tasks"] if task["task"] == name and task["passed"]), None) for run in runs
    ]


def middle(steps: Sequence[int | None], none: str = "none passed", some: str = "({} passed)") -> str:
    """Format the median of the runs that passed, and their number if not all passed."""
    found = [one for one in steps if one is not None]
    if not found:
        return none
    return f"{median(found):,.0f}" + (f" {some.format(len(found))}" if len(found) < len(steps) else "")


def yes(value: bool) -> str:
    return "yes" if value else "no"


_LIMIT = {"max_steps": 1_000_000}
_EACH = {"max_steps": 100_000, "agent": "learner", "orders": 2}
_OLD = ("micro2", "micro5.7", "micro5.18", "micro6", "micro7.2", "micro9.2", "micro11", "micro12", "micro14", "mini1")


_VARIED = (
    *("micro5.2", "micro5.7", "micro5.18", "micro6", "micro7.2", "micro9.2"),
    *("micro9.3", "micro11", "micro12", "micro14", "micro15", "mini1"),
)
_VARIATIONS = (
    AS_IT_IS, "other words", "other letters", "'.' and 'x' exchanged", "feedback goes on behind the answer",
)  # fmt: skip


EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment(
            CURRICULUM, "-", "Steps on the challenge's curriculum", CurriculumRuns(),
            {
                "perfect knower": Condition(method="knower"),
                "gradual learner": Condition({**_LIMIT, "agent": "learner"}, target=200_000),
                **{name: Condition({**_LIMIT, "agent": name}) for name in ("table", "echo", "random", "silent")},
                "recurrent, trained before": Condition({**_LIMIT, "training_steps": 2_000_000}, RECURRENT),
            },
            "Nobody has published steps of an agent. The knower is told every answer; the other agents get rewards and "
            "bytes. A run ends after 1,000,000 steps. The recurrent agent is trained before, by V-trace on 2,000,000 "
            "bytes of 128 other streams of the curriculum, which its steps leave out and its CPU time has.", seeds=10,
        ),
        Experiment(
            VALIDATION, "-", "Does the gradual learner learn gradually, and does it forget?", ValidationRuns(),
            {
                **{
                    chain.name: Condition(
                        {**_EACH, "prerequisites": list(chain.prerequisites), "target": chain.target}, target=1.5
                    )
                    for chain in CHAINS
                },
                "played again": Condition({**_EACH, "tasks": list(_OLD)}, AGAIN),
            },
            "The dependencies that the document names (Evaluation criteria 2 and 3). Steps are those on the last task "
            "of a chain, median over seeds and orders of the tasks before it; ratio is alone / after, of the medians, "
            "with its 95 % bootstrap interval over seeds, whose lower end has to be above 1 to pass; at most is alone "
            "/ those of a perfect knower; p is of the rank test (Mann-Whitney) that there are fewer after the others. "
            "A task that is played again is kept where its steps are nearer to those right after it was learned, by a "
            "copy of the agent, than to those of a new agent; it is not told where the interval of new / just learned "
            "reaches down to 1. All three are asked the same questions, from which none has learned.",
            seeds=10,
        ),
        Experiment(
            VARIATIONS, "-", "What does the gradual learner rely on?", VariationRuns(),
            {
                name: Condition({"max_steps": 10_000, "agent": "learner", "tasks": list(_VARIED), "variation": name})
                for name in _VARIATIONS
            },
            "Each of twelve tasks is played alone by a learner that is new to it, at most 10,000 steps, as it is and "
            "in the variations of envs/gradual/variations.toml: the words of commands and feedback are made up; all "
            "letters are exchanged in pairs; the sign that ends questions and answers changes places with x; the right "
            "answer is not the last thing in the feedback.",
            seeds=5,
        ),
    )
}  # fmt: skip
