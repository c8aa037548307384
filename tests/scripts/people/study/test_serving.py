"""A study over real sockets: its pages in their order, resumed at the very step, and what is refused."""

import csv
import io
import sqlite3
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.scripts.people.study import commands
from tests.scripts.people.study.served import (
    StudyServer,
    in_process,
    leave,
    now,
    pass_by,
    play,
    serving,
    to_kind,
    write_study,
)
from tests.scripts.people.web.test_store import postgresql  # noqa: F401  (a fixture)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudyServer]:
    folder = tmp_path_factory.mktemp("study")
    with in_process(write_study(folder), folder / "data") as one:
        yield one


@pytest.fixture
def cookie(server: StudyServer) -> str:
    status, secret, _ = server.join(name="Ann")
    assert status == 200
    return secret


def test_a_newcomer_is_asked_to_sign_in(server: StudyServer) -> None:
    with server.page("n" * 40) as page:
        stage = now(page)
    assert (stage["kind"], stage["sign_in"]["by"]) == ("join", "name")
    for bad in ({}, {"name": " "}, {"name": "x" * 101}, {"name": "a\x00b"}, {"name": 3}):
        status, secret, answer = server.join(**bad)
        assert (status, secret) == (400, "")
        assert "type a name" in answer["reason"]
    assert server.post("/study/join", [1])[0] == 400
    assert server.get("/", Accept="text/html")[0] == 303


def test_only_pages_of_this_server_may_sign_in(server: StudyServer) -> None:
    assert server.post("/study/join", {"name": "Eve"}, Origin="http://evil.example")[0] == 403


def test_the_whole_way_with_each_refusal(server: StudyServer, cookie: str) -> None:
    with server.page(cookie) as page:
        stage = now(page)
        assert (stage["kind"], stage["stage"], stage["stages"]) == ("consent", 0, 12)
        assert any("the name that you type" in one for one in stage["keeps"])
        refused = leave(page, stage)
        assert (refused["type"], refused["fields"]) == ("study_refused", ["agree"])
        stage = leave(page, stage, agree=True)
        assert stage["kind"] == "text"
        ahead = page.ask("study_next", stage=7, answers={}, at=0)
        assert "that page comes later" in ahead["reason"]
        again = page.ask("study_next", stage=0, answers={"agree": True}, at=0)
        assert again["stage"] == 1, "a message that is sent again leads on to the present page"
        stage = leave(page, leave(page, stage))
        assert (stage["kind"], stage["name"], stage["at"], stage["of"]) == ("task", "Practice task", 1, 1)
        assert "not over" in leave(page, stage)["reason"]
        shown = play(page, stage)
        assert shown["view"]["over"]
        assert shown["view"]["told"]
        stage = leave(page, stage)
        assert stage["kind"] == "quiz"
        assert "right" not in stage["questions"][0]
        assert leave(page, stage)["fields"] == ["how_many"]
        assert "'three' is no option" in leave(page, stage, how_many="three")["reason"]
        assert "did you mean 'how_many'" in leave(page, stage, how_manny="two")["reason"]
        wrong = leave(page, stage, how_many="one")
        assert "one answer is not right" in wrong["reason"]
        assert now(page)["wrong"] == 1
        stage = leave(page, stage, how_many="two")
        stage = pass_by(page, pass_by(page, stage))
        assert (stage["kind"], stage["text"]) == ("text", "Now without answers.")
        stage = leave(page, stage)
        assert stage["feedback"] is False
        shown = play(page, stage)
        view = shown["view"]
        assert (view["over"], view["success"], view["told"], view["reward"], view["choices"]) == (True, None, "", 0, [])
        drawing = view["drawing"]
        assert (drawing["selection"], drawing["made"]) == (drawing["table"][:1], [])
        stage = to_kind(page, "questions")
        assert "not on the scale" in leave(page, stage, hard=9)["reason"]
        assert "at most 2000" in leave(page, stage, hard=1, how="x" * 2001)["reason"]
        saved = page.ask("study_answer", stage=stage["stage"], answers={"how": "=1+1"}, at=1.0)
        assert saved["type"] == "study_saved"
        assert now(page)["answers"] == {"how": "=1+1"}
        assert page.ask("study_answer", stage=stage["stage"], answers={"how": ""}, at=2.0)["type"] == "study_saved"
        assert now(page)["answers"] == {}
        assert leave(page, stage)["fields"] == ["hard"]
        stage = leave(page, stage, hard=2)
        assert stage["kind"] == "end"
        assert len(stage["code"]) == 8
        assert now(page)["code"] == stage["code"]


def test_no_episode_is_begun_beside_the_study_nor_played_by_others(server: StudyServer, cookie: str) -> None:
    with server.page(cookie) as page:
        begun = page.ask("begin", world="wordcraft", settings={})
        assert begun["kind"] == "closed"
        stage = to_kind(page, "task")
    _, other, _ = server.join(name="Eve")
    with server.page(other) as page:
        assert page.ask("go_on", episode=stage["episode"])["kind"] == "unknown"
        assert page.act(stage["episode"], 1, "fire")["type"] == "refused"


def test_two_tabs_have_one_episode(server: StudyServer, cookie: str) -> None:
    with server.page(cookie) as page:
        to_kind(page, "task")
    with server.page(cookie) as one, server.page(cookie) as other:
        for page in (one, other):
            page.say({"v": 1, "type": "study_now"})
        first, second = one.hear(), other.hear()
        assert first["episode"] == second["episode"]
        play(one, first, upto=1)
        shown = other.ask("go_on", episode=first["episode"])
        assert shown["number"] == 1
        assert one.hear()["kind"] == "taken"


def test_another_device_goes_on_by_the_persons_own_link(server: StudyServer, cookie: str) -> None:
    with server.page(cookie) as page:
        link = now(page)["back"].rpartition("/")[2]
        here = pass_by(page, now(page))
    status, other, _ = server.join(token=link)
    assert status == 200
    with server.page(other) as page:
        assert now(page)["stage"] == here["stage"]
        assert now(page)["participant"] == here["participant"]
    with server.page(cookie) as page:
        assert now(page)["kind"] == "join", "the device before is signed out"
    assert server.join(token=link[:-1] + "x")[0] == 403
    assert server.get(f"/study/s/{link}")[0] == 200


def test_a_person_who_fails_the_quiz_too_often_may_not_go_on(server: StudyServer, cookie: str) -> None:
    with server.page(cookie) as page:
        stage = to_kind(page, "quiz")
        same = {"stage": stage["stage"], "answers": {"how_many": "one"}, "at": 77.0}
        page.ask("study_next", **same)
        page.ask("study_next", **same)
        assert now(page)["wrong"] == 1, "one attempt that is sent twice counts once"
        leave(page, stage, how_many="one")
        assert leave(page, stage, how_many="one")["kind"] == "refused"
        assert leave(page, stage, how_many="two")["kind"] == "refused"


def test_malformed_messages_are_refused_and_change_nothing(server: StudyServer, cookie: str) -> None:
    with server.page(cookie) as page:
        for bad in (
            {"stage": -1, "answers": {}, "at": 0},
            {"stage": 0, "answers": [], "at": 0},
            {"stage": 0, "answers": {}, "at": "now"},
            {"stage": 0, "answers": {"agree": True}, "at": 0, "more": 1},
            {"stage": 0, "answers": {"x" * 61: 1}, "at": 0},
        ):
            assert page.ask("study_next", **bad)["type"] == "error"
        assert page.ask("study_next", stage=0, answers={"agree": "yes"}, at=0)["type"] == "study_refused"
        assert now(page)["stage"] == 0


# ---- Withdrawing, crashes, time


def test_who_withdraws_is_forgotten_and_told_so(tmp_path: Path) -> None:
    name = "Zaphod the Unforgettable"
    with in_process(write_study(tmp_path), tmp_path / "data") as server:
        _, cookie, _ = server.join(name=name)
        with server.page(cookie) as page:
            stage = to_kind(page, "task")
            play(page, stage, upto=1)
            assert page.ask("study_withdraw")["kind"] == "withdrawn"
            assert now(page)["kind"] == "withdrawn"
        with server.page(cookie) as page:
            assert now(page)["kind"] == "withdrawn"
            assert page.ask("go_on", episode=stage["episode"])["kind"] == "unknown"
            assert leave(page, stage)["kind"] == "withdrawn"
        [row] = server.ask("/experimenter/table")[1]["participants"]
        assert (row["state"], row["condition"]) == ("withdrawn", {})
        _, second, _ = server.join(name="Trillian")
        with server.page(second) as page:
            assert now(page)["participant"] == 2, "the place stays taken"
    for file in (tmp_path / "data").iterdir():
        assert name.encode() not in file.read_bytes(), file
    database = sqlite3.connect(tmp_path / "data" / "home.sqlite")
    assert database.execute("SELECT seen FROM people WHERE state = 'withdrawn'").fetchall() == [(0.0,)]
    people = "SELECT count(DISTINCT person), (SELECT count(*) FROM people) FROM connections"
    assert database.execute(people).fetchall() == [(1, 2)], "who has withdrawn is connected without a trace"


@pytest.mark.slow
def test_a_server_that_is_killed_goes_on_at_the_very_step(tmp_path: Path) -> None:
    study = write_study(tmp_path, sign_in="link")
    with serving(study, tmp_path / "data", "--links", "1") as server:
        [link] = server.links
        _, cookie, _ = server.join(token=link)
        with server.page(cookie) as page:
            to_kind(page, "quiz")
            stage = pass_by(page, now(page))
            before = play(page, stage, upto=1)
            server.kill()
    with serving(study, tmp_path / "data") as server, server.page(cookie) as page:
        stage = now(page)
        assert stage["episode"] == before["episode"]
        after = page.ask("go_on", episode=stage["episode"])
        assert (after["number"], after["view"]["drawing"]) == (1, before["view"]["drawing"])
        stage = to_kind(page, "task")
        while stage["kind"] != "text":
            stage = pass_by(page, stage)
        stage = leave(page, stage)
        play(page, stage, upto=1)
        server.kill()
    with serving(study, tmp_path / "data") as server, server.page(cookie) as page:
        # The page was not loaded again: it goes on with its episode before it asks where it is.
        shown = page.ask("go_on", episode=stage["episode"])
        over = page.act(stage["episode"], 2, shown["view"]["drawing"]["table"][0])
        assert over["view"]["success"] is None, "the result stays hidden"
        assert to_kind(page, "end")["code"]


def test_data_of_another_version_of_the_study_are_refused(tmp_path: Path) -> None:
    study, told = write_study(tmp_path), "of another study, or of this one before its file was changed"
    with in_process(study, tmp_path / "data") as server:
        server.join(name="Ann")
    write_study(tmp_path, title="Another title")
    with pytest.raises(InputError, match=told), in_process(study, tmp_path / "data"):
        pass
    with pytest.raises(InputError, match=told):
        commands.export(str(study), data=tmp_path / "data", out=tmp_path / "out")
    write_study(tmp_path)
    with in_process(study, tmp_path / "data") as server:
        assert len(server.ask("/experimenter/table")[1]["participants"]) == 1, "the folder was let go of"


@pytest.mark.slow
def test_a_task_ends_when_its_time_is_over(tmp_path: Path) -> None:
    study = write_study(tmp_path, practice=[], quiz=None, blocks__0__time_limit_s=1.0)
    with in_process(study, tmp_path / "data") as server:
        _, cookie, _ = server.join(name="Ann")
        with server.page(cookie) as page:
            stage = to_kind(page, "task")
            assert 0 < stage["left_s"] <= 1
            play(page, stage, upto=1)
            time.sleep(1.1)
            refused = page.act(stage["episode"], 2, "fire")
            assert refused["reason"] == "the time for this task is over"
            stage = now(page)
            assert stage["over"]
            assert page.ask("go_on", episode=stage["episode"])["view"]["success"] is False
            second = leave(page, stage)
            assert second["episode"] != stage["episode"]
            assert page.ask("study_quit", stage=second["stage"])["over"]
            to_kind(page, "end")
    database = sqlite3.connect(tmp_path / "data" / "home.sqlite")
    results = [row[0] for row in database.execute("SELECT result FROM episodes ORDER BY stage")]
    assert '"end": "time"' in results[0]
    assert '"end": "quit"' in results[1]


def test_a_task_ends_at_its_deadline_while_nobody_is_connected_and_after_a_restart(tmp_path: Path) -> None:
    study = write_study(tmp_path, practice=[], quiz=None, blocks__0__time_limit_s=0.3)

    def ended(server: StudyServer, count: int) -> list[dict[str, str]]:
        """The rows of the episodes, once so many have ended."""
        for _ in range(600):
            episodes = server.ask("/experimenter/participants/1")[1]["episodes"]
            if sum(one["success"] is not None for one in episodes) == count:
                break
            time.sleep(0.05)
        commands.export(str(study), data=tmp_path / "data", out=tmp_path / "out")
        with (tmp_path / "out" / "episodes.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    with in_process(study, tmp_path / "data") as server:
        _, cookie, _ = server.join(name="Ann")
        with server.page(cookie) as page:
            to_kind(page, "task")
        [row] = ended(server, 1)
        assert (row["seconds"], row["end"], row["success"]) == ("0.3", "time", "false")
        with server.page(cookie) as page:
            second = leave(page, now(page))
            assert second["at"] == 2
    time.sleep(0.3)
    with in_process(study, tmp_path / "data") as server:
        _, row = ended(server, 2)
        assert (row["seconds"], row["end"]) == ("0.3", "time")
        with server.page(cookie) as page:
            assert now(page)["over"]
            leave(page, now(page))
            stage = to_kind(page, "task")
        time.sleep(0.1)
        with server.page(cookie) as page:
            page.ask("study_quit", stage=stage["stage"])
        row = ended(server, 3)[2]
    assert (row["end"], 0 < float(row["away"]) < float(row["seconds"])) == ("quit", True)


# ---- Links, recruiting services, the experimenter


def test_a_link_is_one_participants_and_guesses_are_limited(tmp_path: Path) -> None:
    with in_process(write_study(tmp_path, sign_in="link"), tmp_path / "data", links=2) as server:
        first, second = server.links
        assert server.join(name="Ann")[0] == 400
        _, cookie, _ = server.join(token=first)
        with server.page(cookie) as page:
            assert now(page)["participant"] == 1
            pass_by(page, now(page))
        _, cookie, _ = server.join(token=first)
        with server.page(cookie) as page:
            assert (now(page)["participant"], now(page)["stage"]) == (1, 1)
        _, cookie, _ = server.join(token=second)
        with server.page(cookie) as page:
            assert now(page)["participant"] == 2
        status, found = server.post("/experimenter/links", 3, Authorization=f"Bearer {server.token}")[::2]
        assert status == 200
        assert [link.rpartition("/")[2].split("-")[1] for link in found["links"]] == ["3", "4", "5"]
        assert server.post("/experimenter/links", 0, Authorization=f"Bearer {server.token}")[0] == 400
        guesses = [server.join(token=f"invited-9-{k:032x}")[2]["reason"] for k in range(12)]
        assert "leads to nothing" in guesses[0]
        assert "too many wrong links" in guesses[-1]
        assert server.join(token=second)[0] == 403, "who guesses has to wait"


@pytest.mark.slow
def test_a_recruiting_services_participant_comes_again_as_the_same(tmp_path: Path) -> None:
    recruiting = {"parameters": ["PROLIFIC_PID", "STUDY_ID"], "identity": "PROLIFIC_PID"}
    end = {"text": "Thanks", "code": "C1234", "back": "https://app.example.org/submit?cc=C1234"}
    study = write_study(tmp_path, sign_in="recruiting", recruiting=recruiting, end=end)
    with in_process(study, tmp_path / "data") as server:
        assert "has no STUDY_ID" in server.join(PROLIFIC_PID="a1")[2]["reason"]
        assert server.join(PROLIFIC_PID="<script>", STUDY_ID="s")[0] == 400
        _, cookie, _ = server.join(PROLIFIC_PID="a1", STUDY_ID="s")
        with server.page(cookie) as page:
            stage = to_kind(page, "end")
            assert (stage["code"], stage["back"]) == (end["code"], end["back"])
    with in_process(study, tmp_path / "data") as server:
        _, cookie, _ = server.join(PROLIFIC_PID="a1", STUDY_ID="s")
        with server.page(cookie) as page:
            assert now(page)["kind"] == "end"
        _, cookie, _ = server.join(PROLIFIC_PID="a2", STUDY_ID="s")
        with server.page(cookie) as page:
            assert now(page)["participant"] == 2
            assert page.ask("study_withdraw")["kind"] == "withdrawn"
        _, cookie, _ = server.join(PROLIFIC_PID="a2", STUDY_ID="s")
        with server.page(cookie) as page:
            assert (now(page)["kind"], now(page)["participant"]) == ("consent", 3), "nobody knows that id any more"


def test_the_experimenter_sees_replays_and_exports(tmp_path: Path) -> None:
    with in_process(write_study(tmp_path), tmp_path / "data") as server:
        _, cookie, _ = server.join(name="=Ann")
        with server.page(cookie) as page:
            to_kind(page, "end")
        server.join(name="Bob")
        _, table = server.ask("/experimenter/table")
        first, second = table["participants"]
        assert (first["state"], first["blocks"]["test"]["done"], second["page"]) == ("done", 2, "consent")
        _, one = server.ask("/experimenter/participants/1")
        assert [episode["name"] for episode in one["episodes"]][-1] == "test/1"
        assert {"page": "questions", "name": "hard", "value": 5} in one["answers"]
        replay = [
            server.ask(f"/experimenter/replay/{one['episodes'][-1]['episode']}/{step}")[1] for step in (0, 1, 2, 9)
        ]
        assert [each["step"] for each in replay] == [0, 1, 2, 2]
        assert replay[0]["view"]["drawing"]["selection"] == []
        assert replay[1]["view"]["drawing"]["selection"] == [replay[1]["action"]]
        assert replay[2]["view"]["success"] is one["episodes"][-1]["success"]
        assert server.ask("/experimenter/participants/9")[0] == 404
        assert server.ask(f"/experimenter/replay/{'0' * 32}/0")[0] == 404
        import http.client

        connection = http.client.HTTPConnection(server.address)
        connection.request("GET", "/experimenter/export", headers={"Authorization": f"Bearer {server.token}"})
        archive = zipfile.ZipFile(io.BytesIO(connection.getresponse().read()))
        connection.close()
        rows = list(csv.DictReader(io.StringIO(archive.read("small/participants.csv").decode(), newline="")))
        assert [row["name"] for row in rows] == ["'=Ann", "Bob"]
        assert server.get("/experimenter")[0] == 200
        assert server.ask("/experimenter/table", token="")[0] == 401
        statuses = [server.ask("/experimenter/table", token=f"{k}" * 40)[0] for k in range(10)] + [
            server.ask("/experimenter/table")[0]
        ]
        assert statuses[0] == 401
        assert statuses[-1] == 429, "who guesses has to wait"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"host": "0.0.0.0"}, "others reach 0.0.0.0: say --open-to-others"),
        ({"host": ""}, "others reach this machine at all its addresses"),
        ({"links": 3}, 'this study\'s sign_in is "name"'),
    ],
)
def test_a_server_for_others_needs_a_clear_word_and_links_need_a_study_of_links(
    options: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        commands.serve(str(write_study(tmp_path)), data=tmp_path / "data", **options)


@pytest.mark.slow
def test_a_study_is_kept_in_a_postgresql_database(postgresql: str, tmp_path: Path) -> None:  # noqa: F811
    study = write_study(tmp_path)
    with in_process(study, tmp_path / "data", database=postgresql) as server:
        _, cookie, _ = server.join(name="Ann")
        _, other, _ = server.join(name="Bob")
        with server.page(other) as page:
            to_kind(page, "task")
            assert page.ask("study_withdraw")["kind"] == "withdrawn"
        with server.page(cookie) as page:
            code = to_kind(page, "end")["code"]
    with in_process(study, tmp_path / "data", database=postgresql) as server, server.page(cookie) as page:
        assert now(page)["code"] == code
    commands.export(str(study), data=tmp_path / "data", database=postgresql, out=tmp_path / "out")
    with (tmp_path / "out" / "participants.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["state"], first["completion_code"], second["state"]) == ("done", code, "withdrawn")
