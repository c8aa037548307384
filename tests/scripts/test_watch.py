"""`gumption watch`: agents of two worlds, and of a world that has no player of its own."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from gumption.scripts import cli


@pytest.fixture(scope="module")
def runs(tmp_path_factory, small_book) -> Path:
    """wordcraft: guided by all facts of a small book; halma: five mazes, an episode."""
    from gumption.agents import TrainConfig, train_impala
    from gumption.agents.halma.config import HALMAConfig
    from gumption.agents.halma.runs import train_halma

    folder = tmp_path_factory.mktemp("runs")
    patch = pytest.MonkeyPatch()
    patch.setenv("GUMPTION_CACHE_DIR", str(folder / "cache"))
    config = TrainConfig(
        recipe_book=str(small_book),
        num_distractors=3,
        kg="full",
        features="onehot",
        total_steps=2048,
        eval_interval=2048,
        final_draws=1,
        device="cpu",
    )
    train_impala(config, run_dir=folder / "wordcraft")
    small = (("num_envs", 4), ("batch_size", 32), ("hidden_size", 16), ("candidates", 2), ("random_candidates", 1))
    train_halma(HALMAConfig(num_mazes=5, episodes=1, device="cpu", overrides=small), folder / "halma")
    patch.undo()
    return folder


@pytest.fixture
def watch(monkeypatch, capsys, tmp_path, runs):
    """Runs `gumption watch` in an empty folder with the runs in it: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    (tmp_path / "runs").symlink_to(runs)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["gumption", "watch", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return (ended.value.code if isinstance(ended.value.code, int) else 0), out, err

    return run


def goal_of(book: Path) -> str:
    """The goal of a test task."""
    from gumption.envs.wordcraft import WordCraftVectorEnv

    env = WordCraftVectorEnv(1, recipe_book=str(book), num_distractors=3)
    return env.tasks[int(env.split.test_tasks[3])].goal


@pytest.mark.slow
def test_wordcraft_in_the_terminal(watch, small_book):
    goal = goal_of(small_book)
    code, out, err = watch("runs/wordcraft", "--goal", goal, "--recipe-book", str(small_book), "--delay", "0")
    assert (code, err) == (0, "")
    assert f"goal: {goal}" in out
    assert "KG: makes" in out
    assert re.search(rf"> .*makes\W+{goal}", out)
    assert "the end of the episode" in out


def test_the_seed_decides_the_task(watch, small_book):
    told = [
        watch("runs/wordcraft", "--seed", seed, "--recipe-book", str(small_book), "--delay", "0")[1] for seed in "112"
    ]
    assert told[0] == told[1] != told[2]


def test_wordcraft_as_a_page(watch, tmp_path, small_book):
    code, out, err = watch("runs/wordcraft", "--out", "a.html", "--episodes", "2", "--recipe-book", str(small_book))
    assert (code, out, err) == (0, "written: a.html\n", "")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    assert data is not None
    steps = json.loads(data[1])["steps"]
    assert {step["episode"] for step in steps} == {1, 2}
    assert steps[0]["choices"][0]["relations"] == ["makes"]
    first, second = (
        [
            (one["label"], fact)
            for one in step["choices"][0]["candidates"]
            for score in one["scores"]
            for fact in score["facts"]
        ]
        for step in steps[:2]
    )
    (goal,) = {fact.partition(" makes ")[2] for _, fact in first}
    assert [fact for _, fact in first] == [f"{label} with something makes {goal}" for label, _ in first]
    selected = next(one["label"] for one in steps[0]["choices"][0]["candidates"] if one["chosen"])
    assert [fact for _, fact in second] == [f"{label} with {selected} makes {goal}" for label, _ in second]
    assert "<title>WordCraft: runs/wordcraft</title>" in page


def test_wordcraft_as_a_gif(watch, tmp_path, small_book):
    code, out, err = watch("runs/wordcraft", "--out", "a.gif", "--recipe-book", str(small_book))
    assert (code, out, err) == (0, "written: a.gif\n", "")
    with Image.open(tmp_path / "a.gif") as image:
        assert getattr(image, "n_frames", 1) == 3, "two choices and the end"


@pytest.mark.slow
def test_halma_as_a_gif(watch, tmp_path):
    code, out, err = watch("runs/halma", "--maze", "1", "--trials", "1", "--out", "a.gif", "--delay", "0.1")
    assert (code, out, err) == (0, "written: a.gif\n", "")
    with Image.open(tmp_path / "a.gif") as image:
        assert image.size[1] >= 720
        assert getattr(image, "n_frames", 1) > 1


def test_enter_goes_on_and_q_stops(watch, monkeypatch, small_book):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked = iter(["", "q"])
    monkeypatch.setattr("builtins.input", lambda _: next(asked))
    _, out, _ = watch("runs/wordcraft", "--recipe-book", str(small_book))
    assert "step 2" in out
    assert "the end" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere/config.json: not a complete run"),
        (["runs/halma", "--out", "a.mp4"], "a.mp4: an episode can be written to a file that ends in .gif or .html"),
        (["runs/halma", "--out", "no/a.gif"], "cannot write no/a.gif: there is no folder no; make it, or name another"),
        (["runs/halma", "--maze", "77"], "maze is 77; these are 5, from 0 to 4"),
        (["runs/halma", "--partition", "RT"], "runs/halma has no tests"),
        (["runs/wordcraft", "--goal", "nowt"], "has no entity 'nowt'"),
        (["runs/wordcraft", "--goal", "water"], "no test task has the goal 'water'; some that there are: "),
        (["runs/wordcraft", "--partition", "half"], "partition is 'half'"),
    ],
)
def test_bad_calls(watch, tmp_path, small_book, arguments, message):
    more = ["--recipe-book", str(small_book)] if "wordcraft" in arguments[0] else []
    code, out, err = watch(*arguments, *more)
    assert (code, out) == (2, "")
    assert f"error: {message}" in err or message in err
    assert not list(tmp_path.glob("a.*"))


def test_an_option_of_another_world_is_refused(watch):
    code, _, err = watch("runs/halma", "--goal", "mud")
    assert code == 2
    assert "No such option: --goal" in err


def test_help_lists_the_options_of_the_world(watch):
    assert "--trials" in watch("runs/halma", "--help")[1]
    code, out, _ = watch("--help")
    assert code == 0
    assert "--delay" in out
    assert "--trials" not in out


def test_options_of_the_world_may_stand_before_the_run(watch, small_book):
    code, out, _ = watch("--partition", "train", "--recipe-book", str(small_book), "runs/wordcraft/", "--delay", "0")
    assert code == 0
    assert "the end of the episode" in out


def test_a_world_without_a_player_of_its_own(watch, tmp_path, small_book, monkeypatch):
    from gumption.agents.learners.impala import train_impala
    from gumption.agents.settings import WorldConfig
    from gumption.envs import worlds

    crafts = worlds.find("wordcraft")
    (environment,) = crafts.environments[:1]
    other = worlds.World("other", "Other", "Make things.", "nobody", (environment,), {"facts": crafts.offers["facts"]})
    monkeypatch.setattr(worlds, "WORLDS", {**worlds.WORLDS, "other": other})
    settings = (("recipe_book", str(small_book)), ("num_distractors", 3), ("features", None))
    config = WorldConfig(world="other", env=settings, kg="full", total_steps=640, eval_interval=640, eval_episodes=20)
    train_impala(config, run_dir=tmp_path / "other")
    code, out, err = watch("other", "--delay", "0", "--partition", "train")
    assert (code, err) == (0, "")
    assert "action?" in out
    assert "KG: combinesWith" in out or "KG: componentOf" in out
    assert "the end of the episode" in out
    table = 'table=["nut", "oak", "seed", "fruit", "time"]'
    code, out, _ = watch("other", "--delay", "0", "--reset", "goal=acorn", "--reset", table)
    assert code == 0
    assert "goal: acorn" in out
    for arguments, message in (
        (("--reset", "goal"), "'goal' is not NAME=VALUE"),
        (("--reset", "goal=nowt", "--reset", table), "nowt"),
        (("--partition", "some"), "--partition is 'some'; it can be train, test"),
    ):
        code, _, err = watch("other", "--delay", "0", *arguments)
        assert code == 2
        assert message in err
