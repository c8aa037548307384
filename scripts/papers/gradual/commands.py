"""Define Gradual's commands: run agents through a curriculum, train and validate them, and serve agents in other
programs (`gumption serve gradual`).
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.agents.gradual.recurrent_config import RecurrentConfig
from gumption.data import InputError, Note
from gumption.data.sealed import read_sealed, write_sealed
from gumption.data.settings import Count, Seconds, settings, unknown
from gumption.envs.gradual.remote import Host, RemoteSettings
from gumption.envs.gradual.render import WIDTH, rows_of_text
from gumption.envs.gradual.settings import SessionSettings
from gumption.scripts.apps import App, NewFolder, NewJson, from_config
from gumption.scripts.worlds import Resume, Run

if TYPE_CHECKING:
    from rich.table import Table

    from gumption.envs.gradual import Memory
    from gumption.envs.gradual.engine import TaskRecord
    from gumption.envs.gradual.remote import Wire
    from gumption.envs.gradual.session import Result
    from gumption.scripts.papers.gradual.validation import Chain, MakeAgent, Varied

app = App(
    no_args_is_help=True, add_completion=False, help="Run agents through Gradual's curriculum, watch and validate them."
)

RESULT, PLOT, KNOWLEDGE = "result.json", "steps", "knowledge.nq"
_BETWEEN = 5.0  # seconds between two writes of a record
_SHOWN = 24  # most tasks in a terminal
_WIDEST = 30  # most characters of a bar


RUN_SCHEMA, VALIDATION_SCHEMA = "gumption/gradual-run/1", "gumption/gradual-validation/2"
VARIATION_SCHEMA = "gumption/gradual-variation/1"
#: `Result.ended` in words.
ENDS = {
    "solved": "all tasks passed",
    "steps": "no steps are left",
    "seconds": "the time is up",
    "agent": "the agent failed",
    "stopped": "stopped",
}
_STEPS = re.compile(r"([0-9]{1,15})-([0-9]{1,15})", re.ASCII)
FLAGS = {"success_threshold": "threshold"}
AGENT = typer.Option(
    "--agent",
    help="learner, silent, echo, random, table, knowledge.nq of an earlier run, the folder of a run of `pretrain`, "
    "or MODULE:NAME of what makes an agent of a seed: (reward, byte) -> byte.",
)
AgentName = Annotated[str, AGENT]


@settings
class RunSettings(SessionSettings):
    """What is played.

    :ivar max_steps: end after so many bytes.
    :ivar max_seconds: end after so long; the challenge gave 24 hours.
    :ivar memory: keep every byte, reply and reward in OUT/memory, for `gumption gradual watch OUT`.
    """

    max_steps: Count | None = 1_000_000
    max_seconds: Seconds | None = None
    memory: bool = False


@app.command(epilog="Example: gumption gradual run --agent table --tasks micro1,micro2 --out run")
@from_config(RunSettings, flags=FLAGS)
def run(*, config: RunSettings, agent: AgentName = "learner", out: NewFolder | None = None) -> None:
    """Run an agent through a curriculum: steps of each task, beside those of a perfect knower.

    Steps are bytes that the environment sends; the fewer, the better (Evaluation criteria 1). The graph of a learner is
    kept, and a second run can begin with it: --agent knowledge.nq.

    :param out: Folder for result.json, steps.png and steps.svg, and knowledge.nq.
    """
    from rich.console import Console

    from gumption.agents.gradual import GradualLearner
    from gumption.agents.plots import plot_steps
    from gumption.envs.gradual import MemoryWriter, Session
    from gumption.envs.memory import FOLDER
    from gumption.kg import KnowledgeGraph
    from gumption.scripts.papers.gradual.validation import find_agent, play_knower

    if out is None and config.memory:
        raise InputError("--memory keeps the steps in OUT/memory: say with --out where that is")
    curriculum, player = config.curriculum(), find_agent(agent)(config.seed)
    knower = {one.task: one.steps for one in play_knower(curriculum, config.seed).tasks}
    memory = nullcontext()
    if out is not None and config.memory:
        memory = MemoryWriter(out / FOLDER, [task.name for task in curriculum.tasks], keep=0)
    with _progress(knower) as show, memory as writer:
        result = Session(
            curriculum.tasks, player, success_threshold=curriculum.success_threshold, seed=config.seed,
            max_steps=config.max_steps, max_seconds=config.max_seconds, watch=show, memory=writer,
        ).run()  # fmt: skip
    console = Console()
    console.print(_table(result.tasks, knower))
    passed = sum(one.passed for one in result.tasks)
    ended = f"{ENDS[result.ended]} after {result.steps:,} steps"
    console.print(f"{passed} of {len(knower)} tasks passed; {ended}; a perfect knower: {sum(knower.values()):,}")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_sealed(
            out / RESULT, {**described(RUN_SCHEMA, config), "agent": agent, "knower": knower, **result.figures()}
        )
        if isinstance(player, GradualLearner):
            graph = KnowledgeGraph()
            player.update(graph)
            graph.save(out / KNOWLEDGE)
        plot_steps({agent: {one.task: one.steps for one in result.tasks if one.passed}}, knower, out / PLOT)
    if result.error is not None:
        raise InputError(f"{result.error} (at step {result.steps:,}, in {result.tasks[-1].task})")


# ---- A recorded session.


@app.command(epilog="Example: gumption gradual watch run --task micro4 --steps 1-200")
def watch(run: Path, *, task: str | None = None, steps: str | None = None) -> None:
    """Show the bytes of the environment, the agent's below them, and the rewards, instance by instance.

    :param run: Folder that `gumption gradual run --memory --out RUN` has made.
    :param task: Show this task alone.
    :param steps: Show these steps alone, A-B; the session's first is 1.
    """
    from gumption.envs.gradual import Memory
    from gumption.envs.memory import FOLDER, HEADER

    if not (run / FOLDER / HEADER).is_file():
        raise InputError(f"{run} holds no memory of a session: `gumption gradual run --memory --out RUN` keeps one")
    memory = Memory.load(run / FOLDER)
    if memory.warning:
        warnings.warn(memory.warning, Note, stacklevel=2)
    for part in _chosen(memory, task, steps):
        name, number = memory.tasks[memory.task[part.start]], memory.instance[part.start] + 1
        reward = memory.reward[part.start : part.stop].sum()
        print(f"{name}, instance {number}, steps {part.start + 1:,} to {part.stop:,}, reward {reward:+,}")
        for begin in part[::WIDTH]:
            row = slice(begin, min(begin + WIDTH, part.stop))
            print(rows_of_text(memory.sent[row].tobytes(), memory.said[row].tobytes(), memory.reward[row].tolist()))
        print()


def _chosen(memory: Memory, task: str | None, steps: str | None) -> list[range]:
    """Select the records of each instance by task and steps; InputError if the selection is empty."""
    if task is not None and task not in memory.tasks:
        raise InputError(unknown("the session", task, memory.tasks))
    match = _STEPS.fullmatch(steps or f"1-{max(1, len(memory))}")
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--steps is {steps!r}; it is the first and the last step, counted from 1, such as 51-100")
    first, last = map(int, match.groups())
    parts = [
        range(max(one.start, first - 1), min(one.stop, last))
        for one in memory.instances()
        if task is None or memory.tasks[memory.task[one.start]] == task
    ]
    parts = [part for part in parts if part]
    if not parts:
        where = f" of {task}" * (task is not None) + f" among {steps}" * (steps is not None)
        end = f", the last of them in {memory.tasks[memory.task[-1]]}" if len(memory) else ""
        raise InputError(f"there is no step{where}: the memory has {len(memory):,} steps{end}")
    return parts


@contextmanager
def _progress(knower: dict[str, int]) -> Iterator[Callable[[int, Sequence[TaskRecord]], None]]:
    """Show the tasks so far: a live table in a terminal, else progress lines."""
    if not sys.stderr.isatty():
        from gumption.data.progress import Bar

        bar = Bar(len(knower), "tasks")
        yield lambda steps, records: bar.show(
            sum(one.passed for one in records), f"{records[-1].task}, {steps:,} steps"
        )
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:
        yield lambda steps, records: live.update(_table(records[-_SHOWN:], knower))


def _table(records: Sequence[TaskRecord], knower: dict[str, int]) -> Table:
    """Make a table with a row for each task, and a bar of its steps divided by a perfect knower's."""
    from rich.table import Table

    table = Table("task", "steps", "knower", "times", "instances", "right", "", title="Gradual")
    for one in records:
        times = one.steps / knower[one.task]
        bar = "█" * min(_WIDEST, round(times)) + ("…" if times > _WIDEST else "")
        right = f"{one.right / one.questions:.0%}" if one.questions else "-"
        state = "" if one.passed else " (not passed)"
        table.add_row(
            one.task + state, f"{one.steps:,}", f"{knower[one.task]:,}", f"{times:.1f}", str(one.instances), right, bar
        )
    return table


@app.command(epilog="Example: gumption gradual pretrain --tasks micro4 --steps 200000 --run runs/lstm")
@from_config(RecurrentConfig, skip=("world",))
def pretrain(config: RecurrentConfig, run: Run = Path("runs/recurrent"), resume: Resume = False) -> None:
    """Train the recurrent agent on many streams at once; `gumption gradual run --agent RUN` plays it."""
    from gumption.agents.gradual.recurrent import train_recurrent

    final = train_recurrent(config, run, resume=resume)
    print(
        f"{final['tasks']:.1f} tasks passed by a stream, {final['right']:.1f} right answers in a thousand steps; "
        f"{final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )


@settings
class TrialSettings(RemoteSettings):
    """How fresh agents are tried, of this process or another one.

    :ivar max_steps: of each task.
    :ivar seed: of the first run; the others have the next ones.
    :ivar seeds: runs of each kind.
    :ivar command: starts the agent as a process of its own, in place of --agent: a new one for each run.
    """

    max_steps: Count = 200_000
    seeds: Count = 5


_OF_RUNS = ("max_seconds", "address", "port", "final_notice")  # settings of `serve` that no trial has


@settings
class ValidationSettings(TrialSettings):
    """How an agent is validated.

    :ivar orders: in how many orders the tasks are learned: the given one, then drawn ones, always the same.
    :ivar command: starts the agent as a process of its own, in place of --agent: a new one for each run. A copy of it
        is a new process that hears the same stream again, and has to say the same.
    """

    orders: Count = 2


@settings
class VariationSettings(TrialSettings):
    """How an agent is tried on variations."""

    max_steps: Count = 20_000
    seeds: Count = 3


def _maker(agent: str | None, default: str, config: TrialSettings) -> MakeAgent:
    """Return the maker of a trial's agents; InputError if the options name two agents."""
    from gumption.envs.gradual.remote import StartedAgent
    from gumption.scripts.papers.gradual.validation import find_agent

    if config.command is None:
        return find_agent(agent or default)
    if agent is not None:
        raise InputError("--agent and --command are two agents: give one of them")
    return lambda seed: StartedAgent(config)


def _about_trial(schema: str, config: TrialSettings, agent: str) -> dict[str, Any]:
    about = described(schema, config)
    return {**about, "agent": about["settings"]["command"] or agent}


@app.command(epilog="Example: gumption gradual validate --agent table --chain 'micro1>micro2' --seeds 3")
@from_config(ValidationSettings, flags=FLAGS, skip=_OF_RUNS)
def validate(
    *,
    config: ValidationSettings,
    agent: Annotated[str | None, AGENT] = None,
    chain: list[str] | None = None,
    again: list[str] | None = None,
    out: NewJson | None = None,
) -> None:
    """Does an agent learn gradually, and does it forget? (Evaluation criteria 2 and 3)

    It learns gradually if a task takes it fewer steps after its prerequisites than without them: the lower end of the
    ratio's 95 % bootstrap interval is above 1. It has kept a task if, after other tasks, its steps are nearer to those
    right after it was learned, by a copy of the agent, than to those of a new agent.

    Without --chain these are the dependencies that the challenge's document names, with --tasks those that the tasks
    name as `requires`. Without --agent and --command it is the table.

    :param chain: TASK,...>TASK: what is learned first, and what builds on it; may be given again.
    :param again: Play this task again after all others; may be given again. With --tasks it is each of them.
    :param out: Write the figures as JSON.
    """
    from rich.console import Console

    from gumption.envs.gradual import known_tasks
    from gumption.scripts.papers.gradual.validation import CHAINS, gradual_learning, not_forgetting, required

    make = _maker(agent, "table", config)
    curriculum, own = config.curriculum(), config.tasks != ("challenge",)
    chains = [read_chain(text) for text in chain] if chain else required(curriculum.tasks) if own else CHAINS
    played = again or ([task.name for task in curriculum.tasks] if own and len(curriculum.tasks) > 1 else [])
    if not chains and not played:
        raise InputError("there is nothing to validate: the one task requires no other; name a chain with --chain")
    with Console(stderr=True).status("validating") as status:
        how: dict[str, Any] = {
            "seeds": config.seeds, "orders": config.orders, "first_seed": config.seed, "max_steps": config.max_steps,
            "success_threshold": curriculum.success_threshold, "tell": status.update,
            "tasks": {**known_tasks(config.rules), **{task.name: task for task in curriculum.tasks}},
        }  # fmt: skip
        found = [one.figures() for one in gradual_learning(make, chains, **how)]
        replayed = [one.figures() for one in not_forgetting(make, played, **how)] if played else []
    _show_validation(found, replayed)
    if out is not None:
        about = _about_trial(VALIDATION_SCHEMA, config, agent or "table")
        write_sealed(out, {**about, "chains": found, "again": replayed})


def _show_validation(chains: Sequence[dict[str, Any]], again: Sequence[dict[str, Any]]) -> None:
    """Print a row for each chain and each task, and below it a row for each order if there are several."""
    from rich.console import Console
    from rich.table import Table

    from gumption.scripts.papers.gradual.experiments import count_verdicts, line_of_task, middle, with_ends, yes

    console = Console()
    if chains:
        table = Table(
            "chain", "steps after", "steps alone", "ratio", "at most", "p", "passed", title="Gradual learning"
        )
        for one in chains:
            after = [steps for order in one["orders"] for steps in order["after"]]
            table.add_row(
                one["chain"], middle(after), middle(one["alone"]), with_ends(one), f"{one['at_most']:.2f}",
                f"{one['p']:.3f}", yes(one["passed"]),
            )  # fmt: skip
            for order in one["orders"] if len(one["orders"]) > 1 else ():
                told = yes(order["passed"])
                tasks = "  " + ", ".join(order["order"])
                table.add_row(tasks, middle(order["after"]), "", with_ends(order), "", "", told)
        console.print(table)
        print(f"passed on {sum(one['passed'] for one in chains)} of {len(chains)} chains")
    if again:
        table = Table("task", "new", "just learned", "new / just learned", "again", "verdict", title="Not forgetting")
        for one in again:
            table.add_row(*line_of_task(one)[:-1])
            for order in one["orders"] if len(one["orders"]) > 1 else ():
                told = order["verdict"]
                tasks = "  " + ", ".join(order["order"])
                table.add_row(tasks, "", middle(order["learned"]), "", middle(order["again"]), told)
        console.print(table)
        print(count_verdicts([one["verdict"] for one in again]))


@app.command(epilog="Example: gumption gradual vary --agent table --tasks micro4,micro5.2 --seeds 1")
@from_config(VariationSettings, flags=FLAGS, skip=_OF_RUNS)
def vary(
    *,
    config: VariationSettings,
    agent: Annotated[str | None, AGENT] = None,
    variations: Path | None = None,
    out: NewJson | None = None,
) -> None:
    """Play tasks in other words, with other signs and with other feedback: what does an agent rely on?

    Each task is played alone by fresh agents, as it is and in each variation. Without --agent and --command it is the
    learner. With --out each variation is kept when it is done, and the same command goes on after an interruption.

    :param variations: File of variations, TOML or JSON.  (default: those that ship)
    :param out: Write the steps as JSON.
    """
    from rich.console import Console

    from gumption.envs.gradual.variations import Variation, load_variations
    from gumption.scripts.papers.gradual.experiments import AS_IT_IS
    from gumption.scripts.papers.gradual.validation import Varied, vary

    make, curriculum = _maker(agent, "learner", config), config.curriculum()
    chosen = [Variation(AS_IT_IS), *load_variations(variations)]
    about = {
        **_about_trial(VARIATION_SCHEMA, config, agent or "learner"),
        "variations": [asdict(one) for one in chosen],
    }
    found = [] if out is None else [Varied(one["variation"], one["steps"]) for one in _begun(out, about, len(chosen))]
    if found:
        _tell(f"{out} has {len(found)} of {len(chosen)} variations already")
    with Console(stderr=True).status("varying") as status:
        for one in vary(
            make, curriculum.tasks, chosen[len(found) :], seeds=config.seeds, first_seed=config.seed,
            max_steps=config.max_steps, success_threshold=curriculum.success_threshold, tell=status.update,
        ):  # fmt: skip
            found.append(one)
            if out is not None:
                write_sealed(out, {**about, "found": [each.figures() for each in found]})
    _show_variations(found, [task.name for task in curriculum.tasks])


def _begun(out: Path, about: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the results in an unfinished file of the same trial; InputError if it is of another trial."""
    begun = read_sealed(out) if out.exists() else {}
    if begun.get("schema") != VARIATION_SCHEMA or len(begun["found"]) == count:
        return []
    as_read = json.loads(json.dumps(about))
    if other := [name for name in ("settings", "agent", "variations") if begun[name] != as_read[name]]:
        raise InputError(
            f"{out} holds an unfinished trial of other {', '.join(other)}: give another --out, or remove it"
        )
    return begun["found"]


def _show_variations(found: Sequence[Varied], tasks: Sequence[str]) -> None:
    """Print a column for each variation, in as many tables as the terminal needs."""
    from rich.console import Console

    from gumption.scripts.output import print_table
    from gumption.scripts.papers.gradual.experiments import middle

    names = [*tasks, "passed"]
    cells = [[*(middle(one.steps[name]) for name in tasks), f"{one.passed} of {len(tasks)}"] for one in found]
    widest = max(len(cell) for column in cells for cell in column) + 3
    at_once = max(1, (Console().width - max(map(len, names)) - 4) // widest)
    for k in range(0, len(found), at_once):
        heads = ["task", *(one.variation for one in found[k : k + at_once])]
        print_table(
            heads, [*zip(names, *cells[k : k + at_once], strict=True)], "steps: the median of the runs that passed"
        )


def read_chain(text: str) -> Chain:
    """Parse a chain such as "micro1,micro2>micro3"; InputError if the text has another form."""
    from gumption.scripts.papers.gradual.validation import Chain

    first, arrow, target = text.partition(">")
    names = tuple(name.strip() for name in first.split(",") if name.strip())
    if not (arrow and names and target.strip()):
        raise InputError(f"--chain is {text!r}; it has the form micro1,micro2>micro3")
    return Chain(names, target.strip())


@from_config(RemoteSettings, flags=FLAGS)
def serve(*, config: RemoteSettings, out: NewJson = Path("gradual.json"), keep: bool = False) -> None:
    """Play with an agent that is a program of its own: it gets a reward and a byte at each step and sends a byte.

    The record is kept up to date while the run plays, and says how it ended, whatever the agent did.

    Example: gumption serve gradual --tasks micro1,micro2 --out me.json

    :param out: The run's record; a name that is taken gets a number.
    :param keep: After a run wait for the next agent, until Ctrl-C.
    """
    config.curriculum()
    with Host(config, keep=keep) as host:
        if config.command is None:
            print(f"an agent can connect to {host.place} ({config.transport}); Ctrl-C ends it", flush=True)
        while True:
            try:
                with host.agent(_tell) as wire:
                    _play(config, wire, out)
            except InputError as problem:
                if not keep:
                    raise
                _tell(str(problem))
            if not keep:
                break


def described(schema: str, settings: SessionSettings) -> dict[str, Any]:
    """Return the record of a run without its results, and without local paths."""
    from gumption.data.provenance import command_line, hardware, versions, without_folders

    used: dict[str, Any] = {**asdict(settings), "tasks": [Path(name).name for name in settings.tasks]}
    if used.get("command") is not None:  # starts the agent
        used["command"] = without_folders(shlex.split(used["command"]))
    return {
        "schema": schema, "world": "gradual", "command": command_line(sys.argv[1:]), "settings": used,
        "versions": versions(), "hardware": hardware(),
    }  # fmt: skip


class Record:
    """Write the file of a run, and update it during play. It overwrites no file: a `path` in use gets a number."""

    def __init__(self, path: Path, settings: SessionSettings) -> None:
        self.path, number = path, 1
        while self.path.exists():
            number += 1
            self.path = path.with_stem(f"{path.stem}-{number}")
        self._began, self._written = monotonic(), 0.0
        self._about = {**described(RUN_SCHEMA, settings), "began": datetime.now(UTC).isoformat(timespec="seconds")}

    def update(self, result: Result) -> None:
        """Write the result so far, every few seconds while it plays."""
        now = monotonic()
        if result.ended != "running" or now - self._written > _BETWEEN:
            wall = now - self._began
            speed = {"wall_s": round(wall, 3), "steps_per_s": round(result.steps / wall, 1) if wall else 0.0}
            write_sealed(self.path, {**self._about, **speed, **result.figures()})
            self._written = now


def _play(config: RemoteSettings, wire: Wire, out: Path) -> None:
    """Play a run, and print a line for each task that began; InputError if the agent fails."""
    from gumption.data.progress import Bar
    from gumption.envs.gradual.remote import play
    from gumption.scripts.output import print_table

    record, count = Record(out, config), len(config.curriculum().tasks)
    with Bar(count, "tasks") as bar:

        def report(result: Result) -> None:
            bar.show(sum(task.passed for task in result.tasks), f"{result.tasks[-1].task}, {result.steps:,} steps")
            record.update(result)

        result = play(config, wire, report)
    rows = [
        (one.task, "passed" if one.passed else "not passed", f"{one.steps:,}", f"{one.reward:+,}",
         f"{one.solved} of {one.instances}", f"{one.right} of {one.questions}")
        for one in result.tasks
    ]  # fmt: skip
    print_table(["task", "", "steps", "reward", "instances solved", "answers right"], rows)
    ended = f"{ENDS[result.ended]} after {result.steps:,} steps, reward {result.reward:+,}"
    print(f"{ended}; the record is {record.path}")
    if result.error is not None:
        where = f"at step {result.steps:,}, in {result.tasks[-1].task}"
        raise InputError(f"{result.error} ({where}); {record.path} is the record of the run")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
