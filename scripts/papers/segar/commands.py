"""The subcommands of `gumption segar`: levels, their distributions, probes of encoders, and models of textures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gumption.agents.segar.config import SegarConfig
from gumption.data.settings import Count, Seed, Size
from gumption.scripts.apps import App, NewFolder, NewGif, NewJson
from gumption.scripts.output import Json, print_json, print_table

app = App(
    no_args_is_help=True,
    add_completion=False,
    help="Levels of SEGAR, their distributions, models of textures, and an agent that knowledge guides.",
)

MILLISECONDS = 50  # duration of a frame: an environment step in simulated time
SIDES = range(6, 21, 2)  # sides of the code maps on which texture models are trained


@app.command(epilog="Example: gumption segar axes --out axes.json")
def axes(*, levels: Size = 100, seed: Seed = 0, out: NewJson | None = None) -> None:
    """Measure every pair of a training and a test distribution: exact distances of the noises that differ, and between
    drawn levels, also without the order of things; beside them the distance that sampling alone makes.

    :param levels: Levels drawn of each distribution.
    :param seed: Draws the levels.
    :param out: Also save the distances as JSON.
    """
    import sys

    from rich.console import Console
    from rich.table import Column, Table

    from gumption.data.provenance import command_line, versions
    from gumption.data.writing import write_json
    from gumption.envs.segar.measures import axes_table

    found = axes_table(levels=levels, seed=seed)
    heads = ("axis", "W2 of noises", "W2 of levels", "without order", "of sampling", "KS")
    table = Table(Column("pair", no_wrap=True), *heads)
    for name, row in found["pairs"].items():
        apart = row["levels"]
        figures = (row["noises"], apart["w2"], apart["w2 without order"], apart["floor without order"], apart["ks"])
        table.add_row(name, row["axis"], *("-" if each is None else f"{each:.3f}" for each in figures))
    Console().print(table)
    if out is not None:
        write_json(out, {"command": command_line(sys.argv[1:]), "versions": versions(), **found})


@app.command(epilog="Example: gumption segar distance tilesx1-easy tilesx1-hard --levels 30")
def distance(
    first: Annotated[str, typer.Argument()],
    second: Annotated[str, typer.Argument()],
    *,
    levels: Size = 100,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure how far training levels of one distribution are from test levels of another, in each named reading of
    algorithm 1, and by the Kolmogorov-Smirnov statistic of algorithm 2.

    :param first: A configuration such as tilesx1-easy, or a .json file with a distribution of your own.
    :param second: The same, of the test levels.
    :param levels: Levels drawn of each.
    :param seed: Draws the training levels; test levels are those of every study.
    """
    from gumption.envs.segar.measures import READINGS, ks, w2

    config = SegarConfig(levels=first, test=second, num_levels=levels, test_levels=levels, level_seed=seed)
    train, test = config.draw("train").scenes, config.draw("test").scenes
    found = {name: w2(train, test, **reading) for name, reading in READINGS.items()}
    apart = {"KS": ks(train, test), "KS without Order": ks(train, test, order=False)}
    if as_json:
        print_json({"first": first, "second": second, "levels": levels, "seed": seed, "w2": found, "ks": apart})
        return
    rows = [[f"W2, {name}", f"{value:.3f}"] for name, value in found.items()]
    print_table(["measure", "distance"], rows + [[name, f"{value:.3f}"] for name, value in apart.items()])
    print(f"{levels} training levels of {first}, {levels} test levels of {second}")


@app.command(epilog="Example: gumption segar probe runs/segar --encoder trained,untrained,my_module:encode")
def probe(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    *,
    encoder: str = "trained,untrained",
    partition: Literal["train", "test"] = "test",
    levels: str | None = None,
    observations: Count = 5_000,
    epochs: Count = 10,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure how much encoders of a run's observations tell of the factors behind them (section 4.5), by the accuracy
    of a critic on held-out observations: 50 % where they tell nothing.

    :param run: Folder of a run of PPO or SAC.
    :param encoder: trained: the run's own; untrained: the same network with random weights; MODULE:NAME: a function of
        your own, of observations (n, ...), whose `about` says whether its weights are random. Commas between several.
    :param partition: Levels of the training or of the test.
    :param levels: Another configuration, such as objectsx2-hard.
    :param observations: How many, of which a fifth is held out.
    :param epochs: Of the critic.
    :param seed: Of the critic, and of the player's episodes.
    """
    from gumption.agents.segar.probe import ProbeSettings
    from gumption.agents.segar.study import informed
    from gumption.agents.segar.training import load_run
    from gumption.data import InputError

    loaded = load_run(run, device="cpu")
    if loaded.advice is not None:
        raise InputError(f"{run} is a run with knowledge; the probe takes those without (--kg none)")
    drawn, chosen = loaded.config.draw(partition, levels), ProbeSettings(epochs=epochs, seed=seed)
    found = {
        name: informed(loaded, drawn, chosen, observations=observations, encoder=name)
        for name in map(str.strip, encoder.split(","))
    }
    if as_json:
        print_json({name: told._asdict() for name, told in found.items()})
        return
    cells = [[told.encoder, f"{told.accuracy:.1%}", f"{told.bound:.3f}", told.pairs] for told in found.values()]
    print_table(["encoder", "accuracy", "bound in nats", "pairs"], cells)
    where = drawn.name or "a distribution of its own"
    print(f"{observations:,} observations of {len(drawn)} {partition} levels of {where}")


@app.command(epilog="Example: gumption segar level objectsx3-hard/test/0/7 --gif level.gif")
def level(
    name: Annotated[str, typer.Argument()] = "objectsx3-hard/train/0/0",
    *,
    task: str = "PuttPutt",
    player: str | None = None,
    steps: Count = 50,
    seed: Seed = 0,
    gif: NewGif | None = None,
    json: NewJson | None = None,
) -> None:
    """Draw a level, and tell how an episode in it ends.

    :param name: CONFIGURATION/train|test/SEED/NUMBER.
    :param task: What is to be done in it: PuttPutt, PuttPuttNegDist, Invisiball, Billiards, or MODULE:NAME of your own.
    :param player: Who plays it: scripted, random, no action, or MODULE:NAME of your own.  [default: scripted, if
        there is such a player of the task, else random]
    :param steps: The longest that the episode may be.
    :param seed: Of a random player.
    :param gif: Save an episode as an animation.
    :param json: Save the scene, for reset options.
    """
    from gumption.agents.segar.evaluation import baselines, make_env, own_player
    from gumption.data import InputError
    from gumption.data.modules import of_module
    from gumption.data.settings import unknown
    from gumption.data.writing import write_json
    from gumption.envs.segar.tasks import TASKS

    if ":" not in task and task not in TASKS:
        raise InputError(f"{unknown('the list of tasks', task, TASKS)}; one of your own is MODULE:NAME")
    known = baselines(task)
    player = player or ("scripted" if "scripted" in known else "random")
    if ":" not in player and player not in known:
        raise InputError(f"{unknown(f'the list of players of {task}', player, known)}; one of your own is MODULE:NAME")
    settings = {"render_mode": "rgb_array", "autoreset_mode": "Disabled", "num_levels": 1, "max_steps": steps}
    env = make_env(task, None, "state", 1, **settings)
    play = known.get(player) or own_player(of_module(player, "--player"), player, env.single_action_space)
    env.reset(seed=seed, options={"level": name})
    print(env.draw_frame(0, "ansi"), end="")
    if json is not None:
        write_json(json, env.state.scene(0).to_data())
    frames, total, over = [env.draw_frame(0, "rgb_array")], 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(play(env, env.episode_begins()))
        frames.append(env.draw_frame(0, "rgb_array"))
        total, over = total + float(reward[0]), bool(terminated[0] or truncated[0])
    success = "with success" if env.success[0] else "without success"
    print(f"{player}: {len(frames) - 1} steps, {success}; return {total:.3g}")
    if gif is not None:
        from PIL import Image

        from gumption.envs.gif import save_gif

        save_gif(
            gif, [Image.fromarray(one) for one in frames], [MILLISECONDS] * (len(frames) - 1) + [20 * MILLISECONDS]
        )
    for path in (json, gif):
        if path is not None:
            print(f"saved: {path}")


@app.command(epilog="Example: gumption segar renderers --models 5 --out looks")
def renderers(*, out: NewFolder, models: Count = 1, seed: Seed = 0, epochs: Count = 10, name: str = "model") -> None:
    """Train autoencoders whose decoders make textures; a renderer's setting `models` takes the folder or a file.

    :param out: Folder for NAME-SEED.safetensors.
    :param models: How many, one for each seed from --seed on.
    :param seed: Of the first model.
    :param epochs: Each of 4,096 codes.
    :param name: What the names of the files begin with.
    """
    from gumption.data.progress import Bar
    from gumption.data.writing import check_writable, whole_file

    files = {seed + i: out / f"{name}-{seed + i:02}.safetensors" for i in range(models)}
    for file in files.values():
        check_writable(file)
    from safetensors.numpy import save_file

    with Bar(models * epochs, "epochs") as bar:
        for done, (number, file) in enumerate(files.items()):

            def show(epoch: int, error: float, before: int = done * epochs) -> None:
                bar.show(before + epoch, f"mean squared error {error:.4f}")

            tensors, error = _texture_model(number, epochs, show)
            with whole_file(file) as beside:
                save_file(tensors, beside)
            print(f"{file}: codes are read from textures with a mean squared error of {error:.4f}")


def _texture_model(seed: int, epochs: int, tell: Callable[[int, float], None]) -> tuple[dict[str, Any], float]:
    """Train a decoder from codes to textures, and a reader that recovers the codes from the textures.

    SEGAR trains for 500 epochs at a learning rate of 1e-5; the higher rate here needs fewer epochs.

    :param tell: callback with the number of the epoch and its mean error.
    :returns: arrays for a file, and the mean squared error of the reader's codes in the last epoch.
    """
    import torch
    from torch import nn

    from gumption.envs.segar.textures import KERNEL, LENGTH, PADDING, STRIDE

    batch_size, penalty_weight = 64, 0.01  # the penalty is the sum of the norms of the parameters
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        decoder = nn.ConvTranspose2d(LENGTH, 3, KERNEL, stride=STRIDE, padding=PADDING)
        reader = nn.Conv2d(3, LENGTH, KERNEL, stride=STRIDE, padding=PADDING)
    parameters = [*decoder.parameters(), *reader.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-3, betas=(0.8, 0.999))
    steps = 2**LENGTH // batch_size  # an epoch has as many codes as there are masks, 2^12
    error = 0.0
    for epoch in range(epochs):
        total = 0.0
        for _ in range(steps):
            # Codes are uniform in [-1, 1] where a random mask is 1, else 0, on a map of a random side.
            codes = torch.rand((batch_size, LENGTH, 1, 1), generator=generator) * 2 - 1
            codes = codes * torch.randint(0, 2, (batch_size, LENGTH, 1, 1), generator=generator)
            side = SIDES[int(torch.randint(0, len(SIDES), (1,), generator=generator))]
            found = reader(torch.tanh(decoder(codes.expand(-1, -1, side, side))))
            loss = (found - codes).square().mean()
            penalty = torch.stack([each.norm() for each in parameters]).sum()
            optimizer.zero_grad()
            (loss + penalty_weight * penalty).backward()
            optimizer.step()
            total += float(loss.detach())
        error = total / steps
        tell(epoch + 1, error)
    tensors = {
        f"{name}.{part}": tensor.detach().numpy()
        for name, module in (("decoder", decoder), ("reader", reader))
        for part, tensor in module.named_parameters()
    }
    return tensors, error
