"""Folders of splits: what goes in comes out, byte for byte the same, and whatever was changed is refused."""

import hashlib
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from gumption.data import InputError
from gumption.data.writing import is_part
from gumption.envs.halma import Maze, Mazes, Memory, MemoryWriter, sample_mazes
from gumption.envs.halma.diagnostics import BuiltTest, Pair, build_tests, draw_maze
from gumption.envs.halma.env import HALMAVectorEnv
from gumption.envs.halma.splits import (
    Experience,
    check_splits,
    load_splits,
    make_splits,
    read_run,
    split_contents,
    write_splits,
)

TRAINING = sample_mazes(8, seed=0)
FACTS = {"s": [(5, 3, "up"), (7, 6, "left")], "c": [(6, 5, "down")]}


@pytest.fixture(scope="module")
def knowledge(make_knowledge):
    arrays = Mazes(TRAINING)
    return make_knowledge(**FACTS, panels=arrays.rows[arrays.inside])


@pytest.fixture(scope="module")
def experience(knowledge) -> Experience:
    return Experience(knowledge, Mazes(TRAINING), None)


@pytest.fixture(scope="module")
def built(knowledge) -> dict[str, BuiltTest]:
    return build_tests(knowledge, TRAINING, seed=3, mazes=4)


@pytest.fixture
def folder(experience, tmp_path: Path) -> Path:
    make_splits(experience, tmp_path / "splits", seed=3, mazes=4)
    return tmp_path / "splits"


def test_what_is_written_is_what_is_read(folder, built, knowledge) -> None:
    splits = load_splits(folder)
    assert list(splits) == [test for test, made in built.items() if made.records]
    assert list(splits) == ["T", "RT", "ST-1", "ST-2", "AfT-1", "AfT-3"]
    for test, mazes in splits.items():
        assert splits.records[test] == built[test].records
        assert list(mazes) == [record.maze for record in built[test].records]
    assert splits.reasons == {test: made.reason for test, made in built.items() if made.reason}
    assert set(splits.reasons) == {"AfT-2", "AfT-4", "AnT"}


def test_an_environment_plays_the_mazes_of_a_test(folder) -> None:
    splits = load_splits(folder)
    env = HALMAVectorEnv(2, mazes=splits["AfT-1"])
    env.reset(seed=0)
    assert list(env.mazes) == list(splits["AfT-1"])


def test_the_manifest_counts(folder, knowledge) -> None:
    manifest = load_splits(folder).manifest
    assert manifest["parameters"] == {
        "seed": 3,
        "mazes": 4,
        "threshold": 3,
        "mean_depth": 5.0,
        "mean_branches": 5.0,
        "attempts": 100,
    }
    assert manifest["knowledge"]["fingerprint"] == knowledge.fingerprint
    assert manifest["knowledge"]["pairs"]["KB_S"] == {"left": 1, "up": 1, "right": 0, "down": 0, "any": 2}
    st_2 = manifest["tests"]["ST-2"]
    assert (st_2["mazes"], st_2["queries"], st_2["pairs"]) == (4, 6, 4)
    assert st_2["sha256"] == hashlib.sha256((folder / "ST-2.jsonl").read_bytes()).hexdigest()
    assert manifest["tests"]["AnT"]["sha256"] is None


def test_a_line_says_what_is_asked(folder, built, knowledge) -> None:
    line = json.loads((folder / "AfT-1.jsonl").read_text().splitlines()[0])
    record = built["AfT-1"].records[0]
    assert record.asked is not None
    assert line == {
        "schema": "gumption/halma-splits/1",
        "test": "AfT-1",
        "pair": [6, 5],
        "type": "down",
        "cell": list(record.asked.cell),
        "panel": list(record.asked.panel),
        "seen": 0,
        "sightings": 0,
        "others": [list(pair) for pair in record.asked.others],
        "maze": record.maze.to_json(),
        "seed": [3, 4, 0],
        "knowledge": knowledge.fingerprint,
    }


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_the_same_splits_are_left_alone_and_other_ones_refused(folder, experience, tmp_path) -> None:
    before, made = contents_of(folder), folder.stat().st_ino
    make_splits(experience, folder, seed=3, mazes=4)
    assert (contents_of(folder), folder.stat().st_ino) == (before, made)
    with pytest.raises(InputError, match="holds other splits; choose another folder, or replace them with --force"):
        make_splits(experience, folder, seed=4, mazes=4)
    assert contents_of(folder) == before
    make_splits(experience, folder, seed=4, mazes=4, force=True)
    assert load_splits(folder).manifest["parameters"]["seed"] == 4
    assert [path.name for path in tmp_path.iterdir() if not is_part(path)] == ["splits"]


def test_a_test_that_is_no_more_there_leaves_no_file(folder, make_knowledge) -> None:
    without = make_knowledge(s=FACTS["s"])
    make_splits(Experience(without, Mazes(TRAINING), None), folder, seed=3, mazes=4, force=True)
    assert not (folder / "AfT-1.jsonl").exists()
    assert "AfT-1" not in load_splits(folder)


def test_a_folder_with_something_else_is_refused_also_by_force(experience, tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds notes\.txt, which belongs to no splits; choose another folder"):
        make_splits(experience, tmp_path, mazes=1, force=True)
    with pytest.raises(InputError, match="exists and is no folder; choose another name"):
        make_splits(experience, tmp_path / "notes.txt", mazes=1, force=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_empty_folder_is_filled(experience, tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    make_splits(experience, tmp_path / "empty", mazes=1)
    assert "RT" in load_splits(tmp_path / "empty")


def test_what_cannot_be_written_is_told(built, knowledge, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    contents = split_contents(built, knowledge, seed=3, mazes=4)
    with pytest.raises(InputError, match=r"cannot write .*file/splits: "):
        write_splits(tmp_path / "file" / "splits", contents)


def test_a_failed_replacement_leaves_the_old_splits(folder, built, knowledge, monkeypatch) -> None:
    import os

    before, replace = contents_of(folder), os.replace
    failed = []

    def fail(source: Path, target: Path) -> None:
        if Path(target) == folder and ".old" not in str(source):  # the old ones come back
            failed.append(source)
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        write_splits(folder, split_contents(built, knowledge, seed=5, mazes=4), force=True)
    assert failed
    assert contents_of(folder) == before
    assert [path.name for path in folder.parent.iterdir() if not is_part(path)] == ["splits"]


def test_splits_that_a_kill_left_under_their_other_name_are_found(folder, built, knowledge) -> None:
    """As after a kill between the two renames of a replacement."""
    folder.rename(folder.with_name(".splits.old"))
    assert len(load_splits(folder)["T"]) == len(built["T"].records)
    assert not write_splits(folder, split_contents(built, knowledge, seed=3, mazes=4))
    with pytest.raises(InputError, match=r"splits holds other splits"):
        write_splits(folder, split_contents(built, knowledge, seed=5, mazes=4))
    assert write_splits(folder, split_contents(built, knowledge, seed=5, mazes=4), force=True)
    assert [path.name for path in folder.parent.iterdir() if not is_part(path)] == ["splits"]


def test_making_is_checked(experience, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("gumption.envs.halma.splits.check_splits", lambda *_: ["RT.jsonl:1: wrong"])
    with pytest.raises(RuntimeError, match=r"not what they claim: RT\.jsonl:1: wrong"):
        make_splits(experience, tmp_path / "splits", mazes=1)
    assert not (tmp_path / "splits").exists()


# ---- how the experience was read


def test_the_reading_is_in_the_manifest_and_splits_without_one_are_strict(folder, tmp_path) -> None:
    assert load_splits(folder).choices == {}
    panels = np.zeros((2, 11), dtype=np.int8)
    panels[0, 4], panels[1, 4] = 5, 4
    memory = Memory.of(5, panels[[0] * 3], [[1, 3, 0, 0, 0, 0]] * 3, panels[[1] * 3])
    run = tmp_path / "run"
    Mazes(TRAINING).save(run / "mazes.jsonl")
    with MemoryWriter(run / "memory", 5) as writer:
        writer.append(*(memory.records[name] for name in memory.layout.names))
    literal = read_run(run, knowledge_base="literal", last_panel="dropped")
    made = make_splits(literal, tmp_path / "literal", mazes=2)
    assert "AfT-1" in made  # a wall 5 to the left became a wall 4 by a move up
    assert made.choices == {"knowledge_base": "literal", "last_panel": "dropped"}
    assert load_splits(tmp_path / "literal").choices == made.choices
    assert made.manifest["knowledge"]["fingerprint"] == literal.knowledge.fingerprint
    strict = read_run(run)
    assert "AfT-1" not in make_splits(strict, tmp_path / "strict", mazes=2)
    told = check_splits(made, strict.knowledge, strict.mazes)
    assert told[0].endswith("from other knowledge bases than those of this run, or with other settings of them")


# ---- tests of one's own


def long_ways(knowledge, training, rng, mazes) -> list[Maze]:
    """Mazes without branches whose way is as long as can be."""
    paths = [sorted([True, False] * 9, key=lambda _: rng.random()) for _ in range(mazes)]
    drawn = []
    for path in paths:
        cells = list(itertools.accumulate(path, lambda c, x: (c[0] + x, c[1] + (not x)), initial=(0, 0)))
        drawn.append(Maze(cells[0], cells[-1], list(itertools.pairwise(cells))))
    return drawn


def seven_and_four(knowledge, training, rng, mazes):
    """Mazes that ask for 7 and 4."""
    pair = Pair(7, 4, "down")
    for _ in range(mazes):
        maze, cell = draw_maze(rng, pair)
        yield maze, pair, cell


@pytest.mark.slow
def test_own_tests_are_written_read_and_checked(experience, built, tmp_path) -> None:
    own = {"long_ways": long_ways, "seven-and-four": seven_and_four}
    made = make_splits(experience, tmp_path / "splits", seed=3, mazes=4, own=own)
    splits = load_splits(tmp_path / "splits")
    assert list(splits)[-2:] == ["long_ways", "seven-and-four"]
    assert splits.records == made.records
    assert splits.records["ST-1"] == built["ST-1"].records, "the other tests are as they are without them"
    assert {len(maze.optimal_path) for maze in splits["long_ways"]} == {19}
    question = splits.records["seven-and-four"][0].asked
    assert question is not None
    assert (question.pair, question.seen) == (Pair(7, 4, "down"), 0)
    entry = splits.manifest["tests"]["long_ways"]
    assert (entry["mazes"], entry["maker"].rpartition(":")[2]) == (4, "long_ways")
    assert check_splits(splits, experience.knowledge, experience.mazes) == []
    again = make_splits(experience, tmp_path / "again", seed=3, mazes=4, own=dict(reversed(own.items())))
    assert again.records == splits.records, "a test's mazes depend on its name, not on its place"
    make_splits(experience, tmp_path / "splits", seed=3, mazes=4, force=True)
    assert not (tmp_path / "splits" / "long_ways.jsonl").exists()


def test_an_own_test_that_has_nothing_says_so(experience, tmp_path) -> None:
    made = make_splits(experience, tmp_path / "splits", mazes=1, own={"none": lambda *_: []})
    assert "none" not in made
    assert made.reasons["none"].endswith("gave no maze")


@pytest.mark.parametrize(
    ("name", "make", "told"),
    [
        ("AnT", long_ways, "'AnT' is the name of another test; give yours a name of its own"),
        ("dynamic", long_ways, "'dynamic' is the name of another test"),
        ("../up", long_ways, "'../up' is no name of a test: it has letters, digits, '-' and '_'"),
        ("mine", lambda *_: [TRAINING[0]], "mine.jsonl:1: the same maze as a training maze"),
        ("mine", lambda k, t, rng, n: [*long_ways(k, t, rng, 1)] * 2, "mine.jsonl:2: the same maze as mine.jsonl:1"),
        ("mine", lambda *_: ["maze"], "mine: maze 1 is 'maze'; an own test gives a Maze, or (Maze, Pair, cell)"),
        (
            "mine",
            lambda *_: [(TRAINING[0], (9, 1, "up"), TRAINING[0].start)],
            "mine: maze 1 asks at (0, 0) for a wall 9 and a crossing 1 up; there the wall is ",
        ),
        ("mine", lambda *_: [(TRAINING[0], (9, 1, "x"), (0, 0))], "a question is a pair (wall, crossing, direction)"),
        ("mine", lambda *_: [(TRAINING[0], (9, 1, "up"), (90, 90))], "(90, 90)"),
    ],
)
def test_own_tests_that_are_refused(experience, tmp_path, name, make, told) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        make_splits(experience, tmp_path / "splits", mazes=1, own={name: make})
    assert not (tmp_path / "splits").exists()


def test_a_manifest_that_names_another_folder_s_file_is_refused(folder) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["tests"]["../ST-1"] = manifest["tests"]["ST-1"]
    del manifest["sha256"]
    plain = json.dumps(manifest, separators=(",", ":")) + "\n"
    manifest["sha256"] = hashlib.sha256(plain.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    refused(folder, "'../ST-1' is no name of a test")


# ---- what is refused when it is read


def refused(folder: Path, told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        load_splits(folder)


def with_right_hashes(folder: Path, test: str, content: str) -> None:
    """Write a test's file anew, and a manifest that vouches for it."""
    (folder / f"{test}.jsonl").write_text(content)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["tests"][test]["sha256"] = hashlib.sha256(content.encode()).hexdigest()
    del manifest["sha256"]
    plain = json.dumps(manifest, separators=(",", ":")) + "\n"
    manifest["sha256"] = hashlib.sha256(plain.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def test_a_folder_without_splits_is_refused(tmp_path) -> None:
    refused(tmp_path / "nowhere", "manifest.json: cannot be read (No such file or directory); make it again")


def test_a_manifest_that_is_no_json_is_refused(folder) -> None:
    (folder / "manifest.json").write_text("{")
    refused(folder, "manifest.json: not valid JSON (")


@pytest.mark.parametrize("content", ['{"schema": "gumption/halma-splits/0"}', "[]"])
def test_another_schema_version_is_refused(folder, content) -> None:
    (folder / "manifest.json").write_text(content)
    refused(folder, "expected 'gumption/halma-splits/1'; make it again")


def test_a_changed_manifest_is_refused(folder) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"mazes": 4', '"mazes": 5', 1))
    refused(folder, "manifest.json: its content does not match its sha256, so it was changed; make it again")


def test_a_changed_byte_is_refused(folder) -> None:
    path = folder / "ST-1.jsonl"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refused(folder, "ST-1.jsonl: its content does not match the manifest's sha256; it was changed")


def test_a_missing_file_is_refused(folder) -> None:
    (folder / "ST-1.jsonl").unlink()
    refused(folder, "ST-1.jsonl: cannot be read (No such file or directory); make it again")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda line: line[:-9], "ST-1.jsonl:2: not valid JSON ("),
        (lambda line: line.replace("halma-splits/1", "halma-splits/0"), "ST-1.jsonl:2: no record of schema"),
        (lambda line: "7", "ST-1.jsonl:2: no record of schema"),
        (lambda line: line.replace('"maze":', '"labyrinth":'), "ST-1.jsonl:2: not a maze of schema"),
        (lambda line: line.replace('"edges":[[', '"edges":[[90,90,90,91],['), "ST-1.jsonl:2: cell (90, 90)"),
        (lambda line: line.replace('"test":"ST-1"', '"test":"ST-2"'), "ST-1.jsonl:2: a maze of another test"),
        (lambda line: line.replace('"knowledge":"', '"knowledge":"0'), "ST-1.jsonl:2: a maze of another test"),
        (lambda line: re.sub(r'"cell":\[.*?\],', "", line), "ST-1.jsonl:2: no record of a test maze (KeyError('cell')"),
        (lambda line: re.sub(r'"type":"\w+"', '"type":"north"', line), "ST-1.jsonl:2: no record of a test maze (Value"),
    ],
)
def test_a_line_that_is_no_record_of_a_maze_is_refused(folder, change, told) -> None:
    lines = (folder / "ST-1.jsonl").read_text().splitlines()
    changed = change(lines[1])
    assert changed != lines[1]
    with_right_hashes(folder, "ST-1", "\n".join([lines[0], changed, *lines[2:]]) + "\n")
    refused(folder, told)


def test_a_run_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="there is no such run"):
        read_run(tmp_path / "run")


def test_a_run_without_memory_is_refused(tmp_path) -> None:
    Mazes(TRAINING).save(tmp_path / "mazes.jsonl")
    with pytest.raises(InputError, match="no memory of transitions there"):
        read_run(tmp_path)
