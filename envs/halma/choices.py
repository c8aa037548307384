"""What the settings of HALMA's environments, mazes and runs can be."""

from typing import Annotated, Literal, get_args

from annotated_types import Ge, Le

Observation = Literal["symbolic", "visual"]
Panels = Literal["redrawn", "fixed"]
Images = Literal["train", "test", "train-full", "test-full"]
Order = Literal["random", "sequential"]
OBSERVATIONS, PANELS, IMAGES, ORDERS = map(get_args, (Observation, Panels, Images, Order))

MOST_MAZES = 738_980  # so many optimal paths there are, and mazes without branches: `count_optimal_paths`
NumMazes = Annotated[int, Ge(1), Le(MOST_MAZES)]
TestMazes = Annotated[int, Ge(1), Le(10_000)]  # of one test: their optimal paths all differ
MeanDepth = Annotated[float, Ge(1), Le(100)]  # in a box of so few cells more is the same
MeanBranches = Annotated[float, Ge(0), Le(100)]
OptLen = Annotated[int, Ge(1), Le(100)]
Shown = Annotated[int, Ge(0), Le(9)]  # a digit of a panel, and 0 for none
Direction = Annotated[int, Ge(0), Le(3)]  # index of one of DIRECTIONS
