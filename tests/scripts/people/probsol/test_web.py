"""ProbSol in the browser and over sockets: what is played in real time replays to the same states in Python."""

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.envs.probsol.library import find_tasks
from gumption.envs.probsol.replay import replay
from gumption.envs.probsol.tasks import FAMILIES, Task
from gumption.scripts.people.probsol import LIVE, VIEW
from gumption.scripts.people.web.episodes import Episode
from tests.probsol_examples import disc, fishing, task
from tests.scripts.people.probsol.table_page import Keys, Mouse, TablePage, browser
from tests.scripts.people.web.homes import Page, Served, served

SOLUTION = [["grab", "b"], ["place", 10, 16], ["check"], ["answer", ["b"], ["a", "c"]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def home(folder: Path) -> Iterator[Served]:
    with served(folder) as server:
        yield server


@pytest.fixture(scope="module")
def fast_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """A home in which discs move ten times as fast, and its folder."""
    folder = tmp_path_factory.mktemp("fast")
    with served(folder, constants={"RealTime.speed": 10.0}) as server:
        yield server, folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


class Player:
    """An episode over a socket: `number` is of the last action, `frames` are (seconds, frame)."""

    def __init__(self, page: Page, **settings: Any) -> None:
        self.page, self.frames = page, []
        self.shown = page.ask("begin", world="probsol", settings=settings, seed=1)
        assert self.shown["type"] == "shown", self.shown
        self.episode, self.number = self.shown["episode"], 0

    @classmethod
    def going_on(cls, page: Page, episode: str) -> "Player":
        self = cls.__new__(cls)
        self.page, self.frames, self.episode = page, [], episode
        self.shown = page.ask("go_on", episode=episode)
        self.number = self.shown["number"]
        return self

    def hear(self) -> dict[str, Any]:
        message = json.loads(self.page.socket.recv(timeout=60))
        if message["type"] == "frame":
            self.frames.append((time.perf_counter(), message))
        return message

    def act(self, *action: Any) -> dict[str, Any]:
        """Do an action; the answer to it, with the seconds that it took as "took"."""
        began = time.perf_counter()
        step = self.frames[-1][1]["step"] if self.frames else 0
        act = {"v": 1, "type": "act", "episode": self.episode, "number": self.number + 1, "action": list(action)}
        self.page.say({**act, "at": time.time() * 1000, "step": step})
        while (message := self.hear())["type"] == "frame":
            pass
        if message["type"] == "shown":
            self.number, self.shown = message["number"], message
        return {**message, "took": time.perf_counter() - began}

    def rest(self) -> None:
        """Hear frames until nothing moves."""
        frame = self.shown["view"]["drawing"]["frame"]
        while frame["moves"]:
            message = self.hear()
            frame = message if message["type"] == "frame" else message["view"]["drawing"]["frame"]


def stored(folder: Path, episode: str) -> tuple[Any, list[Any], dict[str, Any] | None]:
    """Row, actions (action, step) and result of an episode on disk."""
    [path] = [each for each in folder.iterdir() if each.suffix in (".db", ".sqlite", ".sqlite3")]
    with sqlite3.connect(path) as store:
        store.row_factory = sqlite3.Row
        row = store.execute("SELECT * FROM episodes WHERE id = ?", (episode,)).fetchone()
        acts = store.execute("SELECT * FROM actions WHERE episode = ? ORDER BY number", (episode,)).fetchall()
    result = json.loads(row["result"]) if row["result"] else None
    return row, [(json.loads(each["action"]), each["step"]) for each in acts], result


def played_again(folder: Path, episode: str) -> tuple[Any, dict[str, Any] | None]:
    """The environment after an episode of the store was played again here, and the stored result."""
    row, actions, result = stored(folder, episode)
    env, _ = VIEW.begin(**json.loads(row["settings"]), seed=row["seed"])
    for action, step in actions:
        LIVE.advance([env], [step])
        LIVE.act(env, VIEW.parse(action, env), step)
    return env, result


def check_replay(folder: Path, episode: str) -> dict[str, Any]:
    """The record of an ended episode of the store; it ends in the state in which the server's did, bit for bit."""
    env, result = played_again(folder, episode)
    assert result is not None
    assert (LIVE.step(env), env.batch.state_hash(), env.batch.describe(0)["end"]) == (
        result["step"], result["state"], result["end"]
    )  # fmt: skip
    [record] = env.batch.episodes
    assert replay(json.loads(json.dumps(record))).state_hash() == result["state"]
    return record


# ---- what is hidden


def test_masses_magnets_and_right_answers_are_not_shown() -> None:
    [fished] = find_tasks("fishing/0")
    one = fished.to_json()
    other = json.loads(json.dumps(one))
    other["objects"][0] |= {"mass": "extremely large", "polarity": "-"}
    other["objects"][1] |= {"mass": "small", "magnetism": "small", "polarity": "+"}
    del other["solution"]
    views = []
    for each in (one, other):
        episode = Episode("", "", "probsol", VIEW, VIEW.begin, {"task": each}, 1)
        episode.act(["grab", "b"], 1)
        views.append(episode.shown())
    assert views[0] == views[1]
    assert views[0]["drawing"]["quiz"] == []


# ---- over sockets


@pytest.mark.slow
def test_an_episode_over_a_socket_replays_to_the_same_state(home: Served, folder: Path) -> None:
    with home.page() as page:
        player = Player(page, task="fishing/0")
        player.rest()
        for action in SOLUTION[:2]:
            player.act(*action)
        first = len(player.frames)
        player.rest()
        moving = player.frames[first:]
        player.act(*SOLUTION[2])
        assert [each["pair"] for each in player.shown["view"]["drawing"]["quiz"]] == [False, True]
        last = player.act(*SOLUTION[3])
    assert (last["view"]["over"], last["view"]["success"], last["view"]["reward"]) == (True, True, 1.0)
    assert moving[0][1]["step"] < 40 < moving[-1][1]["step"] - moving[0][1]["step"]
    record = check_replay(folder, player.episode)
    assert [action[2] for action in record["actions"]] == [1, 698, 3255, [["b"], ["a", "c"]]]
    assert record["settings"]["action_seconds"] is None


@pytest.mark.slow
def test_a_table_at_rest_sends_nothing_and_its_time_goes_on(home: Served) -> None:
    with home.page() as page:
        player = Player(page, task="fishing/0")
        player.rest()
        before = len(player.frames)
        with pytest.raises(TimeoutError):
            page.socket.recv(timeout=0.7)
        player.act("grab", "b")
        step = player.shown["view"]["drawing"]["frame"]["step"]
    assert len(player.frames) - before <= 2
    assert step >= 42


@pytest.mark.slow
def test_one_acts_while_discs_move_and_is_refused_what_is_closed(home: Served, folder: Path) -> None:
    with home.page() as page:
        player = Player(page, task="fishing/0")
        refused = player.act("place", 3, 30)
        assert (refused["type"], refused["reason"]) == ("refused", "you have no disc in hand: grab one first")
        assert player.act("grab", "a")["reason"] == "a lies in the dark, where you cannot touch it"
        for action, reason in (
            (["dance"], "there is no action 'dance'"),
            (["grab", ["b"]], "there is no disc"),
            ([], "[] is no action; it is a list such as"),
            (["answer", ["b"]], "there is nothing to answer"),
        ):
            assert player.act(*action)["reason"].startswith(reason)
        player.act("grab", "b")
        player.act("place", 10, 16)
        assert player.shown["view"]["drawing"]["frame"]["moves"]
        while player.frames[-1][1]["step"] < player.shown["view"]["drawing"]["frame"]["step"] + 12:
            player.hear()
        player.act("hold", "b")  # in the middle of its way
        player.act("turn", 1)
        player.act("put_down")
        player.rest()
        player.act("check")
        assert player.shown["view"]["drawing"]["quiz"]
        assert player.act("answer", ["b"], ["a"])["reason"].startswith("answers: question 1 asks for a pair")
        player.act("answer", ["c"], ["a", "c"])
    assert player.shown["view"]["told"] == "ended: an answer is wrong"
    assert not player.shown["view"]["success"]
    record = check_replay(folder, player.episode)
    steps = [action[0] for action in record["actions"]]
    assert steps[2] - steps[1] >= 10
    assert len(steps) == 7


@pytest.mark.slow
def test_a_killed_server_goes_on_at_the_very_step(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.page() as page:
        player = Player(page, task="fishing/0")
        player.act("grab", "b")
        player.act("place", 10, 16)
        kept = player.shown["view"]["drawing"]["frame"]
        while player.frames[-1][1]["step"] < kept["step"] + 20:
            player.hear()
        server.kill()
    _, actions, result = stored(tmp_path, player.episode)
    assert ([action for action, _ in actions], result) == ([["grab", "b"], ["place", 10, 16]], None)
    with served(tmp_path) as server, server.page() as page:
        again = Player.going_on(page, player.episode)
        frame = again.shown["view"]["drawing"]["frame"]
        assert (again.number, frame["step"]) == (2, actions[-1][1])
        here, _ = played_again(tmp_path, player.episode)
        assert frame["discs"] == LIVE.frame(here)["discs"]
        LIVE.advance([here], [kept["step"]])  # the page had seen some steps more
        assert LIVE.frame(here)["discs"] == kept["discs"]
        again.rest()
        again.act("check")
        assert again.act(*SOLUTION[3])["view"]["success"]
    check_replay(tmp_path, player.episode)


def test_a_failed_check_begins_the_next_trial(home: Served, folder: Path) -> None:
    with home.page() as page:
        player = Player(page, task="fishing/0")
        for trial in (2, 3):
            told = player.act("check")["view"]
            assert told["told"] == f"that does not solve it, trial {trial} begins"
            assert told["drawing"]["frame"]["step"] < 3
        assert player.act("check")["view"]["told"] == "ended: no trial is left"
    assert check_replay(folder, player.episode)["result"]["trials"] == 3


def test_time_stands_still_while_nobody_watches(home: Served) -> None:
    with home.page() as page:
        player = Player(page, task="fishing/0")
        player.act("grab", "b")
        step = player.shown["view"]["drawing"]["frame"]["step"]
    time.sleep(0.5)
    with home.page() as page:
        again = Player.going_on(page, player.episode)
        assert again.shown["view"]["drawing"]["frame"]["step"] - step < 25


def test_time_at_rest_is_kept_when_the_page_leaves_or_another_one_takes_the_table(home: Served) -> None:
    def step(player: Player) -> int:
        return player.shown["view"]["drawing"]["frame"]["step"]

    with home.page() as page:
        player = Player(page, task="fishing/0")
        player.act("grab", "b")
        time.sleep(0.2)
        with home.page() as other:
            taken = Player.going_on(other, player.episode)
            assert step(taken) - step(player) >= 10
            time.sleep(0.2)
        with home.page() as third:
            assert step(Player.going_on(third, player.episode)) - step(taken) >= 10


def test_a_newer_page_takes_the_table(home: Served) -> None:
    with home.page() as page, home.page() as other:
        player = Player(page, task="fishing/0")
        again = Player.going_on(other, player.episode)
        assert again.act("grab", "b")["type"] == "shown"


@pytest.mark.parametrize("place", ["/etc/passwd", "fishing/generated", "../x.json", "fishing/99", "designed"])
def test_a_page_names_no_file_and_no_thousand_tasks(home: Served, place: str) -> None:
    with home.page() as page:
        answer = page.ask("begin", world="probsol", settings={"task": place})
    assert answer["type"] == "error"
    assert "/etc" not in answer["reason"] or "no file" in answer["reason"]


# ---- without a server


def test_limits_of_time_are_those_of_the_clock() -> None:
    given = fishing(constraints={"action_time": 2, "trial_time": 4})
    env, _ = VIEW.begin(task=given)
    assert LIVE.due(env) == 1
    LIVE.advance([env], [60])
    assert LIVE.due(env) == 121  # the time before an action
    LIVE.act(env, VIEW.parse(["grab", "b"], env), 60)
    LIVE.advance([env], [150])
    LIVE.act(env, VIEW.parse(["store", 3], env), 150)
    assert LIVE.due(env) == 241  # that of the trial
    LIVE.advance([env], [240])
    assert LIVE.state(env)[1] is False
    LIVE.advance([env], [241])
    _, over, info = LIVE.state(env)
    assert (over, info["end"]) == (True, "trial_time")
    assert info["constraints"]["trial_time"]["value"] == pytest.approx(241 / 60)
    assert LIVE.due(env) is None
    [record] = env.batch.episodes
    assert replay(record).describe(0)["end"] == "trial_time"
    slow, _ = VIEW.begin(task=given)
    LIVE.advance([slow], [121])
    assert LIVE.state(slow)[2]["end"] == "action_time"
    saved = slow.batch.save(0)
    assert saved["acted"] == 0


def test_nothing_hidden_travels() -> None:
    secret = task(
        "Sandbox", disc("a", (100, 100), mass="large", magnetism="small", polarity="-"),
        disc("b", 0, polarity="dipole", boundary=45),
    )  # fmt: skip
    other = task("Sandbox", disc("a", (100, 100)), disc("b", 0))
    env, face = VIEW.begin(task=secret)
    plain, _ = VIEW.begin(task=other)
    assert VIEW.drawing(env) == VIEW.drawing(plain)
    assert json.loads(json.dumps(VIEW.drawing(env))) == json.loads(json.dumps(VIEW.drawing(plain)))
    assert "rate" not in VIEW.drawing(env)["frame"]
    assert "With Hold switched on" in face.rules(env)
    assert not re.search("click|wheel", face.rules(env), re.IGNORECASE), "they are read on touch screens, too"
    for each in (env, plain):
        LIVE.act(each, VIEW.parse(["grab", "b"], each), 1)
        LIVE.act(each, VIEW.parse(["hold_at", 20, 30], each), 2)
        LIVE.act(each, VIEW.parse(["turn", 1], each), 3)
    assert VIEW.drawing(env)["frame"]["discs"][1] == ["held", 246.0, 366.0, 90]
    assert VIEW.drawing(plain)["frame"]["discs"][1] == ["held", 246.0, 366.0, 45]


def test_debug_tells_the_solution_rate_and_numbers_are_actions() -> None:
    env, _ = VIEW.begin(task="fishing/0", debug=True)
    assert LIVE.frame(env)["rate"] == 0.0
    assert VIEW.parse(1, env) == 1
    for wrong in (0, -1, 10**6, True, None, {"a": 1}, [["grab"]], [1]):
        with pytest.raises(InputError):
            VIEW.parse(wrong, env)
    with pytest.raises(InputError, match="there is no task 7 here; there are fishing/0 to fishing/9"):
        VIEW.begin(task=7)


# ---- in a browser


def play_through(
    kind: type[TablePage], chromium: Any, home: Served, folder: Path, given: Task, **context: Any
) -> TablePage:
    """Play a task's solution in a page of its own; its stored episode replays to the same state."""
    page = chromium.new_context(viewport={"width": 1280, "height": 1000}, **context).new_page()
    try:
        player = kind(page, home.address, f"task={given.name}&seed=1&debug")
        player.play(given.solution)
        assert player.view["success"], (player.view["told"], given.name)
        assert player.faults == []
        [episode] = {each["episode"] for _, each in player.frames if "episode" in each}
        record = check_replay(folder, episode)
        assert record["result"]["solved"]
        final = replay(record)
        names = [each["id"] for each in player.view["drawing"]["discs"]]
        for one in final.table():
            state, *data = player.frame["discs"][names.index(one["id"])]
            assert state == one["state"]
            if state == "placed":
                assert data == pytest.approx([one["x"], one["y"]], abs=0.006)
    finally:
        page.context.close()
    return player


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Mouse, Keys])
def test_a_task_is_solved_in_the_browser(kind: type[TablePage], chromium: Any, home: Served, folder: Path) -> None:
    [given] = find_tasks("fishing/0")
    player = play_through(kind, chromium, home, folder, given)
    moving = [at for at, frame in player.frames if frame["moves"]]
    assert len(moving) > 25


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Mouse, Keys])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_tasks_of_each_family(
    kind: type[TablePage], family: str, chromium: Any, fast_home: tuple[Served, Path]
) -> None:
    for given in find_tasks(family.lower())[:3]:
        play_through(kind, chromium, *fast_home, given)


@pytest.mark.slow
def test_a_page_outlives_its_server(chromium: Any, tmp_path: Path) -> None:
    """The server is killed while discs move; the page goes on with the next one, at the last action."""
    page = chromium.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    with served(tmp_path) as server:
        player = Mouse(page, server.address, "task=fishing/0&seed=1")
        page.wait_for_timeout(1500)
        player.grab("b")
        player.wait(lambda: player.number == 1)
        player.place(10, 16)
        player.wait(lambda: player.number == 2 and player.frame["moves"])
        page.wait_for_timeout(300)
        server.kill()
    page.get_by_text("Not connected: time stands still.").wait_for()
    shown = len(player.frames)
    with served(tmp_path, "--port", server.address.rpartition(":")[2]):
        player.wait(lambda: len(player.frames) > shown)
        player.rest()
        page.wait_for_timeout(300)
        assert page.locator("#discs").text_content().count("target") == 2
        player.play(SOLUTION[2:])
        assert player.view["success"]
        [episode] = {each["episode"] for _, each in player.frames if "episode" in each}
        check_replay(tmp_path, episode)
        page.get_by_role("button", name="Play again").click()
        player.wait(lambda: not player.view["over"])
        player.rest()
        page.wait_for_timeout(300)
        assert "side bar" in page.locator("#discs").text_content()
        assert player.faults == []
    page.context.close()


@pytest.mark.slow
def test_hints_are_in_the_words_of_the_input_at_hand(chromium: Any, home: Served) -> None:
    for touch, told in ((True, "Tap a disc to grab it; with Hold"), (False, "Click a disc to grab it; right click")):
        page = chromium.new_context(has_touch=touch, is_mobile=touch, viewport={"width": 412, "height": 915}).new_page()
        page.goto(f"http://{home.address}/play/probsol?task=fishing/0&seed=1")
        page.locator(".probsol-hint").get_by_text(told).wait_for()
        title = page.get_by_role("button", name="Hold").get_attribute("title")
        words = f"{page.locator('#player').inner_text()} {title}"
        assert ("click" in words.lower()) is not touch
        page.context.close()


@pytest.mark.slow
def test_the_trial_time_waits_for_a_late_frame_and_does_not_go_back(chromium: Any, home: Served) -> None:
    page = chromium.new_page()
    page.goto(f"http://{home.address}/")
    read = """async () => {
        const { Motion } = await import("/views/probsol/motion.js");
        const [motion, read] = [new Motion(), []];
        for (const [trial, step, now] of [[1, 60, 1000], [1, 64, 2000], [1, 120, 2100], [1, 130, 9000], [2, 0, 9100]]) {
            read.push(motion.told(now));
            motion.add({ trial, step }, now);
            read.push(motion.told(now));
        }
        return read;
    }"""
    assert page.evaluate(read) == pytest.approx([0, 60, 120, 120, 120, 120, 534, 130, 136, 0])
    page.close()


@pytest.mark.slow
def test_the_page_says_what_happens(chromium: Any, home: Served) -> None:
    """In words for those who hear it; a narrow page has the side bar below, and buttons for what a mouse would do."""
    page = chromium.new_context(viewport={"width": 360, "height": 780}).new_page()
    player = Mouse(page, home.address, "task=fishing/0&seed=1&debug")
    said = page.locator(".probsol > .spoken")
    canvas = page.locator("canvas#table")
    box = canvas.bounding_box()
    assert box["height"] > box["width"]
    assert page.locator("html").evaluate("each => each.scrollWidth") <= 360
    canvas.focus()
    for keys, told in (
        ("b", "side bar, cell 0: b, darkblue"),
        ("g", "b in your hand"),
        ("b ArrowUp", "column 20, row 38, free"),
        ("h", "b held at column 20, row 38, boundary vertical, 0 degrees"),
        ("l", "b held at column 20, row 38, boundary diagonal A, 45 degrees"),
    ):
        for key in keys.split():
            page.keyboard.press(key)
        player.wait(lambda told=told: told in said.text_content())
    player.rest()
    page.get_by_role("button", name="Turn right").click()
    player.wait(lambda: player.number == 4)
    page.get_by_role("button", name="Let go").click()
    player.wait(lambda: player.number == 5 and not player.frame["moves"])
    player.wait(lambda: "Solution rate0.9" in page.locator(".probsol-figures").text_content())
    page.get_by_role("button", name="Hold").click()
    canvas.focus()
    page.keyboard.press("n")
    page.keyboard.press("x")
    page.get_by_role("button", name="Go on").click()
    page.locator("#quit").click()
    page.locator("dialog").get_by_role("button", name="Quit").click()
    player.wait(lambda: page.locator(".probsol-hint").text_content() == "You left this task.")
    assert player.faults == []
    page.context.close()
