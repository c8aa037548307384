"""Begin the tasks of a study in their worlds, and check the worlds, settings and help of a study."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from gumption.data import InputError
from gumption.data.settings import check, unknown
from gumption.envs import worlds

from .design import Task, design
from .files import Block, Help, Study

if TYPE_CHECKING:
    from gumption.scripts.people.web.helping import Adviser, Offer

#: Settings that the study sets itself where a world draws its tasks.
DRAWN = ("tasks", "number")
#: Number of participants whose tasks the check begins, so that each level and each task occurs.
CHECKED = 24


def begin_of(name: str) -> Any:
    """Return the function that begins a task of a world: its `study`, else the `begin` of its view.

    :raises InputError: no such world.
    """
    from gumption.scripts.people.web.views import view_of

    world = worlds.find(name)
    return world.get("study") or view_of(world).begin


def begin(task: Task) -> tuple[Any, Any]:
    """Begin a task, and return (env, text face)."""
    return begin_of(task.world)(**task.settings, seed=task.seed)


def offered(help: Help) -> Offer:
    """Return the offer of help of a block.

    :raises InputError: no such knowledge.
    """
    from gumption.scripts.people.web.helping import offer_of

    return offer_of(help.kg, help.rules, help.relations, names=help.map, price=help.price, at_most=help.at_most)


def helpers(study: Study) -> dict[str, str]:
    """Return block -> a line that names its knowledge, and how many test facts of the world that contains.

    The knowledge of each block is read or fitted once per process.

    :raises InputError: the knowledge is missing, or does not fit the world.
    """
    from gumption.scripts.people.web.helping import told_of

    return {
        block.name: told_of(_adviser(study, block, block.help).about)
        for block in study.all_blocks
        if block.help is not None
    }


def _adviser(study: Study, block: Block, help: Help) -> Adviser:
    """Return the adviser of a block, for the first task of the first participant.

    :raises InputError: as `helpers`, or the world has no help.
    """
    from gumption.scripts.people.web.helping import Asked, adviser_of, helpless
    from gumption.scripts.people.web.views import view_of

    world = worlds.find(block.world)
    view = view_of(world)
    task = next(played.tasks[0] for played in design(study, 0).blocks if played.block.name == block.name)
    env, _ = begin(task)
    if reason := helpless(world, view, env):
        raise InputError(reason)
    return adviser_of(Asked(offered(help), world, view, env, task.settings))


def check_worlds(study: Study, where: str | Path) -> None:
    """Check settings, tasks and help of a study; tasks of all levels, and all tasks of `each`, are begun.

    :param where: the study's file, for messages.
    :raises InputError: a line for each problem, with file, field and reason.
    """
    problems = [f"{where}: {problem}" for problem in _problems(study)]
    if problems:
        raise InputError("\n".join(problems))


def _problems(study: Study) -> Iterator[str]:
    """Yield the problems of the settings; of the tasks if the settings are right; of help if the tasks can begin."""
    parts = (("practice", study.practice), ("blocks", study.blocks))
    blocks = {f"{part}[{k}]": block for part, of_part in parts for k, block in enumerate(of_part)}
    problems = [problem for field, block in blocks.items() for problem in _wrong_settings(study, block, field)]
    problems = problems or list(_failed_begins(study))
    yield from problems
    for field, block in blocks.items():
        if block.help is not None and not problems:
            try:
                _adviser(study, block, block.help)
            except InputError as error:
                yield f"{field}.help: {error}"


def _wrong_settings(study: Study, block: Block, field: str) -> Iterator[str]:
    """Yield a problem for each setting of a block that its world does not have, needs, or refuses."""
    try:
        function = begin_of(block.world)
    except InputError as error:
        yield f"{field}.world: {error}"
        return
    parameters = inspect.signature(function).parameters
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    names = [name for name, one in parameters.items() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    if block.drawn and not set(DRAWN) <= set(names):
        yield f"{field}.drawn: the world {block.world!r} does not draw tasks; its tasks differ by their seed"
        return
    required = [name for name, one in parameters.items() if one.default is inspect.Parameter.empty and name in names]
    given_by = {*block.settings, *block.each, *(DRAWN if block.drawn else ()), "seed"}
    given_by.update(*(level for condition in study.acting_on(block) for level in condition.levels.values()))
    for name in required:
        if name not in given_by:
            yield f"{field}.settings: {name} is missing; a task of the world {block.world!r} needs it"
    hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    given: list[tuple[str, Mapping[str, Any]]] = [(f"{field}.settings", block.settings)]
    acting = study.acting_on(block)
    fit = [one.name for one in acting if takes_all or set().union(*one.levels.values()) <= set(names)]
    hint = f"; if this condition is for other blocks only, write conditions = {json.dumps(fit)} in {field}"
    for condition in acting:
        given += [(f"conditions {condition.name}.levels.{name}", level) for name, level in condition.levels.items()]
    for name, values in block.each.items():
        given += [(f"{field}.each[{k}]", {name: value}) for k, value in enumerate(values)]
    for place, settings in given:
        for name, value in settings.items():
            if name in DRAWN and block.drawn:
                yield f"{place}.{name}: the study gives it by itself"
            elif name not in names and not takes_all:
                known = [one for one in names if one != "seed" and not (block.drawn and one in DRAWN)]
                problem = f"{place}.{name}: {unknown(f'the world {block.world!r}', name, known)}"
                yield problem + (hint if place.startswith("conditions ") else "")
            elif name in hints:
                try:
                    check(name, value, hints[name])
                except InputError as error:
                    yield f"{place}.{error}"


def _failed_begins(study: Study) -> Iterator[str]:
    """Yield a problem for each task that its world refuses, such as an unknown name."""
    seen, told = set(), set()
    for place in range(CHECKED):
        for played in design(study, place).blocks:
            block = played.block
            tasks = played.tasks[:1] if not block.each else played.tasks
            for task in tasks:
                settings = {name: value for name, value in task.settings.items() if name != "number"}
                if (key := (task.world, repr(settings))) in seen:
                    continue
                seen.add(key)
                try:
                    begin(task)
                except InputError as error:
                    if (message := f"blocks: {block.name}: {error}") not in told:
                        told.add(message)
                        yield message
