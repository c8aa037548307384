"""Eight processes write to one place at once, each by the command and by the library: nothing acknowledged is lost, and
nothing is half written, also when one of them is killed.

The test runs this file as a program, which imports gumption once and forks the writers.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

WRITERS, FACTS, ROUNDS = 8, 20, 2
TARGETS = ("new folder", "folder", ".nq", ".nq.gz", "endpoint", "model", "run")
WAYS = ("same TMPDIR", "other TMPDIR", "symbolic link", "kill -9")
Acknowledged = set[tuple[int, int]]  # writer, round


@pytest.mark.slow
def test_eight_writers(tmp_path: Path, endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, __file__, str(tmp_path), endpoint, str(random.SystemRandom().getrandbits(32))]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        print(f"\nseed {command[-1]}; acknowledged writes, and what is wrong with them")
        print(f"{'':12}", *(f"{way:14}" for way in WAYS))
        for target in TARGETS:
            cells = {row["way"]: f"{row['acknowledged']} {row['wrong']}" for row in rows if row["target"] == target}
            print(f"{target:12}", *(f"{cells.get(way, ''):14}" for way in WAYS))
    assert len(rows) == len(TARGETS) * len(WAYS) - 2
    assert [row for row in rows if row["wrong"] != "ok"] == []


# ---- The program


def facts_of(writer: int, turn: int) -> list[tuple[str, str, str]]:
    return [(f"w{writer}", f"r{turn}", f"o{i}") for i in range(FACTS)]


def command(*words: str) -> None:
    """Call gumption's command line in this process."""
    from gumption.scripts import cli

    sys.argv = ["gumption", *words]
    try:
        cli.main()
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"exit code {ended.code}") from None


class Facts:
    """Writers of facts; each one first loads a file by the command, then adds facts with the library."""

    def __init__(self, place: str, update: str | None, folder: Path) -> None:
        self.place, self.update, self.folder = place, update, folder

    def write(self, writer: int, turn: int) -> None:
        from gumption.kg import KnowledgeGraph

        facts = facts_of(writer, turn)
        if turn == 0:
            table = self.folder / f"{writer}.tsv"
            table.write_text("".join("\t".join(fact) + "\n" for fact in facts))
            where = [] if self.update is None else ["--update", self.update]
            command("kg", "load", self.place, str(table), "--graph", "g", "--wait", "60", *where)
        elif Path(self.place).is_file():
            graph = KnowledgeGraph.load(self.place)
            assert graph.add(facts, graph="g") == FACTS
            graph.save(self.place, merge=True)
        else:
            with KnowledgeGraph(self.place, update=self.update, wait=60) as graph:
                assert graph.add(facts, graph="g") == FACTS

    def wrong(self, acknowledged: Acknowledged, killed: int | None, refusals: list[str]) -> str:
        from gumption.kg.graph import open_graph

        with open_graph(self.place)[0] as graph:
            there = set(graph.triples(graph="g"))
        for writer in range(WRITERS):
            for turn in range(ROUNDS):
                number = len(there.intersection(facts_of(writer, turn)))
                if number != FACTS and ((writer, turn) in acknowledged or (killed, number) != (writer, 0)):
                    return f"writer {writer} has {number} of {FACTS} facts of turn {turn} {refusals}"
        return "ok"


class Model:
    """Writers of a model whose weights are all the writer's own number."""

    def __init__(self, place: str, model: Any) -> None:
        self.place, self.model = place, model

    def write(self, writer: int, turn: int) -> None:
        self.model.entity.fill_(writer + turn / 2)
        self.model.save(self.place)

    def wrong(self, acknowledged: Acknowledged, killed: int | None, refusals: list[str]) -> str:
        from gumption.kg import ComplEx

        numbers = set(ComplEx.load(self.place).entity.flatten().tolist())
        if refusals or len(numbers) != 1:
            return f"{refusals} {numbers}"
        writer, turn = int(number := numbers.pop()), int(number % 1 * 2)
        self.model.save(self.place)  # which removes what the killed one left
        names = {path.name for path in Path(self.place).resolve().parent.iterdir()}
        if {name for name in names if not name.endswith(".lock")} != {"real"}:
            return f"left over: {names}"
        return "ok" if (writer, turn) in acknowledged or writer == killed else f"not acknowledged: {number}"


class Run:
    """Writers of a run, of whom one may be acknowledged."""

    def __init__(self, place: str) -> None:
        self.place = place

    def write(self, writer: int, turn: int, resume: bool = False) -> None:
        from gumption.agents.run import Learner, opened, run_learner
        from gumption.agents.settings import WorldConfig

        class Counter(Learner):
            total, measured_every, kept_every, step = 4, 1, 1, 0

            def learn(self, bar: Any) -> None:
                time.sleep(0.02)
                self.step += 1

            def measure(self) -> dict[str, float]:
                return {"steps": self.step}

            def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
                import torch

                return {"step": torch.tensor(self.step)}, {}

            def put_state(self, tensors: dict[str, Any], meta: dict[str, Any], where: Path) -> None:
                self.step = int(tensors["step"])

        run_learner(opened(self.place, WorldConfig("gradual"), resume), Counter, progress=False)

    def wrong(self, acknowledged: Acknowledged, killed: int | None, refusals: list[str]) -> str:
        from gumption.agents.run_folder import read_final, read_metrics

        winners = {writer for writer, _ in acknowledged}
        if not winners and killed is not None:
            self.write(0, 0, resume=True)
            winners = {killed}
        known = ("another process is writing there", "holds a run already", "exists and is not a run")
        if len(winners) != 1 or not all(any(words in text for words in known) for text in refusals):
            return f"{winners} {refusals}"
        lines = [line["step"] for line in read_metrics(Path(self.place))]
        return "ok" if lines == [1, 2, 3, 4] and read_final(Path(self.place))["step"] == 4 else str(lines)


def forked(work: Callable[[], Any], out: int) -> int:
    """The id of a process that does this and writes the lines that it gives to a pipe."""
    child = os.fork()
    if child == 0:
        try:
            for line in work():
                os.write(out, json.dumps(line).encode() + b"\n")
        finally:
            os._exit(0)
    return child


def apart(work: Callable[[], Any]) -> Any:
    """What `work` gives in a fork: this process uses no engine, whose threads would be missing in the writers."""
    reader, out = os.pipe()
    child = forked(lambda: [work()], out)
    os.close(out)
    with os.fdopen(reader) as file:
        lines = file.read()
    os.waitpid(child, 0)
    return json.loads(lines)


def raced(target: Any, folder: Path, way: str, delay: float) -> tuple[Acknowledged, int | None, list[str]]:
    """Let the writers go at once: what they acknowledged, who was killed, and how others were refused."""
    reader, out = os.pipe()
    gate, opens = os.pipe()

    def work(writer: int) -> Iterator[Any]:
        os.close(opens)
        if way == "other TMPDIR":
            (folder / f"tmp{writer}").mkdir()
            os.environ["TMPDIR"], tempfile.tempdir = str(folder / f"tmp{writer}"), None
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.read(gate, 1)
        try:
            for turn in range(1 if isinstance(target, Run) else ROUNDS):
                target.write(writer, turn)
                yield writer, turn, ""
        except BaseException as error:
            yield writer, turn, f"{type(error).__name__}: {error}"

    children = [forked(partial(work, writer), out) for writer in range(WRITERS)]
    os.close(out)
    os.close(gate)
    os.close(opens)  # the writers go
    killed = None
    if way == "kill -9":
        time.sleep(delay)
        killed = random.randrange(WRITERS)
        os.kill(children[killed], 9)
    with os.fdopen(reader) as file:
        told = [json.loads(line) for line in file]
    for child in children:
        os.waitpid(child, 0)
    acknowledged = {(writer, turn) for writer, turn, error in told if not error}
    return acknowledged, killed, [error for *_, error in told if error]


def targets(folder: Path, endpoint: str, model: Any) -> Iterator[tuple[str, Any, str, Path]]:
    """Target, its writers, way and folder of each cell of the table."""
    from gumption.kg import KnowledgeGraph

    for name in TARGETS:
        for way in WAYS:
            at = folder / f"{name.strip('.')}-{way}".replace(" ", "-")
            (at / "in").mkdir(parents=True)
            ending = name if name.startswith(".") else ""
            real = place = at / "in" / f"real{ending}"
            if way == "symbolic link":
                place = at / f"link{ending}"
                place.symlink_to(real)
            if name == "endpoint":
                if way in ("same TMPDIR", "kill -9"):
                    graph = KnowledgeGraph(f"{endpoint}/query", update=f"{endpoint}/update")
                    graph.remove(list(graph.triples()))
                    yield name, Facts(f"{endpoint}/query", f"{endpoint}/update", at), way, at
                continue
            if name == "folder":
                apart(lambda real=real: KnowledgeGraph(real).close())
            made = {"model": Model(str(place), model), "run": Run(str(place))}
            yield name, made.get(name, Facts(str(place), None, at)), way, at
            assert place.is_symlink() == (way == "symbolic link"), place
            assert real.exists(), real


def main(folder: Path, endpoint: str, seed: int) -> None:
    import torch

    from gumption.kg import ComplEx

    random.seed(seed)
    torch.set_num_threads(1)
    with suppress(RuntimeError):  # imports what the command needs
        command("kg", "load", str(folder / "no.tsv"), str(folder / "none.tsv"))
    model = ComplEx.fit([("a", "r", "b"), ("b", "r", "c")], rank=2, epochs=1, device="cpu")
    rows, took = [], dict[str, float]()
    for name, target, way, at in targets(folder, endpoint, model):
        started = time.monotonic()
        acknowledged, killed, refusals = raced(target, at, way, random.uniform(0, 0.7 * took.get(name, 0)))
        took.setdefault(name, time.monotonic() - started)  # in a later way one is killed at a moment of this time
        wrong = apart(partial(target.wrong, acknowledged, killed, refusals))
        rows.append({"target": name, "way": way, "acknowledged": len(acknowledged), "wrong": wrong})
        print(name, way, f"{time.monotonic() - started:.1f} s", len(acknowledged), wrong, file=sys.stderr)
    print(json.dumps(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
