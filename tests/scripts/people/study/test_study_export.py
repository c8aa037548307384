"""The export: each action once, each column explained, and nothing that a spreadsheet would run."""

import csv
import hashlib
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.records import read_episodes
from gumption.scripts.people.study.design import design
from gumption.scripts.people.study.export import Column, as_csv, cell, files, participants, write
from gumption.scripts.people.study.links import Links, Secret
from gumption.scripts.people.study.path import stages
from tests.scripts.people.study.studies import study

STUDY, SECRET = study(), Secret(b"s" * 32)


def person(place: int, **more: Any) -> SimpleNamespace:
    about = {"id": f"{place:032x}", "study": STUDY.hash, "name": "Ann", "given": {}, "began": 1000.0, "seen": 1060.0}
    return SimpleNamespace(**{**about, "place": place, "state": "going", **more})


def rows_of(place: int, upto: int, study: Any = STUDY) -> tuple[list, list, list]:
    """Episodes, actions and answers of a participant who has done the stages before `upto`."""
    episodes, actions, answers = [], [], []
    for stage in stages(study, design(study, place))[:upto]:
        about = {"person": f"{place:032x}", "stage": stage.number}
        told = {"name": "agree" if stage.kind == "consent" else "next", "value": True}
        answers.append(SimpleNamespace(**about, **told, at=5.0, received=1001.0))
        answers += [
            SimpleNamespace(**about, name=name, value=value, at=5.0, received=1001.0)
            for name, value in {"hard": 4, "how": "=HYPERLINK(1)"}.items()
            if stage.kind == "questions"
        ]
        if stage.kind == "task":
            id, task = f"{place}-{stage.number}", stage.task
            kind = {"world": task.world, "settings": dict(task.settings), "seed": task.seed}
            result = {"steps": 2, "attempts": 1, "reward": 1.0, "success": bool(stage.number % 2), "state": "e" * 16}
            episodes.append(SimpleNamespace(id=id, **about, **kind, began=1000.0, ended=1004.0, result=result))
            made = {"step": None, "attempt": 1, "state": "a" * 16}
            actions += [
                SimpleNamespace(episode=id, number=k, action=f"word {k}", **made, at=5.0, received=1000.0 + k)
                for k in (2, 1)
            ]
    return episodes, actions, answers


def gathered(*people: tuple[SimpleNamespace, int]) -> list:
    parts: tuple[list, list, list] = ([], [], [])
    for one, upto in people:
        for part, rows in zip(parts, rows_of(one.place, upto), strict=True):
            part += rows
    return participants(STUDY, [one for one, _ in people], *parts)


def tables(content: dict[str, str]) -> dict[str, list[dict[str, str]]]:
    return {
        name.removesuffix(".csv"): list(csv.DictReader(io.StringIO(text, newline="")))
        for name, text in content.items()
        if name.endswith(".csv")
    }


LAST = len(stages(STUDY, design(STUDY, 0))) - 1


def test_the_tables_of_one_who_is_done_and_one_who_left() -> None:
    everyone = gathered((person(0), LAST), (person(1, name="+Bob"), 6), (person(2, state="withdrawn", name=""), 0))
    found = tables(files(STUDY, everyone, SECRET, now=1061.0))
    first, second, third = found["participants"]
    assert (first["state"], second["state"], third["state"]) == ("done", "going", "withdrawn")
    assert (first["stage"], first["stages"]) == (str(LAST + 1), str(LAST + 1))
    assert second["stage"] == "6"
    assert first["completion_code"] == SECRET.code("completion", f"{0:032x}")
    assert second["completion_code"] == ""
    assert (first["practice_tasks"], first["training_tasks"], first["test_success"]) == ("1", "2", "0.5")
    assert (first["hard"], first["how"], second["hard"]) == ("4", "'=HYPERLINK(1)", "")
    assert second["name"] == "'+Bob"
    assert {first["distractors"], second["distractors"]} == {"one", "three"}
    assert third["distractors"] == ""
    later = tables(files(STUDY, everyone, SECRET, now=1060.0 + STUDY.dropped_after_s + 10))
    assert [row["state"] for row in later["participants"]] == ["done", "dropped out", "withdrawn"]
    assert len(found["episodes"]) == 5 + 2
    assert len(found["actions"]) == 2 * 7
    keys = [(row["participant"], row["stage"], row["number"]) for row in found["actions"]]
    assert len(set(keys)) == len(keys)
    assert [row["number"] for row in found["actions"][:2]] == ["1", "2"]


def test_time_without_a_connection_is_time_away() -> None:
    """Pages of one participant overlap; another one was connected all the time."""
    rows = rows_of(0, LAST)
    for spans, away in (
        ([(990.0, 1001.0), (1000.5, 1001.5), (1003.0, 1009.0)], "1.5"),
        ([(999.0, 1000.25)], "3.75"),
        ([(990.0, 995.0)], "4.0"),
        ([(1000.0, 1004.0)], "0.0"),
    ):
        connected = [SimpleNamespace(person=f"{0:032x}", came=came, left=left) for came, left in reversed(spans)]
        other = SimpleNamespace(person=f"{1:032x}", came=0.0, left=9e9)
        everyone = participants(STUDY, [person(0)], *rows, (), [other, *connected])
        [*_, row] = tables(files(STUDY, everyone, SECRET, now=1061.0))["episodes"]
        assert (row["seconds"], row["away"]) == ("4.0", away)


def test_the_codebook_explains_each_column() -> None:
    content = files(STUDY, gathered((person(0), LAST)), SECRET, now=1061.0)
    explained = {(row["file"], row["column"]): row["meaning"] for row in tables(content)["codebook"]}
    for name in ("participants", "episodes", "actions", "answers"):
        header = next(csv.reader(io.StringIO(content[f"{name}.csv"], newline="")))
        assert [column for file, column in explained if file == f"{name}.csv"] == header
    assert all(explained.values())
    assert "How hard was it?" in explained["participants.csv", "hard"]


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    everyone = gathered((person(0), LAST))
    content = files(STUDY, everyone, SECRET, now=1061.0)
    again = files(STUDY, everyone, SECRET, now=1062.0)
    about = json.loads(content["export.json"])
    assert about["sha256"] == json.loads(again["export.json"])["sha256"]
    for name, digest in about["files"].items():
        assert hashlib.sha256(content[name].encode()).hexdigest() == digest
    other = files(STUDY, gathered((person(0), LAST - 1)), SECRET, now=1061.0)
    assert json.loads(other["export.json"])["sha256"] != about["sha256"]
    write(tmp_path / "out", content)
    for name, digest in about["files"].items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == digest


def test_episodes_are_records_that_gumption_reads(tmp_path: Path) -> None:
    write(tmp_path / "out", files(STUDY, gathered((person(0), LAST)), SECRET, now=1061.0))
    first, *_ = records = read_episodes(tmp_path / "out" / "episodes.jsonl")
    assert len(records) == 5
    assert (first["world"], first["env"], first["block"]) == ("wordcraft", "gumption/WordCraft-v0", "practice")
    assert first["actions"] == [[None, 1, "word 1", "a" * 16], [None, 1, "word 2", "a" * 16]]


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    content = files(STUDY, [], SECRET, now=1.0)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files than an export"):
        write(tmp_path, content)
    write(tmp_path / "out", content)
    write(tmp_path / "out", content)


@given(st.one_of(st.text(), st.lists(st.text()), st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)))
def test_no_cell_is_a_formula_and_text_comes_back(value: Any) -> None:
    made = cell(value)
    if isinstance(made, str):
        assert made.lstrip(" ")[:1] not in tuple("=+-@\t\r\n＝＋－＠") or not made.strip(" ")
    [_, row] = (
        csv.reader(io.StringIO(as_csv([Column("x", "text", "")], [{"x": value}]), newline=""))
        if made != ""
        else [0, [""]]
    )
    assert row == [str(made)]
    if isinstance(value, str):
        assert unescaped(str(made).removeprefix("'")) == value.removeprefix("'") or unescaped(str(made)) == value


def unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("file\u202egnp.exe", r"file\u202egnp.exe"),
        ("\u2066a\u2069\u200f\u061c", r"\u2066a\u2069\u200f\u061c"),
        ("\x00\x1b[31m", r"\u0000\u001b[31m"),
        (r"C:\u202e and C:\users", r"C:\u005cu202e and C:\users"),
        ("\ud800", r"\ud800"),
        ("a\tb\nשלום", "a\tb\nשלום"),
    ],
)
def test_hidden_characters_are_escaped_and_can_be_read_back(text: str, written: str) -> None:
    assert cell(text) == written
    assert unescaped(written) == text
    written.encode()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", " =1", "＝1", '=cmd|"/C calc"!A0'])
def test_text_that_a_spreadsheet_would_run_is_marked(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert cell(-1) == -1


# ---- Links and codes


def test_a_link_opens_only_with_its_own_secret() -> None:
    token = SECRET.link("invited", "12")
    assert SECRET.opened(token) == ("invited", "12")
    assert Secret(b"t" * 32).opened(token) is None
    for wrong in (
        "",
        "invited",
        "invited-13" + token[10:],
        token[:-1],
        token + "0",
        "back" + token[7:],
        "ü-1-ü",
        "-" * 9,
    ):
        assert SECRET.opened(wrong) is None


def test_links_are_in_their_file_and_go_on_after_a_restart(tmp_path: Path) -> None:
    secret = Secret.of(tmp_path)
    links = Links(tmp_path, secret)
    first = links.more(3)
    again = Links(tmp_path, Secret.of(tmp_path))
    assert again.count == 3
    second = again.more(2)
    assert len({*first, *second}) == 5
    assert [secret.opened(token) for token in second] == [("invited", "4"), ("invited", "5")]
    lines = (tmp_path / "links.csv").read_text().splitlines()
    assert lines == [f"{number},{token}" for number, token in enumerate([*first, *second], start=1)]
    assert (tmp_path / "secret").stat().st_mode & 0o077 == 0


def test_a_damaged_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("zz")
    with pytest.raises(InputError, match="cannot be read or made"):
        Secret.of(tmp_path)
    (tmp_path / "secret").write_text("aa")
    with pytest.raises(InputError, match="is no secret of a study"):
        Secret.of(tmp_path)
    (tmp_path / "links.csv").write_bytes(b"\xff")
    with pytest.raises(InputError, match="cannot be read"):
        Links(tmp_path, SECRET)
