"""A dish in two steps: two things on the counter make a third thing, which is added to the counter."""

import csv
from collections import defaultdict
from pathlib import Path

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gumption.envs.action_facts import ActionFacts, PlanningProblem, action_facts
from gumption.kg import NaryRelation

FACTS = Path(__file__).parent / "dishes.csv"
MAKES = NaryRelation("makes", "hasPart", "hasPart", "hasResult")


class Dish(gym.Env):
    """A world whose A actions take a thing each; every second action combines two things, twice in an episode.

    The dish gives the reward 1 and ends the episode with success. A thing that is not on the counter counts as nothing.
    """

    relations = (MAKES,)
    dishes = ("tea", "buttered toast")

    def __init__(self):
        with open(FACTS, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        parts, self.made = defaultdict(list), {}
        self.things = sorted({row["object"] for row in rows})
        self.vocabulary = ("", *self.things)
        for row in rows:
            thing = self.vocabulary.index(row["object"])
            if row["relation"] == "hasPart":
                parts[row["subject"]].append(thing)
            else:
                self.made[frozenset(parts[row["subject"]])] = thing
        count = len(self.things)
        self.action_space = spaces.Discrete(count)
        self.observation_space = spaces.Dict(
            {
                "dish": spaces.Discrete(count + 1),
                "counter": spaces.MultiBinary(count),
                "held": spaces.Discrete(count + 1),
            }
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        dish = (options or {}).get("dish", self.dishes[self.np_random.integers(len(self.dishes))])
        self.dish, self.held, self.uses = self.vocabulary.index(dish), 0, 0
        self.counter = np.ones(len(self.things), dtype=np.int8)
        self.counter[np.array(list(self.made.values())) - 1] = 0
        self.tried = np.zeros((1, 2, 3), dtype=np.int64)
        return self.observe(), {}

    def step(self, action):
        taken = 1 + int(action) if self.counter[action] else 0
        if self.held:
            made = self.made.get(frozenset((self.held, taken)), 0)
            self.tried[0, self.uses] = self.held, taken, made
            self.uses, self.held = self.uses + 1, 0
            if made:
                self.counter[made - 1] = 1
        else:
            self.held = taken
        success = bool(self.counter[self.dish - 1])
        return self.observe(), float(success), success or self.uses == 2, False, {"success": success}

    def observe(self):
        return {"dish": np.int64(self.dish), "counter": self.counter.copy(), "held": np.int64(self.held)}

    def action_facts(self, chosen=None) -> ActionFacts:
        """Return for each thing on the counter (thing, makes, dish), with the held thing or any other as partner."""
        there = self.on_counter()
        parties = (there, np.where(there, self.dish, 0), self.held)
        return action_facts((MAKES.name,), there.shape, [parties], partners=there, chosen=np.array([[self.held]]))

    def planning_problem(self) -> PlanningProblem:
        """Return the problem of making the dish from the things on the counter in the remaining uses."""
        there = self.on_counter()
        one = np.array([self.dish]), there, np.array([[self.held]]), self.tried, np.array([2 - self.uses])
        return PlanningProblem(MAKES.name, there, *one)

    def on_counter(self) -> np.ndarray:
        """Return (1, A): the id of each thing on the counter, else 0."""
        return np.where(self.counter, 1 + np.arange(len(self.things)), 0)[None, :]
