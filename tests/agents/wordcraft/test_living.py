"""A life in the open-ended game: what it mixes, remembers and states, and that it goes on after a kill."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from gumption.agents.watch import play_steps
from gumption.agents.wordcraft.living import (
    GRAPH,
    Explorer,
    LifeConfig,
    chapter_end,
    chapter_of,
    described,
    facts_beside,
    live,
    watch,
)
from gumption.data import InputError
from gumption.data.writing import is_part
from gumption.envs.memory import RECORDS
from gumption.envs.record_memory import RecordMemory
from gumption.envs.wordcraft import LittleAlchemyVectorEnv, Memory, RecipeBook, WordCraftVectorEnv
from gumption.envs.wordcraft.memory import stated_sightings
from gumption.kg import KnowledgeGraph
from gumption.kg.links.pair_regression import Association
from gumption.scripts import cli

MIXES = 45


def life(book_file: Path, folder: Path, **settings: Any) -> Any:
    config = LifeConfig(**{"recipe_book": str(book_file), "mixes": MIXES, "agent": "without-repeats", **settings})
    return live(config, folder, resume=(folder / "config.json").exists(), progress=False)


def files(folder: Path) -> dict[str, bytes]:
    """What a life left, without where and when it was lived."""
    apart = ("manifest.json",)
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and p.name not in apart and not is_part(p)
    }


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words without a file of vectors: fast, and of any names; an x before a name changes nothing."""

    def features(book: RecipeBook, kind: str, **_: Any) -> np.ndarray:
        words = (label.removeprefix("x ").encode() for label in book.entities)
        rows = [np.random.default_rng(list(word)).normal(size=8) for word in words]
        return np.stack([np.zeros(8), *rows])

    monkeypatch.setattr("gumption.agents.wordcraft.living.entity_features", features)


@pytest.mark.parametrize("agent", ["graph", "empowerment", "without-repeats", "random", "oracle"])
def test_every_agent_makes_what_the_book_says(book_file: Path, book: RecipeBook, tmp_path: Path, words, agent) -> None:
    lived = life(book_file, tmp_path / "life", agent=agent)
    pairs, made = lived.memory.mixes
    assert len(pairs) == (17 if agent == "oracle" else MIXES)  # the oracle has made everything by then
    known = set(np.flatnonzero(lived.basic).tolist())
    for number, (pair, products) in enumerate(zip(pairs.tolist(), made.tolist(), strict=True)):
        assert set(pair) <= known
        assert sorted(p for p in products if p >= 0) == sorted(book.products(*pair))
        known |= set(book.products(*pair))
        assert lived.made[number] == len(known) - lived.basic.sum()
    distinct = {tuple(pair) for pair in pairs.tolist()}
    assert (len(distinct) == len(pairs)) == (agent != "random")


def test_the_oracle_makes_most(book_file: Path, tmp_path: Path, words) -> None:
    made = {agent: life(book_file, tmp_path / agent, agent=agent).made for agent in ("oracle", "without-repeats")}
    assert made["oracle"][:10].tolist() == list(range(1, 11))
    assert made["oracle"][-1] > made["without-repeats"][-1]


def test_the_graph_states_what_was_seen_with_evidence(book_file: Path, tmp_path: Path) -> None:
    lived = life(book_file, tmp_path / "ada", agent="random")
    graph, entities = KnowledgeGraph.load(str(tmp_path / "ada" / GRAPH)), lived.memory.entities
    assert np.array_equal(stated_sightings(graph, "ada", entities), lived.memory.sightings)
    pairs, made = lived.memory.mixes
    seen: dict[tuple[int, ...], list[int]] = {}
    for number, (pair, products) in enumerate(zip(pairs.tolist(), made.tolist(), strict=True), start=1):
        for product in [p for p in products if p >= 0] or [-1]:
            seen.setdefault((*pair, product), []).append(number)
    assert {tuple(row[:3]): (row[3], row[4]) for row in lived.memory.sightings.tolist()} == {
        key: (len(at), at[0]) for key, at in seen.items()
    }
    assert max(len(at) for at in seen.values()) > 1
    (a, b, product), at = max(((k, v) for k, v in seen.items() if k[2] >= 0), key=lambda item: len(item[1]))
    rows = graph.query(
        "SELECT ?who ?times ?first { ?n gum:hasRecipe ?recipe ; gum:hasOutcome ?made ; gum:ofRun ?who ; "
        "gum:hasVisits ?times ; gum:hasFirstMix ?first }",
        recipe=f"recipe:{entities[a]}+{entities[b]}",
        made=entities[product],
    )
    assert [tuple(map(str, row.values())) for row in rows] == [("ada", str(len(at)), str(at[0]))]
    nothing = graph.query(
        "SELECT (COUNT(?n) AS ?many) { ?n gum:hasVisits ?v FILTER NOT EXISTS { ?n gum:hasOutcome ?x } }"
    )
    assert str(next(iter(nothing[0].values()))) == str(sum(key[2] < 0 for key in seen))


@pytest.mark.parametrize("cut", [0, 1, 37, 40, 41, 60, 2 * MIXES - 1])
def test_a_life_that_was_cut_short_goes_on_to_the_same_bits(book_file: Path, tmp_path: Path, words, cut: int) -> None:
    whole, part = tmp_path / "a" / "life", tmp_path / "b" / "life"
    size = life(book_file, whole, agent="graph").memory.layout.record_type.itemsize
    shutil.copytree(whole, part)
    records = part / "memory" / RECORDS
    records.write_bytes(records.read_bytes()[: cut * size + size // 2])  # half of a record, too
    (part / GRAPH).unlink()
    (part / "final.json").unlink()
    life(book_file, part, agent="graph")
    assert files(part) == files(whole)


@pytest.mark.slow
def test_a_life_that_was_killed_goes_on_to_the_same_bits(book_file: Path, tmp_path: Path) -> None:
    def command(folder: Path, *more: str) -> list[str]:
        asked = ["live", "wordcraft", "--recipe-book", str(book_file), "--mixes", "150", "--run", str(folder), *more]
        return [sys.executable, "-m", "gumption", *asked]

    whole, killed = tmp_path / "a" / "life", tmp_path / "b" / "life"
    subprocess.run(command(whole), check=True, capture_output=True)
    with subprocess.Popen(command(killed), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    assert not (killed / "final.json").exists()
    subprocess.run(command(killed, "--resume"), check=True, capture_output=True)
    assert files(killed) == files(whole)


def test_an_agent_that_forgets_everything_is_a_random_one(book: RecipeBook, words) -> None:
    env = LittleAlchemyVectorEnv(1, recipe_book=book)
    forgetful, random = (Explorer(LifeConfig(agent=agent, seed=3), env) for agent in ("graph", "random"))
    remembers = Explorer(LifeConfig(agent="graph", seed=3), env)
    pairs = []
    for number in range(1, 60):
        pair = forgetful.choose(number)
        assert pair == random.choose(number)
        for explorer in (forgetful, random, remembers):
            explorer.saw(*pair, np.array(book.products(*sorted(pair)), dtype=np.int64))
        pairs.append(tuple(sorted(pair)))
        forgetful.forget()
        random.forget()
        assert tuple(sorted(remembers.choose(number + 1))) not in pairs
    assert len(set(pairs)) < len(pairs)


def test_what_it_expects_comes_from_the_graph(book: RecipeBook, words) -> None:
    env = LittleAlchemyVectorEnv(1, recipe_book=book)
    explorer = Explorer(LifeConfig(agent="graph"), env)
    a, b, c = np.flatnonzero(env.basic)[:3].tolist()
    product = int(np.flatnonzero(~env.basic)[0])
    explorer.learn(np.array([[a, a, -1, 1, 2], [a, b, product, 3, 1]]))
    at_hand, worth = explorer.values()
    place = {thing: i for i, thing in enumerate(at_hand.tolist())}
    assert explorer.mixes == 4
    assert explorer.known[product]
    assert worth[place[a], place[b]] == worth[place[a], place[a]] == -np.inf
    assert worth[place[b], place[b]] > worth[place[c], place[c]]  # what has worked once is worth more


def test_renaming_everything_gives_the_same_life(book: RecipeBook, tmp_path: Path, words) -> None:
    names = {label: f"x {label}" for label in book.entities}
    rows = [
        (names[book.entities[c]], names[book.entities[a]], names[book.entities[b]])
        for a, b, c in book.recipes[np.argsort(book.book_order)].tolist()
    ]
    renamed = RecipeBook("renamed", [names[book.entities[i]] for i in book.file_order.tolist()], rows)
    lives = []
    for each, file in ((book, "one.tsv"), (renamed, "two.tsv")):
        text = "".join(f"{each.entities[c]}\t{each.entities[a]}\t{each.entities[b]}\n" for a, b, c in each.recipes)
        (tmp_path / file).write_text("result\tingredient\tingredient\n" + text)
        lives.append(life(tmp_path / file, tmp_path / file.removesuffix(".tsv"), agent="graph"))
    assert np.array_equal(lives[0].memory.mixes[0], lives[1].memory.mixes[0])
    assert np.array_equal(lives[0].made, lives[1].made)


def test_shuffled_names_are_those_of_others(book: RecipeBook, words) -> None:
    real, shuffled, anonymous = (
        described(LifeConfig(names=names), LittleAlchemyVectorEnv(1, recipe_book=book, names=names)).likeness
        for names in ("real", "shuffled", "anonymous")
    )
    assert not np.array_equal(real, shuffled)
    assert np.allclose(np.sort(real.ravel()), np.sort(shuffled.ravel()))
    assert not np.allclose(np.sort(real.ravel()), np.sort(anonymous.ravel()))


def test_facts_beside_link_things(tmp_path: Path) -> None:
    graph = tmp_path / "facts.tsv"
    graph.write_text("bread\tmadeOf\tflour\ntoast\tmadeOf\tflour\ntoast\tisA\tfood\nbread\tisA\tfood\n")
    source = facts_beside(str(graph), ("bread", "flour", "stone", "toast"))
    assert source.links.tolist() == [[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert source.likeness[0, 3] > source.likeness[0, 2]
    found = Association([source]).features(np.array([0]), np.array([3, 2]), np.array([1]))
    assert found[0, 0, 2] > found[0, 1, 2] == 0  # bread and toast through flour, bread and stone through nothing
    with pytest.raises(InputError, match="no fact between two of these 2 things"):
        facts_beside(str(graph), ("sun", "moon"))


def test_chapters_grow_and_a_life_finds_the_one_that_it_is_in() -> None:
    ends = [0]
    while ends[-1] < 2_000:
        ends.append(chapter_end(ends[-1]))
    assert ends[:3] == [0, 10, 20]
    assert len(ends) < 30
    for mixes in (0, 9, 10, 57, 1_234):
        assert chapter_of(mixes) == max(end for end in ends if end <= mixes)


def test_bad_lives_are_refused(book_file: Path, book: RecipeBook, tmp_path: Path, words) -> None:
    with pytest.raises(InputError, match="the agent 'random' reads no names: leave out beside, names"):
        LifeConfig(agent="random", names="shuffled", beside="commonsense-facts")
    with pytest.raises(InputError, match="anonymous things have no words and no facts: leave out beside"):
        LifeConfig(names="anonymous", beside="commonsense-facts")
    with pytest.raises(InputError, match="a life in the world 'halma', not in wordcraft"):
        LifeConfig(world="halma")
    life(book_file, tmp_path / "life")
    with pytest.raises(InputError, match="was begun with another seed"):
        life(book_file, tmp_path / "life", seed=1)
    with pytest.raises(InputError, match="holds a run already"):
        live(LifeConfig(recipe_book=str(book_file)), tmp_path / "life")
    shutil.rmtree(tmp_path / "life" / "memory")
    other = RecordMemory(WordCraftVectorEnv(1, recipe_book=book, split=None), tmp_path / "life" / "memory")
    other.reset(seed=0)
    other.step(np.array([0]))
    other.close()
    with pytest.raises(InputError, match="a memory of slots"):
        life(book_file, tmp_path / "life")


def test_evidence_of_another_book_is_refused(book_file: Path, tmp_path: Path) -> None:
    memory = life(book_file, tmp_path / "life").memory
    graph = KnowledgeGraph.load(str(tmp_path / "life" / GRAPH))
    with pytest.raises(InputError, match="is about other things than these 2"):
        stated_sightings(graph, "life", ("bread", "toast"))
    name = "wordcraft/life/evidence"
    graph.remove(list(graph.triples(relation="hasFirstMix", graph=name)), graph=name)
    with pytest.raises(InputError, match="is not the evidence of a memory"):
        stated_sightings(graph, "life", memory.entities)


def test_the_command_lives_and_its_graph_can_be_asked(book_file: Path, tmp_path: Path) -> None:
    asked = ["live", "wordcraft", "--recipe-book", str(book_file), "--mixes", "25", "--run", str(tmp_path / "life")]
    done = CliRunner().invoke(cli.app, [*asked, "--agent", "without-repeats"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["after 10 mixes", "after 20 mixes"]
    made = Memory.load(tmp_path / "life" / "memory").recipes
    assert lines[-1].startswith(f"{len(set(made[:, 2].tolist()))} things made in 25 mixes")
    valid = CliRunner().invoke(cli.app, ["kg", "validate", str(tmp_path / "life" / GRAPH), "--shapes", "wordcraft"])
    assert valid.exit_code == 0, valid.output
    query = "SELECT ?a ?c { ?a gum:componentOf ?c }"
    told = CliRunner().invoke(cli.app, ["kg", "query", str(tmp_path / "life" / GRAPH), query])
    assert told.exit_code == 0, told.output
    again = CliRunner().invoke(cli.app, [*asked, "--agent", "without-repeats", "--resume"])
    assert again.exit_code == 0, again.output
    assert again.stdout.splitlines()[-1] == lines[-1]


def test_a_life_can_be_watched_as_its_graph_grows(book_file: Path, book: RecipeBook, tmp_path: Path, words) -> None:
    lived = life(book_file, tmp_path / "life", agent="graph")
    player = watch(tmp_path / "life")
    steps = list(play_steps(player, pictures=False))
    mixes = [step for step in steps if step.choices and step.choices[0].question.startswith("mix ")]
    ends = [step.outcome for step in steps if step.choices and "it knows" in step.outcome]
    pairs = [" + ".join(book.entities[i] for i in pair) for pair in lived.memory.mixes[0].tolist()]
    assert [step.choices[0].candidates[step.choices[0].chosen].label for step in mixes] == pairs
    assert all(step.choices[0].candidates[step.choices[0].chosen].probability > 0 for step in mixes)
    assert len(ends) == MIXES
    recipes, nothing = len(lived.memory.recipes), (lived.memory.sightings[:, 2] < 0).sum()
    assert ends[-1].endswith(f"it knows {recipes} recipes and {nothing} pairs that make nothing")
    assert steps[-1].reward == lived.made[-1]
    with pytest.raises(InputError, match="is a life, which has no goals and no parts"):
        watch(tmp_path / "life", goal="mud")
