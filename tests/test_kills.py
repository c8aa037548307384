"""A command that is killed at any of its writes ends well when it is called again, with what it would have made."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from gumption.scripts import cli

PROGRAM = Path(__file__).with_name("killed_commands.py")
BOOK = """
mud water earth     steam water fire    lava earth fire    brick mud fire     stone lava air     obsidian lava water
sand stone air      glass sand fire     wall brick brick   house wall wall    geyser steam earth energy fire fire
plasma energy fire  rain sky water      plant rain earth   wood plant time    smoke wood fire    desert sand sand
"""
ASSERTION = {"dataset": "/d/x", "license": "cc:by/4.0", "sources": [], "weight": 1.0}
RULES = {"rules": [{"transitive": "componentOf"}]}

# Commands in the order of a chain: each works in the folder that the ones before it have left. [--resume] is what is
# said when the command is called again, "< FILE" what is typed, and a command in parentheses is not killed.
GRAPHS = """
kg load kg facts.tsv --graph a
kg load kg facts.tsv --graph b
kg remove kg#b --object steam
kg load kg.nq facts.tsv --graph a
kg remove kg.nq --object steam
kg export facts.tsv --out parts
kg mine facts.tsv --out mined.json --min-support 1
"""
TASKS = """
kg import atomic2020 train.tsv --out atomic.nq
kg import conceptnet assertions.csv --out senses
kg link facts.tsv senses --methods exact --out links.nq
kg map facts.tsv wordcraft --out map.toml
data recipes small.tsv --out book.tsv
kg infer facts.tsv --rules rules.json --out inferred.nq
kg build wordcraft --recipe-book small.tsv --out built
kg build wordcraft --recipe-book small.tsv --out built.nq
splits wordcraft --recipe-book small.tsv --out split.json
play wordcraft --recipe-book small.tsv --distractors 1 --train-tasks 1 --test-tasks 1 --out me.json < ones
"""
PICTURES = """
(kg load kg facts.tsv --graph a)
kg infer kg#a --rules rules.json
kg draw facts.tsv --around fire --out fire.svg
kg stats facts.tsv --plot degrees.svg
halma generate --count 2 --out mazes.jsonl
halma maze --seed 1 --json maze.json --png maze.png
"""
PREDICTORS = """
(kg export facts.tsv --out parts)
kg fit facts.tsv --out model --epochs 2 --rank 4 --device cpu [--resume]
kg calibrate model --held-out facts.tsv
kg tune facts.tsv --valid facts.tsv --trials 2 --rank 4 --epochs 1 --valid-every 1 --out tuned --device cpu
kg export-pykeen model --out pykeen
kg import-pykeen pykeen --out imported
"""
WORDCRAFT = """
train wordcraft --recipe-book small.tsv --features onehot --distractors 1 --preset paper --steps 64 --eval-interval 32\
 --final-draws 1 --kg train --scores componentOf --device cpu --run run [--resume]
live wordcraft --recipe-book small.tsv --agent without-repeats --mixes 25 --run life [--resume]
experiment wordcraft-fig2 --recipe-book small.tsv --setting 'oracle, 1 distractor' --seeds 1 --out played --save saved
"""
HALMA = """
train halma --agent mlp --mazes 2 --episodes 2 --log-interval 1 --checkpoint-interval 1 --kg full --device cpu\
 --set num_envs=2 --set batch_size=32 --set hidden_size=16 --set candidates=2 --set random_candidates=1 --run halma\
 [--resume]
splits halma --run halma --out tests
"""
GRADUAL = """
kg build gradual --out gradual.nq
train gradual --env max_steps=20 --steps 512 --eval-interval 256 --eval-episodes 2 --device cpu --run run [--resume]
gradual run --agent echo --tasks micro4 --out ran --memory
gradual validate --agent echo --chain 'micro4>micro2' --seeds 1 --max-steps 100 --out found.json
gradual vary --agent echo --tasks micro4 --seeds 1 --max-steps 100 --out varied.json
gradual pretrain --tasks micro4 --steps 64 --eval-interval 32 --batch-size 4 --unroll-length 8 --hidden-size 8\
 --device cpu --run lstm [--resume]
"""
SEGAR = """
kg build segar --out segar.nq
train segar --observation state --num-levels 2 --test-levels 2 --num-envs 2 --n-steps 8 --minibatches 2 --steps 32\
 --eval-interval 16 --device cpu --run run [--resume]
train segar --levels tilesx2-medium --kg full --num-levels 2 --steps 512 --eval-interval 256\
 --test-levels 2 --device cpu --run guided [--resume]
segar level --steps 2 --gif level.gif --json scene.json
segar renderers --epochs 1 --out looks
"""
PROBSOL = """
kg build probsol --task fishing/0 --out probsol.nq
splits probsol --out parts
train probsol --task fishing/0 --num-envs 2 --n-steps 8 --batch-size 8 --epochs 1 --steps 32 --eval-interval 16\
 --eval-tasks 1 --stack 1 --device cpu --run run [--resume]
probsol certify --family findthediff --seeds 0:2 --out found.jsonl
probsol pack found.jsonl --out packed.jsonl.gz
probsol strip fishing/0 --out strip.png
"""
CHAINS = (GRAPHS, TASKS, PICTURES, PREDICTORS, WORDCRAFT, HALMA, GRADUAL, SEGAR, PROBSOL)

# Commands that write nothing, and those that are not killed here.
READ = """
data list, kg query, kg validate, kg hash, kg serve, kg predict, kg evaluate, kg path, kg leaks, evaluate wordcraft,
evaluate gradual, play gradual, gradual watch, evaluate segar, play segar, segar distance, segar probe,
evaluate probsol, probsol check, verify, study check, study preview
"""
APART = {
    "data fetch": "needs the network",
    "demo": "trains and saves by what `train`, `kg fit` and `experiment` are killed in",
    "bench": "gives times, which are never the same, and writes them in one piece at its end",
    "serve gradual": "each run has a record of its own, under a new name",
    "play halma": "goes on at the move that was stopped, and the test would type all moves again; test_play stops it",
    "live segar": "takes seconds; its folder with an unfinished memory is refused by name",
    "kg build halma": "reads a run; it is written as the facts of any world are",
    "study serve": "serves until it is killed, which tests/scripts/people/study/test_serving.py does",
    "study simulate": "writes what `study serve` writes",
    "study export": "writes its folder in one piece at its end",
    "study report": "writes its folder in one piece at its end",
    "watch": "plays for seconds, and writes its file in one piece at its end",
    "evaluate halma": "plays for minutes, and writes its plot in one piece at its end",
    "halma hitmaps": "reads a memory, and writes its plot in one piece at its end",
    "halma grammar": "reads a memory, and writes its plot in one piece at its end",
    "halma figure": "reads results, and writes its plot in one piece at its end",
    "halma failures": "plays for minutes, and writes its plot in one piece at its end",
    "halma statistics": "measures for minutes, and writes its plot in one piece at its end",
    "halma pretrain": "takes minutes for the fewest steps that it allows, fifty",
    "halma probe": "needs a pretrained model, and writes its plot in one piece at its end",
    "segar axes": "measures for ten seconds, and writes its file in one piece at its end",
    "play probsol": "appends its record when an episode has ended, which the records' own tests cut short",
    "probsol replay": "writes its GIF in one piece at its end",
    "probsol probe": "keeps transitions as RecordMemory does, whose own tests kill it",
    "kg import wordnet": "needs the files of WordNet; it is written as the other imports are",
}
WRITING = {"--out", "--save", "--update", "--plot", "--png", "--markdown"}


def killed(tmp_path: Path, chain: str, kills: int = 1) -> None:
    """Stop each command of a chain at each of its writes; whatever goes wrong afterwards fails the test."""
    base = tmp_path / "base" / "at"
    base.mkdir(parents=True)
    words = BOOK.split()
    rows = ["\t".join(words[i : i + 3]) for i in range(0, len(words), 3)]
    facts = [f"{a}\tcomponentOf\t{made}" for made, *parts in (row.split("\t") for row in rows) for a in parts]
    fire = ("/a/[/r/UsedFor/,/c/en/fire/,/c/en/heat/]", "/r/UsedFor", "/c/en/fire", "/c/en/heat", json.dumps(ASSERTION))
    for name, lines in {
        "small.tsv": ["result\tingredient\tingredient", *rows],
        "facts.tsv": dict.fromkeys(facts),
        "train.tsv": ["PersonX eats lunch\txWant\tto sleep", "PersonX runs\txNeed\tto train"],
        "assertions.csv": ["\t".join(fire)],
        "rules.json": [json.dumps(RULES)],
        "ones": ["1"] * 60,
    }.items():
        (base / name).write_text("\n".join(lines) + "\n")
    case = {"work": str(tmp_path), "kills": kills, "chain": [step(line) for line in chain.strip().splitlines()]}
    environment = {**os.environ, "GUMPTION_CACHE_DIR": str(tmp_path / "cache"), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, PROGRAM], input=json.dumps(case), capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    for one in found:
        print(f"{one['command']}: {one['states']} states, {one['kills']} kills, {one['seconds']:.1f} s")
    assert [problem for one in found for problem in one["problems"]] == []
    assert all(one["states"] >= 2 and one["kills"] == kills for one in found)


def step(line: str) -> dict[str, Any]:
    line, _, typed = line.partition(" < ")
    command = shlex.split(line.strip("()").replace(" [--resume]", ""))
    again = [*command, "--resume"] if line.endswith("[--resume]") else command
    return {"command": command, "again": again, "typed": typed, "whole": line.startswith("(")}


@pytest.mark.slow
def test_graphs_and_files(tmp_path: Path) -> None:
    killed(tmp_path, GRAPHS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "chain",
    [TASKS, PICTURES, PREDICTORS, WORDCRAFT, HALMA, GRADUAL, SEGAR, PROBSOL],
    ids=["tasks", "pictures", "predictors", "wordcraft", "halma", "gradual", "segar", "probsol"],
)
def test_other_commands(tmp_path: Path, chain: str) -> None:
    killed(tmp_path, chain, kills=2)


def commands() -> Iterator[tuple[str, set[str]]]:
    """Every command and its options; a world's own command is under the world's name."""

    def within(command: Any, words: list[str]) -> Iterator[tuple[str, set[str]]]:
        if not hasattr(command, "list_commands"):
            yield " ".join(words), {option for parameter in command.params for option in parameter.opts}
            return
        context = command.make_context(words[-1], [], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from within(_resolved(command, context, words[0], name), [*words, name])

    for name in cli.COMMANDS:
        yield from within(typer.main.get_command(cli.app_of(name)), [name])
    for name in ("halma", "gradual", "segar", "probsol"):
        yield from within(typer.main.get_command(cli._tools_of(name)), [name])


def _resolved(command: Any, context: Any, group: str, name: str) -> Any:
    if group == "evaluate":
        from gumption.envs import worlds
        from gumption.scripts.evaluate import run_command

        return run_command(worlds.find(name))
    return command.resolve_command(context, [name])[1]


def test_every_command_that_writes_is_killed() -> None:
    lines = [line.strip("(") for chain in CHAINS for line in chain.strip().splitlines()]
    reading = {name.strip() for name in READ.split(",")}
    for name, options in commands():
        is_killed = any(f"{line} ".startswith(f"{name} ") for line in lines)
        assert is_killed + (name in reading) + (name in APART) == 1, f"{name}: kill it in a chain, or say that it reads"
        assert name not in reading or not options & WRITING, f"{name} has {options & WRITING}, and writes"
