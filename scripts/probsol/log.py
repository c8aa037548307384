"""`gumption probsol log`: transitions of the random and the scripted player, for learning offline."""

from __future__ import annotations

from pathlib import Path

from gumption.data.settings import Count, Seed
from gumption.scripts.apps import App

app = App()

#: Tables of a batch, and trials that an episode may have.
TABLES, TRIALS = 40, 3


@app.command(epilog="Example: gumption probsol log --out logged --transitions 1000")
def log(*, out: Path, transitions: Count = 100000, seed: Seed = 0) -> None:
    """Keep what the random and the scripted player (people wrote it) live through on the training tasks of fold 0, each
    in a memory of its own, as RecordMemory keeps it.

    :param out: Folder for the memories: random/ and scripted/.
    :param transitions: How many at least, half of them of each player.
    :param seed: Draws tasks and random actions.
    """
    from dataclasses import replace

    from gumption.agents.probsol.players import Random, Scripted, play
    from gumption.envs.probsol.library import find_tasks
    from gumption.envs.probsol.vector_env import ProbSolVectorEnv
    from gumption.envs.record_memory import RecordMemory

    tasks = [replace(each, constraints={"trial_number": TRIALS}) for each in find_tasks("generated", "train", 0)]
    for name in ("random", "scripted"):
        batch = ProbSolVectorEnv(TABLES, task=tasks, autoreset_mode="Disabled")
        memory = RecordMemory(batch, out / name)
        episodes = 0
        while memory.recording.count < (transitions + 1) // 2:
            batch.reset(seed=seed if episodes == 0 else None)  # the generator goes on
            play(batch, Random(seed + episodes) if name == "random" else Scripted())
            episodes += 1
        print(f"{out / name}: {memory.recording.count:,} transitions, {episodes * TABLES:,} episodes")
        memory.close()
