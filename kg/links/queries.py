"""The questions that facts answer, each once: (s, p, ?) and (?, p, o), with all their answers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch


class Queries:
    """The distinct queries of some facts: query i is (anchor[i], kind[i]), its answers are
    answer[first[i] : first[i + 1]]. Kind p < R asks for objects of relation p, kind R + p for its subjects.

    :ivar facts: how many distinct facts there are; each is an answer twice.
    """

    def __init__(self, ids: np.ndarray, relations: int, by_query: bool = False) -> None:
        """
        :param ids: (n, 3) int64 facts.
        :param by_query: whether each query weighs 1, else each fact.
        """
        self.by_query = by_query
        ids = np.unique(ids, axis=0)
        self.facts = len(ids)
        rows = np.concatenate([ids, np.stack([ids[:, 2], ids[:, 1] + relations, ids[:, 0]], axis=1)])
        rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
        first = np.flatnonzero(new)
        self.anchor, self.kind, self.answer = rows[first, 0], rows[first, 1], rows[:, 2].copy()
        self.first = np.append(first, len(rows))

    def __len__(self) -> int:
        return len(self.anchor)

    def epoch(
        self, rng: np.random.Generator, size: int, device: torch.device, most: int
    ) -> "Iterator[tuple[int, list[QueryPart]]]":
        """All queries once, in random order: for each batch its total weight, and the batch in parts of at most `most`
        queries. What a batch needs goes to the device once for the whole epoch."""
        order = rng.permutation(len(self))
        counts = np.diff(self.first)[order]
        ends = np.concatenate([[0], np.cumsum(counts)])
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
        answers = self.answer[np.repeat(self.first[:-1][order], counts) + within]
        rows = np.repeat(np.arange(len(order)), counts)
        # What an answer weighs: each fact the same, or each query the same.
        totals = counts.astype(np.float32)
        weights = 1 / totals if self.by_query else np.ones_like(totals)
        columns = [self.anchor[order], self.kind[order], totals * weights, rows, answers, weights[rows]]
        anchor, kind, total, row, answer, weight = (torch.from_numpy(column).to(device) for column in columns)
        for start in range(0, len(order), size):
            stop = min(start + size, len(order))
            parts = []
            for low in range(start, stop, most):
                high = min(low + most, stop)
                facts = slice(int(ends[low]), int(ends[high]))
                chosen = slice(low, high)
                asked = anchor[chosen], kind[chosen], total[chosen]
                parts.append(QueryPart(*asked, row[facts] - low, answer[facts], weight[facts]))
            yield stop - start if self.by_query else int(ends[stop] - ends[start]), parts


@dataclass(frozen=True)
class QueryPart:
    """B queries and their n answers.

    :ivar anchor, kind: (B,) int64.
    :ivar total: (B,) float32, the weight of a query, which is that of its answers together.
    :ivar row, answer: (n,) int64, the query of an answer within the part, and the entity that it is.
    :ivar weight: (n,) float32.
    """

    anchor: torch.Tensor
    kind: torch.Tensor
    total: torch.Tensor
    row: torch.Tensor
    answer: torch.Tensor
    weight: torch.Tensor
