"""Values of every kind, for tests that give them where almost all of them are wrong."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gumption.kg import Vocabulary

WRONG: dict[str, Any] = {
    "None": None, "-1": -1, "3": 3, "2**70": 2**70, "10**400": 10**400, "0.5": 0.5, "nan": math.nan, "inf": math.inf,
    "True": True, "nonsense": "nonsense", "empty": "", "bytes": b"x", "object": object(), "[1]": [1], "[]": [],
    "pair": [("a", "b")], "texts": ["a", "b"], "dict": {"a": 1}, "tuple": (1, 2, 3), "lambda": lambda: 0,
    "class": int, "surrogate": "\ud800", "nul": "a\0b", "long": "x" * 300, "below a file": Path("/dev/null/x"),
    "2j": 2j, "nan32": np.float32(math.nan), "set": {"a"}, "[None]": [None], "numbers": [[0.5, math.nan]],
    "no rows": np.zeros((0, 3)), "rows": np.zeros((2, 3)), "far": np.array([2**62]), "below": np.array([-1]),
    "words": np.array(["x"]), "objects": np.array([None, {}]), "nans": np.full(2, math.nan), "scalar": np.array(3),
    "float tensor": torch.zeros(2, 3), "far tensor": torch.tensor([2**62, 1]), "empty tensor": torch.zeros(0),
    "far ids": (Vocabulary(["a"], ["r"]), np.full((1, 3), 99)), "no ids": (Vocabulary(["a"], ["r"]), np.array(["x"])),
}  # fmt: skip
