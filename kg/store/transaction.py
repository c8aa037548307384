"""Changes of a graph that are collected and then made at once."""

from collections.abc import Sequence

import pyoxigraph as ox

from .quads import Completion
from .stores import Store


class Transaction:
    """What is to be added to and removed from a store; `commit` does it in one step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._there: dict[ox.Quad, bool] = {}  # changed fact -> whether it will be there
        self.updates: list[str] = []

    def add(self, facts: Sequence[ox.Quad]) -> int:
        """How many of these facts would not be there."""
        return self._set(facts, there=True)

    def remove(self, facts: Sequence[ox.Quad]) -> int:
        """How many of these facts would be there."""
        return self._set(facts, there=False)

    @property
    def graphs(self) -> set[str]:
        """The IRIs of the graphs that get facts."""
        return {str(fact.graph_name)[1:-1] for fact, there in self._there.items() if there}

    @property
    def changed(self) -> bool:
        """Whether any fact is added or removed."""
        return bool(self._there)

    def commit(self) -> None:
        """Make the changes."""
        removed = [fact for fact, there in self._there.items() if not there]
        added = [fact for fact, there in self._there.items() if there]
        if removed or added or self.updates:
            self._store.change(removed, Completion()(added), self.updates)

    def _set(self, facts: Sequence[ox.Quad], there: bool) -> int:
        distinct = list(dict.fromkeys(facts))
        stored = set(self._store.present([fact for fact in distinct if fact not in self._there]))
        changed = [fact for fact in distinct if self._there.get(fact, fact in stored) != there]
        self._there.update(dict.fromkeys(changed, there))
        return len(changed)
