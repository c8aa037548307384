"""WordCraft's commands: `gumption train wordcraft`, `gumption kg build wordcraft`, `gumption splits wordcraft`, and
`gumption data recipes`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from gumption.agents.wordcraft.config import TrainConfig
from gumption.data import InputError
from gumption.data.settings import Seed
from gumption.envs.priors import Laws, Names
from gumption.envs.wordcraft.splits import FEW, PARTS, Mode, TrainRatio
from gumption.envs.wordcraft.tasks import Depth
from gumption.scripts.apps import App, NewJson, Written, from_config, refuse_foreign
from gumption.scripts.kg.sources import (
    PLACE,
    MemoryFolder,
    Update,
    Wait,
    build_of_memory,
    check_place,
    write_built,
)
from gumption.scripts.output import Json, print_table, working
from gumption.scripts.worlds import Resume, Run

if TYPE_CHECKING:
    from gumption.envs.wordcraft import Split
    from gumption.envs.wordcraft.facts import FactPart

FLAGS = {
    "num_distractors": "distractors",
    "subgoal_rewards": "!no-subgoal-rewards",
}
OF_A_BOOK = ("recipe_book", "partition", "split", "train_ratio", "split_seed", "fit_validation", "names", "laws")
NODES = "/recipes"  # ending of the name of a graph with recipes as nodes


@from_config(TrainConfig, flags=FLAGS, skip=("world",))
def train(config: TrainConfig, run: Run = Path("runs/wordcraft"), resume: Resume = False) -> None:
    """Train an agent and print its zero-shot success on the tasks that were set aside: while it learns on those for
    validation, at the end on those of the test, too.

    Example: gumption train wordcraft --kg train --run runs/guided
    """
    from gumption.agents.learners.impala import train_impala
    from gumption.agents.wordcraft.evaluation import success_sentence

    result = train_impala(config, run_dir=run, resume=resume)
    final = result.final
    print(
        f"{success_sentence(config.split, final)}, {final['wall_s']:.0f} s, "
        f"{final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )


def build(
    context: typer.Context,
    *,
    out: Annotated[str, typer.Option(help=PLACE)],
    update: Update = None,
    wait: Wait = 5,
    recipe_book: str = "commonsense",
    partition: list[str] | None = None,
    split: Mode = "by_recipe",
    train_ratio: TrainRatio = 0.8,
    split_seed: Seed = 0,
    fit_validation: bool = False,
    names: Names = "real",
    laws: Laws = "real",
    memory: MemoryFolder = None,
    as_json: Json = False,
) -> None:
    """The facts of a recipe book: graph wordcraft/PART, and each recipe as a node in wordcraft/PART/recipes.

    With --memory those of the recipes that an agent saw made: wordcraft/NAME and wordcraft/NAME/recipes, after the
    folder's name, and in wordcraft/NAME/evidence how often it saw each.

    Example: gumption kg build wordcraft --out runs/kg.nq --partition train --partition validation --partition test

    Example: gumption kg build wordcraft --out runs/kg.nq --memory memories/mine

    :param recipe_book: Name of a shipped recipe book, or a file.
    :param partition: all (the default), train, validation, to choose settings by, or test; may be repeated.
    :param split: How the parts are drawn: by_recipe, by_goal, by_family, by_task, ...
    :param train_ratio: Share outside the test; a fifth of it is for validation.
    :param split_seed: Seed of the draw.
    :param fit_validation: The facts for validation are for training, too: for the last fit.
    :param names: What things are called: real, anonymous (codes) or shuffled (each other's names).
    :param laws: real, or counterfactual: recipes make each other's products.
    """
    from gumption.envs import worlds

    if memory is not None:
        refuse_foreign(context, dict.fromkeys(OF_A_BOOK, "the facts of a recipe book"), "", "--memory")
        build_of_memory(worlds.find("wordcraft"), memory, out, update, wait, as_json)
        return
    parts = list(dict.fromkeys(partition or ["all"]))
    if unknown := [part for part in parts if part not in ("all", *PARTS)]:
        raise InputError(f"--partition {unknown[0]!r} is not one of all, {', '.join(PARTS)}")
    check_place(out)

    from gumption.envs.wordcraft import facts, recipe_facts

    how: dict[str, Any] = {"split": split, "train_ratio": train_ratio, "split_seed": split_seed}
    how |= {"fit_validation": fit_validation, "names": names, "laws": laws}
    stated = {}
    for part in cast("list[FactPart]", parts):
        stated[f"wordcraft/{part}"] = list(facts(recipe_book, partition=part, **how))
        stated[f"wordcraft/{part}{NODES}"] = list(recipe_facts(recipe_book, partition=part, **how))
    write_built(out, update, wait, stated, as_json)


def splits(
    context: typer.Context,
    *,
    out: NewJson | None = None,
    check: Path | None = None,
    recipe_book: str = "commonsense",
    split: Mode = "by_recipe",
    train_ratio: TrainRatio = 0.8,
    seed: Seed = 0,
    depth: Depth = 1,
    shortcuts: bool = False,
    names: Names = "real",
    laws: Laws = "real",
    force: bool = False,
) -> None:
    """Divide a recipe book into parts for training, validation and test, as a file that every command and environment
    takes (`--split FILE`), or check such a file: its hash, its book, that nothing of a part is in an earlier one, and
    that its parameters give it again. The same book and parameters give the same bytes.

    Example: gumption splits wordcraft --split by_goal --train-ratio 0.8 --seed 0 --depth 1 --out goals.json

    Example: gumption splits wordcraft --check goals.json

    :param out: The split file to write, FILE.json.
    :param check: Instead of --out: check this split file.
    :param recipe_book: Name of a shipped recipe book, or a file.
    :param split: by_recipe, by_recipe_train_all_goals, by_goal, by_goal_train_terminals, by_family, by_task, or none.
    :param train_ratio: Share outside the test; a fifth of it is for validation.
    :param seed: Fixes the draw.
    :param depth: Mixes that a task needs, 1 to 6.
    :param shortcuts: Keep tasks that can be done in fewer mixes than --depth.
    :param names: What things are called: real, anonymous (codes) or shuffled (each other's names).
    :param laws: real, or counterfactual: recipes make each other's products.
    :param force: Replace another split in the file.
    """
    from gumption.envs.split_files import write_file
    from gumption.envs.wordcraft import RecipeBook, Split, make_split
    from gumption.envs.wordcraft.split_check import check_split

    if (out is None) == (check is None):
        raise InputError("give either --out, a file to write the split to, or --check, a file to check")
    if check is not None:
        of_making = ("split", "train_ratio", "seed", "depth", "shortcuts", "force")
        refuse_foreign(context, dict.fromkeys(of_making, "--out"), "", "--check")
    book = RecipeBook.load(recipe_book).under(names, laws)
    if check is not None:
        made, place = Split.load(check), check
        made.check_book(book, str(check))
        with working("checking the split"):
            faults = check_split(made, book)
        for fault in faults:
            print(fault)
        if faults:
            raise typer.Exit(1)
        _show(made, f"{place}: nothing of a test or validation item is in training")
    elif out is not None:
        with working("making the split"):
            made = make_split(book, split, train_ratio=train_ratio, seed=seed, depth=depth, shortcuts=shortcuts)
            if faults := check_split(made, book):
                raise RuntimeError(f"gumption made a split that is not what it claims: {faults[0]}")
        write_file(out, made.to_bytes(), force=force)
        _show(made, f"{out}: made and checked, sha256 {made.hash[:12]}")


def _show(made: Split, caption: str) -> None:
    rows = []
    for part in PARTS:
        if part != "validation" or made.validation_tasks is not None:
            sizes = [len(made.of("tasks", part)), len(made.of("recipes", part))]
            rows.append((part, *(f"{size:,}" for size in (*sizes, *([made.left_out[part]] if made.left_out else [])))))
    told = ", ".join(f"{name} {value}" for name, value in made.parameters.items())
    print_table(["part", "tasks", "recipes", *(["tasks left out"] if made.left_out else [])], rows)
    print(f"{caption} ({told})")
    if made.validation_tasks is None and made.parameters["mode"] != "none":
        print("there is no validation part: validation is a part of training here")
    for part in made.parts:
        if (size := len(made.tasks(part))) < FEW and part != "train":
            print(f"note: the {part} part has only {size} tasks: a success on it is told with its interval")


app = App(add_completion=False)


@app.command(epilog="Example: gumption data recipes household.csv --columns makes,first,second --out household.tsv")
def recipes(
    file: Path,
    *,
    out: Annotated[Path, Written(file=True, endings=(".tsv",))],
    columns: str | None = None,
    header: Annotated[bool | None, typer.Option("--header/--no-header", show_default=False)] = None,
    families: Path | None = None,
) -> None:
    """Make a recipe book of a table, and report its oddities, line by line.

    A recipe that makes one of its own ingredients, or is repeated, is left out. The rest is reported and kept: things
    that nothing leads to, or nothing but what they make; two things of which each makes the other; a thing of a single
    recipe; a word that looks like another one in another spelling, or that means several things; origins and families
    that do not go together.

    :param file: A .csv or .tsv file with a recipe a row.
    :param out: The recipe book, a .tsv file.
    :param columns: PRODUCT,INGREDIENT,INGREDIENT: names in the header, or numbers from 1; perhaps a fourth, the origin.
    :param header: Whether the first line names the columns.
    :param families: A .tsv file with the columns family and rule, for origins that are family:NAME.
    """
    from gumption.data.recipe_check import LEFT_OUT, checked
    from gumption.data.recipe_files import book_text, entities_of, read_families, read_recipe_table
    from gumption.data.sealed import hashed_file

    rules = None if families is None else read_families(families)
    kept, problems = checked(read_recipe_table(file, columns, header), rules)

    from gumption.envs.wordcraft import RecipeBook
    from gumption.envs.wordcraft.tasks import enumerate_tasks

    book = RecipeBook(out.stem, entities_of(kept.rows), kept.rows, kept.origins)
    with hashed_file(out) as part:
        part.write_bytes(book_text(kept).encode())
    for line, problem in problems:
        left_out = "; left out" if problem.kind in LEFT_OUT else ""
        place = f"{file}:{line}" if line else f"{families or file}"
        print(f"note: {place}: {problem.kind}: {problem.message}{left_out}", file=sys.stderr)
    print(
        f"{out}: {len(book.entities)} entities, {len(book.roots)} of them made by no recipe; {len(book)} recipes; "
        f"{len(enumerate_tasks(book, 1))} tasks of depth 1"
    )
