"""`gumption gradual watch`: a recorded session as rows, task by task."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import InputError, Note
from gumption.envs.gradual import Memory
from gumption.scripts.papers.gradual.commands import app

PLAY = ["run", "--agent", "echo", "--tasks", "micro4,micro2", "--max-steps", "200", "--memory"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    run(*PLAY, "--out", str(folder))
    return folder


def rows(told: str, name: str) -> str:
    return "".join(line.removeprefix(f"{name}: ") for line in told.splitlines() if line.startswith(name))


def test_all_bytes_replies_and_rewards_are_shown(played: Path) -> None:
    told, memory = run("watch", str(played)), Memory.load(played / "memory")
    assert len(memory) == 199
    assert rows(told, "Input ") == rows(told, "Output") == memory.sent.tobytes().decode("latin-1")
    assert rows(told, "Reward") == "".join(" +-"[reward] for reward in memory.reward)
    headings = [line for line in told.splitlines() if ", instance " in line]
    assert headings[:2] == [
        "micro4, instance 1, steps 1 to 10, reward +10",
        "micro4, instance 2, steps 11 to 20, reward +10",
    ]
    assert headings[5].startswith("micro2, instance 1, steps 51 to ")


def test_a_task_and_some_steps_are_shown_alone(played: Path) -> None:
    whole, memory = run("watch", str(played)), Memory.load(played / "memory")
    sent = memory.sent.tobytes().decode("latin-1")
    task = run("watch", str(played), "--task", "micro2")
    assert whole.endswith(task)
    assert rows(task, "Input ") == sent[50:]
    part = run("watch", str(played), "--steps", "45-53")
    assert [line for line in part.splitlines() if "instance" in line] == [
        "micro4, instance 5, steps 45 to 50, reward +6",
        f"micro2, instance 1, steps 51 to 53, reward {memory.reward[50:53].sum():+}",
    ]
    assert rows(part, "Input ") == sent[44:53]
    assert rows(run("watch", str(played), "--task", "micro2", "--steps", "45-53"), "Input ") == sent[50:53]
    assert run("watch", str(played), "--steps", "1-9999") == whole


def test_a_second_run_replaces_the_memory(tmp_path: Path) -> None:
    run(*PLAY, "--out", str(tmp_path))
    run("run", "--agent", "echo", "--tasks", "micro4", "--memory", "--out", str(tmp_path))
    memory = Memory.load(tmp_path / "memory")
    assert (memory.tasks, len(memory)) == (("micro4",), 50)


def test_a_memory_that_a_crash_has_cut_is_shown_with_a_note(tmp_path: Path) -> None:
    run(*PLAY, "--out", str(tmp_path))
    records = tmp_path / "memory" / "records.bin"
    records.write_bytes(records.read_bytes()[:-1])
    with pytest.warns(Note, match="the end was cut short, as by a crash; records lost: 1"):
        told = run("watch", str(tmp_path))
    assert len(rows(told, "Input ")) == 198


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "micro5.7"], "the session has no 'micro5.7'; did you mean 'micro4'"),
        (["--steps", "7"], "--steps is '7'; it is the first and the last step, counted from 1, such as 51-100"),
        (["--steps", "0-7"], "--steps is '0-7'; it is the first and the last step"),
        (["--steps", "9-7"], "--steps is '9-7'; it is the first and the last step"),
        (["--steps", "900-1000"], "no step among 900-1000: the memory has 199 steps, the last of them in micro2"),
        (["--steps", "1-9", "--task", "micro2"], "there is no step of micro2 among 1-9: the memory has 199 steps"),
    ],
)
def test_a_choice_that_cannot_be_shown_is_told(played: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run("watch", str(played), *arguments)


def test_a_run_without_a_memory_or_without_steps_is_told(tmp_path: Path) -> None:
    run("run", "--agent", "echo", "--tasks", "micro4", "--out", str(tmp_path))
    with pytest.raises(InputError, match="holds no memory of a session: `gumption gradual run --memory --out RUN`"):
        run("watch", str(tmp_path))
    with pytest.raises(InputError, match="--memory keeps the steps in OUT/memory: say with --out where that is"):
        run(*PLAY)
    run("run", "--agent", "echo", "--tasks", "micro4", "--max-steps", "1", "--memory", "--out", str(tmp_path))
    with pytest.raises(InputError, match="there is no step: the memory has 0 steps"):
        run("watch", str(tmp_path))
