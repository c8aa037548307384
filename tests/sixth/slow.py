"""The sixth world again, which takes a while to be made ready. `GUMPTION_WORLDS=sixth.slow` adds it."""

import time
from dataclasses import replace

from gumption.envs.worlds import add
from gumption.scripts.people.web.views import general_view

from .shelf import WORLD


def prepare():
    time.sleep(1.5)


VIEW = replace(general_view(WORLD), prepare=prepare)
add(replace(WORLD, name="slow", title="Slow", offers={**WORLD.offers, "web": f"{__name__}:VIEW"}))
