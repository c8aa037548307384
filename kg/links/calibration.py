"""Calibrate the probabilities of a link predictor by temperatures, fitted on held-out facts.

For the query (s, p, ?), the probabilities are softmax(scores / T) over the candidates without the known answers. One
T for each direction and relation maximises the likelihood of held-out facts (temperature scaling; Guo et al., 2017,
"On calibration of modern neural networks", section 4.2). T changes no rank. The probability of x estimates how likely
x is the answer of a true fact with this query that is not among the known facts.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.sealed import read_sealed, write_sealed
from gumption.data.settings import Count, Whole, checked_methods
from gumption.kg.facts import Facts

from .predictor import LinkPredictor, Side
from .ranking import SIDES, asked_and_true, filtered_scores

FILE = "calibration.json"
KIND = "gumption/calibration/1"
#: A relation with fewer held-out facts than this shares a temperature with the others of its kind.
LEAST_FACTS = 50
LOWEST, HIGHEST = 0.02, 50.0
STEPS, TOLERANCE = 25, 1e-4
BINS = 15


@dataclass(frozen=True)
class Reliability:
    """How well predicted probabilities match frequencies, over held-out facts and both directions.

    :ivar error: the expected calibration error, the mean over predictions of |confidence - accuracy| of their bin, in
        15 bins of equal width. Confidence is the probability of the top candidate, accuracy the share of predictions
        whose top candidate is the true answer.
    :ivar likelihood: mean log-probability of the true answer, in nats.
    """

    predictions: int
    error: float
    confidence: float
    accuracy: float
    likelihood: float


@checked_methods
@dataclass(frozen=True)
class Calibration:
    """Temperatures of a predictor.

    :ivar vocabulary: hash of the predictor's vocabulary.
    :ivar object, subject: (R,) float64 temperatures of the queries for an object (tail) and for a subject (head).
    :ivar before, after: the reliability on the facts of the fit, without and with the temperatures.
    """

    vocabulary: str
    object: np.ndarray
    subject: np.ndarray
    before: Reliability
    after: Reliability

    @classmethod
    def fit(
        cls, predictor: LinkPredictor, held_out: Facts, known: Sequence[Facts] = (), *, memory: Count | None = None
    ) -> "Calibration":
        """Fit temperatures on facts that the predictor was not trained on.

        The log-likelihood is concave in 1 / T, so that Newton's method converges to its only maximum, for all
        relations at once. T stays between 0.02 and 50. Relations with fewer than 50 held-out facts share one T.

        :param known: facts whose answers are left out, usually [train].
        :param memory: bytes that scores may take at a time, as in `filtered_ranks`.
        :raises InputError: as `filtered_ranks`. A Note counts the held-out facts that the predictor was trained on.
        """
        vocabulary = predictor.vocabulary
        facts, true = asked_and_true(vocabulary, held_out, known)
        predictor.count_trained(facts, "held-out facts")
        counts = np.bincount(facts[:, 1], minlength=len(vocabulary.relations))
        enough = counts >= LEAST_FACTS
        group = np.where(enough, np.cumsum(enough), 0)  # 0 is shared
        found = {}
        for side in SIDES:
            sharpness = torch.ones(int(group.max()) + 1, dtype=torch.float64, device=predictor.device)
            groups = torch.from_numpy(group[facts[:, 1]]).to(predictor.device)
            for _ in range(STEPS):
                # (G,) first and (negative) second derivatives of the log-likelihood by each group's 1 / T.
                slope, bend = torch.zeros_like(sharpness), torch.zeros_like(sharpness)
                for scores, target, here in _unknown_answers(predictor, side, facts, true, memory):
                    p = (scores * sharpness[groups[here], None].float()).softmax(1)
                    gap = scores - scores.gather(1, target)
                    gap.clamp_min_(-torch.finfo(torch.float32).max / 4)  # -inf times 0 would be NaN
                    mean = (p * gap).sum(1, keepdim=True)
                    slope.index_add_(0, groups[here], -mean[:, 0].double())
                    bends = (p * (gap - mean).square_()).nan_to_num_(0.0, 0.0).sum(1)
                    bend.index_add_(0, groups[here], bends.double())
                if not slope.isfinite().all():
                    raise InputError("the predictor gives scores that are NaN or infinite, which no temperature mends")
                step = torch.where(bend > 0, slope / bend, torch.sign(slope) * torch.inf)
                # Far from the maximum, Newton's step may overshoot: limit it to a factor of 4.
                new = (sharpness + step).clamp(sharpness / 4, sharpness * 4).clamp(1 / HIGHEST, 1 / LOWEST)
                new = torch.where(slope == 0, sharpness, new)
                moved = float((new.log() - sharpness.log()).abs().max())
                sharpness = new
                if moved < TOLERANCE:
                    break
            found[side] = (1 / sharpness).cpu().numpy()[group]
        plain = {side: np.ones_like(found[side]) for side in SIDES}
        before, after = (reliability(predictor, facts, true, temperatures, memory) for temperatures in (plain, found))
        return cls(vocabulary.hash, found["object"], found["subject"], before, after)

    def temperature(self, predictor: LinkPredictor, side: Side, relation: Whole) -> float:
        """Return the temperature of a relation (by id) for queries for its "object" or its "subject".

        :raises InputError: a predictor with another vocabulary, or a relation that it does not have.
        """
        self._check(predictor)
        if relation >= len(self.object):
            raise InputError(f"relation is {relation}; the predictor has relations from 0 to {len(self.object) - 1}")
        return float({"object": self.object, "subject": self.subject}[side][relation])

    def save(self, directory: str | os.PathLike[str], predictor: LinkPredictor) -> None:
        """Write calibration.json into the folder of the predictor's checkpoint."""
        relations = predictor.vocabulary.relations
        write_sealed(
            Path(directory) / FILE,
            {
                "kind": KIND,
                "vocabulary": self.vocabulary,
                "object": dict(zip(relations, self.object.tolist(), strict=True)),
                "subject": dict(zip(relations, self.subject.tolist(), strict=True)),
                "before": asdict(self.before),
                "after": asdict(self.after),
            },
        )

    @classmethod
    def load(cls, directory: str | os.PathLike[str], predictor: LinkPredictor) -> "Calibration | None":
        """Read the calibration from the folder of the predictor's checkpoint, or return None if there is no file.

        :raises InputError: a damaged file, or a calibration of another vocabulary.
        """
        path = Path(directory) / FILE
        if not path.is_file():
            return None
        relations = predictor.vocabulary.relations
        content: Any = read_sealed(path, advice="fit it again")
        try:
            if content["kind"] != KIND:
                raise ValueError(f"it is of the kind {content['kind']!r}")
            temperatures = [np.array([content[side][name] for name in relations], dtype=np.float64) for side in SIDES]
            before, after = Reliability(**content["before"]), Reliability(**content["after"])
            calibration = cls(content["vocabulary"], temperatures[0], temperatures[1], before, after)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: the calibration is damaged ({error}); fit it again") from None
        calibration._check(predictor)
        return calibration

    def _check(self, predictor: LinkPredictor) -> None:
        if self.vocabulary != predictor.vocabulary.hash:
            raise InputError("the calibration was fitted for a predictor with another vocabulary; fit it again")


def reliability(
    predictor: LinkPredictor,
    facts: np.ndarray,
    true: np.ndarray,
    temperatures: dict[str, np.ndarray],
    memory: int | None,
) -> Reliability:
    """Compute the reliability of the probabilities at these temperatures, over both sides of facts (n, 3) int64."""
    confidence, right, likelihood = [], [], []
    for side in SIDES:
        sharpness = torch.from_numpy(1 / temperatures[side][facts[:, 1]]).float().to(predictor.device)
        for scores, target, here in _unknown_answers(predictor, side, facts, true, memory):
            log_p = (scores * sharpness[here, None]).log_softmax(1)
            best = log_p.max(1)
            confidence.append(best.values.exp().double())
            right.append((best.indices == target[:, 0]).double())
            likelihood.append(log_p.gather(1, target)[:, 0].double())
    stated, true_share = torch.cat(confidence), torch.cat(right)
    bins = (stated * BINS).long().clamp_max_(BINS - 1)
    gaps = torch.zeros(BINS, dtype=torch.float64, device=bins.device).index_add_(0, bins, stated - true_share)
    return Reliability(
        predictions=len(stated),
        error=float(gaps.abs().sum()) / len(stated),
        confidence=float(stated.mean()),
        accuracy=float(true_share.mean()),
        likelihood=float(torch.cat(likelihood).mean()),
    )


def _unknown_answers(
    predictor: LinkPredictor, side: str, facts: np.ndarray, true: np.ndarray, memory: int | None
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield chunks: (B, N) scores, -inf for known answers except the fact's own; its id (B, 1); fact rows (B,)."""
    for rows in filtered_scores(predictor, side, facts, true, memory, cell_bytes=24):
        mine = rows.scores.gather(1, rows.target)
        rows.scores.view(-1).index_fill_(0, rows.known, -torch.inf)
        rows.scores.scatter_(1, rows.target, mine)
        yield rows.scores, rows.target, torch.from_numpy(rows.facts).to(predictor.device)
