"""Policies that are not ours: any function from what an agent perceives to an action, asked and checked."""

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import gymnasium as gym
import numpy as np

from gumption.data import InputError

Policy = Callable[..., Any]


class GivenPolicy:
    """A function of a user's, asked for the actions of B environments, each answer checked.

    It is called as policy(observation, info), or as policy(observation) where it takes one argument. For a batch,
    observation and each entry of info have a leading axis of B and so has what it returns: integers (B, ...), an
    action of the space per environment. One that is made for a single environment (`single`) gets them without that
    axis, in one episode after the other. info["first"] says where an episode begins: what a policy remembers of an
    episode it forgets there.

    :param space: of one action, Discrete or MultiDiscrete.
    :param name: in messages and tables.
    """

    def __init__(self, policy: Policy, space: gym.Space[Any], *, single: bool = False, name: str | None = None) -> None:
        """:raises InputError: no function, or one that takes no argument."""
        self.name = name or name_of(policy)
        if not callable(policy):
            raise InputError(f"the policy {self.name} is no function; give one, (observation, info) -> action")
        self.policy, self.single, self.space = policy, single, space
        self.arguments = _arguments(policy, self.name)
        self.choices = np.asarray(space.nvec if isinstance(space, gym.spaces.MultiDiscrete) else space.n)  # pyright: ignore

    def actions(self, observation: Any, info: dict[str, Any], count: int, where: str) -> np.ndarray:
        """(count, ...) int64 actions.

        :param observation, info: with a leading axis of count.
        :param where: for messages: "step 3 of RT".
        :raises InputError: the policy fails, or returns no actions of the space.
        """
        if self.single:
            given = [self._ask(_first(observation), _first(info), count, where)]
        else:
            given = self._ask(observation, info, count, where)
        return self._checked(given, count, where)

    def _ask(self, observation: Any, info: Any, count: int, where: str) -> Any:
        try:
            given = self.policy(*(observation, info)[: self.arguments])
        except Exception as error:
            raise InputError(f"the policy {self.name} failed at {where}: {type(error).__name__}: {error}") from error
        if given is None:
            raise InputError(f"the policy {self.name} returned no action at {where}: {self._expected(count)}")
        if isinstance(given, tuple) and len(given) == 2 and given[1] is None:
            raise InputError(
                f"the policy {self.name} returned a pair at {where}, as predict of Stable-Baselines3 does: give a "
                "function that returns its first part, lambda observation: model.predict(observation)[0]"
            )
        return given

    def _checked(self, given: Any, count: int, where: str) -> np.ndarray:
        try:
            chosen = np.asarray(given)
        except (ValueError, TypeError, RuntimeError) as error:
            raise InputError(f"the policy {self.name} returned no array at {where} ({error})") from None
        shape = (count, *self.choices.shape)
        found = chosen.shape[1:] if self.single else chosen.shape
        if chosen.shape != shape:
            hint = ""
            if not self.single and chosen.shape == shape[1:]:
                hint = "; one that acts in a single environment is given with single=True (--single)"
            raise InputError(
                f"the policy {self.name} returned the shape {found} at {where}: {self._expected(count)}{hint}"
            )
        if chosen.dtype.kind == "f" and np.isnan(chosen).any():
            raise InputError(f"the policy {self.name} returned NaN at {where}: {self._expected(count)}")
        if chosen.dtype.kind not in "iu":
            raise InputError(f"the policy {self.name} returned {chosen.dtype} at {where}: {self._expected(count)}")
        outside = (chosen < 0) | (chosen >= self.choices)
        if outside.any():
            first = chosen[np.argwhere(outside)[0][0]]
            raise InputError(
                f"the policy {self.name} returned {first.tolist()} at {where}, which is outside {self.space}"
            )
        return chosen.astype(np.int64)

    def _expected(self, count: int) -> str:
        shape = self.choices.shape if self.single else (count, *self.choices.shape)
        return f"it is to return integers of the shape {shape}"


def of_module(place: str, option: str = "--policy") -> Callable[..., Any]:
    """The function or class at "module:name"; modules are looked for where one works, too.

    :param option: what names it, for messages.
    :raises InputError: no such module or name, or a module that cannot be imported.
    """
    module, _, name = place.partition(":")
    if not name or not module:
        raise InputError(f"{option} is {place!r}; it is MODULE:NAME, such as my_agent:act")
    if module.endswith(".py"):
        raise InputError(f"{option} names the file {module}; name its module: {module[:-3].replace('/', '.')}:{name}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
            raise InputError(f"{option} {place}: {module} imports {error.name}, which is not there") from None
        raise InputError(f"{option} {place}: there is no module {module} here") from None
    except Exception as error:
        raise InputError(f"{option} {place}: {module} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(getattr(found, name, None)):
        raise InputError(f"{option} {place}: {module} has no function {name!r}")
    return getattr(found, name)


def name_of(policy: Any) -> str:
    """What a policy is called by."""
    return getattr(policy, "__qualname__", type(policy).__name__)


def _arguments(policy: Policy, name: str) -> int:
    """How many of (observation, info) a policy takes: 1 or 2."""
    try:
        parameters = inspect.signature(policy).parameters.values()
    except (ValueError, TypeError):  # written in C: it is taken at its word
        return 2
    if any(one.kind == one.VAR_POSITIONAL for one in parameters):
        return 2
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    required = [one for one in positional if one.default is one.empty]
    if not positional or len(required) > 2:
        raise InputError(f"the policy {name} takes {len(required)} arguments; it is to take (observation, info)")
    return 2 if len(required) == 2 or "info" in (one.name for one in positional[1:2]) else 1


def _first(values: Any) -> Any:
    """What a batch of one holds."""
    return {name: value[0] for name, value in values.items()} if isinstance(values, dict) else values[0]
