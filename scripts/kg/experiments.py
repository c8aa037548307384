"""The experiments on graphs themselves, of no world."""

from . import comparison, link_prediction, scale

EXPERIMENTS = {**link_prediction.EXPERIMENTS, **comparison.EXPERIMENTS, **scale.EXPERIMENTS}
