"""Help from a knowledge graph: its facts about each open choice, scored by the advice that also guides policies.

An experimenter offers help per world or block. Its knowledge is loaded once, in a separate thread, when the first
episode with help begins.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from gumption.agents.settings import OWN, KnowledgeConfig
from gumption.data.errors import InputError, located
from gumption.envs import worlds
from gumption.scripts.apps import pair

from .views import View, view_of

if TYPE_CHECKING:
    from gumption.agents.advice import Advice
    from gumption.envs.worlds import World

MOST = 12  # choices that a help contains at most, where the page does not list the choices
ADVISERS = 32  # number of advisers kept in memory, each with its knowledge
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Offer:
    """Help that is available to the player of an episode.

    :ivar knowledge: the source of the help.
    :ivar price: price of a help, subtracted from the reward of the episode.
    :ivar at_most: maximum number of helps in an episode; None for any number.
    """

    knowledge: KnowledgeConfig
    price: float = 0.0
    at_most: int | None = None


class Helped(NamedTuple):
    """A help that was given, and is on disk.

    :ivar number: number in the episode, from 1; `after`: number of actions made before.
    :ivar said: the content: "choices", best first, as a page shows them; "knowledge": its source.
    """

    number: int
    after: int
    said: Mapping[str, Any]
    price: float


def offer_of(
    kg: str,
    rules: str | None = None,
    relations: Mapping[str, str] | None = None,
    *,
    names: str | None = None,
    price: float = 0.0,
    at_most: int | None = None,
) -> Offer:
    """Return an offer of help from knowledge that is named as in `gumption train WORLD --kg`.

    :param rules: a file of rules, or the name of rules of the world; `relations`: the world's name of a relation -> the
        graph's; `names`: a file of `gumption kg map`.
    :raises InputError: no knowledge, or no file, folder or shipped graph of this name.
    """
    from gumption.kg.graph import split_source

    config = KnowledgeConfig(kg=kg, kg_map=names, kg_rules=rules, kg_relations=tuple((relations or {}).items()))
    config.check_knowledge()
    if kg == "none":
        raise InputError("kg is none: help needs knowledge; give train, full, a graph, a model or a file of rules")
    if kg not in OWN:
        split_source(kg)
    return Offer(config, price, at_most)


def _check_source(source: str) -> None:
    """Raise InputError unless the source is a readable graph, model or file of rules, and contains the named graph."""
    from gumption.kg.checkpoint import has_checkpoint, verified
    from gumption.kg.graph import is_address, open_graph, split_source
    from gumption.kg.rules.horn import read_rules

    place, name = split_source(source)
    if place.endswith(".json"):
        read_rules(place)
    elif has_checkpoint(Path(place)):
        verified(place)
    elif not is_address(place):
        with open_graph(source)[0] as graph:
            graph.arrays(name)


def helpless(world: World, view: View, env: Any) -> str | None:
    """Return the reason why a world has no help, or None if it has help.

    :param env: an environment of the world; not read where the view defines `helped`.
    """
    about = f"the world {world.name!r} has no help"
    if view.helped is not None:
        return None
    if view.live is not None:
        return f"{about}: it runs in real time, and its choices are not listed"
    listed = view.choices(env)
    if not listed:
        return f"{about}: its choices are not listed one by one"
    if not hasattr(env.unwrapped, "action_facts"):
        return f"{about}: it does not say which facts speak for a choice"
    if not isinstance(view.parse(listed[0]["action"], env), int):
        return f"{about}: no facts speak for a whole choice of it"
    return None


class Adviser:
    """Computes help for the choices of a world from knowledge.

    :ivar about: description of the knowledge, as in the manifest of a run.
    """

    def __init__(self, advice: Advice, about: Mapping[str, Any]) -> None:
        self.about = dict(about)
        self._advice, self._lock = advice, Lock()

    def said(self, view: View, env: Any) -> dict[str, Any]:
        """Return the open choices with their facts and scores, best first, as JSON.

        Where the page lists no choices, return at most `MOST` with known facts. Scores are None in an unranked view.

        :raises InputError: no choice has a fact, or, where choices are not listed, no known fact.
        """
        if view.helped is None:
            listed = {view.parse(choice["action"], env): choice for choice in view.choices(env)}
            with self._lock:  # the advice stores the facts of its latest query
                self._advice(env)
                found = self._rows(listed, view.word)
            if not any(facts for _, facts in found):
                raise InputError("no fact speaks for a choice here yet; ask at the next one")
        else:
            found = []
            with self._lock:
                for facts, choices in view.helped(env):
                    self._advice.score(facts)
                    found += self._rows(choices, view.word)
            known = [(choice, [one for one in facts if one["score"]]) for choice, facts in found]
            found = [(choice, facts) for choice, facts in known if facts]
            if not found:
                raise InputError("the graph knows nothing of what can be done here; ask at the next choice")
        found = [({**choice, "score": round(sum(one["score"] for one in facts), 4)}, facts) for choice, facts in found]
        best = sorted(found, key=lambda one: -one[0]["score"])[: MOST if view.helped is not None else None]
        choices = [{**choice, **({} if view.ranked else {"score": None}), "facts": facts} for choice, facts in best]
        return {"choices": choices, "knowledge": self.about}

    def _rows(
        self, choices: Mapping[int, Mapping[str, Any]], word: Callable[[str], str]
    ) -> list[tuple[Mapping[str, Any], list[dict[str, Any]]]]:
        """Return each choice with the facts behind its latest score, from candidate -> choice."""
        from gumption.agents.watch import explained
        from gumption.kg.facts import stated_name

        found = []
        for candidate, choice in choices.items():
            facts = []
            for (subject, relation, *others), score in self._advice.why(0, candidate):
                told = explained(self._advice, (subject, stated_name(relation), *others), word)
                facts.append({"relation": relation, "fact": told, "score": round(score, 4), "told": self._told(score)})
            found.append((choice, facts))
        return found

    def _told(self, score: float) -> str:
        """Return a score in words; a score of 0 means that the graph does not contain the fact."""
        if score == 0:
            return "unknown"
        if self.about["by"] == "look-up":
            return "stated"
        return f"{float(f'{math.exp(score):.2g}'):,g} times as likely as by chance"


@dataclass(frozen=True)
class Asked:
    """The parts of an episode with an offer of help on which its knowledge depends.

    :ivar settings: settings of the episode.
    """

    offer: Offer
    world: World
    view: View
    env: Any
    settings: Mapping[str, Any]

    @property
    def given(self) -> Mapping[str, Any]:
        """The settings on which the facts of the world depend."""
        return self.settings if self.view.played is None else self.view.played(self.env)

    @property
    def key(self) -> Any:
        """The key of the adviser: equal for all episodes that share it."""
        played = sorted(self.world.played(self.given).items())
        facts = tuple((name, repr(getattr(value, "hash", value))) for name, value in played)
        env = self.env.unwrapped
        return self.offer.knowledge, self.world.name, tuple(env.vocabulary), tuple(env.relations), facts


_made: OrderedDict[Any, Adviser] = OrderedDict()
_making = Lock()


def adviser_of(asked: Asked) -> Adviser:
    """Return the adviser of an episode; in this process, all episodes with the same key share it.

    :raises InputError: the knowledge is missing, or does not fit the world.
    """
    with _making:
        if asked.key not in _made:
            from gumption.agents.knowledge import Knowledge

            names = asked.env.unwrapped.vocabulary, asked.env.unwrapped.relations
            knowledge = Knowledge.of(asked.offer.knowledge, asked.world, *names, dict(asked.given))
            _made[asked.key] = Adviser(knowledge.advice(*names), knowledge.about)
        _made.move_to_end(asked.key)
        while len(_made) > ADVISERS:
            _made.popitem(last=False)
        return _made[asked.key]


class Advisers:
    """The advisers of a server, each made in a thread so that the server keeps responding.

    :ivar tell: called with a line about each adviser.
    """

    def __init__(self, make: Callable[..., Awaitable[Any]]) -> None:
        """:param make: runs a function in the one thread that imports modules, and returns its result."""
        self.tell: Callable[[str], None] = lambda _: None
        self._make = make
        self._coming: OrderedDict[Any, asyncio.Task[Adviser]] = OrderedDict()

    def come(self, asked: Asked) -> asyncio.Task[Adviser]:
        """Return the task that makes the adviser of an episode, started if needed; a failed task is started again."""
        task = self._coming.get(asked.key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._coming[asked.key] = asyncio.create_task(self._made(asked))
            task.add_done_callback(lambda task: task.cancelled() or task.exception())  # mark the error as retrieved
        self._coming.move_to_end(asked.key)
        for key, other in list(self._coming.items())[: max(0, len(self._coming) - ADVISERS)]:
            if other.done():
                del self._coming[key]
        return task

    async def _made(self, asked: Asked) -> Adviser:
        for module in ("knowledge", "watch"):
            await self._make(import_module, f"gumption.agents.{module}")
        loop = asyncio.get_running_loop()
        made: asyncio.Future[Adviser] = loop.create_future()

        def make() -> None:
            try:
                adviser = adviser_of(asked)
            except Exception as error:
                done = partial(made.set_exception, error)
            else:
                done = partial(made.set_result, adviser)
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(done)

        # A daemon thread: a server that stops does not wait for the knowledge.
        threading.Thread(target=make, name="knowledge", daemon=True).start()
        try:
            adviser = await made
        except Exception as error:
            _log.warning("%s: there is no help: %s", asked.world.name, error)
            raise
        self.tell(f"help in {asked.world.name}: {told_of(adviser.about)}")
        return adviser


def told_of(about: Mapping[str, Any]) -> str:
    """Return a line for the experimenter: the knowledge, and how many test facts of the world it contains."""
    source, facts = about["source"], f", {about['facts']:,} facts" if "facts" in about else ""
    line = f"{source} ({about['by']}{facts})"
    rules = about.get("rules")
    if rules is not None:
        line += f" with the rules {rules['file']}"
    if source in OWN and rules is None:
        whole = "the world's own facts, those of the test with them" if OWN[source] == "all" else "of training alone"
        return f"{line}: {whole}"
    told = []
    if (stated := about.get("test_facts")) is not None:
        told.append(_counted("it was trained on" if about["by"] == "predictor" else "it states", stated))
    for verb, name in (("with the rules it entails", "entailed_test_facts"), ("they were mined from", "test_facts")):
        if rules is not None and name in rules:
            told.append(_counted(verb, rules[name]))
    return f"{line}: {'; '.join(told)}" if told else line


def _counted(verb: str, count: Any) -> str:
    if not isinstance(count, Mapping):
        return f"how many test facts {verb} is {count}"
    return f"{verb} {count['stated']:,} of the {count['of']:,} test facts"


# ---- The options of `gumption serve`.


def read_offers(
    kg: Sequence[str], rules: Sequence[str], relations: Sequence[str], maps: Sequence[str] = ()
) -> dict[str, Offer]:
    """Return world -> offer of help, from the options of `home`.

    :raises InputError: no such world, a world without help, missing knowledge, or another form than WORLD=VALUE.
    """
    named = _by_world("--kg", kg)
    rules_of, pairs = _by_world("--kg-rules", rules), _by_world("--kg-relations", relations)
    maps_of = _by_world("--kg-map", maps)
    for option, given in (("--kg", named), ("--kg-map", maps_of), ("--kg-rules", rules_of)):
        if twice := next((world for world, values in given.items() if len(values) > 1), None):
            raise InputError(f"{option} {twice}=...: it is there twice")
    for option, given in (("--kg-map", maps_of), ("--kg-rules", rules_of), ("--kg-relations", pairs)):
        if lost := next((world for world in given if world not in named), None):
            raise InputError(f"{option} {lost}=...: that is for help from a graph; add --kg {lost}=GRAPH")
    offers = {}
    for name, (value,) in named.items():
        option = f"--kg {name}={value}"
        world = worlds.find(name)
        view = view_of(world)
        with located(option):
            called = dict(pair(text) for text in pairs.get(name, ()))
            rule, map_ = (next(iter(each.get(name, ())), None) for each in (rules_of, maps_of))
            offers[name] = offer_of(value, rule, called, names=map_)
            if value not in OWN:
                _check_source(value)
            env = None if view.live is not None else view.begin(seed=0)[0]
        if reason := helpless(world, view, env):
            raise InputError(f"{option}: {reason}")
    return offers


def _by_world(option: str, given: Sequence[str]) -> dict[str, list[str]]:
    """Return world -> values of an option WORLD=VALUE."""
    found: dict[str, list[str]] = {}
    for text in given:
        world, mark, value = text.partition("=")
        if not (world and mark and value):
            raise InputError(f"{option} {text}: give WORLD=VALUE")
        found.setdefault(world, []).append(value)
    return found
