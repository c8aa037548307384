"""Filtered ranking of a link predictor: MRR and Hits@k with realistic ranks, on both sides."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from gumption.data import InputError

from .predictor import LinkPredictor
from .vocabulary import Triple

HITS = (1, 3, 10)
CHUNK = 1024


@torch.no_grad()
def evaluate_ranking(
    predictor: LinkPredictor, test: Iterable[Triple], known: Sequence[Iterable[Triple]] = ()
) -> dict[str, float]:
    """Rank the true object among all objects and the true subject among all subjects, for each fact of `test`.

    Filtered: other answers that are true by `known` or by `test` are left out (Bordes et al., 2013). Realistic: among
    equal scores the true one stands in the middle, so rank = 1 + better + ties / 2.

    :param known: sets of true facts, usually [train, valid, test]. Facts with labels that the predictor does not know
        cannot be ranked against and are passed over.
    :returns: {"mrr", "hits@1", "hits@3", "hits@10"}, means over facts and sides.
    :raises InputError: no test facts, a label in them that the predictor does not know, or scores that are NaN.
    """
    vocabulary, size = predictor.vocabulary, len(predictor.vocabulary.entities)
    test_ids = np.unique(vocabulary.triples_to_ids(test), axis=0)
    if not len(test_ids):
        raise InputError("there are no test facts to rank")
    entities, relations = set(vocabulary.entities), set(vocabulary.relations)
    true = [
        vocabulary.triples_to_ids([t for t in facts if t[0] in entities and t[1] in relations and t[2] in entities])
        for facts in known
    ]
    true_ids = np.unique(np.concatenate([test_ids, *true]), axis=0)
    ranks = []
    for anchor, answer in ((0, 2), (2, 0)):
        # Facts sorted by query, so that the known answers of a chunk of test queries are found by binary search.
        keys = true_ids[:, anchor] * len(vocabulary.relations) + true_ids[:, 1]
        order = np.argsort(keys, kind="stable")
        keys, answers = keys[order], true_ids[order, answer]
        for start in range(0, len(test_ids), CHUNK):
            rows = test_ids[start : start + CHUNK]
            ids = torch.from_numpy(rows).to(predictor.device)
            if anchor == 0:
                scores = predictor.object_scores(ids[:, 0], ids[:, 1])
            else:
                scores = predictor.subject_scores(ids[:, 1], ids[:, 2])
            if scores.isnan().any():  # nothing is above NaN: every rank would be the first
                raise InputError("the predictor gives scores that are NaN, which have no rank; train it again")
            target = ids[:, answer, None]
            mine = scores.gather(1, target)
            asked = rows[:, anchor] * len(vocabulary.relations) + rows[:, 1]
            first, last = np.searchsorted(keys, asked), np.searchsorted(keys, asked, side="right")
            counts = last - first
            where = np.repeat(first, counts) + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            other = torch.zeros(len(rows), size, dtype=torch.bool)
            other[torch.from_numpy(np.repeat(np.arange(len(rows)), counts)), torch.from_numpy(answers[where])] = True
            rivals = ~other.to(predictor.device)
            better = ((scores > mine) & rivals).sum(1)
            ties = ((scores == mine) & rivals).sum(1)
            ranks.append((1.0 + better + ties / 2.0).cpu().double())
    rank = torch.cat(ranks)
    return {
        "mrr": float((1.0 / rank).mean()),
        **{f"hits@{k}": float((rank <= k).double().mean()) for k in HITS},
    }
