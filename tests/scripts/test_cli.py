"""The command line: quick help, lazy commands, one way to report bad input."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from gumption.envs import worlds
from gumption.scripts import cli

HEAVY = ("torch", "numpy", "gensim", "pykeen", "matplotlib", "gymnasium", "rdflib", "stable_baselines3", "networkx")
DRAWING = {"rich", "pygments", "markdown_it", "mdurl"}  # draw the help
GUMPTION = [sys.executable, "-m", "gumption.scripts.cli"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run([*GUMPTION, *arguments], capture_output=True, text=True, env=environment, check=False)


def imported_by(*arguments: str) -> set[str]:
    """Top-level packages in sys.modules after a call in a fresh process."""
    code = (
        "import sys\nfrom gumption.scripts.cli import main\n"
        f"sys.argv = ['gumption', *{list(arguments)!r}]\n"
        "try:\n    main()\nfinally:\n    print('IMPORTED', *{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("IMPORTED")[1].split())


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """(full name, command) of every command that does something, below and including this one."""
    children = getattr(command, "commands", {})
    for child, below in children.items():
        yield from leaves(below, f"{name} {child}")
    if not children:
        yield name, command


def test_help_lists_every_command_and_imports_what_draws_it_alone() -> None:
    out = run("--help").stdout
    assert all(f" {name} " in out and line in out for name, (_, line) in cli.COMMANDS.items())
    third = {name for name in imported_by("--help") - sys.stdlib_module_names if not name.startswith("_")}
    assert third <= DRAWING | imported_by("--version")


def test_every_world_has_the_help_that_the_top_one_promises() -> None:
    assert "gumption WORLD --help" in run("--help").stdout
    for world in worlds.WORLDS.values():
        told = CliRunner().invoke(cli.app, [world.name, "--help"])
        assert told.exit_code == 0, world.name
        assert f" {world.name} [OPTIONS]" in told.output
    assert run("wordcraft", "no-such").returncode == 2


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_closed_stream_changes_nothing_but_what_is_read_and_shown(closed: tuple[int, ...], tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("fire\tnear\twater\n")

    def call(line: str) -> subprocess.CompletedProcess[str]:
        streams = " ".join(f"{number}>&-" for number in closed)
        command = f"{sys.executable} -m gumption {line} {streams}"
        return subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = call("kg load kg.nq facts.tsv")
    assert done.returncode == 0, done.stderr
    assert ("1 new from facts.tsv" in done.stdout) == (1 not in closed)
    assert "fire" in (tmp_path / "kg.nq").read_text()
    done = call("kg stats nowhere.nq")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("" if 2 in closed else "error: there is no graph at nowhere.nq")


# Commands over the list of worlds read gumption.envs, which registers them with Gymnasium.
LIST_WORLDS = {"data", "train", "live", "splits", "evaluate", "watch", "play", "serve", "experiment", "bench"}


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_a_command_imports_nothing_heavy(name: str) -> None:
    heavy = set(HEAVY) - ({"numpy", "gymnasium"} if name in LIST_WORLDS else set())
    assert not imported_by(name, "--help").intersection(heavy)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_a_command_has_an_example(name: str) -> None:
    app = cli.app_of(name)
    for full_name, command in leaves(typer.main.get_command(app), f"gumption {name}"):
        path = full_name.split()[2:]
        out = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).output
        # The usage line starts with the sub-command here, so the full name can only come from an example.
        assert full_name in " ".join(out.split()), f"{full_name} --help has no example"
        assert command.help, full_name


def test_version() -> None:
    assert run("--version").stdout == f"gumption {version('gumption')}\n"


def test_bad_input_is_one_message_and_exit_code_2() -> None:
    done = run("data", "fetch", "alchemi2")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "error: no fetchable data is called 'alchemi2'; did you mean alchemy2?\n"


@pytest.mark.parametrize("arguments", [("dmo",), ("data", "fetch"), ("data", "list", "--no-such-option")])
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_mistyped_command_is_named() -> None:
    assert "Did you mean 'demo'?" in run("dmo").stderr


def test_an_interrupt_is_exit_code_130() -> None:
    code = (
        "import sys, gumption.data\nfrom gumption.scripts.cli import main\n"
        "def interrupted(*_, **__):\n    raise KeyboardInterrupt\n"
        "gumption.data.fetch = interrupted\nsys.argv = ['gumption', 'data', 'fetch', 'alchemy2']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "error", ["MemoryError('9 TiB')", 'RuntimeError("DefaultCPUAllocator: can\'t allocate memory: you tried 9 TiB")']
)
def test_what_does_not_fit_into_memory_is_told_in_a_line(error: str) -> None:
    code = (
        "import sys, gumption.data\nfrom gumption.scripts.cli import main\n"
        f"def too_large(*_, **__):\n    raise {error}\n"
        "gumption.data.fetch = too_large\nsys.argv = ['gumption', 'data', 'fetch', 'alchemy2']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is not enough memory for this; choose smaller sizes (")
    assert "9 TiB" in done.stderr
    assert done.stderr.count("\n") == 1


def completed(line: str, home: Path) -> list[str]:
    """What bash offers for the last word of a line, with what `--install-completion` set up in `home`."""
    words = line.split(" ")
    script = (
        f"source {home}/.bashrc; COMP_WORDS=({' '.join(words[:-1])} {words[-1]!r}); COMP_CWORD={len(words) - 1}; "
        "function=$(complete -p gumption | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); $function gumption; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], env=at_home(home), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def at_home(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.slow
def test_the_installed_completion_knows_commands_and_options(tmp_path: Path) -> None:
    install = ["bash", "-c", "gumption --install-completion; exit $?"]  # the shell that it is asked from is found out
    done = subprocess.run(install, env=at_home(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert completed("gumption ex", tmp_path) == ["experiment"]
    assert completed("gumption kg pr", tmp_path) == ["predict"]
    assert completed("gumption kg fit --ra", tmp_path) == ["--rank"]
    assert set(cli.COMMANDS) <= set(completed("gumption ", tmp_path))


def test_completion_imports_nothing_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"_GUMPTION_COMPLETE": "complete_bash", "COMP_WORDS": "gumption kg fit --ra", "COMP_CWORD": "3"}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert not imported_by().intersection(HEAVY)


STRANGERS = """
from gumption.agents import KGPolicy
from gumption.envs.segar import Task


def fails(*_):
    raise KeyError("boom")


def ends(*_):
    raise SystemExit(0)


def failing(seed):
    return fails


def ending(seed):
    return ends


def no_player(env, first):
    return None


class Unpaid(Task):
    def reward(self, *_):
        fails()


class Mute(KGPolicy):
    def forward(self, *_):
        return None
"""
AT = "strangers.py, line 7)"  # of what raises the KeyError
ALONE = ("--tasks", "micro4", "--max-steps", "50")
CHAIN = ("--chain", "micro4>micro2", "--seeds", "1", "--max-steps", "50")


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (
            ("gradual", "run", "--agent", "operator:itemgetter", *ALONE),
            ["the agent operator:itemgetter failed, called with (0, 34): TypeError: ", "(at step 1, in micro4)"],
        ),
        (
            ("gradual", "run", "--agent", "strangers:failing", *ALONE),
            ["the agent strangers:failing failed, called with (0, 34): KeyError: 'boom' (", AT, "(at step 1, in "],
        ),
        (
            ("gradual", "validate", "--agent", "strangers:ending", *CHAIN),
            [
                "the agent strangers:ending failed, called with (0, 34): SystemExit: 0 (",
                "line 11) (at step 1 of ",
            ],
        ),
        (("gradual", "run", "--tasks", "strangers:fails"), ["code of your own failed: KeyError: 'boom' (", AT]),
        (("gradual", "run", "--tasks", "strangers:ends"), ["code of your own failed: SystemExit: 0 (", "line 11)"]),
        (
            ("train", "wordcraft", "--kg", "full", "--kg-lookup", "--steps", "4096", "--mixing", "strangers:Mute"),
            ["strangers:Mute returns NoneType; return a gumption.agents.policy.Readout"],
        ),
        (
            ("evaluate", "--policy", "strangers:fails", "--world", "gradual", "--episodes", "1"),
            ["the policy strangers:fails failed at step 1 of an episode: KeyError: 'boom' (", AT],
        ),
        (
            ("segar", "level", "--player", "strangers:no_player"),
            ["the policy strangers:no_player failed at step 1 of an episode: actions: shape () of object; expected"],
        ),
        (("segar", "level", "--task", "strangers:Unpaid"), ["code of your own failed: KeyError: 'boom' (", AT]),
    ],
)
def test_code_of_a_person_that_fails_is_named_with_step_error_and_line(
    arguments: tuple[str, ...],
    messages: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "strangers.py").write_text(STRANGERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "strangers", raising=False)
    error = refused(monkeypatch, capsys, *arguments)
    assert [message for message in messages if message not in error] == []
    sys.modules.pop("strangers", None)


@pytest.mark.parametrize(
    ("line", "endings"),
    [
        ("segar level --gif", ".gif"),
        ("segar level --json", ".json"),
        ("probsol replay facts.tsv --gif", ".gif"),
        ("probsol certify --family fishing --seeds 0:1 --out", ".jsonl or .gz"),
        ("halma maze --png", ".png"),
        ("halma statistics --plot", ".png"),
        ("gradual vary --out", ".json"),
        ("kg stats kg.nq --plot", ".png or .svg"),
        ("kg mine kg.nq --out", ".json"),
        ("kg map kg.nq wordcraft --out", ".toml"),
    ],
)
def test_a_file_of_another_format_is_refused_and_stays(
    line: str,
    endings: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("facts.tsv").write_text("mud\tmadeOf\tearth\n")
    error = refused(monkeypatch, capsys, *line.split(), "facts.tsv")
    assert error == f"error: cannot write facts.tsv: choose a name that ends in {endings}\n"
    assert Path("facts.tsv").read_text() == "mud\tmadeOf\tearth\n"
    assert [path.name for path in Path().iterdir()] == ["facts.tsv"]


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What stderr says of bad input."""
    monkeypatch.setattr("sys.argv", ["gumption", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    return capsys.readouterr().err


# Without what lets root pass over permissions: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, see capabilities(7).
UNPRIVILEGED = """
import contextlib, ctypes, io, json, sys
from gumption.scripts import cli

version, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
libc = ctypes.CDLL(None)
assert libc.capget(version, sets) == 0
sets[0], sets[1] = (bits & ~0b110 for bits in sets[:2])  # in effect, permitted
assert libc.capset(version, sets) == 0
for line in sys.argv[1:]:
    sys.argv = ["gumption", *line.split()]
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            cli.main()
        except SystemExit as ended:
            print(json.dumps([ended.code, said.getvalue()]))
"""
#: Command -> what it says in a folder that cannot be written, with files and a folder that cannot be read.
REFUSED = {
    "kg load new.nq facts.tsv --graph a": "cannot write new.nq: no permission to write in ",
    "kg load open/new.nq secret.tsv --graph a": "secret.tsv: Permission denied",
    "kg load open/new.nq closed/facts.tsv --graph a": "cannot read closed/facts.tsv: Permission denied",
    "kg load open/kept.nq facts.tsv --graph a": "cannot write open/kept.nq: the file is read-only; choose another name",
    "kg load store facts.tsv --graph a": "Permission denied",
    "kg query secret.nq ASK{}": "secret.nq: Permission denied",
    "kg infer open/kept.nq --rules secret.json --out open/n.nq": "secret.json: cannot be read (Permission denied)",
    "kg fit facts.tsv --out model --epochs 1": "cannot write model: no permission to write in ",
    "evaluate run": "run/config.json: not a complete run (Permission denied)",
    "evaluate closed/run": "closed/run/config.json: Permission denied",
    "gradual run --agent echo --tasks micro4 --out ran": "cannot write ran: no permission to write in ",
    "gradual run --agent secret.nq --tasks micro4": "secret.nq: Permission denied",
}


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_without_permission_the_reason_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("open", "closed", "store", "run"):
        Path(folder).mkdir()
    for name in ("facts.tsv", "closed/facts.tsv", "secret.tsv", "secret.nq", "secret.json", "run/config.json"):
        Path(name).write_text("mud\tmadeOf\tearth\n")
    Path("open/kept.nq").write_text("<urn:a> <urn:b> <urn:c> <urn:d> .\n")
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()}
    modes = {"open/kept.nq": 0o444, "closed": 0, "run/config.json": 0, ".": 0o555}
    for name, mode in (modes | dict.fromkeys(("secret.tsv", "secret.nq", "secret.json"), 0)).items():
        Path(name).chmod(mode)
    done = subprocess.run([sys.executable, "-c", UNPRIVILEGED, *REFUSED], capture_output=True, text=True, check=False)
    for name in (".", "closed"):
        Path(name).chmod(0o755)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [code for code, _ in answers] == [2] * len(REFUSED), done.stderr
    for (line, message), (_, error) in zip(REFUSED.items(), answers, strict=True):
        assert error.startswith("error: "), line
        assert message in error, line
        assert "Errno" not in error, line
    after = {path: path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()}
    assert {path: time for path, time in after.items() if path.suffix != ".lock"} == before
