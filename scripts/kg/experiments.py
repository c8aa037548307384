"""The experiments on graphs themselves, of no world."""

from . import link_prediction, scale

EXPERIMENTS = {**link_prediction.EXPERIMENTS, **scale.EXPERIMENTS}
