"""The baseline of link prediction that learns nothing: the entities that most often answer a relation."""

import numpy as np
import torch
from scipy.sparse import csr_array

from gumption.kg.vocabulary import Vocabulary

from .predictor import LinkPredictor


class FrequencyBaseline(LinkPredictor):
    """Scores an answer by the number of facts in which it answers the relation, whatever entity is asked about."""

    score_bytes = 8

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray) -> None:
        """
        :param ids: (n, 3) int64, the facts that are counted.
        """
        self.vocabulary = vocabulary
        self.device = torch.device("cpu")
        shape = len(vocabulary.relations), len(vocabulary.entities)
        one = np.ones(len(ids), dtype=np.float32)
        self._subjects, self._objects = (csr_array((one, (ids[:, 1], ids[:, side])), shape) for side in (0, 2))

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(self._objects[relations.numpy()].toarray())

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(self._subjects[relations.numpy()].toarray())
