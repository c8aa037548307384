"""In words, what a success is of: it follows from how the book was split."""

from collections.abc import Mapping

from gumption.envs.wordcraft import Split
from gumption.envs.wordcraft.splits import MODES

_TESTED = {
    "by_recipe": "unseen recipes",
    "by_recipe_train_all_goals": "unseen recipes",
    "by_goal": "unseen goals",
    "by_goal_train_terminals": "unseen goals",
    "by_task": "unseen tasks",
    "none": "training tasks",
}


def what_is_tested(split: str | Split) -> str:
    """What the "test_success" of a run is of: "unseen recipes", "unseen goals", "unseen tasks" or, where the split sets
    nothing aside, "training tasks".

    :param split: a way of splitting, a split, or the file of one.
    :raises InputError: neither.
    """
    if isinstance(split, str) and split not in MODES:
        split = Split.load(split)
    return _TESTED[split if isinstance(split, str) else split.parameters["mode"]]


def success_sentence(split: str | Split, final: Mapping[str, float]) -> str:
    """What a finished run came to: "success on unseen recipes 61.2% (512 tasks; training tasks 98.7%)".

    :param split: as in `what_is_tested`.
    :param final: "test_success" and "train_success", shares, and "test_tasks", their number.
    """
    tested = what_is_tested(split)
    beside = f"training tasks {final['train_success']:.1%}" if tested != _TESTED["none"] else "none was set aside"
    return f"success on {tested} {final['test_success']:.1%} ({final['test_tasks']:,} tasks; {beside})"
