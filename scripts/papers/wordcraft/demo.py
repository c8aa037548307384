"""`gumption demo`: from recipes to a knowledge graph to agents that solve unseen recipes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data.settings import Count
from gumption.scripts.apps import App

if TYPE_CHECKING:
    from rich.console import Console

    from gumption.envs.wordcraft.facts import FactPart

app = App(add_completion=False)

TRAIN_GRAPH, TEST_GRAPH, RECIPE_GRAPH = "wordcraft/train", "wordcraft/test", "wordcraft/recipes"
STEPS, GUIDED_STEPS, QUICK_STEPS = 400_000, 20_480, 8_192  # success of guided agents does not grow with training
PANEL, DEEP = "8 distractors", "8 distractors, depth 2"
LAST, AHEAD = "training-facts KG, the last step, depth 2", "training-facts KG, looking ahead, depth 2"
RANDOM = "random policy, depth 2"
GUIDED = {"training-facts KG": "train", "full KG": "full"}
EPISODES = 20  # searched for an episode that the agent solves; the last is shown if it solves none
#: Settings of the knowledge: one network per predictor, to save time; the default of three solves about 0.03 more.
FITTED = {"kg_scores": ("makes",), "kg_members": 1}


@app.command(epilog="Example: gumption demo --seeds 3")
def demo(
    seeds: Annotated[Count, typer.Option(help="How often each agent is trained.")] = 3,
    out: Annotated[Path, typer.Option(help="Folder of the runs and of the plot.")] = Path("runs/demo"),
    recipe_book: Annotated[str, typer.Option(help="Name of a recipe book, or a file.")] = "commonsense",
    workers: Annotated[
        Count | None, typer.Option(help="Processes at a time.  [default: 2, or 1 on a single core]")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Train for a moment only: to see every stage, not good agents.")] = False,
) -> None:
    """Show the main job in stages: recipes, knowledge graph, link prediction, agents, result, an episode, a plan."""
    import torch
    from rich.console import Console

    from gumption.data.provenance import usable_cores
    from gumption.scripts.freshness import cpu_seconds

    console, started = Console(), perf_counter()
    torch.set_num_threads(1)  # the jobs are small, and waiting threads would spin
    workers = workers or min(2, usable_cores())
    book, split = show_recipes(console, recipe_book)
    show_graph(console, book, split)
    show_link_prediction(console, recipe_book)
    experiment, common = settings(recipe_book, quick)
    show_stated(console, experiment, common)
    train_agents(console, experiment, common, seeds, workers, out)
    show_results(console, experiment, common, out)
    show_learned(console, out, common)
    show_plan(console, experiment, common)
    own = process_time()
    console.print(
        f"\nDone in {perf_counter() - started:.0f} s, with {cpu_seconds():.0f} s of CPU time: {own:.0f} s of this "
        f"process and {cpu_seconds() - own:.0f} s of those that it started. Play the worlds yourself in a browser: "
        "`gumption serve`. `gumption --help` lists what else there is."
    )


def settings(recipe_book: str, quick: bool) -> tuple[Any, dict[str, Any]]:
    """Return the demo as an experiment, and the TrainConfig fields common to all its runs."""
    from gumption.scripts.results import Condition, Experiment

    from .experiments import BASE, KIND, knowledge_alone, what_was_learned

    def trained(steps: int) -> dict[str, int]:
        steps = QUICK_STEPS if quick else steps
        return {"total_steps": steps, "eval_interval": max(1, steps // 5)}

    base, panels = {"features": "glove", "num_distractors": 8, "final_draws": 3}, (PANEL,)
    conditions = {"no KG": Condition({**base, **trained(STEPS), "kg": "none"}, panels=panels)}
    for label, kg in GUIDED.items():
        guided = Condition({**base, **trained(GUIDED_STEPS), **FITTED, "kg": kg}, panels=panels)
        conditions |= {label: guided, **knowledge_alone(label, guided), **what_was_learned(label, guided)}
    conditions["random policy"] = Condition(base, "random", panels)
    conditions["oracle"] = Condition(base, "oracle", panels)
    deep = {**base, "depth": 2, "final_draws": 1}  # of 10,000 tasks
    for label, look_ahead in ((LAST, "off"), (AHEAD, "on")):
        alone = {**deep, **FITTED, "kg": "train", "look_ahead": look_ahead}
        conditions[label] = Condition(alone, "kg_only", (DEEP,))
    conditions[RANDOM] = Condition(deep, "random", (DEEP,))
    experiment = Experiment(
        "demo",
        "Demo",
        "success on recipes never seen in training",
        KIND,
        conditions,
        "A full KG drastically improves zero-shot success; a KG of the training facts ends level with no KG.",
        seeds=3,
        base=BASE,
    )
    return experiment, {"recipe_book": recipe_book, "device": "cpu"}


def show_recipes(console: Console, recipe_book: str) -> tuple[Any, Any]:
    """Stage 1: print the book and its split. Return (RecipeBook, Split)."""
    from gumption.envs.wordcraft import RecipeBook, make_split

    _heading(console, 1, "Recipes")
    book = RecipeBook.load(recipe_book)
    split = make_split(book, "by_recipe", 0.8, 0, 1, fit_validation=True)
    console.print(
        f"The recipe book {book.name!r} has {len(book.entities)} things and {len(book)} recipes such as "
        f"{_examples(book)}. One recipe in five is set aside: the {len(split.test_tasks)} tasks that need one of those "
        f"are for the test only, {len(split.train_tasks)} are for training."
    )
    return book, split


def show_graph(console: Console, book: Any, split: Any) -> None:
    """Stage 2: add the recipes as facts to a knowledge graph, and query it."""
    import numpy as np

    from gumption.envs.wordcraft import facts, recipe_facts
    from gumption.kg import KnowledgeGraph

    _heading(console, 2, "Knowledge graph")
    graph = KnowledgeGraph()
    graph.add(facts(book, partition="train", split=split), graph=TRAIN_GRAPH)
    graph.add(facts(book, partition="test", split=split), graph=TEST_GRAPH)
    graph.add(recipe_facts(book, partition="all", split=split), graph=RECIPE_GRAPH)
    counts = ", ".join(f"{count:,} in {name}" for name, count in graph.graphs().items())
    console.print(
        "Each recipe a + b -> c becomes four facts (a combinesWith b, b combinesWith a, a componentOf c, b componentOf "
        f"c), and a node with its ingredients and products. Facts by graph: {counts}."
    )
    query = (
        "SELECT ?first ?second WHERE { ?recipe gum:hasProduct ?goal ; gum:hasIngredient ?first , ?second .\n"
        "      FILTER(STR(?first) < STR(?second)) } ORDER BY ?first ?second"
    )
    goal = book.entities[int(np.bincount(book.recipes[:, 2]).argmax())]  # the entity with the most recipes
    answers = graph.query(query, goal=goal)
    console.print(f"\nA question in SPARQL, with ?goal = {goal!r}:")
    console.print(f"  {query}", highlight=False, soft_wrap=True)
    shown = ", ".join(f"{answer['first']} + {answer['second']}" for answer in answers[:6])
    console.print(f"The answer: {shown}" + (f" and {len(answers) - 6} more." if len(answers) > 6 else "."))


def show_link_prediction(console: Console, recipe_book: str) -> None:
    """Stage 3: fit a link predictor that completes the graph, and rank unseen facts."""
    from gumption.envs.wordcraft import facts
    from gumption.kg import ComplEx, Vocabulary, evaluate_ranking

    _heading(console, 3, "Link prediction")
    console.print(
        "A link predictor learns a vector for each thing, so that true facts score higher than others. MRR is the mean "
        "of 1 / rank of the right answer among all things: 1 is perfect."
    )
    parts: tuple[FactPart, ...] = ("train", "test", "all")
    learned, unseen, every = (list(facts(recipe_book, partition=part, fit_validation=True)) for part in parts)
    model = ComplEx.fit(learned, seed=0, device="cpu", vocabulary=Vocabulary.from_triples(every))
    seen, new = (evaluate_ranking(model, part, known=[every])["mrr"] for part in (learned, unseen))
    console.print(
        f"  ComplEx on the {len(learned):,} training facts: MRR {seen:.3f} on these, {new:.3f} on the {len(unseen):,} "
        "held-out test facts: it remembers more than it understands. The agents below use a predictor that reads word "
        "vectors, too."
    )


def product_ranks(scores: Any, recipes: Any) -> Any:
    """Return (n,) int64 the rank of the product of each recipe (n, 3) among all entities by the policy's recipe scores.

    Other products of the pair in `recipes` are left out of the ranking.
    """
    import numpy as np
    import torch

    from gumption.envs.action_facts import action_facts

    size = len(scores.entities)
    products = np.arange(1, size + 1)[:, None]
    ranks = []
    for a, b, product in (recipes + 1).tolist():
        log_p = scores.action_scores(action_facts(scores.relations, (size, 1), [(a, products, b)]))[:, 0, 0].clone()
        mine = log_p[product - 1].item()
        siblings = recipes[(recipes[:, :2] == (a - 1, b - 1)).all(axis=1), 2]
        log_p[torch.from_numpy(siblings)] = -torch.inf
        ranks.append(1 + int((log_p > mine).sum()))
    return np.array(ranks)


def train_agents(
    console: Console, experiment: Any, common: dict[str, Any], seeds: int, workers: int, out: Path
) -> None:
    """Stage 5: train every agent with every seed; keep runs that are complete."""
    from gumption.data.progress import Bar
    from gumption.scripts.experiment import lines_of_runs, make_jobs

    _heading(console, 5, "Agents")
    steps, guided, _ = (experiment.conditions[label].settings["total_steps"] for label in ("no KG", *GUIDED))
    console.print(
        f"Three agents learn, with {seeds} seeds: one without a graph for {steps:,} steps, one with a graph of the "
        f"training facts and one with a graph of all facts for {guided:,}. Beside them are played: each "
        "graph alone, each guided agent before training and with its graph taken away, a random policy, an oracle. "
        "Where a goal takes two mixes, the graph of the training facts plays alone, by the last step and looking ahead."
    )
    jobs = make_jobs(experiment, common, range(seeds), out)
    if done := sum(job.complete for job in jobs):
        console.print(f"{done} of {len(jobs)} runs are complete in {out} and kept; remove that folder to start again.")
    lines = lines_of_runs(experiment, common, seeds, workers, out)
    console.print(f"{next(lines)}: minutes", soft_wrap=True)
    with Bar(len(jobs), "runs", sys.stderr.isatty()) as bar:
        for number, line in enumerate(lines, start=done + 1):
            bar.show(number, line)


def show_results(console: Console, experiment: Any, common: dict[str, Any], out: Path) -> None:
    """Stage 6: print the table with intervals, what learning adds to each graph, its predictors, the plot's place."""
    from rich.table import Table

    from gumption.agents.wordcraft.config import TrainConfig
    from gumption.agents.wordcraft.setup import WordCraftSetup
    from gumption.envs.wordcraft.splits import what_is_tested
    from gumption.scripts.results import gather, with_interval, write_report

    from .experiments import what_learning_adds

    _heading(console, 6, "Result")
    results = gather(out, experiment)
    written = write_report(results, experiment, out)
    tested = what_is_tested(experiment.base["split"])
    table = Table("agent", "seeds", f"{tested} (95 % interval)", "training recipes", title=experiment.title)
    rows = {row["condition"]: row for row in results["rows"]}
    for label, row in rows.items():
        success, known = with_interval(row["success"]), with_interval(row["train_success"])
        table.add_row(label, str(len(row["seeds"])), success, known)
    console.print(table)
    means = {label: f"{row['success']['mean']:.0%}" for label, row in rows.items()}
    console.print(
        f"On {tested}, the agent without a graph solves {means['no KG']}, with the graph of the training facts "
        f"{means['training-facts KG']}, and with a graph of all facts {means['full KG']}."
    )
    console.print(
        f"Where a goal takes two mixes, the graph of the training facts solves {means[AHEAD]} looking ahead, with "
        f"nothing learned, {means[LAST]} by what makes the goal alone, and random choices {means[RANDOM]}."
    )
    for label in GUIDED:
        console.print(f"What learning adds to the {label}: {what_learning_adds(rows[label], results['rows'])}")
    for label, recipes, seen in zip(GUIDED, ("training", "all"), ("has not", "has"), strict=True):
        settings = {**experiment.base, **experiment.conditions[label].settings, **common}
        setup: Any = WordCraftSetup(TrainConfig(**settings), num_envs=1)
        ranks = product_ranks(setup.knowledge.scores, setup.env.split.test_recipes)
        console.print(
            f"Recipe predictor on {recipes} recipes, reading word vectors: what the pairs of the test recipes make, "
            f"which it {seen} seen: MRR {(1 / ranks).mean():.3f}, right at once {(ranks == 1).mean():.0%}, among the "
            f"first ten {(ranks <= 10).mean():.0%}."
        )
    for path in written:
        if path.name == "curves.png":
            console.print(
                f"Plot of success over steps: {path} (dots: the figures of the table)", soft_wrap=True, highlight=False
            )


def show_stated(console: Console, experiment: Any, common: dict[str, Any]) -> None:
    """Stage 4: show a test episode of an untrained agent, guided by a graph that states all recipes."""
    from gumption.agents import setup
    from gumption.agents.wordcraft.config import TrainConfig

    _heading(console, 4, "One guided episode")
    stated = {"kg": "full", "kg_fit": False, "kg_scores": FITTED["kg_scores"], "agent": "graph"}
    config = TrainConfig(**{**experiment.base, **experiment.conditions["no KG"].settings, **common, **stated})
    show_episode(console, "The graph of all facts, looked up,", config, setup.untrained(config, None).policy)


def show_learned(console: Console, out: Path, common: dict[str, Any]) -> None:
    """Stage 7: show a test episode of an agent with the graph of the training facts."""
    from gumption.agents.run_folder import load_policy
    from gumption.scripts.results import slug

    _heading(console, 7, "One episode")
    run = out / slug("training-facts KG") / "seed-0"
    config, policy = load_policy(run, recipe_book=common["recipe_book"], device="cpu")
    who = "The agent with the graph of the training facts, which do not have this recipe,"
    choices = show_episode(console, who, config, policy)
    weights = ", ".join(f"{name} {value:.2f}" for name, value in choices[-1].weights.items())
    console.print(f"The mixed logit is their sum with learned weights (lambda): {weights}.")


def show_episode(console: Console, who: str, config: Any, policy: Any) -> list[Any]:
    """Print a test episode with the scores behind each choice, and return its steps."""
    from gumption.agents.watch import SHOWN, PolicyPlayer, choice_table
    from gumption.envs.wordcraft import WordCraftVectorEnv

    env = WordCraftVectorEnv(1, **SHOWN, **config.env_settings("test"))
    *steps, end = first_solved(PolicyPlayer(policy, env))
    choices = [choice for step in steps for choice in step.choices]
    goal, table = env.describe(0)["goal"], [one.label for one in choices[0].candidates]
    console.print(f"{who} is to make [bold]{goal}[/bold]. On the table: {', '.join(table)}.")
    chosen: list[str] = []
    for choice in choices:
        asked = f"{chosen[-1]} is chosen; what goes with it" if len(chosen) % 2 else "What to take first"
        console.print(choice_table(replace(choice, question=asked), 5))
        chosen.append(choice.candidates[choice.chosen].label)
    told = f"makes {goal}: solved." if end.success else f"does not make {goal}: not solved."
    console.print(f"[bold]{chosen[-2]} + {chosen[-1]}[/bold] {told}")
    return choices


def first_solved(player: Any) -> list[Any]:
    """Return the steps of the first of `EPISODES` episodes that the player solves, else of the last."""
    from gumption.agents.watch import play_steps

    played = [list(play_steps(player, pictures=False))]
    while not played[-1][-1].success and len(played) < EPISODES:
        played.append(list(play_steps(player, seed=len(played), pictures=False)))
    return played[-1]


def show_plan(console: Console, experiment: Any, common: dict[str, Any]) -> None:
    """Stage 8: show a test episode of two mixes, guided by the training-facts graph alone, and its derivation."""
    from gumption.agents import setup
    from gumption.agents.advice import PLAN
    from gumption.agents.watch import SHOWN, PolicyPlayer
    from gumption.agents.wordcraft.config import TrainConfig
    from gumption.envs.wordcraft import WordCraftVectorEnv

    _heading(console, 8, "Looking ahead")
    settings = {**experiment.base, **experiment.conditions[AHEAD].settings, **common}
    with console.status("planning"):
        config = TrainConfig(**settings, agent="graph")
        env = WordCraftVectorEnv(1, **SHOWN, **config.env_settings("test"))
        player = PolicyPlayer(setup.untrained(config, None).policy, env, outcome=lambda env: env.last_mix(0))
        *steps, end = first_solved(player)
    first = steps[0].choices[0]
    chosen = first.candidates[first.chosen]
    plan = [fact.rstrip("?") for score in chosen.scores if score.relation == PLAN for fact in score.facts]
    table = ", ".join(one.label for one in first.candidates)
    console.print(f"The goal is [bold]{env.describe(0)['goal']}[/bold], in two mixes. On the table: {table}.")
    console.print(f"The derivation that the graph finds: {'; then '.join(plan) or 'none'}.")
    mixed = [step.outcome for step in steps if step.outcome]
    console.print(f"What is mixed: {'; then '.join(mixed)}: [bold]{'solved' if end.success else 'not solved'}[/bold].")


def _heading(console: Console, number: int, title: str) -> None:
    console.print()
    console.rule(f"[bold]{number}. {title}", align="left")


def _examples(book: Any, count: int = 3) -> str:
    """Return a few recipes in words, spread over the book."""
    rows = book.recipes[:: max(1, len(book.recipes) // count)][:count]
    return ", ".join("{} + {} -> {}".format(*(book.entities[i] for i in row)) for row in rows.tolist())
