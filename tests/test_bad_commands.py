"""Command lines with one wrong word, made from the options' own types: each is refused in a line, soon, and leaves
nothing behind.

A line that works is taken from LINES, and one of its words is changed: the value of an option or of an argument
becomes one that its type or its place does not allow, an option is misspelt, or a word is left out; or the line gets
something `odd`, such as the file of another command. Which lines these are is fixed by SEED. `python -m
tests.test_bad_commands [odd]` prints them all with what the command says.
"""

import inspect
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

import pytest
import typer

from gumption.data import InputError
from gumption.scripts import cli
from gumption.scripts.apps import check_option
from tests.test_bad_settings import modules
from tests.test_kills import BOOK

SEED, COUNT, QUICK, ODD = 32, 480, 12, 300
LONGEST_S = 10
#: Lines that make what the others read, in this order.
MAKERS = """
kg load kg.nq facts.tsv --graph a
kg load store facts.tsv --graph a
kg fit facts.tsv --out model --epochs 1 --rank 4 --device cpu
kg mine facts.tsv --out mined.json --min-support 1
splits wordcraft --recipe-book small.tsv --out split.json
halma generate --count 2 --out mazes.jsonl
gradual run --agent echo --tasks micro4 --max-steps 50 --out ran --memory
train wordcraft --recipe-book small.tsv --features onehot --distractors 1 --preset paper --steps 64 --eval-interval 64\
 --final-draws 1 --device cpu --run run
train halma --agent mlp --mazes 2 --episodes 2 --log-interval 1 --checkpoint-interval 1 --device cpu\
 --set num_envs=2 --set batch_size=32 --set hidden_size=16 --set candidates=2 --set random_candidates=1 --run mazes
"""
#: Lines that work, each in the folder that the makers leave; a word of one is changed.
LINES = """
kg load new.nq facts.tsv --graph a
kg load kg.nq facts.tsv --graph b
kg remove kg.nq --object steam
kg query kg.nq 'SELECT ?x WHERE { ?x gum:componentOf ?y }' --bind y=mud
kg export kg.nq --out parts
kg hash kg.nq
kg stats kg.nq --plot degrees.svg
kg path kg.nq --goal house
kg draw kg.nq --around fire --out fire.svg
kg validate kg.nq --shapes shapes.ttl
kg fit facts.tsv --out fitted --epochs 1 --rank 4 --device cpu
kg tune facts.tsv --valid facts.tsv --trials 1 --rank 4 --epochs 1 --valid-every 1 --out tuned --device cpu
kg predict model --subject fire --relation componentOf -k 2
kg evaluate model --test facts.tsv
kg calibrate model --held-out facts.tsv
kg export-pykeen model --out pykeen
kg leaks kg.nq --world wordcraft
kg mine facts.tsv --out rules.json --min-support 1
kg infer kg.nq --rules rules.json --out inferred.nq
kg link kg.nq store --methods exact --out links.nq
kg import atomic2020 train.tsv --out atomic.nq
kg build wordcraft --recipe-book small.tsv --out built.nq
kg build halma --run mazes
kg build gradual --out gradual.nq
kg build segar --out segar.nq
kg build probsol --task fishing/0 --out probsol.nq
data list
data fetch commonsense
data recipes small.tsv --out book.tsv
splits wordcraft --recipe-book small.tsv --out made.json
splits halma --run mazes --out tests --mazes 1
splits probsol --out splits
train wordcraft --recipe-book small.tsv --features onehot --distractors 1 --preset paper --steps 64 --eval-interval 64\
 --final-draws 1 --device cpu --run new
train halma --agent mlp --mazes 2 --episodes 2 --log-interval 1 --checkpoint-interval 1 --device cpu --run new
train gradual --env max_steps=20 --steps 512 --eval-interval 512 --eval-episodes 2 --device cpu --run new
train segar --observation state --num-levels 2 --test-levels 2 --num-envs 2 --n-steps 8 --minibatches 2 --steps 32\
 --eval-interval 32 --device cpu --run new
train probsol --task fishing/0 --num-envs 2 --n-steps 8 --batch-size 8 --epochs 1 --steps 32 --eval-interval 32\
 --eval-tasks 1 --stack 1 --device cpu --run new
evaluate run --draws 1
watch run --gif watched.gif
halma generate --count 2 --out more.jsonl
halma maze --seed 1
halma pretrain --steps 50 --preset fast --batch-size 1 --mazes 1 --run eyes
halma statistics --mazes 1 --sets 2
gradual run --agent echo --tasks micro4 --max-steps 50 --out ran2
gradual validate --agent echo --chain 'micro4>micro2' --seeds 1 --max-steps 100 --out found.json
gradual vary --agent echo --tasks micro4 --seeds 1 --max-steps 100 --out varied.json
gradual pretrain --tasks micro4 --steps 64 --eval-interval 64 --batch-size 4 --unroll-length 8 --hidden-size 8\
 --device cpu --run lstm
gradual watch ran --steps 1-10
segar level --steps 2 --gif level.gif --json scene.json
segar renderers --epochs 1 --out looks
segar axes --levels 1 --out axes.json
probsol certify --family findthediff --seeds 0:1 --out found.jsonl
probsol check fishing/0
probsol strip fishing/0 --out strip.png
probsol probe --out curious --tasks 1
experiment wordcraft-fig2 --recipe-book small.tsv --setting 'oracle, 1 distractor' --seeds 1 --out played --save saved
bench wordcraft --quick --out bench.json
"""
#: Options that name what a command writes; the other paths are read.
WRITTEN = {"out", "gif", "png", "plot", "markdown", "json", "run", "save", "record", "place"}
#: Read when runs are complete, which stay.
LATER = {"human"}
#: Counts of what is done one after the other: large ones are work, not nonsense.
WORK = {
    "steps", "total_steps", "episodes", "epochs", "trials", "transitions", "seeds", "draws", "max_steps", "final_draws",
    "count", "sets", "runs", "repeats",
}  # fmt: skip
NO_NUMBERS = ("nan", "inf", "-inf", "1e999", "many", "", "0x10", "-1", "0", "-3.5", "2.5", str(2**64), str(-(10**30)))
LARGE = (str(2**53), "1000000000000", "1e300")
WRITE_TO = ("", "facts.tsv/x", "noise/x.json", "x" * 300, "/dev/null/x.nq")
READ_FROM = ("", "nowhere", "nowhere.nq", "facts.tsv/x", "empty", "noise", "folder", "x" * 300, "http://")
#: What the makers leave, and what is no file: some kinds are of use to several commands.
MADE = (
    "facts.tsv", "small.tsv", "train.tsv", "kg.nq", "store", "model", "mined.json", "rules.json", "shapes.ttl",
    "split.json", "mazes.jsonl", "ran", "run", "mazes",
)  # fmt: skip
NEVER_READ = ("folder", "noise", "/dev/zero", "/dev/null", "model/config.json")
ODD_FILES = (*MADE, *NEVER_READ, "empty", "locked", "locked/x.nq", "run/config.json", "run/checkpoint", "kg.nq#nowhere",
             "kg.nq#", "#", "a\nb", "\udc80.nq")  # fmt: skip
NEVER_WRITTEN = ("run/config.json/x.nq", ".", "..", "/", "noise/x", *(["locked/x.json"] if os.geteuid() else []))
ODD_NAMES = ("", " ", "\n", "a\nb", "\udc80", "\u202e", "-", "nan", "-1", "1e999", "[bold]", "{}", "%s", "../..", "'")


@dataclass(frozen=True)
class Line:
    """:ivar sure: whether the command must refuse it; else it may also do what it says."""

    words: tuple[str, ...]
    sure: bool

    def __str__(self) -> str:
        return shlex.join(word if len(word) < 60 else word[:9] + "..." for word in self.words)


@cache
def command_of(words: tuple[str, ...]) -> tuple[int, Any]:
    """How many words call the command of a line, and the command."""
    command = typer.main.get_command(cli.app)
    for place, word in enumerate(words):
        if not hasattr(command, "list_commands"):
            return place, command
        if word.startswith("-") or (words[0] == "evaluate" and place == 1) or (words[0] == "watch" and place == 1):
            return place, _of_run(words[0])
        _, command, _ = command.resolve_command(typer.Context(command, info_name=word), [word])
    return len(words), command


def _of_run(offer: str) -> Any:
    from gumption.envs import worlds
    from gumption.scripts.evaluate import run_command
    from gumption.scripts.worlds import command_of as of_world

    world = worlds.find("wordcraft")
    return run_command(world) if offer == "evaluate" else of_world(world, "watch")


def wrong_values(command: Any, option: Any) -> Iterator[tuple[str, bool]]:
    """Values for an option or argument, and whether it surely cannot have them."""
    hint = _hint(command, option)
    kinds, found = set(), [hint]
    for each in found:
        found += get_args(each)
        kinds |= {each} if inspect.isclass(each) else set()
    numbers = kinds & {int, float}
    if any(get_origin(each) is Literal for each in found):
        yield from (("", True), ("no such thing", True), ("x" * 300, True))
    elif numbers and str not in kinds:
        for text in NO_NUMBERS:
            yield text, not _allowed(text, numbers, hint)
        if option.name not in WORK and "seed" not in option.name:
            for text in LARGE:
                yield text, not _allowed(text, numbers, hint)
    elif Path in kinds:
        for text in WRITE_TO if option.name in WRITTEN else READ_FROM:
            yield text, True
        if option.name in WRITTEN:
            yield "folder", False
    elif str in kinds:
        yield from (("", False), ("no such thing", False), ("\udc80", False), ("a\nb", False), ("x" * 300, False))


def _hint(command: Any, option: Any) -> Any:
    """The annotation of an option: of the function's parameter, or of a field of the settings that it takes."""
    parameters = inspect.signature(inspect.unwrap(command.callback), eval_str=True).parameters
    if option.name in parameters:
        return parameters[option.name].annotation
    for one in parameters.values():
        if is_dataclass(one.annotation) and option.name in (
            hints := get_type_hints(one.annotation, include_extras=True)
        ):
            return hints[option.name]
    return inspect.signature(command.callback, eval_str=True).parameters[option.name].annotation


def _allowed(text: str, numbers: set[type], hint: Any) -> bool:
    """Whether an annotation allows a number. The line may still be refused for what the number is to do."""
    try:
        value = int(text) if int in numbers else float(text)
        check_option("it", value, hint)
    except (ValueError, InputError):
        return False
    return True


def changed(words: tuple[str, ...], rng: random.Random) -> Line | None:
    """A line with one wrong word; None where the choice fell on what cannot be wrong."""
    start, command = command_of(words)
    options = [one for one in command.params if one.name not in {"help", *LATER}]
    way = rng.random()
    if way < 0.06:  # a misspelt option
        return Line((*words, "--" + rng.choice(["mistpelt", "ou", "stepz", "Out", "seed-"]), "1"), sure=True)
    if way < 0.12:  # an option without a value, or twice one word too many
        return Line((*words, rng.choice([max(one.opts, key=len) for one in options if one.opts[0][0] == "-"] or ["--x"])
                     , *["--"] * (rng.random() < 0.5)), sure=False)  # fmt: skip
    if way < 0.16:  # a missing word
        if len(words) == start:
            return None
        place = rng.randrange(start, len(words))
        return Line((*words[:place], *words[place + 1 :]), sure=False)
    if not options:
        return None
    option = rng.choice(options)
    values = list(wrong_values(command, option))
    if not values:
        return None
    value, sure = rng.choice(values)
    if option.param_type_name == "argument":
        place = start + [one for one in options if one.param_type_name == "argument"].index(option)
        if place >= len(words) or any(word.startswith("-") for word in words[start : place + 1]):
            return None
        return Line((*words[:place], value, *words[place + 1 :]), sure)
    flag = max(option.opts, key=len)
    if flag in words:
        place = words.index(flag) + 1
        return Line((*words[:place], value, *words[place + 1 :]), sure)
    return Line((*words, flag, value), sure)


def odd(words: tuple[str, ...], rng: random.Random) -> Line | None:
    """A line with something that belongs elsewhere: a file of another kind, two words in each other's place, an option
    of another command or twice, an odd name, an empty word; None where the choice fell on what the line lacks."""
    start, command = command_of(words)
    values = [at for at in range(start, len(words)) if not words[at].startswith("-")]
    written = [at for at in values if words[at - 1].strip("-") in WRITTEN]
    stems = {name.split(".")[0] for name in MADE}
    paths = [at for at in values if at not in written and words[at].split(".")[0] in stems]
    flags = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}

    def put(at: int, *new: str, sure: bool = False) -> Line:
        return Line((*words[:at], *new, *words[at + 1 :]), sure)

    way = rng.randrange(9)
    if way < 3 and paths:
        other = rng.choice(ODD_FILES)
        return put(rng.choice(paths), other, sure=other in NEVER_READ)
    if way == 3 and written:
        return put(rng.choice(written), rng.choice(NEVER_WRITTEN), sure=True)
    if way == 4 and len(values) > 1:
        one, two = sorted(rng.sample(values, 2))
        new = list(words)
        new[one], new[two] = new[two], new[one]
        return Line(tuple(new), sure=False)
    if way == 5:
        other = rng.choice([line for line in LINES.strip().splitlines() if " --" in line]).split(" --")[1].split()
        return Line((*words, "--" + other[0], *other[1:]), sure="--" + other[0] not in flags)
    if way == 6 and (repeated := [at for at in values if words[at - 1] in flags]):
        at = rng.choice(repeated)
        return Line((*words, words[at - 1], rng.choice(("", "no such thing"))), sure=False)
    if way == 7 and values:
        return put(rng.choice(values), rng.choice(ODD_NAMES))
    if way == 8:
        at = rng.randint(start, len(words))
        return Line((*words[:at], rng.choice(("", "--", "-", " ")), *words[at:]), sure=False)
    return None


def lines(change: Callable[..., Line | None] = changed, count: int = COUNT) -> list[Line]:
    rng = random.Random(SEED)
    good = [tuple(shlex.split(line)) for line in LINES.strip().splitlines()]
    made: dict[Line, None] = {}
    while len(made) < count:
        line = change(good[len(made) % len(good)] if rng.random() < 0.5 else rng.choice(good), rng)
        if line is not None:
            made[line] = None
    return list(made)


def prepare(folder: Path) -> None:
    """What the lines read."""
    words = BOOK.split()
    rows = ["\t".join(words[i : i + 3]) for i in range(0, len(words), 3)]
    facts = [f"{a}\tcomponentOf\t{made}" for made, *parts in (row.split("\t") for row in rows) for a in parts]
    for name, texts in {
        "small.tsv": ["result\tingredient\tingredient", *rows],
        "facts.tsv": dict.fromkeys(facts),
        "train.tsv": ["PersonX eats lunch\txWant\tto sleep"],
        "rules.json": ['{"rules": [{"transitive": "componentOf"}]}'],
        "shapes.ttl": ["@prefix sh: <http://www.w3.org/ns/shacl#> ."],
    }.items():
        (folder / name).write_text("\n".join(texts) + "\n")
    (folder / "empty").write_text("")
    (folder / "noise").write_bytes(bytes(range(256)) * 4)
    (folder / "folder").mkdir()
    (folder / "locked").mkdir(mode=0)
    for line in MAKERS.strip().splitlines():
        code, told, _ = call(folder, shlex.split(line), 600)
        assert code == 0, (line, told)


def import_all() -> None:
    """What the commands import: their processes begin with it."""
    for name in modules():
        import_module(name)


@cache
def _server() -> subprocess.Popen[str]:
    """A process that forks a child for each line. It has no threads, as this one has of torch and of stores: a child
    that is forked here could wait for a thread that it does not have."""
    command = [sys.executable, "-c", "from tests.test_bad_commands import serve; serve()"]
    root = Path(__file__).parents[1]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)


def serve() -> None:
    """Read calls, a line of JSON each, and write their exit codes. What a child imported, the next need not import."""
    for name in ("gumption.agents", "gumption.kg", "gumption.envs", "gumption.scripts.worlds"):
        import_module(name)
    for line in sys.stdin:
        folder, words, longest, out = json.loads(line)
        child = os.fork()
        if child == 0:
            _command(folder, words, longest, out)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        with suppress(FileNotFoundError):  # of a child that was stopped
            for name in set(Path(out + ".modules").read_text(encoding="utf-8").split()).difference(sys.modules):
                with suppress(ImportError):
                    import_module(name)


def call(folder: Path, words: Sequence[str], longest: float = LONGEST_S) -> tuple[int, str, float]:
    """Exit code (negative: the signal that ended it), what was said, and the seconds, of a command in a child."""
    out, began, server = folder.with_name("told"), time.monotonic(), _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([str(folder), list(words), longest, str(out)]) + "\n")
    server.stdin.flush()
    code = int(server.stdout.readline())
    return code, out.read_text(encoding="utf-8", errors="replace"), time.monotonic() - began


def _command(folder: str, words: Sequence[str], longest: float, out: str) -> NoReturn:
    code = 3
    try:
        os.chdir(folder)
        file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(0),
            os.fdopen(1, "w", errors="replace"),
            os.fdopen(2, "w", errors="replace"),
        )
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, longest)
        sys.argv = ["gumption", *words]
        cli.main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        Path(out + ".modules").write_text("\n".join(sys.modules), encoding="utf-8")
        os._exit(code)


def content(folder: Path) -> set[tuple[str, int]]:
    return {
        (str(path.relative_to(folder)), path.stat().st_size * path.is_file())
        for path in folder.rglob("*")
        if not path.name.endswith(".lock")  # a lock stays
    }


def faults(line: Line, base: Path) -> list[str]:
    """What is wrong with how a command takes a line."""
    work = base.with_name("work")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base, work, symlinks=True)
    before = content(work)
    code, told, seconds = call(work, line.words)
    found = []
    if "Traceback" in told or code == 3:
        found.append("a traceback: " + told.strip().splitlines()[-1])
    elif code == -signal.SIGALRM and line.sure:
        found.append(f"not refused after {seconds:.0f} s")
    elif code == 0 and line.sure:
        found.append("it ends well: " + told[-200:])
    elif code not in (0, 1, 2, -signal.SIGALRM):
        found.append(f"it ends with {code}: {told[-200:]}")
    if code > 0 and (left := content(work) - before):
        found.append(f"it leaves {sorted(left)[:3]}: {told[-100:]}")
    return found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("commands")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GUMPTION_CACHE_DIR", str(folder / "cache"))
        patch.setenv("GUMPTION_DATA_DIR", str(folder / "fetched"))
        patch.setenv("COLUMNS", "200")
        (folder / "base").mkdir()
        import_all()
        prepare(folder / "base")
        yield folder / "base"


def check_lines(chosen: Sequence[Line], base: Path) -> None:
    found = [f"gumption {line}: {fault}" for line in chosen for fault in faults(line, base)]
    assert not found, "\n".join(found).encode(errors="backslashreplace").decode()  # a worker sends text alone


@pytest.mark.slow
def test_wrong_lines_are_refused_soon_and_leave_nothing(base: Path) -> None:
    check_lines(lines()[:QUICK], base)


@pytest.mark.slow
def test_words_that_belong_elsewhere(base: Path) -> None:
    """The first of them: `python -m tests.test_bad_commands odd` runs all."""
    check_lines(lines(odd, ODD)[: ODD // 3], base)


@pytest.mark.slow
def test_the_other_wrong_lines(base: Path) -> None:
    check_lines(lines()[QUICK:], base)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "train probsol --task fishing/0 --stack 1000000 --run new",
            "--stack is 1000000; it is a whole",
        ),
        (
            "train segar --frame-stack 1000000 --run new",
            "--frame-stack is 1000000; it is a whole",
        ),
        (
            "train segar --num-levels 1000000000 --run new",
            "--num-levels is 1000000000; it is a whole",
        ),
        ("segar axes --levels 1000000000", "--levels is 1000000000; it is a whole"),
        (
            "probsol probe --out curious --tasks 1000000000000",
            "--tasks is 1000000000000; it is a whole number from 1 to",
        ),
        (
            "experiment wordcraft-fig2 --workers 1000000000000 --out new",
            "--workers is 1000000000000; it is a whole number",
        ),
        ("kg tune facts.tsv --valid facts.tsv --trials 1 --out new --device gpu", "device 'gpu' cannot be used"),
        ("train wordcraft --kg '' --run new", "kg is empty; name a graph, a model or a file of rules"),
        ("probsol probe --out facts.tsv/x --tasks 1", "cannot write facts.tsv/x/header.json: Not a directory"),
        (
            "segar level --steps 2 --gif folder --json scene.json",
            "cannot write folder: choose a name that ends in .gif",
        ),
        (
            "gradual run --agent echo --tasks micro4 --out facts.tsv",
            "cannot write facts.tsv: it is a file",
        ),
        ("kg export kg.nq --out .", ". exists already: choose a new folder"),
        ("splits probsol --out .", "'.' is a folder that is there already, and no name to write to"),
        ("gradual run --agent echo --tasks micro4 --out ''", "it is empty; name a file or a folder"),
        ("kg fit facts.tsv --epochs 2 --rank 4 --device cpu --learning-rate 1e300 --out new", "the training diverges"),
    ],
)
def test_what_was_taken_once_is_refused_before_anything_is_done(base: Path, line: str, message: str) -> None:
    assert faults(Line(tuple(shlex.split(line)), sure=True), base) == []
    assert message in " ".join(base.with_name("told").read_text().split())


def test_the_lines_are_many_and_of_all_commands() -> None:
    made = lines()
    assert len(made) == COUNT
    assert sum(line.sure for line in made) > COUNT // 3
    assert {line.split()[0] for line in LINES.strip().splitlines()} == {line.words[0] for line in made}


def main() -> None:
    import tempfile

    folder = Path(tempfile.mkdtemp())
    os.environ |= {"GUMPTION_CACHE_DIR": str(folder / "cache"), "GUMPTION_DATA_DIR": str(folder / "fetched")}
    (folder / "base").mkdir()
    import_all()
    prepare(folder / "base")
    for number, line in enumerate(lines(odd, ODD) if "odd" in sys.argv else lines()):
        began = time.monotonic()
        found = faults(line, folder / "base")
        told = (folder / "told").read_text(errors="replace").strip().splitlines()[-1:]
        print(f"{number} {time.monotonic() - began:.1f} s {'SURE ' * line.sure}{line}: {found or told}", flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
