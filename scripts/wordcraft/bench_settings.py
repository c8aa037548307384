"""The options of WordCraft's cases of `gumption bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from gumption.data.settings import Count, settings
from gumption.scripts.measurement import BenchSettings


@settings
class Settings(BenchSettings):
    """What WordCraft's cases run on.

    :ivar num_envs: environments in a batch.
    """

    recipe_book: Annotated[str, typer.Option(help="Name of a recipe book, or a file.")] = "commonsense"
    word_vectors: Annotated[str | None, typer.Option(help="File with word vectors, for the training case.")] = None
    total_steps: Annotated[Count, typer.Option(help="Steps of the training case.")] = 3_000_000
    num_envs: Count = 4096
