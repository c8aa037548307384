"""`gumption play`: a person plays a world in the terminal, by the protocol that agents are compared with."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data import InputError

if TYPE_CHECKING:
    from gumption.envs.wordcraft import WordCraftVectorEnv

app = typer.Typer(add_completion=False)

SCHEMA = "gumption/play/1"
WORLDS = ("wordcraft",)


@app.command(epilog="Example: gumption play wordcraft --distractors 8 --out me.json")
def play(
    world: Annotated[str, typer.Argument(help="The world to play: wordcraft.")],
    recipe_book: Annotated[str, typer.Option(help="Name of a recipe book, or a file.")] = "commonsense",
    distractors: Annotated[int, typer.Option(help="Entities on the table that the task does not need.")] = 8,
    seed: Annotated[int, typer.Option(help="Draws the tasks and their tables.")] = 0,
    split_seed: Annotated[int, typer.Option(help="Of the 80/20 split by recipe, as in the experiments.")] = 0,
    train_tasks: Annotated[int, typer.Option(min=0, help="Tasks with feedback, to learn the game.")] = 40,
    test_tasks: Annotated[int, typer.Option(min=1, help="Tasks without feedback, which count.")] = 40,
    out: Annotated[Path, typer.Option(help="Result file; the same command goes on with it.")] = Path("play.json"),
) -> None:
    """Play training tasks with feedback, then test tasks without (Jiang et al., 2020, Appendix C.5).

    The result is kept after every task, so a game that was interrupted goes on where it stopped.
    """
    if world not in WORLDS:
        raise InputError(f"cannot play {world!r}; there is {', '.join(WORLDS)}")
    from gumption.envs.wordcraft import RecipeBook

    settings = {
        "depth": 1,
        "num_distractors": distractors,
        "split": "by_recipe",
        "train_ratio": 0.8,
        "split_seed": split_seed,
    }
    game = Game(RecipeBook.load(recipe_book), settings, seed, {"train": train_tasks, "test": test_tasks}, out)
    game.play()


class Game:
    """A session of one person: which tasks, what was chosen so far, and the file that keeps it."""

    def __init__(self, book: Any, settings: dict[str, Any], seed: int, tasks: dict[str, int], out: Path) -> None:
        """:raises InputError: the file holds another game, or a finished one; more tasks than the split has."""
        from gumption.envs.wordcraft import WordCraftVectorEnv

        self.out, self.seed, self.wanted = out, seed, tasks
        self.envs = {
            part: WordCraftVectorEnv(1, recipe_book=book, partition=part, autoreset_mode="Disabled", **settings)
            for part in tasks
        }
        self.chosen = {part: self._choose(part) for part in tasks}
        self.result = {
            "schema": SCHEMA,
            "world": "wordcraft",
            "player": "person",
            "settings": settings,
            "book": {"name": book.name, "hash": book.hash},
            "split_hash": self.envs["test"].split.hash,
            "seed": seed,
            "tasks": tasks,
            "records": [],
        }
        if out.exists():
            self._continue()

    def play(self) -> None:
        """Play what is left.

        :raises InputError: the input ended before the game did.
        """
        total = sum(self.wanted.values())
        if not self.records:
            print("Two things from the table make a third. Choose them by their numbers, one after the other;")
            print("the same one may be chosen twice. q stops; the same command goes on later.\n")
        else:
            print(f"Going on with task {len(self.records) + 1} of {total}.\n")
        while len(self.records) < total:
            done = len(self.records)
            part = "train" if done < self.wanted["train"] else "test"
            number = done if part == "train" else done - self.wanted["train"]
            if number == 0 and part == "test":
                print("Now the tasks that count. There is no feedback from here on.\n")
            print(f"{'training' if part == 'train' else 'test'} task {number + 1} of {self.wanted[part]}")
            try:
                record = self._play_task(part, number)
            except EOFError:
                self._save()
                raise InputError(
                    f"the input ended after {done} of {total} tasks; {self.out} keeps them, the same command goes on"
                ) from None
            if record is None:
                self._save()
                print(f"Stopped after {done} of {total} tasks; {self.out} keeps them, the same command goes on.")
                return
            self.records.append(record)
            self._save()
        print(f"Done: {self.result['success']:.0%} of {self.wanted['test']} test tasks solved. Result: {self.out}")

    @property
    def records(self) -> list[dict[str, Any]]:
        return self.result["records"]

    def _choose(self, part: str) -> list[int]:
        """Task indices of a part, drawn without repetition."""
        import numpy as np

        env = self.envs[part]
        tasks = env.split.tasks(part)
        if self.wanted[part] > len(tasks):
            raise InputError(f"--{part}-tasks is {self.wanted[part]}; the split has {len(tasks)}")
        rng = np.random.Generator(np.random.PCG64([self.seed, part == "test"]))
        return rng.choice(tasks, self.wanted[part], replace=False).tolist()

    def _play_task(self, part: str, number: int) -> dict[str, Any] | None:
        """The record of one task, None if the player stops."""
        import numpy as np

        from gumption.envs.wordcraft.render import as_text

        env, index = self.envs[part], self.chosen[part][number]
        # Every table has a generator of its own: a game that goes on shows what the whole game would have shown.
        env.np_random = np.random.Generator(np.random.PCG64([self.seed, part == "test", number]))
        env.set_tasks(np.array([index]))
        state = env.describe(0)
        record = {"part": part, "task": index, "goal": state["goal"], "table": state["table"], "chosen": []}
        start = time.monotonic()
        done = False
        while not done:
            print(as_text(env.describe(0)), end="")
            slot = _ask(len(env.describe(0)["table"]))
            if slot is None:
                return None
            record["chosen"].append(env.describe(0)["table"][slot])
            _, done, success = self._step(env, slot)
            record["success"] = success
        record["seconds"] = round(time.monotonic() - start, 1)
        if part == "train":
            print(_feedback(env, index, record))
        print()
        return record

    @staticmethod
    def _step(env: WordCraftVectorEnv, slot: int) -> tuple[float, bool, bool]:
        import numpy as np

        _, reward, terminated, _, infos = env.step(np.array([slot]))
        return float(reward[0]), bool(terminated[0]), bool(infos["success"][0])

    def _save(self) -> None:
        from gumption.data.writing import write_json

        for part, name in (("train", "train_success"), ("test", "success")):
            won = [record["success"] for record in self.records if record["part"] == part]
            self.result[name] = sum(won) / len(won) if won else None
        self.result["complete"] = len(self.records) == sum(self.wanted.values())
        write_json(self.out, self.result)

    def _continue(self) -> None:
        try:
            found = json.loads(self.out.read_text(encoding="utf-8"))
            records, complete = found["records"], found["complete"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.out}: not a result of gumption play ({error}); give another --out") from None
        different = [name for name in self.result if name != "records" and found.get(name) != self.result[name]]
        if different:
            raise InputError(
                f"{self.out}: holds another game ({', '.join(different)} not the same); give another --out"
            )
        if complete:
            raise InputError(f"{self.out}: this game is finished (success {found['success']:.0%}); give another --out")
        self.result["records"] = records


def _ask(slots: int) -> int | None:
    """The slot that the player chooses; None to stop. Raises EOFError at the end of the input."""
    while True:
        answer = input("> ").strip()
        if answer.lower() in ("q", "quit"):
            return None
        if answer.isascii() and answer.isdigit() and int(answer) < slots:
            return int(answer)
        print(f"a number from 0 to {slots - 1}, or q to stop")


def _feedback(env: WordCraftVectorEnv, index: int, record: dict[str, Any]) -> str:
    first, second = record["chosen"]
    if record["success"]:
        return f"{first} + {second} makes {record['goal']}."
    made = env.describe(0)["table"][len(record["table"]) :]
    a, b, goal = env.tasks[index].recipes[0]
    return f"{first} + {second} makes {made[0] if made else 'nothing'}. One way was {a} + {b}, which makes {goal}."
