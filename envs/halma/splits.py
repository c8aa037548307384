"""The mazes of a folder of splits, by test."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gumption.data.settings import checked_methods

from .mazes import Mazes
from .segment_mazes import Record


@checked_methods
@dataclass(frozen=True, eq=False)
class Splits(Mapping[str, Mazes]):
    """The mazes of a folder of splits by test, in the order of SPLITS; tests without mazes are left out.

    :ivar records: what each maze asks, by test, in the order of the mazes.
    :ivar manifest: counts, parameters, sizes of the knowledge bases, reasons, sha256 of the files.
    """

    records: dict[str, tuple[Record, ...]]
    manifest: dict[str, Any]
    _mazes: dict[str, Mazes] = field(init=False, repr=False, default_factory=dict)

    def __getitem__(self, test: str) -> Mazes:
        if test not in self._mazes:
            self._mazes[test] = Mazes(record.maze for record in self.records[test])
        return self._mazes[test]

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def reasons(self) -> dict[str, str]:
        """Why a test has no mazes, by test."""
        return {test: entry["reason"] for test, entry in self.manifest["tests"].items() if entry["reason"]}
