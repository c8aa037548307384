"""A game of one person: what was played so far, and the result file that keeps it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gumption.data import InputError
from gumption.data.reading import parse_json

Record = dict[str, Any]
Choice = TypeVar("Choice")


class Session:
    """Plays a game record by record and keeps the file up to date, so that an interrupted game goes on later.

    :ivar records: what was played so far.
    """

    def __init__(
        self,
        out: Path,
        game: dict[str, Any],
        total: int,
        unit: str,
        summary: Callable[[list[Record]], dict[str, float | None]],
    ) -> None:
        """:param game: what makes this game this one: schema, world, settings, seed; it stands in the result.
        :param total: records of a finished game; `unit` is what one of them is called.
        :param summary: results by name, of the records so far; the first is the one that counts.
        :raises InputError: the file holds another game, or a finished one.
        """
        self.out, self.total, self.unit, self._summary = out, total, unit, summary
        self.result: dict[str, Any] = {**game, "player": "person", "records": []}
        if out.exists():
            self._continue()

    @property
    def records(self) -> list[Record]:
        return self.result["records"]

    def play(self, introduction: str, play_one: Callable[[int], Record | None]) -> bool:
        """Play what is left; true when the game is finished then.

        :param play_one: given the number of a record, plays it; None where the player stops.
        :raises InputError: the input ended before the game did.
        """
        if self.records:
            print(f"Going on with {self.unit} {len(self.records) + 1} of {self.total}.\n")
        else:
            print(f"{introduction}\n")
        while (done := len(self.records)) < self.total:
            so_far = f"after {done} of {self.total} {self.unit}s"
            try:
                record = play_one(done)
            except EOFError:
                self.save()
                raise InputError(f"the input ended {so_far}; {self.out} keeps them, the same command goes on") from None
            if record is None:
                self.save()
                print(f"Stopped {so_far}; {self.out} keeps them, the same command goes on.")
                return False
            self.records.append(record)
            self.save()
        return True

    def save(self) -> None:
        from gumption.data.writing import write_json

        self.result |= self._summary(self.records)
        self.result["complete"] = len(self.records) == self.total
        write_json(self.out, self.result)

    def _continue(self) -> None:
        try:
            found = parse_json(self.out.read_text(encoding="utf-8"))
            records, complete = found["records"], found["complete"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.out}: not a result of gumption play ({error}); give another --out") from None
        different = [name for name in self.result if name != "records" and found.get(name) != self.result[name]]
        if different:
            raise InputError(
                f"{self.out}: holds another game ({', '.join(different)} not the same); give another --out"
            )
        if complete:
            name = next(iter(self._summary([])))
            raise InputError(f"{self.out}: this game is finished ({name} {found[name]:.0%}); give another --out")
        self.result["records"] = records


def ask(parse: Callable[[str], Choice]) -> Choice | None:
    """What the player types at a prompt; asked again where that cannot be read. None to stop.

    :param parse: reads what was typed; InputError says why it cannot.
    :raises EOFError: the input has ended.
    """
    while (typed := input("> ").strip()).lower() not in ("q", "quit"):
        try:
            return parse(typed)
        except InputError as error:
            print(error)
    return None
