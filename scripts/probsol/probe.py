"""`gumption probsol probe`: a curious agent tries discs out, and its memory is kept."""

from pathlib import Path

from gumption.data.settings import Size, Whole
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command(epilog="Example: gumption probsol probe --out memories/curious")
def probe(*, out: Path, tasks: Size = 60, seed: Whole = 0, laws: str = "real") -> None:
    """Put discs side by side at random, alone on the table, and keep what is seen.

    `gumption kg build probsol --memory FOLDER` makes a graph of it.

    :param out: The folder of the memory; it is made.
    :param tasks: Generated discovery tasks, a table each.
    :param seed: Draws tasks and meetings.
    :param laws: real, counterfactual, inert or shuffled.
    """
    from gumption.agents.probsol.discovery import curious, find_tasks, live_through
    from gumption.data.settings import check
    from gumption.envs.probsol.memory import Memory
    from gumption.envs.probsol.tasks import Laws

    law = check("laws", laws, Laws)
    live_through(find_tasks("monopoles", tasks, 100_000 + seed * 1000), curious(seed), law, out)
    memory = Memory.load(out)
    print(f"{len(memory)} steps on {len(memory.tasks)} tables, kept in {out}")
