"""The interface of a world to the web home (`View`), and the general view of worlds that define none."""

from __future__ import annotations

import base64
import hashlib
import inspect
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import check, checkable, shown, unknown
from gumption.scripts.play import Numbers, begin_episode, candidates, open_actions, parse_action

if TYPE_CHECKING:
    from gumption.envs.action_facts import ActionFacts

    from .live import Live

LISTED = 200  # maximum number of choices that a page lists; with more, players type
LONGEST = 1000  # maximum number of typed characters


def state_of(env: Any) -> str:
    """Return the hash of the state of an environment with a batch of one: of its `state_dict`, or of its observation
    where it has none; "" for an environment without a batch."""
    batch = getattr(env, "batch", None)
    if batch is None:
        return ""
    try:
        saved = batch.state_dict()
    except NotImplementedError:
        saved = {"seen": batch.observe()}
    # Leave out the generator: it is unseeded in a batch whose episodes draw nothing.
    return hashed({name: part for name, part in saved.items() if name != "rng"})


def hashed(state: Any) -> str:
    """Return a hash of 16 hexadecimal digits over JSON that may contain arrays; any changed bit changes it."""
    content = json.dumps(state, sort_keys=True, default=lambda array: [array.dtype.str, array.shape, array.tolist()])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class View:
    """The interface of a world to the web home.

    :ivar begin: (settings by keyword, seed) -> (env, text face) of an episode.
    :ivar drawing: env -> plain JSON that the page draws, {"kind": "words" | "grid" | "text" | "pixels" | a kind of the
        view's own, ...}; it contains nothing that is hidden from the player.
    :ivar parse: (action as JSON, env) -> action; raises InputError for an invalid or closed action.
    :ivar choices: env -> the open choices, at most `LISTED`, as {"action": JSON, "label": text}; [] where they are not
        listed.
    :ivar folder: folder with view.js, which draws the view's own kinds.
    :ivar live: interface of a world in real time; None for a world that stands still between actions.
    :ivar prepare: a module-level function for work that takes seconds before a first step, such as compilation. It is
        called in a subprocess first, and then in the server, which reads the compiled code from numba's cache.
    :ivar text: whether the page also shows the text of the text face, for players who cannot see the drawing.
    :ivar action: how the player acts: by "choices", by "typed" text, or the "own" way of view.js.
    :ivar name: (action, env) -> the JSON by which a page names an action, where choices are not listed.
    :ivar state: env -> 16 hexadecimal digits, which change with any bit of the state.
    :ivar attempt: env -> number of the present attempt at the task, from 1.
    :ivar played: env -> the settings on which the facts of the world depend; None: the settings of the episode.
    :ivar helped: env -> parts of the help, where choices are not listed: pairs of the facts of a batch of one, and
        {candidate: {"label": text, "action": JSON}}, without "action" where the candidate is only part of an action.
        The facts concern only what the player sees. None where choices are listed, or there is no help.
    :ivar ranked: whether a higher sum of scores means a better choice; otherwise facts only describe the choice.
    :ivar word: label of an entity in a fact -> its name on the page.
    """

    begin: Callable[..., tuple[Any, Any]]
    drawing: Callable[[Any], dict[str, Any]]
    parse: Callable[[Any, Any], Any]
    choices: Callable[[Any], list[dict[str, Any]]] = lambda env: []
    folder: Path | None = None
    live: Live | None = None
    prepare: Callable[[], None] | None = None
    text: bool = False
    action: str | None = None
    name: Callable[[Any, Any], Any] = lambda action, env: action
    state: Callable[[Any], str] = state_of
    attempt: Callable[[Any], int] = lambda env: 1
    played: Callable[[Any], Mapping[str, Any]] | None = None
    helped: Callable[[Any], Iterable[tuple[ActionFacts, Mapping[int, dict[str, Any]]]]] | None = None
    ranked: bool = True
    word: Callable[[str], str] = str


def view_of(world: Any) -> View:
    """Return the view that the world defines, or the general view."""
    own = world.get("web")
    return general_view(world) if own is None else own


def general_view(world: Any) -> View:
    """Return a view of a world that is built from its text face and the names of its actions."""
    face = world.get("text")

    def begin(*, env: str = world.environments[0].id, seed: int = 0, **settings: Any) -> tuple[Any, Any]:
        return begin_episode(world, env, seed, **settings)

    draw = partial(drawn, face, world.seen)
    return View(world.get("begin") or begin, draw, partial(parsed, face), partial(listed, face))


def drawn(face: Any, seen: Collection[str], env: Any) -> dict[str, Any]:
    """Return the drawing of an environment: the text of its text face; without one, its rendering if players may see
    it, else its observation.

    :param seen: see `gumption.envs.worlds.World`.
    """
    if face is not None:
        return {"kind": "text", "text": face.observe(env)}
    if env.render_mode not in seen:
        return {"kind": "text", "text": observed_text(env.batch.observe())}
    rendered = env.render()
    return {"kind": "text", "text": rendered} if isinstance(rendered, str) else {"kind": "pixels", **as_png(rendered)}


def observed_text(observations: Any) -> str:
    """Return the first observation of a batch as text, with a line for each part except the action mask."""
    import numpy as np

    parts = observations if isinstance(observations, Mapping) else {"observation": observations}
    show = partial(np.array2string, max_line_width=80, precision=3, threshold=400)
    shown_parts = (name for name in parts if name != "action_mask")
    return "".join(f"{name}: {show(np.asarray(parts[name][0]))}\n" for name in shown_parts)


def as_png(picture: Any) -> dict[str, Any]:
    """Return a picture, shape (H, W, 3), uint8, as the parts of a drawing: base64 PNG, width, height, empty alt."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "png")
    height, width = picture.shape[:2]
    return {"png": base64.b64encode(buffer.getvalue()).decode(), "width": width, "height": height, "alt": ""}


def listed(face: Any, env: Any) -> list[dict[str, Any]]:
    """Return the open choices of an environment without a text face; equal names get their action numbers appended."""
    names = None if face is not None else candidates(env)
    if names is None or len(names) > LISTED:
        return []
    mask = open_actions(env)
    often = Counter(names)
    return [
        {"action": a, "label": name if often[name] == 1 else f"{name} ({a})"}
        for a, name in enumerate(names)
        if mask is None or mask[a]
    ]


def parsed(face: Any, action: Any, env: Any) -> Any:
    """Return the action that JSON denotes: typed text, the number of a choice, or the numbers of a vector.

    :raises InputError: the action is invalid or closed.
    """
    if isinstance(action, str):
        if len(action) > LONGEST:
            raise InputError(f"that is longer than {LONGEST} characters")
        return (face or Numbers()).parse(action, env)
    if type(action) is int:
        return parse_action(str(action), env, candidates(env), open_actions(env))
    if isinstance(action, list) and all(type(each) in (int, float) for each in action):
        return parse_action(" ".join(map(str, action)), env, None, None)
    raise InputError(f"the action is {shown(action)}; it is a text, a number or a list of numbers")


# ---- Settings that come from a page.


def read_settings(begin: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an episode from a page, with texts converted by the annotations of a `begin`.

    A text that names a file or a module is refused, since the server would read it.

    :raises InputError: an unknown setting, or an invalid value.
    """
    parameters = inspect.signature(begin, eval_str=True).parameters
    known = [name for name, one in parameters.items() if one.kind is not one.VAR_KEYWORD and name != "seed"]
    free = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    read = {}
    for name, value in given.items():
        if name == "seed" or not (name in known or free):
            raise InputError(unknown("the world", name, known))
        hint = parameters[name].annotation if name in known else Any
        if isinstance(value, str) and not _takes(str, hint):
            with suppress(ValueError):
                value = True if value == "" and _takes(bool, hint) else parse_json(value)
        if isinstance(value, str):
            _refuse_places(name, value)
        elif isinstance(value, dict | list) or (type(value) in (int, float) and not abs(value) <= MOST):
            raise InputError(f"{name} is {shown(value)}; from a page it is a text, a switch or a number up to {MOST}")
        read[name] = check(name, value, hint) if checkable(hint) else value
    return read


MOST = 1000  # the largest number in a setting from a page, so that no world fills the memory


def _takes(kind: type, hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _takes(kind, get_args(hint)[0])
    return hint is kind or kind in get_args(hint)


def _refuse_places(name: str, value: str) -> None:
    plain = len(value) <= 100 and all(each.isascii() and (each.isalnum() or each in "_-/., ") for each in value)
    parts = [part.strip() for part in value.split(",")]
    if not plain or any(part.startswith("/") or ".." in part or (part and Path(part).exists()) for part in parts):
        raise InputError(
            f"{name} is {shown(value)}; from a page it is a name, of letters, digits and _ - / . with commas between, "
            "and no file"
        )
