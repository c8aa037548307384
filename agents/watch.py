"""The steps of an episode as data: the state, the candidates with their scores, and the outcome of the choice.

A `Player` is an agent in its environment. `play_steps` plays it and yields the steps. `print_steps` prints them in the
terminal, `write_gif` draws the same tables as an animation, and `write_html` writes a page that needs no network.
`PolicyPlayer` plays a policy that chooses among candidates, `ActionPlayer` any other; a world may add its own class.
"""

from __future__ import annotations

import base64
import html
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.data.writing import write_text
from gumption.envs.gif import save_gif
from gumption.kg.facts import PLACE

from .advice import PLAN
from .evaluation import most_probable
from .policy import MASKED

if TYPE_CHECKING:
    from PIL.Image import Image

    from .advice import Advice

MOST = 8  # candidates of a choice shown in the terminal
MOST_COLUMNS = 6  # up to this number of scores have columns of their own in the terminal
LINKS = 3  # the most links (`Advice.links`) shown with a fact
#: Settings of the environment of a `Player`.
SHOWN: dict[str, Any] = {"render_mode": "ansi", "autoreset_mode": "Disabled"}


class Score(NamedTuple):
    """The score of a candidate by one relation.

    :ivar facts: the facts behind the score, in words.
    """

    relation: str
    value: float
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A candidate of a choice.

    :ivar own: the network's own figure for it; `Choice.own` names that figure.
    :ivar scores: from knowledge, at most one score for each relation.
    :ivar logit: own figure and scores mixed; None if a candidate stands for several actions.
    :ivar probability: of being chosen, in [0, 1].
    """

    label: str
    probability: float
    own: float | None = None
    scores: tuple[Score, ...] = ()
    logit: float | None = None


@dataclass(frozen=True)
class Choice:
    """One choice of an action; an action may need several choices, such as a direction and a length.

    :ivar question: the thing to choose, e.g. "direction".
    :ivar chosen: index into `candidates`.
    :ivar own: the name of the candidates' `own`.
    :ivar weights: lambda (Jiang et al., 2020, equation 5) of `own` and of each relation; the mixed logit is the
        weighted sum. {} if there are no such weights.
    :ivar note: a sentence about all candidates; see `Advice.falls_short`.
    """

    question: str
    candidates: tuple[Candidate, ...]
    chosen: int
    own: str = "attention"
    weights: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def relations(self) -> list[str]:
        """The relations with a score for any candidate, in order of first appearance."""
        return list(dict.fromkeys(score.relation for one in self.candidates for score in one.scores))

    def likeliest(self, most: int) -> list[tuple[Candidate, bool]]:
        """Return up to `most` candidates, likeliest first, always with the chosen one, and whether each was chosen."""
        order = sorted(range(len(self.candidates)), key=lambda i: -self.candidates[i].probability)
        kept = order[:most]
        if self.chosen not in kept:
            kept[-1] = self.chosen
        return [(self.candidates[i], i == self.chosen) for i in kept]


@dataclass(frozen=True)
class Step:
    """A state, the agent's choices in it, and their outcome.

    :ivar episode, number: both counted from 1.
    :ivar text: the state as the environment renders it to text.
    :ivar picture: (H, W, 3) uint8, the state; None without pictures.
    :ivar choices: empty in the last step of an episode, which shows how it ended.
    :ivar outcome: of the choices, in words; may be "".
    :ivar reward: of the choices; in the last step the sum over the episode.
    :ivar success: the choices reached the aim of the world; in the last step whether any step did.
    """

    episode: int
    number: int
    text: str
    picture: np.ndarray | None
    choices: tuple[Choice, ...]
    outcome: str
    reward: float
    success: bool

    @property
    def told(self) -> str:
        """The choices and their outcome, or the end of the episode, as one line of text."""
        if not self.choices:
            return f"the end of the episode: {'success' if self.success else 'no success'}, reward {self.reward:g}"
        action = ", ".join(choice.candidates[choice.chosen].label for choice in self.choices)
        return f"{action}: {self.outcome}" if self.outcome else f"{action} (reward {self.reward:g})"


class Player:
    """An agent in an environment; a subclass defines `decide`.

    :ivar env: a vector environment with one environment, autoreset disabled and a render mode.
    """

    def __init__(
        self,
        env: Any,
        *,
        question: str = "action",
        options: Mapping[str, Any] | None = None,
        outcome: Callable[[Any], str] | None = None,
    ) -> None:
        """
        :param question: see `Choice`.
        :param options: passed to each reset.
        :param outcome: env -> the outcome of its latest step in words.
        """
        self.env, self.question, self.options = env, question, dict(options or {})
        self._outcome = outcome

    def begin(self, seed: int) -> None:
        """Begin an episode; the seed fixes all randomness."""
        self.env.reset(seed=seed, options=self.options)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        """Return the next action, (1, ...), and the choices that led to it."""
        raise NotImplementedError

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        """Return the outcome of the latest step in words, and whether it succeeded, from the infos of that step."""
        words = "" if self._outcome is None else self._outcome(self.env)
        return words, bool(infos["success"][0]) if "success" in infos else False


@checked
def play_steps(player: Player, *, seed: Seed = 0, episodes: Count = 1, pictures: bool = True) -> Iterator[Step]:
    """Play episodes and yield their steps; each episode ends with a step without choices.

    :param seed: of the first episode; each further episode adds 1.
    """
    for episode in range(1, episodes + 1):
        player.begin(seed + episode - 1)
        total, won, number, over, outcome = 0.0, False, 0, False, ""
        while not over:
            number += 1
            text, picture = _frames(player.env, pictures)
            action, choices = player.decide()
            _, rewards, terminated, truncated, infos = player.env.step(action)
            reward, over = float(rewards[0]), bool(terminated[0] | truncated[0])
            outcome, success = player.outcome(infos)
            total, won = total + reward, won or success
            yield Step(episode, number, text, picture, choices, outcome, reward, success)
        yield Step(episode, number + 1, *_frames(player.env, pictures), (), outcome, total, won)


def _frames(env: Any, pictures: bool) -> tuple[str, np.ndarray | None]:
    """Render the state as text and, if `pictures` is True, as a picture."""
    found = []
    for mode in ("ansi", "rgb_array") if pictures else ("ansi",):
        env.render_mode = mode
        found.append(env.render()[0])
    return found[0], found[1] if pictures else None


def in_words(fact: Sequence[str]) -> str:
    """Return a fact as a sentence. Two parties: "water combines with earth", "water is component of mud". Three: "water
    with earth makes mud", or "water with something makes mud" if the third is "", not chosen yet. A place in an order
    follows the subject: "Hole (2) affords ..."."""
    subject, asked, object_, *third = fact
    relation, _, place = asked.partition(PLACE)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", relation).lower()
    verb = words if words.partition(" ")[0].endswith("s") else f"is {words}"
    partner = "".join(f" with {party or 'something'}" for party in third)
    return f"{subject}{f' ({place})' if place else ''}{partner} {verb} {object_}"


def explained(advice: Advice, fact: Sequence[str], word: Callable[[str], str] = str, mark: str = "") -> str:
    """Return a fact in words, `mark`, and its first `Advice.links` in brackets. :param word: entity -> its name."""

    def told(subject: str, relation: str, *others: str) -> str:
        return in_words((word(subject), relation, *map(word, others)))

    links = "; ".join(told(*link) for link in advice.links(tuple(fact))[:LINKS])
    return f"{told(*fact)}{mark}{f' ({links})' if links else ''}"


# ---- A policy as a player.


class PolicyPlayer(Player):
    """Plays the most probable actions of a policy that computes logits of candidates, with or without advice."""

    def __init__(self, policy: Any, env: Any, *, labels: Sequence[str] | None = None, **shown: Any) -> None:
        """
        :param policy: `policy.read(env)` returns a state, `policy(state)` its Readout; `policy.advice` may be None.
        :param labels: the name of each candidate; None for names from the environment's `action_facts`.
        :param shown: see `Player`.
        """
        super().__init__(env, **shown)
        self.policy, self._labels, self._steps = policy, labels, 0

    def begin(self, seed: int) -> None:
        self._steps = 0
        super().begin(seed)

    @torch.no_grad()
    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        state = self.policy.read(self.env)
        readout = self.policy(state)
        logits, advice = readout.logits[0], self.policy.advice
        probabilities = logits.softmax(0).tolist()
        seen = getattr(state, "seen", ())  # your own policy may return any state
        best = int(most_probable(readout.logits, seen, np.array([self._steps]))[0])
        self._steps += 1
        names = self._labels or self.env.action_facts().candidates(self.env.vocabulary)
        places = [a for a, logit in enumerate(logits.tolist()) if logit > MASKED / 2]
        candidates = tuple(
            Candidate(
                names[a] or f"action {a}",
                probabilities[a],
                float(readout.attention[0, a]),
                () if advice is None else scores_of(advice, a),
                float(logits[a]),
            )
            for a in places
        )
        weights: dict[str, float] = {}
        if readout.mixture is not None and advice is not None:
            weights = dict(zip(("attention", *advice.relations), readout.mixture[0].tolist(), strict=True))
        note = "" if advice is None else advice.falls_short(0)
        choice = Choice(self.question, candidates, places.index(best), weights=weights, note=note)
        return np.array([best]), (choice,)


class ActionPlayer(Player):
    """Plays actions without candidates, such as forces."""

    def __init__(self, act: Callable[[Any, np.ndarray], np.ndarray], env: Any, **shown: Any) -> None:
        """:param act: (env, (1,) bool: an episode begins) -> actions (1, ...). :param shown: see `Player`."""
        super().__init__(env, **shown)
        self._act = act

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        actions = self._act(self.env, self.env.episode_begins())
        words = ", ".join(f"{part:.2f}" if actions.dtype.kind == "f" else str(part) for part in np.ravel(actions[0]))
        return actions, (Choice(self.question, (Candidate(words, 1.0),), 0),)


def scores_of(advice: Advice, candidate: int) -> tuple[Score, ...]:
    """Return the latest scores of a candidate of the first environment, in the order of the relations."""
    if edges := advice.edges(0, candidate):
        return tuple(Score(name, score, tuple(map(in_words, facts))) for name, (score, facts) in edges.items())
    found: dict[str, tuple[float, list[str]]] = {}
    if PLAN in advice.relations:  # shown even if no derivation is known
        found[PLAN] = float(advice.said[0, candidate, advice.relations.index(PLAN)]), []
    for fact, score in advice.why(0, candidate):
        relation = fact[1] if fact[1] in advice.relations else PLAN
        found.setdefault(relation, (score, []))[1].append(explained(advice, fact, mark="?"))
    return tuple(Score(name, found[name][0], tuple(found[name][1])) for name in advice.relations if name in found)


# ---- Steps in the terminal.


def print_steps(steps: Iterable[Step], console: Console, wait: Callable[[], bool] = lambda: True) -> None:
    """Print steps: the state, then each choice as a table of its likeliest candidates.

    :param wait: called between two steps; printing stops if it returns False.
    """
    for number, step in enumerate(steps):
        if number and not wait():
            return
        console.print(shown(step))


def shown(step: Step, *, state: bool = True, most: int = MOST) -> RenderableType:
    """Return a step for rich to print: the state, a table for each choice, the outcome.

    :param state: include the state; False if a picture shows it.
    :param most: the most candidates of a choice.
    """
    title = f"episode {step.episode}, step {step.number}" if step.choices else f"episode {step.episode}, the end"
    head = Panel(escape(step.text.rstrip("\n")), title=title, title_align="left") if state else f"{title}\n"
    style = "bold green" if step.success else "bold red" if step.reward < 0 and not state else "bold default"
    tables = [choice_table(choice, most) for choice in step.choices]
    return Group(head, *tables, f"[{style}]{escape(step.told)}[/]\n")


def choice_table(choice: Choice, most: int = MOST) -> Table:
    """Return a table of the `most` likeliest candidates with their scores, without empty columns."""
    likely = choice.likeliest(most)
    columns = _columns(choice, [one for one, _ in likely])
    table = Table(title=f"{escape(choice.question)}?", title_justify="left", title_style="")
    table.add_column("candidate")
    for name in columns:
        table.add_column(escape(name), justify="left" if name == "facts" else "right")
    for (one, chosen), *cells in zip(likely, *columns.values(), strict=True):
        label = ("> " if chosen else "  ") + escape(one.label)
        table.add_row(label, *map(escape, cells), style="bold" if chosen else None)
    if choice.weights:
        weights = (choice.weights.get(name.removeprefix("KG: ")) for name in columns)
        table.add_row("  lambda, the weight of each", *map(_figure, weights), style="dim")
    left = len(choice.candidates) - most
    under = [f"and {left} less likely"] * (left > 0) + [escape(choice.note)] * bool(choice.note)
    table.caption = "\n".join(under) or None
    return table


def _columns(choice: Choice, candidates: Sequence[Candidate]) -> dict[str, list[str]]:
    """Return heading -> the cells of these candidates, without empty columns."""
    columns = {choice.own: [_figure(one.own) for one in candidates]}
    many = len(choice.relations) > MOST_COLUMNS
    for name in () if many else choice.relations:
        scores = ({score.relation: score.value for score in one.scores}.get(name) for one in candidates)
        columns[f"KG: {name}"] = [*map(_figure, scores)]
    columns["mixed"] = [_figure(one.logit) for one in candidates]
    columns["probability"] = [f"{one.probability:.1%}" for one in candidates]
    columns["facts"] = ["; ".join(told for score in one.scores for told in _told(score, many)) for one in candidates]
    return {name: cells for name, cells in columns.items() if any(cells)}


def _told(score: Score, named: bool) -> list[str]:
    """Return the facts of a score; if `named`, as one text that begins with its relation and value."""
    return [f"{score.relation} {score.value:.2f}: {', '.join(score.facts)}".rstrip(": ")] if named else [*score.facts]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


# ---- Steps in a file: an animated GIF, or an HTML page.

MOST_OF_FRAME, MOST_OF_PAGE = 5, 24  # the most candidates of a choice
COLUMNS, LETTER, SMALLEST = 84, 15, 480  # letters in a line, their size in pixels; smaller pictures are enlarged
PAPER, INK, CHOSEN, WON, LOST = "white", "#212529", "#2862b4", "#2e7c46", "#b0423a"


def write_gif(steps: Iterable[Step], path: str | Path, *, milliseconds: int = 2000) -> None:
    """Write steps as a GIF, a frame for each step, all of one size; the end of an episode is shown twice as long.

    :raises InputError: no steps, steps without pictures, or a file that cannot be written.
    """
    from PIL import Image as images

    steps = list(steps)
    if not steps:
        raise InputError("there are no steps to show")
    if any(step.picture is None for step in steps):
        raise InputError("these steps have no pictures: play them with pictures=True")
    halves = [(_enlarged(step.picture), _printed(step)) for step in steps]
    width = max(picture.width for picture, _ in halves)
    size = width + max(text.width for _, text in halves), max(half.height for pair in halves for half in pair)
    frames = []
    for picture, text in halves:
        frame = images.new("RGB", size, PAPER)
        frame.paste(picture, (0, (size[1] - picture.height) // 2))
        frame.paste(text, (width, 0))
        frames.append(frame.quantize(256, dither=images.Dither.NONE))
    durations = [milliseconds if step.choices else 2 * milliseconds for step in steps]
    save_gif(path, frames, durations, optimize=False)  # keep equal frames: each step needs a frame


def _enlarged(pixels: Any) -> Image:
    from PIL import Image as images

    picture = images.fromarray(pixels)
    factor = -(-SMALLEST // picture.height)
    return picture.resize((factor * picture.width, factor * picture.height), images.Resampling.NEAREST)


def _printed(step: Step) -> Image:
    """Draw a step as the terminal shows it, without the state: bold lines are blue, the outcome is coloured."""
    from matplotlib import get_data_path
    from PIL import Image as images
    from PIL import ImageDraw, ImageFont

    console = Console(width=COLUMNS, file=io.StringIO(), color_system="truecolor", highlight=False)
    lines = console.render_lines(shown(step, state=False, most=MOST_OF_FRAME))
    font = ImageFont.truetype(str(Path(get_data_path(), "fonts", "ttf", "DejaVuSansMono.ttf")), LETTER)
    wide, high = font.getlength("M"), LETTER + 5
    picture = images.new("RGB", (round(wide * (COLUMNS + 4)), high * (len(lines) + 2)), PAPER)
    draw = ImageDraw.Draw(picture)
    for row, line in enumerate(lines):
        column = 2
        for text, style, _ in line:
            named = style.color.name if style is not None and style.color is not None else ""
            ink = {"green": WON, "red": LOST}.get(named) or (CHOSEN if style is not None and style.bold else INK)
            draw.text((column * wide, (row + 1) * high), text, font=font, fill=ink)
            column += len(text)
    return picture


def write_html(steps: Iterable[Step], path: str | Path, *, title: str, milliseconds: int = 2000) -> None:
    """Write steps as a page with buttons and keys to step through them.

    :param milliseconds: duration of a step in automatic play.
    :raises InputError: no steps, or a file that cannot be written.
    """
    content = {"milliseconds": milliseconds, "steps": [_plain(step) for step in steps]}
    if not content["steps"]:
        raise InputError("there are no steps to show")
    # In HTML "</script>" ends a script and "<!--" changes its parsing: the data must contain neither.
    data = json.dumps(content, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    page = Path(__file__).with_name("watch.html").read_text(encoding="utf-8")
    head, foot = page.split("{{data}}")
    write_text(Path(path), head.replace("{{title}}", html.escape(title)) + data + foot)


def _plain(value: Any) -> Any:
    """Convert a step, or a part of it, to JSON for the page: infinite numbers as text, pictures as data URLs."""
    if isinstance(value, Step):
        return {**_plain(vars(value)), "told": value.told}
    if isinstance(value, Choice):
        likely = [{**vars(one), "chosen": chosen} for one, chosen in value.likeliest(MOST_OF_PAGE)]
        left = max(0, len(value.candidates) - MOST_OF_PAGE)
        return _plain({**vars(value), "candidates": likely, "left": left, "relations": value.relations})
    if isinstance(value, np.ndarray):
        return _png(value)
    if isinstance(value, Score):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _png(picture: np.ndarray) -> str:
    from PIL import Image as images

    file = io.BytesIO()
    images.fromarray(picture).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
