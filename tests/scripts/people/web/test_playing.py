"""Episodes over real sockets: every world, reloads, tabs, numbers of actions, and what is refused."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gumption.envs import worlds
from tests.scripts.people.web.homes import Page, Served, served

OTHER = "o" * 40
#: Actions of each world, by its view.
ACTIONS: dict[str, list[Any]] = {
    "wordcraft": ["WORD", "WORD"],
    "halma": [{"direction": "right", "primitives": ["1", "2"]}, "left 1"],
    "gradual": ["a", ""],
    "segar": [[0.5, 1], [-1, 0]],
    "probsol": [["grab", "b"]],
}


def begun(page: Page, world: str = "wordcraft", seed: int | None = 3, **settings: Any) -> tuple[str, dict[str, Any]]:
    answer = page.ask("begin", world=world, settings=settings, seed=seed)
    assert answer["type"] == "shown", answer
    return answer["episode"], answer["view"]


@pytest.mark.parametrize("world", ACTIONS)
def test_a_world_is_played_and_goes_on_after_a_reload(home: Served, world: str) -> None:
    with home.page() as page:
        episode, view = begun(page, world)
        assert view["drawing"]["kind"]
        assert (view["steps"], view["over"]) == (0, False)
        for number, action in enumerate(ACTIONS[world], start=1):
            answer = page.act(episode, number, view["choices"][0]["action"] if action == "WORD" else action)
            assert (answer["type"], answer.get("number")) == ("shown", number), answer
    with home.page() as page:
        assert page.ask("go_on", episode=episode)["number"] == len(ACTIONS[world])


def test_every_world_has_actions_here() -> None:
    assert set(ACTIONS) == set(worlds.WORLDS)


def test_the_same_seed_begins_the_same_episode(home: Served) -> None:
    with home.page() as page:
        first, again, other = (begun(page, seed=seed, distractors=5)[1] for seed in (4, 4, 5))
    assert first == again
    assert first["drawing"] != other["drawing"]


def test_without_a_seed_one_is_drawn(home: Served) -> None:
    with home.page() as page:
        views = [begun(page, seed=None, distractors=8)[1]["drawing"] for _ in range(3)]
    assert len({json.dumps(view) for view in views}) > 1


def test_an_action_is_taken_once_and_in_order(home: Served) -> None:
    with home.page() as page:
        episode, view = begun(page)
        one, other = (choice["action"] for choice in view["choices"][:2])
        first = page.act(episode, 1, one)
        assert page.act(episode, 1, other) == first  # a repeated one, whatever it says, is acknowledged and not taken
        skipped = page.act(episode, 3, one)
        assert (skipped["type"], skipped["expected"]) == ("refused", 2)
        assert "the next action of the episode has 2" in skipped["reason"]
        assert page.act(episode, 2, other)["view"]["over"]
        over = page.act(episode, 3, other)
        assert (over["type"], over["reason"]) == ("refused", "the episode is over")
        assert page.ask("go_on", episode=episode)["number"] == 2


@pytest.mark.parametrize(
    ("action", "reason"),
    [("dragon", "'dragon' is not on the table"), (None, "the action is None"), ({"a": 1}, "the action is {'a': 1}"),
     (True, "the action is True"), ("<script>", "is not on the table"), ([0.5], "the action is [0.5]")],
)  # fmt: skip
def test_no_action_is_refused_and_nothing_of_it_kept(home: Served, action: Any, reason: str) -> None:
    with home.page() as page:
        episode, view = begun(page)
        answer = page.act(episode, 1, action)
        assert answer["type"] == "refused"
        assert reason in answer["reason"]
        assert page.ask("go_on", episode=episode)["view"] == view


def test_a_newer_tab_takes_over_and_the_older_is_told(home: Served) -> None:
    with home.page() as old, home.page() as new:
        episode, view = begun(old)
        word = view["choices"][0]["action"]
        old.act(episode, 1, word)
        assert new.ask("go_on", episode=episode)["number"] == 1
        told = old.hear()
        assert (told["type"], told["kind"], told["episode"]) == ("error", "taken", episode)
        with pytest.raises(ConnectionClosed) as closed:
            old.hear()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4001
        assert new.act(episode, 2, word)["number"] == 2


def test_a_page_acts_only_on_what_it_plays(home: Served) -> None:
    with home.page() as page:
        episode, _ = begun(page)
    with home.page() as page:
        answer = page.act(episode, 1, 0)
        assert (answer["type"], answer["reason"]) == ("refused", "this page does not play that episode; go on first")
        page.ask("go_on", episode=episode)
        page.say({"v": 1, "type": "leave", "episode": episode})
        assert page.act(episode, 1, 0)["type"] == "refused"


def test_a_page_plays_some_episodes_at_once(home: Served) -> None:
    with home.page() as page:
        first, view = begun(page)
        for _ in range(8):
            begun(page)
        word = view["choices"][0]["action"]
        assert page.act(first, 1, word)["reason"] == "this page does not play that episode; go on first"
        assert page.ask("go_on", episode=first)["view"] == view


def test_an_episode_is_nobody_elses(home: Served) -> None:
    with home.page() as page, home.page(OTHER) as other:
        episode, view = begun(page)
        begun(other)
        for told in (episode, "0" * 32):  # whether there is one is not told either
            answer = other.ask("go_on", episode=told)
            assert (answer["type"], answer["kind"]) == ("error", "unknown")
            assert answer["reason"] == "there is no such episode of yours here; begin a new one"
        assert other.act(episode, 1, 0)["type"] == "refused"
        assert page.ask("go_on", episode=episode)["view"] == view


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 30_000, "nested too deep"),
        ("[]", "it is an object with v and type"),
        (b"{}", "the message is no text"),
        ({"type": "begin"}, "this server speaks 1"),
        ({"v": 2, "type": "begin"}, "this server speaks 1"),
        ({"v": 1}, "which is none"),
        ({"v": 1, "type": ["act"]}, "which is none"),
        ({"v": 1, "type": "acts"}, "did you mean 'act'?"),
        ({"v": 1, "type": "begin"}, "begin: world: Field required"),
        ({"v": 1, "type": "begin", "world": "wordcraft", "more": 1}, "begin: more: Extra inputs"),
        ({"v": 1, "type": "begin", "world": "wordcraft", "seed": -1}, "begin: seed"),
        ({"v": 1, "type": "begin", "world": "wordcraf"}, "did you mean 'wordcraft'?"),
        ({"v": 1, "type": "begin", "world": "../../etc/passwd"}, "unknown world"),
        ({"v": 1, "type": "go_on", "episode": "' OR 1=1 --"}, "go_on: episode"),
        ({"v": 1, "type": "act", "episode": "0" * 32, "number": 0, "action": 0, "at": 0}, "act: number"),
        ({"v": 1, "type": "act", "episode": "0" * 32, "number": 1.5, "action": 0, "at": 0}, "act: number"),
        ({"v": 1, "type": "act", "episode": "0" * 32, "number": 1, "action": 0, "at": "now"}, "act: at"),
        ('{"v":1,"type":"act","episode":"' + "0" * 32 + '","number":1,"at":0,"action":[NaN]}', "NaN or Infinity"),
        ('{"v":1,"type":"act","episode":"' + "0" * 32 + '","number":1,"at":Infinity,"action":0}', "NaN or Infinity"),
        ('{"v":1,"type":"begin","world":"\\ud800"}', "half of a pair of surrogates"),
    ],
)  # fmt: skip
def test_a_message_that_is_none_is_refused_with_the_reason(home: Served, message: Any, reason: str) -> None:
    with home.page() as page:
        page.say(message)
        answer = page.hear()
        assert (answer["type"], answer["kind"]) == ("error", "bad")
        assert reason in answer["reason"]
        assert page.ask("begin", world="wordcraft")["type"] == "shown"  # the page goes on


@pytest.mark.parametrize(
    ("world", "settings", "reason"),
    [
        ("wordcraft", {"recipe_book": "/etc/passwd"}, "a name, of letters"),
        ("wordcraft", {"recipe_book": "../secret.tsv"}, "a name, of letters"),
        ("wordcraft", {"recipe_book": "os:system"}, "a name, of letters"),
        ("wordcraft", {"distractors": 10**6}, "a number up to 1000"),
        ("wordcraft", {"depth": {"a": 1}}, "from a page it is a text"),
        ("wordcraft", {"distractor": 1}, "did you mean 'distractors'?"),
        ("wordcraft", {"seed": 1}, "seed"),
        ("wordcraft", {"env": "gumption/Chess-v0"}, "env"),
        ("wordcraft", {str(number): 1 for number in range(21)}, "settings"),
        ("gradual", {"tasks": "micro1,pyproject.toml"}, "a name, of letters"),
        ("gradual", {"no": 1}, "no"),
    ],
)
def test_settings_that_a_page_may_not_give_are_refused(
    home: Served, world: str, settings: dict[str, Any], reason: str
) -> None:
    with home.page() as page:
        answer = page.ask("begin", world=world, settings=settings)
        assert answer["type"] == "error"
        assert reason in answer["reason"]


def test_settings_may_be_texts_of_an_address(home: Served) -> None:
    with home.page() as page:
        _, view = begun(page, distractors="5", depth="1", env="gumption/WordCraft-v0")
        assert len(view["choices"]) == 7
        _, view = begun(page, "gradual", tasks="micro5.1,micro5.2", threshold="1")
        assert view["drawing"]["tasks"] == 2


def test_a_message_may_not_be_longer_than_64_kib(home: Served) -> None:
    with home.page() as page:
        page.say("x" * (64 * 1024 + 1))
        with pytest.raises(ConnectionClosed) as closed:
            page.hear()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": None}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "file://"}, 403),
    ],
)
def test_a_socket_of_another_site_is_refused(home: Served, given: dict[str, Any], status: int) -> None:
    with pytest.raises(InvalidStatus) as refused, home.page(**given):
        pass
    assert refused.value.response.status_code == status
    assert b"only pages of this server" in refused.value.response.body


def test_a_page_without_a_cookie_is_told(home: Served) -> None:
    with home.page("") as page, pytest.raises(ConnectionClosed) as closed:
        page.hear()
    assert closed.value.rcvd is not None
    assert "no cookie" in closed.value.rcvd.reason


@pytest.mark.slow
def test_fast_messages_wait_and_none_is_lost(home: Served) -> None:
    with home.page() as page:
        episode, _ = begun(page)
        began = time.monotonic()
        for _ in range(100):
            page.say({"v": 1, "type": "go_on", "episode": episode})
        answers = [page.hear() for _ in range(100)]
    assert {answer["type"] for answer in answers} == {"shown"}
    assert time.monotonic() - began > 1.5  # 60 at once, then 20 a second


def test_a_socket_that_says_nothing_is_closed_and_one_that_spoke_stays(impatient: Served) -> None:
    with impatient.page(OTHER) as silent, impatient.page() as speaks:
        episode, view = begun(speaks)
        with pytest.raises(ConnectionClosed) as closed:
            silent.hear()
        time.sleep(0.6)
        assert speaks.act(episode, 1, view["choices"][0]["action"])["number"] == 1
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.reason == "nothing was said for too long"


def test_more_tabs_than_some_close_the_oldest(impatient: Served) -> None:
    with impatient.page("t" * 40) as old:
        begun(old)
        with impatient.page("t" * 40) as new:
            with pytest.raises(ConnectionClosed) as closed:
                old.hear()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.reason == "more than 1 tabs are open"
            begun(new)


@pytest.mark.slow  # a server of its own
def test_who_waits_for_a_world_is_told_and_others_do_not_wait(tmp_path: Path) -> None:
    sixth = {"GUMPTION_WORLDS": "sixth.slow", "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    constants = {"server.PATIENCE": 0.2, "server.AGAIN": 0.5}
    with served(tmp_path, env=sixth, constants=constants) as home, home.page() as waits, home.page(OTHER) as plays:
        waits.say({"v": 1, "type": "begin", "world": "slow"})
        first = json.loads(waits.socket.recv(timeout=60))
        assert (first["type"], "is being made ready" in first["reason"]) == ("preparing", True)
        assert begun(plays)
        answers = [json.loads(waits.socket.recv(timeout=60))["type"]]
        while answers[-1] == "preparing":
            answers.append(json.loads(waits.socket.recv(timeout=60))["type"])
        assert answers[-1] == "shown"
        assert len(answers) > 1  # told again and again
