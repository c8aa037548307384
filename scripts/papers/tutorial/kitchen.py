"""A kitchen: a thing is given to the agent, who cleans it if it is dirty and puts it away."""

import csv
from pathlib import Path

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gumption.envs.action_facts import ActionFacts, action_facts

HERE = Path(__file__).parent


class Kitchen(gym.Env):
    """Each of the A actions uses one thing of the kitchen: a tool to clean with, or a place to put things away.

    The right tool for a dirty object gives 1 and cleans it, the right place for a clean one gives 1 and ends the
    episode with success; anything else ends it with 0.
    """

    relations = ("cleanedWith", "storedIn")

    def __init__(self, objects=None):
        """`objects`: numbers of those that are handed out; None for all. It has facts about all of them."""
        with open(HERE / "kitchen.csv", newline="", encoding="utf-8") as file:
            _, *rows = csv.reader(file)
        self.names = [row[0] for row in rows]
        self.furniture = sorted({name for row in rows for name in row[1:]})
        self.right = np.array([[self.furniture.index(name) for name in row[1:]] for row in rows])
        self.vocabulary = ("", *self.names, *self.furniture)
        self.objects = np.arange(len(rows)) if objects is None else np.asarray(objects)
        self.action_space = spaces.Discrete(len(self.furniture))
        self.observation_space = spaces.Dict({"object": spaces.Discrete(len(rows)), "clean": spaces.Discrete(2)})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        given = options or {}
        self.object = given.get("object", self.np_random.choice(self.objects))
        self.clean = given.get("clean", self.np_random.integers(2))
        return self.observe(), {}

    def step(self, action):
        right = action == self.right[self.object, self.clean]
        success = bool(right and self.clean)
        over = success or not right
        self.clean = 1 if right else self.clean
        return self.observe(), float(right), over, False, {"success": success}

    def observe(self):
        return {"object": np.int64(self.object), "clean": np.int64(self.clean)}

    def action_facts(self, chosen=None) -> ActionFacts:
        """For each piece of furniture: (object, cleanedWith, furniture) and (object, storedIn, furniture)."""
        subject = 1 + self.object
        furniture = 1 + len(self.names) + np.arange(len(self.furniture))[None, :]
        return action_facts(self.relations, furniture.shape, [(subject, furniture, 0)] * 2)
