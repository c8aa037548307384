"""Steps of an episode as data, and the three ways to show them."""

import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console

from gumption.agents.advice import Advice
from gumption.agents.policy import MASKED, Readout
from gumption.agents.watch import (
    Candidate,
    Choice,
    Player,
    PolicyPlayer,
    Score,
    Step,
    in_words,
    play_steps,
    print_steps,
    write_gif,
    write_html,
)
from gumption.data import InputError
from gumption.envs.action_facts import action_facts
from gumption.kg import KnowledgeGraph

EVIL = '</script><u>"bold"</u><!--'


class Doors:
    """Two steps: at each one of three doors can be opened; the third is locked. Door "red" in the second step wins."""

    vocabulary = ("", "red", "blue", "green", "treasure")
    relations = ("leadsTo",)
    render_mode = "ansi"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.seed, self.steps = seed, 0
        return None, {}

    def step(self, actions: np.ndarray) -> Any:
        self.steps += 1
        won = self.steps == 2 and actions[0] == 0
        return (
            None,
            np.array([2.0 if won else -0.5]),
            np.array([self.steps == 2]),
            np.array([False]),
            {"success": [won]},
        )

    def render(self) -> Any:
        if self.render_mode == "ansi":
            return (f"step {self.steps}\n",)
        return (np.full((120, 200, 3), 40 * self.steps, dtype=np.uint8),)

    def action_facts(self, chosen: Any = None) -> Any:
        return action_facts(self.relations, (1, 3), [(np.array([[1, 2, 3]]), 4, 0)])


class Follower:
    """Logits: 1, 0 and a locked door, and what the graph says is added."""

    def __init__(self, advice: Advice) -> None:
        self.advice = advice

    def read(self, env: Doors) -> torch.Tensor:
        return self.advice(env)

    def __call__(self, scores: torch.Tensor) -> Readout:
        own = torch.tensor([[1.0, 0.0, MASKED]])
        return Readout(own + 3 * scores[:, :, 0], torch.zeros(1), own, torch.tensor([[1.0, 3.0]]))


def played(pictures: bool = True, episodes: int = 1) -> list[Step]:
    graph = KnowledgeGraph()
    graph.add([("blue", "leadsTo", "treasure")])
    player = PolicyPlayer(Follower(Advice(graph, Doors.vocabulary, Doors.relations)), Doors(), question="which door")
    return list(play_steps(player, seed=4, episodes=episodes, pictures=pictures))


def test_the_steps_of_a_case_computed_by_hand() -> None:
    first, second, end = played()
    (choice,) = first.choices
    # Logits 1 + 0 and 0 + 3 for red and blue; the locked door is no candidate.
    likely = np.exp(3) / (np.exp(1) + np.exp(3))
    assert choice.question == "which door"
    assert choice.relations == ["leadsTo"]
    assert [one.label for one in choice.candidates] == ["red", "blue"]
    assert [(one.own, one.logit) for one in choice.candidates] == [(1.0, 1.0), (0.0, 3.0)]
    assert [one.probability for one in choice.candidates] == pytest.approx([1 - likely, likely])
    assert [one.scores for one in choice.candidates] == [
        (Score("leadsTo", 0.0, ("red leads to treasure?",)),),
        (Score("leadsTo", 1.0, ("blue leads to treasure?",)),),
    ]
    assert choice.weights == {"attention": 1.0, "leadsTo": 3.0}
    assert choice.chosen == 1
    assert (first.episode, first.number, first.text, first.reward, first.success) == (1, 1, "step 0\n", -0.5, False)
    assert (second.number, second.text) == (2, "step 1\n")
    assert first.picture is not None
    assert second.picture is not None
    assert (first.picture[0, 0, 0], second.picture[0, 0, 0]) == (0, 40)
    assert (end.number, end.choices, end.reward, end.success) == (3, (), -1.0, False)
    assert end.told == "the end of the episode: no success, reward -1"


def test_further_episodes_have_further_seeds() -> None:
    steps = played(pictures=False, episodes=2)
    assert [(step.episode, step.number) for step in steps] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert all(step.picture is None for step in steps)
    seeds: list[int] = []
    env = Doors()
    env.reset()
    player = Player(env)
    player.begin, player.decide = seeds.append, lambda: (np.zeros(1, int), ())  # type: ignore[method-assign]
    steps = play_steps(player, seed=4, episodes=2, pictures=False)
    while len(seeds) < 2:
        env.steps = 1
        next(steps)
    assert seeds == [4, 5]


def test_an_action_without_facts_is_a_number() -> None:
    env = Doors()
    env.action_facts = lambda chosen=None: action_facts(("leadsTo",), (1, 3), [(0, 0, 0)])  # type: ignore[method-assign]

    class Plain:
        advice = None

        def read(self, env: Any) -> None:
            return None

        def __call__(self, state: None) -> Readout:
            return Readout(torch.zeros(1, 3), torch.zeros(1), torch.zeros(1, 3))

    step = next(play_steps(PolicyPlayer(Plain(), env), pictures=False))
    assert [one.label for one in step.choices[0].candidates] == ["action 0", "action 1", "action 2"]
    assert [one.scores for one in step.choices[0].candidates] == [(), (), ()]


def test_facts_in_words() -> None:
    assert in_words(("water", "combinesWith", "fire")) == "water combines with fire"
    assert in_words(("water", "componentOf", "acid rain")) == "water is component of acid rain"
    assert in_words(("digit 3", "affordedBy", "right")) == "digit 3 is afforded by right"
    assert in_words(("Hole", "affordsFallingIn@2", "ball")) == "Hole (2) affords falling in ball"
    assert in_words(("water", "makes", "steam", "fire")) == "water with fire makes steam"
    assert in_words(("water", "makes", "steam", "")) == "water with something makes steam"


def test_the_chosen_candidate_is_always_among_the_likeliest() -> None:
    choice = Choice("which", tuple(Candidate(str(i), i / 10) for i in range(5)), chosen=0)
    assert [(one.label, chosen) for one, chosen in choice.likeliest(3)] == [("4", False), ("3", False), ("0", True)]
    assert [one.label for one, _ in choice.likeliest(9)] == ["4", "3", "2", "1", "0"]


def printed(steps: list[Step], **more: Any) -> str:
    file = io.StringIO()
    print_steps(steps, Console(file=file, width=120), **more)
    return file.getvalue()


def test_the_terminal_shows_state_candidates_scores_and_end() -> None:
    shown = printed(played(pictures=False))
    assert "episode 1, step 1" in shown
    assert re.search(r"> blue\W+0\.00\W+1\.00\W+3\.00\W+88\.1%\W+blue leads to treasure\?", shown)
    assert re.search(r"  red\W+1\.00\W+0\.00\W+1\.00\W+11\.9%", shown)
    assert "KG: leadsTo" in shown
    assert re.search(r"lambda, the weight of each\W+1\.00\W+3\.00", shown)
    assert "blue (reward -0.5)" in shown
    assert "the end of the episode: no success, reward -1" in shown


def test_the_terminal_reads_no_markup_in_labels() -> None:
    choice = Choice("[red]which", (Candidate("[bold]word[/bold]", 1.0, scores=(Score("[dim]r", 1.0, ("[u]f",)),)),), 0)
    shown = printed([Step(1, 1, "[b]state", None, (choice,), "[i]done", 0.0, False)])
    for text in ("[red]which?", "[bold]word[/bold]", "KG: [dim]r", "[u]f", "[b]state", "[i]done"):
        assert text in shown


def test_the_terminal_stops_where_one_does_not_go_on() -> None:
    answers = iter([True, False])
    shown = printed(played(pictures=False), wait=lambda: next(answers))
    assert "step 2" in shown
    assert "the end" not in shown


def test_a_gif_has_a_frame_for_each_step(tmp_path: Path) -> None:
    steps = played()
    write_gif(steps, tmp_path / "a.gif", milliseconds=300)
    with Image.open(tmp_path / "a.gif") as image:
        # The picture of 200 x 120 is enlarged to be 480 high; the tables of the terminal stand to its right.
        assert (image.n_frames, image.height) == (3, 480)  # type: ignore[attr-defined]
        assert image.width > 4 * 200 + 500
        frames = []
        for index in range(3):
            image.seek(index)
            frames.append(np.asarray(image.convert("RGB")))
        assert image.info["duration"] == 600
    assert [frame[0, 0, 0] for frame in frames] == [0, 40, 80]
    blue = [(frame[:, 800:] == (40, 98, 180)).all(2).sum() for frame in frames]
    assert blue[0] > 100, "the line of the chosen candidate"
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


def test_gif_frames_that_look_alike_are_kept(tmp_path: Path) -> None:
    step = played()[0]
    write_gif([step, step, step], tmp_path / "a.gif", milliseconds=100)
    with Image.open(tmp_path / "a.gif") as image:
        frames = getattr(image, "n_frames", 1)
        total = 0
        for index in range(frames):
            image.seek(index)
            total += image.info["duration"]
    assert total == 300, "a player may join them; they are shown as long"


def evil_steps() -> list[Step]:
    picture = np.zeros((20, 30, 3), dtype=np.uint8)
    score = Score(EVIL, float("-inf"), (EVIL,))
    choice = Choice(EVIL, (Candidate(EVIL, 0.75, 1.0, (score,), 2.0), Candidate("other", 0.25)), 0, EVIL, {EVIL: 2.0})
    return [
        Step(1, 1, EVIL, picture, (choice,), EVIL, 0.0, False),
        Step(1, 2, "the last", None, (), "", 1.0, True),
    ]


def test_no_label_can_leave_the_data_of_the_page(tmp_path: Path) -> None:
    write_html(evil_steps(), tmp_path / "a.html", title=f"{EVIL} {{{{data}}}}")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<u>" not in page
    assert page.count("</script>") == page.count("<script") == 2
    assert "<!--" not in page
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    assert data is not None
    first, last = json.loads(data[1])["steps"]
    assert first["text"] == first["choices"][0]["candidates"][0]["label"] == EVIL
    assert first["choices"][0]["candidates"][0]["scores"] == [{"relation": EVIL, "value": "-inf", "facts": [EVIL]}]
    assert first["choices"][0]["relations"] == [EVIL]
    assert first["choices"][0]["weights"] == {EVIL: 2.0}
    assert first["picture"].startswith("data:image/png;base64,")
    assert (last["picture"], last["choices"], last["success"]) == (None, [], True)


def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    write_html(played(), tmp_path / "a.html", title="doors")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:|//)|url\(|@import', page)
    assert "default-src 'none'" in page
    assert "innerHTML" not in page


def test_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no steps to show"):
        write_gif([], tmp_path / "a.gif")
    with pytest.raises(InputError, match="no steps to show"):
        write_html([], tmp_path / "a.html", title="")
    with pytest.raises(InputError, match="no pictures: play them with pictures=True"):
        write_gif(played(pictures=False), tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_browser_shows_the_page_and_runs_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    write_html(evil_steps(), page, title=EVIL)
    # A second copy goes on by itself: what the key does, without anybody to press it.
    further = page.read_text(encoding="utf-8").replace(
        "show(0);\n</script>", 'document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));\n</script>'
    )
    (tmp_path / "b.html").write_text(further, encoding="utf-8")

    def shown(file: Path) -> str:
        command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
        made = subprocess.run(
            [*command, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        return re.sub(r"<script.*?</script>", "", made.stdout, flags=re.S)

    first, second = shown(page), shown(tmp_path / "b.html")
    assert "episode 1, step 1 (1 of 2)" in first
    assert "&lt;/script&gt;&lt;u&gt;" in first
    assert "<u>" not in first
    assert "75.0%" in first
    assert "-inf" in first
    assert '<img src="data:image/png;base64,' in first
    assert "episode 1, the end (2 of 2)" in second
    assert "the last</pre>" in second
    assert 'class="won"' in second
