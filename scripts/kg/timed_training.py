"""Our ComplEx trained epoch by epoch, each timed."""

from collections.abc import Callable
from time import process_time

import numpy as np
import torch

from gumption.kg import ComplEx, Vocabulary
from gumption.kg.links.complex import ComplExTraining
from gumption.kg.links.training_settings import TrainingSettings

Look = Callable[[int, float, ComplEx], None]


def train_timed(
    vocabulary: Vocabulary, ids: np.ndarray, settings: TrainingSettings, look: Look | None = None
) -> tuple[ComplEx, list[float]]:
    """The model that ComplEx.fit gives on the CPU without validation facts, and the CPU seconds of each epoch.

    :param look: told each epoch, its CPU seconds and the model as it is then; what it does is not timed. The first
        epoch's seconds have those of setting up.
    """
    seconds = []
    started = process_time()
    training = ComplExTraining(ids, len(vocabulary.entities), len(vocabulary.relations), settings, torch.device("cpu"))
    for epoch in range(1, settings.epochs + 1):
        training.run_epoch()
        seconds.append(process_time() - started)
        if look is not None:
            look(epoch, seconds[-1], ComplEx(vocabulary, origin=None, **training.tensors()))
        started = process_time()
    return ComplEx(vocabulary, origin=None, **training.tensors()), seconds
