"""Episodes of a server, without its sockets: what happens when something fails, and the view of any world."""

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sql
from gymnasium import spaces

from gumption.data import InputError
from gumption.envs import worlds
from gumption.scripts.people.web import episodes as module
from gumption.scripts.people.web import messages, server
from gumption.scripts.people.web import store as tables
from gumption.scripts.people.web.episodes import Episode, Episodes, Unkept, UnknownEpisode, replayed
from gumption.scripts.people.web.security import Guesses, Rate
from gumption.scripts.people.web.store import Store
from gumption.scripts.people.web.views import View, drawn, general_view, listed, read_settings, state_of, view_of

ADA = "a" * 32


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    kept = Store(tmp_path)
    yield kept
    kept.close()


async def begun(all: Episodes, **more: Any) -> tuple[Episode, list[str]]:
    episode = await all.begin(person=ADA, world="wordcraft", settings={"distractors": 4}, seed=2, **more)
    return episode, [choice["action"] for choice in episode.shown()["choices"]]


# ---- What fails.


def test_an_action_that_was_not_written_was_not_made(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        all = Episodes(store, worlds.find)
        episode, (word, *_) = await begun(all)

        async def full(*_: Any) -> None:
            raise OSError("no space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(store, "write", full)
            with pytest.raises(Unkept, match="goes on from the one before"):
                await all.act(episode, 1, word, 0.0)
        again = await all.find(episode.id, ADA)
        assert again is not episode
        assert (again.number, again.shown()["drawing"]["selection"]) == (0, [])
        await all.act(again, 1, word, 0.0)
        assert again.shown()["drawing"]["selection"] == [word]
        all.close()

    asyncio.run(play())


def test_a_world_that_fails_at_a_step_goes_on_from_what_was_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        all = Episodes(store, worlds.find)
        episode, (word, *_) = await begun(all)
        monkeypatch.setattr(episode.env, "step", lambda _: 1 / 0)
        with pytest.raises(Unkept):
            await all.act(episode, 1, word, 0.0)
        assert (await all.find(episode.id, ADA)).number == 0
        all.close()

    asyncio.run(play())


def test_an_episode_that_left_memory_comes_back_from_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 1)

    async def play() -> None:
        all = Episodes(store, worlds.find)
        first, (word, *_) = await begun(all)
        await all.act(first, 1, word, 0.0)
        await begun(all)
        one, other = await asyncio.gather(all.find(first.id, ADA), all.find(first.id, ADA))
        assert one is other
        assert one is not first
        assert one.shown() == first.shown()
        all.close()

    asyncio.run(play())


def test_an_episode_that_another_version_made_is_told(store: Store) -> None:
    async def play() -> None:
        all = Episodes(store, worlds.find)
        episode, _ = await begun(all)
        await store.write(
            sql.insert(tables.actions).values(episode=episode.id, number=1, action="nothing", at=0.0, received=0.0)
        )
        all.drop(episode)
        with pytest.raises(InputError, match="action 1 of the episode cannot be made again"):
            await all.find(episode.id, ADA)
        all.close()

    asyncio.run(play())


def test_a_person_who_is_forgotten_has_no_episode_in_memory_either(store: Store) -> None:
    async def play() -> None:
        all = Episodes(store, worlds.find)
        episode, (word, *_) = await begun(all)
        await all.forget(ADA)
        with pytest.raises(UnknownEpisode):
            await all.find(episode.id, ADA)
        with pytest.raises(InputError, match="the episode is over"):
            await all.act(episode, 1, word, 0.0)
        all.close()

    asyncio.run(play())
    assert store.read(sql.select(tables.actions)) == store.read(sql.select(tables.episodes)) == []


def test_an_end_without_an_action_stays_the_end(store: Store) -> None:
    async def play() -> None:
        all = Episodes(store, worlds.find)
        episode, (word, *_) = await begun(all, stage=1)
        episode.deadline = 1.0
        with pytest.raises(InputError, match="the time for this task is over"):
            await all.act(episode, 1, word, 0.0)
        await all.end(episode, end="time")
        all.drop(episode)
        again = await all.find(episode.id, ADA)
        assert again.over
        with pytest.raises(InputError, match="the episode is over"):
            await all.act(again, 1, word, 0.0)
        all.close()

    asyncio.run(play())
    (row,) = store.read(sql.select(tables.episodes))
    assert (row.ended is not None, row.result["end"]) == (True, "time")


def test_an_episode_that_is_over_keeps_its_result(store: Store) -> None:
    async def play() -> Episode:
        all = Episodes(store, worlds.find)
        episode, (word, *_) = await begun(all)
        await all.act(episode, 1, word, 0.0)
        await all.act(episode, 2, word, 0.0)
        all.close()
        return episode

    episode = asyncio.run(play())
    (row,) = store.read(sql.select(tables.episodes))
    came = {"steps": 2, "attempts": 1, "reward": episode.reward, "success": episode.success}
    assert row.result == {**came, "state": episode.view.state(episode.env)}


# ---- The view of worlds that bring none.


@pytest.mark.parametrize(
    "name", [name for name in worlds.WORLDS if name != "gradual"]
)  # whose episodes have a face of their own
def test_any_world_is_played_by_the_general_view(name: str) -> None:
    world = worlds.WORLDS[name]
    view = general_view(world)
    typed = {"segar": "up 0.5", "probsol": "grab b", "halma": "2 1 0 0 0 0"}
    episode = Episode("0" * 32, ADA, name, view, view.begin, {}, 5)
    before = episode.shown()
    assert before["drawing"]["kind"] == "text"
    assert before["action"] == ("typed" if name in typed else "choices")
    action = typed.get(name) or before["choices"][0]["action"]
    began = view.state(episode.env)
    made = episode.act(action)
    assert (made.attempt, made.state) == (1, began)
    after = episode.shown()
    assert after["steps"] == 1
    assert json.loads(json.dumps(after)) == after
    again = Episode("0" * 32, ADA, name, view, view.begin, {}, 5)
    assert again.act(action) == made
    assert again.shown() == after
    assert again.result() == episode.result()
    assert episode.result()["state"] != began


@pytest.mark.parametrize("name", list(worlds.WORLDS))
def test_a_state_is_that_of_another_episode_of_the_same_seed_alone(name: str) -> None:
    view = view_of(worlds.WORLDS[name])
    states = [view.state(view.begin(seed=seed)[0]) for seed in (3, 3, 4)]
    assert states[0] == states[1]
    assert re.fullmatch("[0-9a-f]{16}", states[0])
    if name not in ("gradual", "probsol"):  # which begin alike
        assert states[2] != states[0]


def test_an_environment_without_a_state_has_no_hash_and_one_without_saving_that_of_what_it_shows() -> None:
    assert state_of(SimpleNamespace()) == ""

    def unsaved() -> None:
        raise NotImplementedError

    shown = SimpleNamespace(state_dict=unsaved, observe=lambda: {"thing": np.arange(3)})
    other = SimpleNamespace(state_dict=unsaved, observe=lambda: {"thing": np.arange(3.0)})
    assert state_of(SimpleNamespace(batch=shown)) != state_of(SimpleNamespace(batch=other)), "the kind of number counts"


def test_the_general_view_draws_no_picture_that_the_world_does_not_call_seen() -> None:
    def shown(seed: int) -> dict[str, Any]:
        view = general_view(worlds.WORLDS["halma"])
        return Episode("0" * 32, ADA, "halma", view, view.begin, {}, seed).shown()

    by_panel: dict[str, dict[str, Any]] = {}
    pair = None
    while pair is None:  # two mazes whose first panels are the same
        view = shown(len(by_panel))
        text = view["drawing"]["text"]
        pair = (view, by_panel[text]) if text in by_panel else None
        by_panel[text] = view
    assert pair[0] == pair[1]
    assert not any(sign in text for sign in "#+-|")


def test_equal_names_of_choices_are_told_apart() -> None:
    class Shelf:
        action_space = spaces.Discrete(3)

        def action_masks(self) -> np.ndarray:
            return np.array([True, True, False])

        def action_facts(self) -> Any:
            return SimpleNamespace(candidates=lambda _: ["book", "cup", "book"])

        vocabulary = ()

    assert listed(None, Shelf()) == [{"action": 0, "label": "book (0)"}, {"action": 1, "label": "cup"}]


def test_the_general_view_draws_a_picture_where_there_is_no_text() -> None:
    class Painted:
        render_mode = "rgb_array"

        def render(self) -> np.ndarray:
            return np.zeros((2, 3, 3), np.uint8)

    picture = drawn(None, ("rgb_array",), Painted())
    assert (picture["kind"], picture["width"], picture["height"]) == ("pixels", 3, 2)
    assert picture["png"].startswith("iVBOR")


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("x" * 1001, "longer than 1000 characters"),
        (None, "it is a text, a number or a list of numbers"),
        (True, "it is a text, a number or a list of numbers"),
        (["up"], "it is a text, a number or a list of numbers"),
        (99, "neither a candidate nor a number"),
        ([1, 2], "cannot be typed"),
    ],
)
def test_the_general_view_refuses_what_is_no_action(action: Any, reason: str) -> None:
    view = general_view(worlds.WORLDS["wordcraft"])
    env, _ = view.begin(seed=0)
    with pytest.raises(InputError, match=reason):
        view.parse(action, env)


def test_settings_of_a_page_are_read_by_the_annotations() -> None:
    def begin(*, count: int = 1, share: float | None = None, on: bool = False, name: str = "", seed: int = 0) -> Any:
        return count, share, on, name, seed

    given = {"count": "3", "share": "0.5", "on": "", "name": "12"}
    assert read_settings(begin, given) == {"count": 3, "share": 0.5, "on": True, "name": "12"}
    for wrong, reason in (
        ({"count": "three"}, "count is 'three'"),
        ({"nam": "x"}, "did you mean 'name'"),
        ({"seed": 3}, "seed"),
        ({"count": [1]}, "from a page it is a text"),
        ({"share": float("nan")}, "from a page it is a text"),
        ({"name": "a" * 101}, "a name, of letters"),
        ({"name": "\x00"}, "a name, of letters"),
    ):
        with pytest.raises(InputError, match=reason):
            read_settings(begin, wrong)


def test_a_world_whose_view_is_broken_spoils_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = worlds.World(
        "broken", "Broken", "", "", worlds.WORLDS["wordcraft"].environments, offers={"web": "no.such.module:VIEW"}
    )
    monkeypatch.setitem(worlds.WORLDS, "broken", broken)
    with caplog.at_level(logging.ERROR):
        listed = server.described_worlds()
    assert [entry["name"] for entry in listed] == [name for name in worlds.WORLDS if name != "broken"]
    assert "the world broken cannot be shown" in caplog.text


def test_every_view_of_a_world_is_a_view() -> None:
    for world in worlds.WORLDS.values():
        assert isinstance(view_of(world), View)


def test_a_replay_begins_as_the_episode_did(store: Store) -> None:
    async def play() -> Episode:
        all = Episodes(store, worlds.find)
        episode, (word, *_) = await begun(all)
        await all.act(episode, 1, word, 0.0)
        all.close()
        return episode

    episode = asyncio.run(play())
    (row,) = store.read(sql.select(tables.episodes))
    view = view_of(worlds.find("wordcraft"))
    again = replayed(row, store.read(sql.select(tables.actions)), view, view.begin)
    assert again.shown() == episode.shown()


# ---- Rates.


def test_messages_wait_beyond_the_rate() -> None:
    rate = Rate(per_second=10, burst=3)
    waits = [rate.wait() for _ in range(5)]
    assert waits[:3] == [0, 0, 0]
    assert 0.05 < waits[3] <= 0.1 < waits[4] <= 0.2


def test_guesses_are_forgotten_after_a_while() -> None:
    guesses = Guesses(most=2, seconds=0.2)
    for _ in range(2):
        assert not guesses.too_many("here")
        guesses.add("here")
    assert guesses.too_many("here")
    assert not guesses.too_many("there")
    asyncio.run(asyncio.sleep(0.3))
    assert not guesses.too_many("here")


def test_a_plain_message_gets_the_version_and_no_nan() -> None:
    assert json.loads(messages.written({"type": "frame"})) == {"v": 1, "type": "frame"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        messages.written({"type": "frame", "x": float("nan")})
