"""A maze of one's own: find the way from room to room. `GUMPTION_WORLDS=sixth.maze` adds it.

The way is looked up in a graph of (room, leadsOn, next room), given a door; see `planning_problem`.
"""

import json

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.envs.action_facts import PlanningProblem, action_facts
from gumption.envs.native import NativeEnv, NativeVectorEnv, check_batch
from gumption.envs.worlds import Environment, World, add
from gumption.kg import NaryRelation

SIDE, STEPS = 4, 12
DOORS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
ROOMS = tuple(f"room {row}{column}" for row in range(SIDE) for column in range(SIDE))
LABELS = ("", *ROOMS, *DOORS)
WALLS = {("room 00", "east"), ("room 10", "east"), ("room 11", "south"), ("room 22", "east"), ("room 32", "north")}
LEADS_ON = NaryRelation("leadsOn", "hasRoom", "hasDoor", "hasNext")


def _next(room, door):
    """(rows, columns) behind a door; the same room where there is a wall."""
    row, column = np.array(divmod(room, SIDE)) + DOORS[door]
    open_ = 0 <= row < SIDE and 0 <= column < SIDE and (ROOMS[room], door) not in WALLS
    return row * SIDE + column if open_ else room


LEADS = np.array([[_next(room, door) for door in DOORS] for room in range(len(ROOMS))])


def facts(*, partition):
    """The nodes of (room, leadsOn, next room), given a door, for all doors that lead on."""
    if partition not in ("train", "test", "all"):
        raise InputError(f"partition is {partition!r}; it can be train, test or all")
    for room, row in enumerate(LEADS if partition != "test" else LEADS[:0]):
        for door, following in zip(DOORS, row, strict=True):
            if following != room:
                node = f"{ROOMS[room]}, {door}"
                yield from (
                    (node, "hasRoom", ROOMS[room]),
                    (node, "hasDoor", door),
                    (node, "hasNext", ROOMS[following]),
                )


class MazeVectorEnv(NativeVectorEnv):
    """Many mazes at once; see `MazeEnv`."""

    vocabulary = LABELS
    relations = (LEADS_ON,)

    def __init__(self, num_envs=1, *, render_mode=None, autoreset_mode=AutoresetMode.NEXT_STEP):
        check_batch(num_envs, render_mode)
        rooms = spaces.Discrete(len(ROOMS))
        space = spaces.Dict({"room": rooms, "goal": rooms, "action_mask": spaces.MultiBinary(len(DOORS))})
        super().__init__(num_envs, render_mode, autoreset_mode, space, spaces.Discrete(len(DOORS)))
        self.room, self.goal, self.steps = np.zeros((3, num_envs), dtype=np.int64)

    @property
    def success(self):
        return self.room == self.goal

    def advance(self, actions, idle=None):
        active = np.ones(self.num_envs, dtype=bool) if idle is None else ~idle
        self.room = np.where(active, LEADS[self.room, actions], self.room)
        self.steps += active

    def results(self):
        return self.success.astype(np.float32), self.success, (self.steps >= STEPS) & ~self.success

    def renew(self, columns, rng):
        self.room[columns] = rng.integers(len(ROOMS), size=len(columns))
        self.goal[columns] = (self.room[columns] + rng.integers(1, len(ROOMS), size=len(columns))) % len(ROOMS)
        self.steps[columns] = 0

    def set_up(self, columns, options, rng):
        if set(options) != {"room", "goal"} or not set(options.values()) <= set(ROOMS):
            raise InputError(f"the reset options are room and goal, each one of {', '.join(ROOMS)}")
        self.room[columns], self.goal[columns] = (ROOMS.index(options[name]) for name in ("room", "goal"))
        self.steps[columns] = 0

    def observe(self):
        mask = np.ones((self.num_envs, len(DOORS)), dtype=np.int8)
        return {"room": self.room.copy(), "goal": self.goal.copy(), "action_mask": mask}

    def info_arrays(self):
        return {"success": self.success, "action_mask": np.ones((self.num_envs, len(DOORS)), dtype=np.int8)}

    def describe(self, i):
        mask = np.ones(len(DOORS), dtype=np.int8)
        where = {"room": ROOMS[self.room[i]], "goal": ROOMS[self.goal[i]]}
        return {**where, "success": bool(self.success[i]), "action_mask": mask}

    def action_facts(self, chosen=None):
        """(room, leadsOn, goal), given each door."""
        doors = 1 + len(ROOMS) + np.arange(len(DOORS))
        shape = self.num_envs, len(DOORS)
        return action_facts((LEADS_ON.name,), shape, [(1 + self.room[:, None], 1 + self.goal[:, None], doors)])

    def planning_problem(self):
        """The next room takes the place of the room."""
        doors = np.tile(1 + len(ROOMS) + np.arange(len(DOORS)), (self.num_envs, 1))
        none = np.zeros((self.num_envs, 0), dtype=np.int64)
        tried = np.zeros((self.num_envs, 0, 3), dtype=np.int64)
        return PlanningProblem(
            LEADS_ON.name, 1 + self.room[:, None], 1 + self.goal, doors, none, tried, STEPS - self.steps, keeps=False
        )

    def draw_frame(self, i, mode):
        told = f"You are in {ROOMS[self.room[i]]}; find {ROOMS[self.goal[i]]}."
        return told if mode == "ansi" else np.full((24, 48, 3), 9 * int(self.room[i]), dtype=np.uint8)

    def state_dict(self):
        state = {name: getattr(self, name).copy() for name in ("room", "goal", "steps")}
        return state | {"rng": json.dumps(self.np_random.bit_generator.state)}

    def load_state_dict(self, state):
        for name in ("room", "goal", "steps"):
            getattr(self, name)[:] = state[name]
        self.np_random.bit_generator.state = json.loads(state["rng"])
        self._started = True


class MazeEnv(NativeEnv):
    """Find a room.

    Description: a door leads to the room behind it, or nowhere, where there is a wall.

    Observation: room, goal, action_mask. Actions: one of four doors. Reward: 1 in the room that is looked for.

    Termination: in that room; after 12 doors the episode is truncated. Info: room, goal, success, action_mask. Reset
    options: {"room": name, "goal": name}.
    """

    def __init__(self, render_mode=None, **settings):
        super().__init__(MazeVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings))

    def action_masks(self):
        """(4,) bool, for MaskablePPO."""
        return np.ones(len(DOORS), dtype=bool)


WORLD = World(
    name="maze",
    title="Maze",
    about="Find the way from room to room.",
    source="the tests",
    environments=(Environment("gumption/Maze-v0", f"{__name__}:MazeEnv", f"{__name__}:MazeVectorEnv"),),
    offers={"facts": f"{__name__}:facts"},
)
add(WORLD)
