"""Adapt a vector env to the VecEnv of Stable-Baselines3: a batch of environments without a process for each of them.

Needs the extra `sb3`: pip install "gumption[sb3]".
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.settings import shown

with extra("sb3", "the adapter for Stable-Baselines3"):
    from stable_baselines3.common.vec_env import VecEnv

MASKS = "action_masks"


class SB3VecEnv(VecEnv):
    """A vector env with SAME_STEP autoreset as a VecEnv, for PPO, MaskablePPO and the other algorithms.

        env = gym.make_vec("gumption/WordCraft-v0", num_envs=256, autoreset_mode="SameStep")
        model = PPO("MultiInputPolicy", SB3VecEnv(env))

    If an episode ended, the environment's info is the info of its last step, with `terminal_observation`,
    `TimeLimit.truncated`, and `is_success` if the world has `success`. All other infos are empty dicts, because filling
    thousands of them at each step costs more than the step. `infos` holds the infos of the latest reset or step as
    arrays.

    `action_masks` is the env's own method, or `info["action_mask"]`. Other attributes and methods are taken from the
    vector env: an array with a row for each environment is split into rows, any other value is the same for all.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """:raises InputError: no vector env, or a vector env without SAME_STEP autoreset."""
        if not isinstance(env, VectorEnv):
            raise InputError(f"env is {shown(env)}; it is a vector environment, as of gym.make_vec")
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise InputError(
                f"the autoreset_mode of {env} is {getattr(mode, 'name', mode)}; Stable-Baselines3 expects the next "
                'episode in the same step: make the env with autoreset_mode="SameStep"'
            )
        self.env = env
        self.infos: dict[str, Any] = {}
        self._actions = np.zeros(0)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Reset the batch and return observations (B, ...). The first of the seeds set by `seed` seeds the batch.

        :raises InputError: reset options that differ between environments.
        """
        options = self._options[0]
        if any(other != options for other in self._options):
            raise InputError("the reset options differ between environments; a batch is reset with the same for all")
        observation, self.infos = self.env.reset(seed=self._seeds[0], options=options or None)
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Make the step; return observations (B, ...), rewards (B,) float32, dones (B,) bool, infos."""
        observation, reward, terminated, truncated, self.infos = self.env.step(self._actions)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if done.any():
            cut_short = (truncated & ~terminated).tolist()
            last = self.infos.get("final_info", {})
            entries = [(name, values, last[f"_{name}"]) for name, values in last.items() if f"_{name}" in last]
            for i in np.flatnonzero(done).tolist():
                infos[i] = {name: values[i] for name, values, there in entries if there[i]}
                if "success" in infos[i]:
                    infos[i]["is_success"] = bool(infos[i]["success"])
                infos[i]["terminal_observation"] = self.infos["final_obs"][i]
                infos[i]["TimeLimit.truncated"] = cut_short[i]
        return observation, reward.astype(np.float32), done, infos

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return the attribute for each of the environments; raise AttributeError if the vector env lacks it."""
        if attr_name == MASKS and self._masks() is not None:
            return [lambda i=i: self.env_method(MASKS, indices=i)[0] for i in self._get_indices(indices)]
        return self._dealt(self._found(attr_name), indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the vector env below all wrappers.

        :raises InputError: for some environments only.
        """
        if indices is not None and set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise InputError(f"{attr_name} cannot be set for some environments of a batch, only for all")
        setattr(self.env.unwrapped, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call the method once for the batch; return its result for each of the environments."""
        masks = self._masks() if method_name == MASKS else None
        if masks is None:
            return self._dealt(self._found(method_name)(*method_args, **method_kwargs), indices)
        return self._dealt(masks, indices)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return for each of the environments whether a wrapper of this class is around the vector env."""
        wrapped = any(isinstance(layer, wrapper_class) for layer in self._layers())
        return [wrapped for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return a frame (H, W, 3) uint8 of each environment; None for each in another render mode."""
        frames: Any = self.env.render() if self.render_mode == "rgb_array" else None
        return [None] * self.num_envs if frames is None else list(frames)

    def _masks(self) -> np.ndarray | None:
        """Return the masks (B, A) bool, or None if the env has none."""
        if any(hasattr(layer, MASKS) for layer in self._layers()):
            return self._found(MASKS)()
        if "action_mask" in self.infos:
            return self.infos["action_mask"].astype(bool)
        return None

    def _layers(self) -> Iterable[Any]:
        layer: Any = self.env
        yield layer
        while isinstance(layer, VectorWrapper):
            layer = layer.env
            yield layer

    def _found(self, name: str) -> Any:
        for layer in self._layers():
            if hasattr(layer, name):
                return getattr(layer, name)
        raise AttributeError(f"{self.env} has no attribute {name!r}")

    def _dealt(self, value: Any, indices: Any) -> list[Any]:
        chosen = self._get_indices(indices)
        each = isinstance(value, np.ndarray) and value.ndim > 0 and len(value) == self.num_envs
        return [value[i] if each else value for i in chosen]
