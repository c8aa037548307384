"""`gumption train WORLD`: train an agent, keep its run, go on with one that was stopped."""

from .world_commands import general_train
from .worlds import world_group

app = world_group(
    "train_command",
    "Train an agent on a world.",
    general_train,
    epilog="Example: gumption train wordcraft --kg train --run runs/guided",
)
