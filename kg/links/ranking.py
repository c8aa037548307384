"""Rank the answers of a link predictor: filtered MRR and Hits@k with realistic ranks; overall, by side, by relation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.settings import Count, checked
from gumption.kg.facts import Facts, distinct, is_pair, to_ids
from gumption.kg.vocabulary import Vocabulary

from .predictor import LinkPredictor

HITS = (1, 3, 10)
# Side of the answer -> columns of the query's entity (the anchor) and of the answer in (n, 3) facts.
SIDES = {"object": (0, 2), "subject": (2, 0)}
# Default budgets. On a CPU, small chunks stay in the caches and in memory that is reused.
CPU_MEMORY, MEMORY = 1 << 26, 1 << 30
CELL_BYTES = 4  # per score, for its working copy
PAIR_BYTES = 64  # per known answer of a chunk, for the int64 indices that `_places` holds at once
_LARGEST = torch.finfo(torch.float32).max
EXACT = 1 << 24  # sums of this many +1 and -1 are exact in float32


@dataclass(frozen=True)
class Ranks:
    """The filtered realistic ranks of n distinct facts, for both sides.

    :ivar facts: (n, 3) int64 ids in `vocabulary`, sorted.
    :ivar object, subject: (n,) float64, the rank of the true object (tail) and of the true subject (head).
    """

    vocabulary: Vocabulary
    facts: np.ndarray
    object: np.ndarray
    subject: np.ndarray

    def figures(self) -> dict[str, float]:
        """Return {"mrr", "hits@1", "hits@3", "hits@10"}, means over facts and sides."""
        return _figures(np.concatenate([self.object, self.subject]))

    def by_side(self) -> dict[str, dict[str, float]]:
        """Return the figures of "object" (tail prediction) and of "subject" (head prediction)."""
        return {"object": _figures(self.object), "subject": _figures(self.subject)}

    def by_relation(self) -> dict[str, dict[str, float]]:
        """Return the figures of each relation with facts, over both sides, and its number of "facts"."""
        relations = self.facts[:, 1]
        return {
            self.vocabulary.relations[relation]: {
                "facts": int((relations == relation).sum()),
                **_figures(np.concatenate([self.object[relations == relation], self.subject[relations == relation]])),
            }
            for relation in np.unique(relations)
        }


@checked
def evaluate_ranking(
    predictor: LinkPredictor, test: Facts, known: Sequence[Facts] = (), *, memory: Count | None = None
) -> dict[str, float]:
    """Rank the true object among all objects and the true subject among all subjects, for each fact of `test`.

    :returns: {"mrr", "hits@1", "hits@3", "hits@10"}, means over facts and sides; `filtered_ranks` gives more.
    :raises InputError: as `filtered_ranks`, which also describes the parameters.
    """
    return filtered_ranks(predictor, test, known, memory=memory).figures()


@torch.no_grad()
@checked
def filtered_ranks(
    predictor: LinkPredictor,
    test: Facts,
    known: Sequence[Facts] = (),
    *,
    memory: Count | None = None,
    progress: bool = False,
) -> Ranks:
    """Rank the object of each test fact among all objects, and its subject among all subjects.

    Filtered: other true answers, by `known` or `test`, are left out (Bordes et al., 2013). Realistic: among equal
    scores the true answer has the middle rank (Berrendorf et al., 2020), so that with r rivals

        rank = 1 + better + ties / 2 = 1 + (r + sum over rivals of sign(score of the rival - score of the truth)) / 2.

    Test facts that share a query share its row of scores.

    :param test, known: label triples, or (vocabulary, (n, 3) ids) with the predictor's vocabulary. `known` are sets of
        true facts, usually [train, valid, test]; label triples with labels that the predictor lacks are left out.
    :param memory: bytes that scores and masks may take at a time on the predictor's device, without the facts
        themselves. None is 64 MiB on a CPU, else 1 GiB, or the bytes of one query if that is more.
    :param progress: show progress on stderr, on a terminal by a bar.
    :raises InputError: no test facts, a test label that is not in the predictor's vocabulary, ids of another
        vocabulary, less memory than one query takes, or scores that are NaN.
    """
    vocabulary, size = predictor.vocabulary, len(predictor.vocabulary.entities)
    facts, true = asked_and_true(vocabulary, test, known)
    ranks = {}
    for side in SIDES:
        rank = np.empty(len(facts))
        better, strange, places = [], [], []
        done = 0
        with Bar(len(facts), f"{side}s", progress) as bar:
            for rows in filtered_scores(predictor, side, facts, true, memory):
                ahead = rows.scores
                ahead.clamp_(-_LARGEST, _LARGEST)  # equal infinities are a tie, but their difference would be NaN
                ahead.sub_(ahead.gather(1, rows.target))
                ahead.view(-1).index_fill_(0, rows.known, 0.0)  # true answers, the target included, are no rivals
                strange.append(ahead.amax(1).isnan().any())  # the sign of NaN is 0
                ahead.sign_()
                better.append(torch.stack([part.sum(1).double() for part in ahead.split(EXACT, dim=1)]).sum(0))
                places.append(rows.facts)
                rank[rows.facts] = 1 + (size - rows.known_count) / 2
                done += len(rows.facts)
                bar.show(done)
        if torch.stack(strange).any():
            raise InputError("the predictor gives scores that are NaN, which have no rank; train it again")
        rank[np.concatenate(places)] += torch.cat(better).cpu().numpy() / 2
        ranks[side] = rank
    return Ranks(vocabulary, facts, **ranks)


def asked_and_true(vocabulary: Vocabulary, test: Facts, known: Sequence[Facts]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ids of the test facts, (n, 3) int64, and of all true facts, both sorted.

    :raises InputError: no test facts; as `to_ids`.
    """
    if is_pair(known):
        raise InputError("known is one set of facts; give a list of such sets, as in known=[train, valid, test]")
    facts = distinct(vocabulary, to_ids(vocabulary, test))
    if not len(facts):
        raise InputError("there are no test facts to rank")
    everything = np.concatenate([facts, *(to_ids(vocabulary, each, skip=True) for each in known)])
    return facts, distinct(vocabulary, everything)


@dataclass(frozen=True)
class Rows:
    """Scores of all N candidates for the queries of B facts, with the positions of known answers.

    :ivar facts: (B,) int64, row numbers of the facts.
    :ivar scores: (B, N) float32, valid until the next Rows; the caller may overwrite it.
    :ivar target: (B, 1) int64, the answer of each fact.
    :ivar known: (P,) int64, flat indices in `scores` of all true answers, including `target`.
    :ivar known_count: (B,) int64, the number of true answers to each fact's query.
    """

    facts: np.ndarray
    scores: torch.Tensor
    target: torch.Tensor
    known: torch.Tensor
    known_count: np.ndarray


def filtered_scores(
    predictor: LinkPredictor, side: str, facts: np.ndarray, true: np.ndarray, memory: int | None, cell_bytes: int = 0
) -> Iterator[Rows]:
    """Yield chunks of the facts with the scores of one side. Each distinct query of a chunk is scored once.

    The loop never waits for the device.

    :param side: "object" or "subject", the part to predict.
    :param facts, true: (n, 3) ids, distinct; `true` contains `facts`.
    :param memory: bytes that a chunk may take, as in `filtered_ranks`.
    :param cell_bytes: further bytes that the caller needs for each score.
    """
    vocabulary, device = predictor.vocabulary, predictor.device
    size, relations = len(vocabulary.entities), len(vocabulary.relations)
    anchor, answer = SIDES[side]
    # Sort known answers by query, so that the answers of a query are a slice.
    true_keys = true[:, anchor] * relations + true[:, 1]
    order = np.argsort(true_keys, kind="stable")
    true_keys, answers = true_keys[order], torch.from_numpy(true[order, answer]).to(device)
    keys = facts[:, anchor] * relations + facts[:, 1]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.searchsorted(true_keys, keys)
    counts = np.searchsorted(true_keys, keys, side="right") - first
    work = size * (predictor.score_bytes + CELL_BYTES + cell_bytes) + counts * PAIR_BYTES
    usual = CPU_MEMORY if device.type == "cpu" else MEMORY
    bounds = _chunks(work, usual if memory is None else memory, strict=memory is not None)

    # Everything goes to the device once, so that the loop only slices and never waits for a copy.
    new = np.diff(keys, prepend=-1) > 0
    question = np.cumsum(new) - 1
    ids, firsts, many, questions, row = (
        torch.from_numpy(array).to(device) for array in (facts[order], first, counts, facts[order[new]], question)
    )
    buffer = torch.empty(int(np.diff(bounds).max()), size, device=device)
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        asked = questions[question[start] : question[stop - 1] + 1]
        if side == "object":
            scores = predictor.object_scores(asked[:, 0], asked[:, 1])
        else:
            scores = predictor.subject_scores(asked[:, 1], asked[:, 2])
        rows = torch.index_select(scores, 0, row[start:stop] - row[start], out=buffer[: stop - start])
        del scores
        known = _places(firsts[start:stop], many[start:stop], int(counts[start:stop].sum()), answers, size)
        yield Rows(order[start:stop], rows, ids[start:stop, answer, None], known, counts[start:stop])


def _places(first: torch.Tensor, counts: torch.Tensor, total: int, answers: torch.Tensor, size: int) -> torch.Tensor:
    """Return (total,) flat indices in a (B, N) matrix of the known answers first[b], ..., first[b] + counts[b] - 1."""
    # With output_size, repeat_interleave does not wait for the device.
    row = torch.repeat_interleave(counts, output_size=total)
    within = torch.arange(total, device=first.device) - (counts.cumsum(0) - counts)[row]
    return row * size + answers[first[row] + within]


def _chunks(work: np.ndarray, memory: int, strict: bool) -> np.ndarray:
    """Return bounds of chunks whose work, in bytes per row, fits into the memory; at least one row unless strict."""
    if strict and work.max() > memory:
        raise InputError(f"memory is {memory} bytes, but one query takes {int(work.max())}: allow at least that")
    upto = np.cumsum(work)
    bounds = [0]
    while bounds[-1] < len(work):
        done = upto[bounds[-1] - 1] if bounds[-1] else 0
        bounds.append(max(int(np.searchsorted(upto, done + memory, side="right")), bounds[-1] + 1))
    return np.array(bounds)


def _figures(ranks: np.ndarray) -> dict[str, float]:
    return {"mrr": float((1.0 / ranks).mean()), **{f"hits@{k}": float((ranks <= k).mean()) for k in HITS}}
