"""The options of WordCraft's cases of `gumption bench`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from gumption.scripts.measurement import BenchSettings


@dataclass(frozen=True)
class Settings(BenchSettings):
    """What WordCraft's cases run on.

    :ivar num_envs: environments in a batch.
    """

    recipe_book: Annotated[str, typer.Option(help="Name of a recipe book, or a file.")] = "commonsense"
    word_vectors: Annotated[str | None, typer.Option(help="File with word vectors, for the training case.")] = None
    total_steps: Annotated[int, typer.Option(min=1, help="Steps of the training case.")] = 3_000_000
    num_envs: int = 4096
