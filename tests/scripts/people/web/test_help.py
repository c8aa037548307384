"""Help from a graph over real sockets: what is shown, what it counts, that it outlives the server, what is refused."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import sqlalchemy as sql

from gumption.data import InputError
from gumption.envs import worlds
from gumption.kg import KnowledgeGraph
from gumption.kg.mapping import NameMap
from gumption.scripts.people.study.running import in_thread
from gumption.scripts.people.web import helping
from gumption.scripts.people.web import store as tables
from gumption.scripts.people.web.episodes import Episodes, Unkept
from gumption.scripts.people.web.helping import Adviser, Asked, adviser_of, helpless, offer_of, read_offers, told_of
from gumption.scripts.people.web.server import Home, make_app
from gumption.scripts.people.web.store import Store
from gumption.scripts.people.web.views import general_view, view_of
from gumption.scripts.people.wordcraft import VIEW as WORDS
from tests.scripts.people.web.browser import NARROW, Visitor, chromium
from tests.scripts.people.web.homes import Page, Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.filterwarnings("ignore:.*mine.nq")  # it states test facts, and knows few of the words
SEED, OTHER, ADA = 7, "o" * 40, "a" * 32


def graph_of_task(file: Path, relation: str = "componentOf") -> tuple[str, str, str]:
    """A graph that states of one word of the task how it leads to the goal; that word, the other of the pair, the goal.

    In Little Alchemy it states which words combine with water.
    """
    env, _ = WORDS.begin(seed=SEED)
    task = env.tasks[int(env.batch.task_index[0])]
    first, second, goal = task.recipes[0]
    with KnowledgeGraph() as graph:
        graph.add([(second, relation, goal), ("fire", "combinesWith", "water")], graph="mine")
        graph.save(file)
    return second, first, goal


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str, str]:
    file = tmp_path_factory.mktemp("graph") / "mine.nq"
    return file, *graph_of_task(file)


@pytest.fixture(scope="module")
def helping_home(graph: tuple[Path, str, str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = Home(Store(tmp_path_factory.mktemp("helping")))
    home.episodes.offers = {"wordcraft": offer_of(str(graph[0]))}
    with in_thread(make_app(home, played=[])) as address:
        yield Served(None, address.removeprefix("http://"), "/")  # pyright: ignore[reportArgumentType]


def begun(page: Page, world: str = "wordcraft", **settings: Any) -> tuple[str, dict[str, Any]]:
    answer = page.ask("begin", world=world, settings=settings, seed=SEED)
    assert answer["type"] == "shown", answer
    return answer["episode"], answer["view"]


def ask(page: Page, episode: str, number: int, after: int) -> dict[str, Any]:
    return page.ask("help", episode=episode, number=number, after=after, at=time.time() * 1000)


def said(answer: dict[str, Any]) -> list[dict[str, Any]]:
    assert answer["type"] == "shown", answer
    return answer["view"]["help"]["said"]


# ---- Over sockets.


def test_help_says_of_each_choice_what_the_graph_states_best_first(
    helping_home: Served, graph: tuple[Path, str, str, str]
) -> None:
    _, best, _, goal = graph
    with helping_home.page() as page:
        episode, view = begun(page)
        assert view["help"] == {"price": 0.0, "at_most": None, "used": 0, "said": None}
        answer = ask(page, episode, 1, 0)
        choices = said(answer)
        assert choices[0]["action"] == best
        assert {one["action"] for one in choices} == {one["action"] for one in view["choices"]}
        fact = {"relation": "componentOf", "fact": f"{best} is component of {goal}", "score": 1.0, "told": "stated"}
        assert choices[0]["facts"] == [fact]
        # What the graph does not know speaks neither for nor against a choice.
        assert {(each["score"], each["told"]) for one in choices[1:] for each in one["facts"]} == {(0.0, "unknown")}
        assert answer["view"] == {**view, "help": {"price": 0.0, "at_most": None, "used": 1, "said": choices}}


def test_help_is_asked_for_once_at_a_choice_and_again_at_the_next(helping_home: Served) -> None:
    with helping_home.page() as page:
        episode, view = begun(page)
        first = ask(page, episode, 1, 0)
        assert ask(page, episode, 1, 0) == first  # sent again
        assert ask(page, episode, 2, 0) == first  # asked for again
        assert page.ask("go_on", episode=episode) == first  # after a reload
        word = view["choices"][0]["action"]
        moved = page.act(episode, 1, word)
        assert moved["view"]["help"] == {**first["view"]["help"], "said": None}
        second = ask(page, episode, 2, 1)
        assert second["view"]["help"]["used"] == 2
        assert any(word in fact["fact"] for one in said(second) for fact in one["facts"])
        assert page.act(episode, 2, word)["view"]["over"]
        over = ask(page, episode, 3, 2)
        assert (over["type"], over["reason"], over["expected"]) == ("help_refused", "the episode is over", 3)


@pytest.mark.parametrize(
    ("number", "after", "reason"),
    [(2, 0, "the number is 2; the next help of the episode has 1"),
     (1, 1, "help was asked for after action 1, and the episode is after action 0"),
     (1, 99, "help was asked for after action 99, and the episode is after action 0")],
)  # fmt: skip
def test_help_out_of_order_is_refused(helping_home: Served, number: int, after: int, reason: str) -> None:
    with helping_home.page() as page:
        episode, view = begun(page)
        answer = ask(page, episode, number, after)
        assert {name: answer[name] for name in ("type", "number", "after", "reason", "expected")} == {
            "type": "help_refused", "number": number, "after": after, "reason": reason, "expected": 1,
        }  # fmt: skip
        assert page.ask("go_on", episode=episode)["view"] == view


def test_nobody_asks_in_anothers_episode_nor_where_there_is_no_help(helping_home: Served) -> None:
    with helping_home.page() as page, helping_home.page(OTHER) as other:
        episode, view = begun(page)
        begun(other)
        answer = ask(other, episode, 1, 0)
        assert (answer["type"], answer["reason"]) == (
            "help_refused", "this page does not play that episode; go on first",
        )  # fmt: skip
        assert page.ask("go_on", episode=episode)["view"] == view
        maze, seen = begun(page, "halma")
        assert seen["help"] is None
        assert ask(page, maze, 1, 0)["reason"] == "there is no help in this episode"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"number": 0}, "help: number: Input should be greater than or equal to 1"),
     ({"number": "1"}, "help: number: Input should be a valid integer"),
     ({"after": -1}, "help: after: Input should be greater than or equal to 0"),
     ({"after": None}, "help: after: Input should be a valid integer"),
     ({"episode": "../x"}, "help: episode: String should match pattern"),
     ({"price": 0}, "help: price: Extra inputs are not permitted"),
     ({"at": "now"}, "help: at: Input should be a valid number")],
)  # fmt: skip
def test_a_malformed_request_is_refused(helping_home: Served, changes: dict[str, Any], reason: str) -> None:
    with helping_home.page() as page:
        episode, view = begun(page)
        answer = page.ask("help", **{"episode": episode, "number": 1, "after": 0, "at": 0, **changes})
        assert (answer["type"], answer["kind"]) == ("error", "bad")
        assert answer["reason"].startswith(reason)
        assert page.ask("go_on", episode=episode)["view"] == view


def test_an_oversized_request_closes_the_socket_and_changes_nothing(helping_home: Served) -> None:
    from websockets.exceptions import ConnectionClosed

    with helping_home.page() as page:
        episode, view = begun(page)
        page.say(json.dumps({"v": 1, "type": "help", "episode": episode, "number": 1, "after": 0, "at": "9" * 70_000}))
        with pytest.raises(ConnectionClosed):
            page.hear()
    with helping_home.page() as page:
        assert page.ask("go_on", episode=episode)["view"] == view


def test_a_choice_of_which_no_fact_speaks_has_no_help_and_costs_none(helping_home: Served) -> None:
    with helping_home.page() as page:
        episode, _ = begun(page, env="gumption/LittleAlchemy-v0")
        answer = ask(page, episode, 1, 0)
        assert (answer["type"], answer["expected"]) == ("help_refused", 1)
        assert answer["reason"] == "no fact speaks for a choice here yet; ask at the next one"
        assert page.act(episode, 1, "water")["number"] == 1
        best, *others = said(ask(page, episode, 1, 1))
        assert (best["action"], best["facts"][0]["fact"]) == ("fire", "fire combines with water")
        assert others[-1]["facts"][0]["told"] == "unknown"


@pytest.mark.slow
def test_help_outlives_the_server_and_is_deleted_with_the_person(
    graph: tuple[Path, str, str, str], tmp_path: Path
) -> None:
    options = ("--kg", f"wordcraft={graph[0]}")
    with served(tmp_path, *options) as server, server.page() as page:
        episode, _ = begun(page)
        shown = ask(page, episode, 1, 0)
        server.kill()  # what was shown is on the disk
    with served(tmp_path, *options) as server, server.page() as page:
        assert page.ask("go_on", episode=episode) == shown
        assert ask(page, episode, 2, 0) == shown
    with served(tmp_path) as server, server.page() as page:  # nobody offers help now: what was kept stays
        view = page.ask("go_on", episode=episode)["view"]
        assert view["help"] is None
        page.act(episode, 1, view["choices"][0]["action"])
        assert ask(page, episode, 2, 1)["reason"] == "there is no help in this episode"
    store = Store(tmp_path)
    [row] = store.read(sql.select(tables.helps))
    assert (row.episode, row.number, row.after, row.price) == (episode, 1, 0, 0.0)
    assert row.said["choices"] == said(shown)
    assert {name: row.said["knowledge"][name] for name in ("source", "by")} == {"source": "mine.nq", "by": "look-up"}
    assert row.said["knowledge"]["test_facts"]["of"] > 0
    [person] = {each.person for each in store.read(sql.select(tables.episodes))}
    asyncio.run(store.forget(person))
    assert store.read(sql.select(tables.helps)) == []
    store.close()


# ---- Without sockets: what fails, what takes long, and which worlds have help.


async def offered(store: Store, file: Path, **terms: Any) -> Any:
    all = Episodes(store, worlds.find)
    all.offers = {"wordcraft": offer_of(str(file), **terms)}
    return all, await all.begin(person=ADA, world="wordcraft", settings={}, seed=SEED)


def test_a_price_is_taken_from_the_reward_and_some_helps_are_all(
    graph: tuple[Path, str, str, str], tmp_path: Path
) -> None:
    file, first, second, _ = graph

    async def play() -> None:
        all, episode = await offered(store, file, price=0.25, at_most=1)
        await all.help(episode, 1, 0, 0.0)
        assert episode.shown()["reward"] == -0.25
        await all.act(episode, 1, first, 0.0)
        with pytest.raises(InputError, match="all help is used: 1 in an episode"):
            await all.help(episode, 2, 1, 0.0)
        await all.act(episode, 2, second, 0.0)
        result = episode.result()
        assert (result["steps"], result["reward"], result["success"]) == (2, 0.75, True)
        assert (result["helps"], result["paid"]) == (1, 0.25)
        again = await Episodes(store, worlds.find).find(episode.id, ADA)
        assert again.result() == result
        assert store.read(sql.select(tables.episodes))[0].result == result

    store = Store(tmp_path)
    asyncio.run(play())
    store.close()


def test_help_that_was_not_written_was_not_given(
    graph: tuple[Path, str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        all, episode = await offered(store, graph[0], price=0.25)

        async def full(*_: Any) -> None:
            raise OSError("no space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(store, "write", full)
            with pytest.raises(Unkept, match="the help could not be kept"):
                await all.help(episode, 1, 0, 0.0)
        again = await all.find(episode.id, ADA)
        assert again is not episode
        assert again.shown()["reward"] == 0
        await all.help(again, 1, 0, 0.0)
        assert again.shown()["help"]["used"] == 1

    store = Store(tmp_path)
    asyncio.run(play())
    store.close()


@pytest.mark.slow
def test_knowledge_that_cannot_be_read_is_told_and_read_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "mine.nq"
    file.write_text("no quads\n")

    async def play() -> None:
        all, episode = await offered(store, file)
        with pytest.raises(InputError, match="there is no help here: its knowledge cannot be read"):
            await all.help(episode, 1, 0, 0.0)
        assert "wordcraft: there is no help:" in caplog.text
        assert "mine.nq" in caplog.text
        graph_of_task(file)
        lines: list[str] = []
        all.advisers.tell = lines.append
        await all.help(episode, 1, 0, 0.0)
        [line] = lines
        assert line.startswith("help in wordcraft: mine.nq (look-up, 2 facts): it states ")

    store = Store(tmp_path / "data")
    asyncio.run(play())
    store.close()


def test_everybody_plays_on_while_knowledge_is_loaded(
    graph: tuple[Path, str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, ready = [], threading.Event()

    def slow(asked: Asked) -> Adviser:
        assert ready.wait(60)
        made.append(asked)
        return adviser_of(asked)

    async def play() -> None:
        all, episode = await offered(store, graph[0])
        other = await all.begin(person=ADA, world="wordcraft", settings={}, seed=SEED)
        asking = [asyncio.create_task(all.help(one, 1, 0, 0.0)) for one in (episode, other)]
        await asyncio.sleep(0)  # they begin to wait
        await all.act(other, 1, graph[1], 0.0)
        assert not any(one.done() for one in asking)
        ready.set()
        await asking[0]
        assert len(episode.helps) == len(made) == 1
        with pytest.raises(InputError, match="asked for after action 0, and the episode is after action 1"):
            await asking[1]  # the choice has passed

    monkeypatch.setattr(helping, "adviser_of", slow)
    store = Store(tmp_path)
    asyncio.run(play())
    store.close()


def test_any_world_with_listed_choices_has_help(graph: tuple[Path, str, str, str]) -> None:
    world = worlds.find("wordcraft")
    view = general_view(world)
    env = world.load(world.environments[0].single, "environment")(num_distractors=4, partition="all")
    env.reset(seed=SEED)
    assert helpless(world, view, env) is None
    adviser = adviser_of(Asked(offer_of(str(graph[0])), world, view, env, {"num_distractors": 4}))
    found = adviser.said(view, env)["choices"]
    assert sorted(one["action"] for one in found) == list(range(6))
    assert all(set(one) == {"action", "label", "score", "facts"} for one in found)


@pytest.mark.parametrize("by", ["--kg-relations", "--kg-map"])
def test_a_graph_with_other_names_of_relations_helps_by_a_mapping(tmp_path: Path, by: str) -> None:
    word, _, goal = graph_of_task(tmp_path / "mine.nq", "ingredient_of")
    rules = tmp_path / "mine.rules.json"
    rules.write_text('{"rules": [{"symmetric": "combinesWith"}]}')
    NameMap({"componentOf": "ingredient_of"}).save(tmp_path / "map.toml")
    options = f"wordcraft={tmp_path / 'mine.nq'}", f"wordcraft={rules}"
    given = (
        [["wordcraft=componentOf=ingredient_of"]]
        if by == "--kg-relations"
        else [[], [f"wordcraft={tmp_path / 'map.toml'}"]]
    )
    offers = read_offers(*([one] for one in options), *given)
    env, _ = WORDS.begin(seed=SEED)
    adviser = adviser_of(Asked(offers["wordcraft"], worlds.find("wordcraft"), WORDS, env, {}))
    best = adviser.said(WORDS, env)["choices"][0]
    assert best["action"] == word
    assert f"{word} is component of {goal}" in [fact["fact"] for fact in best["facts"] if fact["told"] == "stated"]
    assert "with the rules mine.rules.json: it states" in told_of(adviser.about)


def test_fitted_scores_are_told_as_ratios_to_chance() -> None:
    class Fitted:
        def __call__(self, env: Any) -> None:
            pass

        def why(self, b: int, a: int) -> list[Any]:
            return [(("fire", "makes", "steam", ""), (4.0, 0.0, -1.0)[a])]

        def links(self, fact: Any) -> list[Any]:
            return [("steam", "foundAt", "fire")]

    class Three:
        helped, ranked, word = None, True, str

        def choices(self, env: Any) -> list[dict[str, Any]]:
            return [{"action": a, "label": str(a)} for a in range(3)]

        def parse(self, action: int, env: Any) -> int:
            return action

    adviser = Adviser(Fitted(), {"by": "fit"})  # pyright: ignore[reportArgumentType]
    found = adviser.said(Three(), None)["choices"]  # pyright: ignore[reportArgumentType]
    told = [(one["action"], one["facts"][0]["told"], one["facts"][0]["fact"]) for one in found]
    fact = "fire with something makes steam (steam is found at fire)"
    ratios = {0: "55 times as likely as by chance", 1: "unknown", 2: "0.37 times as likely as by chance"}
    assert told == [(a, ratios[a], fact) for a in (0, 1, 2)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [((["wordcraft"], [], []), "--kg wordcraft: give WORLD=VALUE"),
     ((["=train"], [], []), "--kg =train: give WORLD=VALUE"),
     ((["chess=train"], [], []), "unknown world 'chess'"),
     ((["wordcraft=train", "wordcraft=full"], [], []), "--kg wordcraft=...: it is there twice"),
     ((["wordcraft=train"], ["wordcraft=a", "wordcraft=b"], []), "--kg-rules wordcraft=...: it is there twice"),
     ((["wordcraft=none"], [], []), "--kg wordcraft=none: kg is none: help needs knowledge"),
     ((["wordcraft=nosuch.nq"], [], []), "--kg wordcraft=nosuch.nq: there is no graph at nosuch.nq"),
     (([], ["wordcraft=linked"], []), "--kg-rules wordcraft=...: that is for help from a graph; add --kg wordcraft="),
     (([], [], ["wordcraft=a=b"]), "--kg-relations wordcraft=...: that is for help from a graph"),
     (([], [], [], ["wordcraft=a"]), "--kg-map wordcraft=...: that is for help from a graph"),
     ((["wordcraft=train"], [], ["wordcraft=a"]), "--kg wordcraft=train: 'a' is not NAME=VALUE")],
)  # fmt: skip
def test_a_wrong_offer_is_refused(options: tuple[list[str], ...], reason: str) -> None:
    with pytest.raises(InputError) as told:
        read_offers(*options)
    assert reason in str(told.value)


def test_worlds_that_state_no_facts_for_a_choice_have_no_help() -> None:
    world, view = worlds.find("wordcraft"), view_of(worlds.find("wordcraft"))

    class Bare:
        listed: ClassVar = [{"action": "a", "label": "a"}]

        def choices(self, env: Any) -> list[dict[str, Any]]:
            return self.listed

        def parse(self, action: str, env: Any) -> Any:
            return [0, 1]

        live = helped = None

    env, _ = view.begin(seed=SEED)
    assert "no facts speak for a whole choice of it" in str(helpless(world, Bare(), env))  # pyright: ignore
    env = type("Env", (), {"unwrapped": object()})()
    assert "it does not say which facts speak for a choice" in str(helpless(world, Bare(), env))  # pyright: ignore
    bare = Bare()
    bare.listed = []  # pyright: ignore
    assert "its choices are not listed one by one" in str(helpless(world, bare, env))  # pyright: ignore
    bare.live = object()  # pyright: ignore
    assert "it runs in real time, and its choices are not listed" in str(helpless(world, bare, None))  # pyright: ignore


@pytest.mark.parametrize(
    ("about", "line"),
    [({"source": "train", "by": "fit", "facts": 12_365}, "train (fit, 12,365 facts): of training alone"),
     ({"source": "full", "by": "look-up", "facts": 9},
      "full (look-up, 9 facts): the world's own facts, those of the test with them"),
     ({"source": "my.nq", "by": "look-up", "facts": 9, "test_facts": {"stated": 2, "of": 1_000}},
      "my.nq (look-up, 9 facts): it states 2 of the 1,000 test facts"),
     ({"source": "model", "by": "predictor", "test_facts": "not known"},
      "model (predictor): how many test facts it was trained on is not known"),
     ({"source": "my.nq", "by": "look-up", "facts": 9, "test_facts": {"stated": 0, "of": 10},
       "rules": {"file": "r.json", "test_facts": "not known", "entailed_test_facts": {"stated": 3, "of": 10}}},
      "my.nq (look-up, 9 facts) with the rules r.json: it states 0 of the 10 test facts; with the rules it entails 3 "
      "of the 10 test facts; how many test facts they were mined from is not known"),
     ({"source": "my.nq", "by": "look-up", "facts": 9}, "my.nq (look-up, 9 facts)")],
)  # fmt: skip
def test_the_experimenter_is_told_what_the_knowledge_leaks(about: dict[str, Any], line: str) -> None:
    assert told_of(about) == line


# ---- In a browser.


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"viewport": NARROW, "color_scheme": "dark"}], ids=["wide light", "narrow dark"])
def test_a_player_asks_sees_the_facts_and_takes_the_advised_choice(
    browser: "Browser", helping_home: Served, graph: tuple[Path, str, str, str], given: dict[str, Any]
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    _, best, other, goal = graph
    visitor = Visitor(browser, helping_home.address, **given)
    page = visitor.open(f"/play/wordcraft?seed={SEED}")
    page.locator("#ask").focus()
    page.keyboard.press("Enter")
    panel = page.locator("#help")
    panel.get_by_role("heading", name="What the graph says").wait_for()
    assert panel.locator("h2").evaluate("one => one === document.activeElement")
    rows = panel.locator("tbody tr")
    assert rows.count() == page.locator(".words-card").count()
    assert rows.first.inner_text().split() == [best, *f"{best} is component of {goal}: stated 1.00".split()]
    assert rows.last.inner_text().split()[-2:] == ["unknown", "-"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    page.reload()
    panel.get_by_role("heading", name="What the graph says").wait_for()
    assert "You have asked 1 time." in panel.inner_text()
    rows.first.get_by_role("button", name=best).focus()
    page.keyboard.press("Enter")
    page.locator("#ask").wait_for()
    assert "It is free." in panel.inner_text()
    page.locator("#ask").click()
    panel.get_by_role("button", name=other, exact=True).click()
    page.get_by_role("heading", name="Solved").wait_for()
    assert panel.is_hidden()
    visitor.leave()


def test_what_cannot_be_read_is_refused_before_the_server_starts(tmp_path: Path) -> None:
    graph = KnowledgeGraph()
    graph.add([("fire", "componentOf", "steam")], graph="mine")
    graph.save(tmp_path / "mine.nq")
    (tmp_path / "folder").mkdir()
    for name in ("random.bin", "random.nq", "random.json"):
        (tmp_path / name).write_bytes(bytes(range(256)))
    for name in ("random.bin", "random.nq", "random.json", "folder", "mine.nq#other"):
        with pytest.raises(InputError, match="--kg wordcraft="):
            read_offers([f"wordcraft={tmp_path / name}"], [], [])
    assert read_offers([f"wordcraft={tmp_path / 'mine.nq'}#mine"], [], [])
