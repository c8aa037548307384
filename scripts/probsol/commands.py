"""ProbSol's commands: `gumption train probsol`, `gumption kg build probsol` and `gumption splits probsol`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.agents.probsol.config import ProbSolConfig
from gumption.data import InputError
from gumption.scripts.apps import NewFolder, from_config
from gumption.scripts.kg.sources import PLACE, MemoryFolder, Update, Wait, build_of_memory, write_built
from gumption.scripts.output import Json, print_table, working
from gumption.scripts.worlds import Resume, Run

if TYPE_CHECKING:
    pass


@from_config(ProbSolConfig, skip=("world",))
def train(config: ProbSolConfig, run: Run = Path("runs/probsol"), resume: Resume = False) -> None:
    """Train MaskablePPO on the training part of some tasks, and print the share of tasks that it solves.

    It acts in three parts: what to do, with which disc, where. A graph, if there is one (--kg), advises which disc.
    `gumption evaluate` plays the tasks of the test part.

    Example: gumption train probsol --task fishing/generated --steps 200000 --run runs/fishing

    With knowledge: gumption train probsol --kg full --run runs/guided

    By facts of its own tries: gumption train probsol --agent graph --task findthesame/generated --run runs/lived
    """
    from gumption.agents.probsol.training import train_probsol

    final = train_probsol(config, run, resume=resume).final
    print(
        f"solved in one trial: {final['train_solved']:.1%} of the training tasks, {final['validation_solved']:.1%} of "
        f"validation tasks; {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )


def build(
    *,
    out: Annotated[str, typer.Option(help=PLACE)],
    update: Update = None,
    wait: Wait = 5,
    task: list[str] | None = None,
    partition: list[str] | None = None,
    fold: int = 0,
    laws: str | None = None,
    memory: MemoryFolder = None,
    as_json: Json = False,
) -> None:
    """The true facts about the discs and areas of tasks: graph probsol/PART. With --memory the facts of an agent's
    experience.

    Facts of other laws than the tasks' are false for an agent.

    Examples:

    gumption kg build probsol --out kg.nq --task fishing/0

    gumption kg build probsol --out kg.nq --task fishing/generated --partition train

    gumption kg query kg.nq 'SELECT ?a ?b WHERE { ?a gum:attracts ?b }'

    :param task: designed (the default), fishing, fishing/0, fishing/generated, a file; may be repeated.
    :param partition: all (the default), train, validation or test; may be repeated.
    :param fold: Which of the ten splits of generated tasks.
    :param laws: real, counterfactual, inert or shuffled, in place of the tasks'.
    """
    from gumption.envs import worlds
    from gumption.envs.probsol import facts

    if memory is not None:
        if task or partition or laws or fold:
            raise InputError("--task, --partition, --fold and --laws are for the facts of tasks; --memory takes none")
        build_of_memory(worlds.find("probsol"), memory, out, update, wait, as_json)
        return
    asked: Any = {"task": task or "designed", "fold": fold, "laws": laws}
    with working("stating what is true of the tasks"):
        parts: Any = dict.fromkeys(partition or ["all"])
        stated = {f"probsol/{part}": list(facts(partition=part, **asked)) for part in parts}
    write_built(out, update, wait, stated, as_json)


def splits(*, out: NewFolder | None = None, check: Path | None = None, force: bool = False) -> None:
    """Write the splits of the certified tasks: within each family ten folds (train 70 %, validation 10 %, test 20 %),
    and across families six, each of which leaves one family out for the test. The same tasks give the same bytes.

    Example: gumption splits probsol --out splits/probsol

    Example: gumption splits probsol --check splits/probsol

    :param out: Folder for the files: one for each split.
    :param check: Instead of --out: check the files in this folder.
    :param force: Replace other splits in the folder.
    """
    from gumption.envs.probsol.splits import NAMES, check_splits, write_splits

    if (out is None) == (check is None):
        raise InputError("give either --out, a folder to write the splits to, or --check, a folder to check")
    if check is not None:
        if force:
            raise InputError("--force says how splits are made; --check does not take it")
        with working("checking the splits"):
            sizes = check_splits(check)
        caption = f"{check}: no task is in two parts of a split"
    else:
        assert out is not None
        with working("making the splits"):
            write_splits(out, force=force)
            sizes = check_splits(out)
        caption = f"{out}: made and checked"
    rows = [(name, *(f"{sizes[name][part]:,}" for part in ("train", "validation", "test"))) for name in NAMES]
    print_table(["split", "train", "validation", "test"], rows, caption)
