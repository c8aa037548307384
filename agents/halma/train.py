"""Training of a HALMA agent: its folder, its checkpoints, and when its knowledge is made anew."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from gumption.agents.run_folder import RunFolder
from gumption.data.progress import Bar
from gumption.data.settings import checked

from .config import HALMAConfig
from .runs import MEMORY, HALMARun, begin, finish, graph_advice, load_state, run_folder, save_state, training_env
from .td3 import Training


@checked
def train_td3(
    config: HALMAConfig, run_dir: str | Path | None = None, *, resume: bool = False, progress: bool = True
) -> HALMARun:
    """Train an agent of Table 1, or one that its own knowledge or a given graph guides.

    The same config gives the same run, bit for bit on CPU, also when it was killed and resumed.

    :param run_dir: where the run is kept; None keeps it in memory, without its memory of transitions.
    :param resume: go on from the last checkpoint in `run_dir`, if there is one.
    :param progress: tell on stderr how far it is, on a terminal by a bar.
    :raises InputError: a folder that is in use, or one begun with another config.
    """
    with ExitStack() as stack:
        where = Path(run_dir) if run_dir is not None else Path(stack.enter_context(TemporaryDirectory()))
        folder = run_folder(where, config)
        stack.callback(folder.release)
        env = training_env(config)
        resume = begin(folder, config, env.mazes, resume=resume)
        training = Training(config, env, folder.path / MEMORY)
        if config.kg != "none":
            training.player.consult(graph_advice(folder.path, config), config.guide_weight)
        training.begin(load_state(folder, training) if resume else None)
        folder.write_metrics(training.lines)  # without those after the checkpoint, which come again
        stack.callback(training.memory.close)
        bar = stack.enter_context(Bar(config.episodes, f"training {config.agent}", progress))
        while training.log.episodes < config.episodes:
            before = training.log.episodes
            training.step()
            now = training.log.episodes
            if config.guided and now // config.guide_interval > before // config.guide_interval:
                training.learn_from_memory()
            if now // config.log_interval > before // config.log_interval:
                line = _note(folder, training)
                bar.show(now, f"{line['finished_trials']:.1f} trials of {training.env.settings.trials} per episode")
            if now // config.checkpoint_interval > before // config.checkpoint_interval:
                save_state(folder, training)
        if not training.lines or training.lines[-1]["step"] < training.steps:
            _note(folder, training)
        return finish(folder, training, kept=run_dir is not None)


def _note(folder: RunFolder, training: Training) -> dict[str, float]:
    line = training.note()
    folder.write_metrics(training.lines)
    return line
