"""Filtered ranking for the case `kg`: our evaluator beside PyKEEN's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import process_time

import numpy as np
import torch

from gumption.kg import Vocabulary, evaluate_ranking
from gumption.scripts.kg.parts import PARTS
from gumption.scripts.measurement import BenchSettings, Measurement

from .pykeen_peer import OurScores, as_ours, frozen_garbage, pykeen_mrr, random_pykeen

RANK, RANKING_TIMES, SAME_MRR = 100, 10, 1e-6
RANKING = f"Filtered ranking of WN18RR's test facts, both sides: CPU time, one thread, rank {RANK}, random embeddings"


def ranking_rows(settings: BenchSettings, vocabulary: Vocabulary, ids: dict[str, np.ndarray]) -> Iterator[Measurement]:
    """Each side's evaluator on its own ComplEx with the same weights, then both evaluators on our scores.

    PyKEEN's ComplEx makes its scores entity by entity and dimension by dimension, ours by one matrix product; with the
    same scores it is the evaluators alone that differ.
    """
    theirs = random_pykeen(vocabulary, ids["train"], RANK)
    ours = as_ours(theirs, vocabulary)
    others = [ids["train"], ids["valid"]]
    facts = (vocabulary, ids["test"])
    known = [(vocabulary, ids[part]) for part in PARTS]

    def mine() -> float:
        return evaluate_ranking(ours, facts, known=known)["mrr"]

    def scores_only() -> float:
        for rows in torch.from_numpy(ids["test"]).split(64):
            ours.object_scores(rows[:, 0], rows[:, 1])
            ours.subject_scores(rows[:, 1], rows[:, 2])
        return 0.0

    settings.tell("ranking by both evaluators")
    with frozen_garbage():
        their_view = OurScores(ours, ids["train"])
        timed = [
            (_timed(mine), _timed(lambda: pykeen_mrr(their_view, ids["test"], others)), _timed(scores_only))
            for _ in range(settings.repeats)
        ]
        settings.tell("ranking by PyKEEN's evaluator on PyKEEN's model")
        own, own_mrr = _timed(lambda: pykeen_mrr(theirs, ids["test"], others))
    seconds, same, scoring = ([one for one, _ in each] for each in zip(*timed, strict=True))
    (_, mrr), (_, same_mrr), _ = timed[-1]
    details = {"facts": len(ids["test"]), "entities": len(vocabulary.entities), "mrr": mrr}
    figure = median(seconds)
    yield Measurement(
        "our evaluator on our ComplEx", "s", figure, min(seconds), "PyKEEN's evaluator on its ComplEx, same weights",
        own, figure / own, f"1/{RANKING_TIMES}, and the same MRR",
        figure * RANKING_TIMES <= own and abs(mrr - own_mrr) <= SAME_MRR,
        details | {"mrr_pykeen": own_mrr}, RANKING,
    )  # fmt: skip
    yield Measurement(
        f"our evaluator on our ComplEx, {median(scoring):.3f} s of it for the scores", "s", figure, min(seconds),
        "PyKEEN's evaluator on our ComplEx's scores", median(same), figure / median(same), "the same MRR",
        abs(mrr - same_mrr) <= SAME_MRR,
        details | {"mrr_pykeen": same_mrr, "seconds_of_scores": median(scoring)}, RANKING,
    )  # fmt: skip


def _timed(job: Callable[[], float]) -> tuple[float, float]:
    """CPU seconds, and what the job gives."""
    started = process_time()
    result = job()
    return process_time() - started, result
