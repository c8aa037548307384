"""A sixth world, as a person would add one: put things where they belong. `GUMPTION_WORLDS=sixth.shelf` adds it."""

import json

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.envs.action_facts import action_facts
from gumption.envs.native import NativeEnv, NativeVectorEnv, check_batch
from gumption.envs.worlds import Environment, World, add

THINGS = {"cup": 0, "plate": 0, "bowl": 0, "book": 1, "map": 1, "atlas": 1, "shirt": 2, "sock": 2, "coat": 2}
PLACES = ("cupboard", "shelf", "wardrobe")
LABELS = ("", *THINGS, *PLACES)
PARTS = {
    "train": ("cup", "plate", "book", "map", "shirt", "sock"),
    "test": ("bowl", "atlas", "coat"),
    "all": tuple(THINGS),
}


def facts(*, partition):
    """(thing, belongsIn, place) for the things of a part."""
    if partition not in PARTS:
        raise InputError(f"partition is {partition!r}; it can be {', '.join(PARTS)}")
    return iter(sorted((thing, "belongsIn", PLACES[THINGS[thing]]) for thing in PARTS[partition]))


class ShelfVectorEnv(NativeVectorEnv):
    """Many shelves at once; see `ShelfEnv`."""

    vocabulary = LABELS
    relations = ("belongsIn",)

    def __init__(self, num_envs=1, *, partition="train", render_mode=None, autoreset_mode=AutoresetMode.NEXT_STEP):
        check_batch(num_envs, render_mode)
        if partition not in PARTS:
            raise InputError(f"partition is {partition!r}; it can be {', '.join(PARTS)}")
        space = spaces.Dict({"thing": spaces.Discrete(len(THINGS)), "action_mask": spaces.MultiBinary(len(PLACES))})
        super().__init__(num_envs, render_mode, autoreset_mode, space, spaces.Discrete(len(PLACES)))
        names = list(THINGS)
        self.things = np.array([names.index(thing) for thing in PARTS[partition]])
        self.belongs = np.array(list(THINGS.values()))
        self.thing = np.zeros(num_envs, dtype=np.int64)
        self.done, self.right = np.zeros((2, num_envs), dtype=bool)

    @property
    def success(self):
        return self.right

    def advance(self, actions, idle=None):
        active = np.ones(self.num_envs, dtype=bool) if idle is None else ~idle
        self.done = active.copy()
        self.right = active & (actions == self.belongs[self.thing])

    def results(self):
        return self.right.astype(np.float32), self.done, np.zeros(self.num_envs, dtype=bool)

    def renew(self, columns, rng):
        self.thing[columns] = rng.choice(self.things, size=len(columns))
        self.done[columns] = self.right[columns] = False

    def set_up(self, columns, options, rng):
        if set(options) != {"thing"} or options["thing"] not in THINGS:
            raise InputError(f"the reset option is thing, one of {', '.join(THINGS)}")
        self.thing[columns] = list(THINGS).index(options["thing"])
        self.done[columns] = self.right[columns] = False

    def observe(self):
        return {"thing": self.thing.copy(), "action_mask": np.ones((self.num_envs, len(PLACES)), dtype=np.int8)}

    def info_arrays(self):
        mask = np.ones((self.num_envs, len(PLACES)), dtype=np.int8)
        return {"success": self.right.copy(), "action_mask": mask}

    def describe(self, i):
        mask = np.ones(len(PLACES), dtype=np.int8)
        return {"thing": list(THINGS)[self.thing[i]], "success": bool(self.right[i]), "action_mask": mask}

    def action_facts(self, chosen=None):
        places = 1 + len(THINGS) + np.arange(len(PLACES))
        shape, thing = (self.num_envs, len(PLACES)), 1 + self.thing[:, None]
        things = np.broadcast_to(places[:, None], (*shape, 1))
        return action_facts(self.relations, shape, [(thing, places, 0)], things=things, about=thing)

    def draw_frame(self, i, mode):
        told = f"Where does the {self.describe(i)['thing']} belong? " + ", ".join(PLACES)
        return told if mode == "ansi" else np.full((24, 48, 3), 40 * int(self.thing[i]) % 255, dtype=np.uint8)

    def state_dict(self):
        state = {"thing": self.thing.copy(), "done": self.done.copy(), "right": self.right.copy()}
        return state | {"rng": json.dumps(self.np_random.bit_generator.state)}

    def load_state_dict(self, state):
        for name in ("thing", "done", "right"):
            getattr(self, name)[:] = state[name]
        self.np_random.bit_generator.state = json.loads(state["rng"])
        self._started = True


class ShelfEnv(NativeEnv):
    """Put a thing where it belongs.

    Description: one thing is shown; the right place ends the episode with a reward, a wrong one without.

    Observation: thing, action_mask. Actions: one of three places. Reward: 1 for the right place.

    Termination: after one choice. Info: thing, success, action_mask. Reset options: {"thing": its name}.
    """

    def __init__(self, render_mode=None, **settings):
        super().__init__(ShelfVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings))

    def action_masks(self):
        """(3,) bool, for MaskablePPO."""
        return np.ones(len(PLACES), dtype=bool)


WORLD = World(
    name="shelf",
    title="Shelf",
    about="Put things where they belong.",
    source="the tests",
    environments=(
        Environment(
            "gumption/Shelf-v0",
            f"{__name__}:ShelfEnv",
            f"{__name__}:ShelfVectorEnv",
            held_out={"partition": "test"},
        ),
    ),
    offers={"facts": f"{__name__}:facts"},
)
add(WORLD)
