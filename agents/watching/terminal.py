"""Steps in the terminal."""

import time
from collections.abc import Callable, Iterable

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from .steps import Choice, Step

MOST = 8  # candidates of a choice


def print_steps(
    steps: Iterable[Step],
    console: Console,
    *,
    delay: float = 0.0,
    wait: Callable[[], bool] | None = None,
) -> None:
    """Print steps one after the other: the state, then each choice as a table of its likeliest candidates.

    :param delay: seconds between two steps.
    :param wait: is called between two steps instead; playing stops where it returns False.
    """
    for number, step in enumerate(steps):
        if number:
            if wait is not None:
                if not wait():
                    return
            else:
                time.sleep(delay)
        console.print(told(step))


def told(step: Step) -> RenderableType:
    """A step as rich shows it."""
    title = f"episode {step.episode}, step {step.number}" if step.choices else f"episode {step.episode}, the end"
    parts: list[RenderableType] = [Panel(escape(step.text.rstrip("\n")), title=title, title_align="left")]
    parts += [choice_table(choice) for choice in step.choices]
    parts.append(f"[bold {'green' if step.success else 'default'}]{escape(step.told)}[/]\n")
    return Group(*parts)


def choice_table(choice: Choice, most: int = MOST) -> Table:
    """What speaks for each of the likeliest candidates, at most so many."""
    relations = choice.relations
    owned = any(one.own is not None for one in choice.candidates)
    mixed = any(one.logit is not None for one in choice.candidates)
    facts = any(score.facts for one in choice.candidates for score in one.scores)
    table = Table(title=f"{escape(choice.question)}?", title_justify="left", title_style="")
    table.add_column("candidate")
    for name, shown in (
        (choice.own, owned),
        *((f"KG: {relation}", True) for relation in relations),
        ("mixed", mixed),
        ("probability", True),
    ):
        if shown:
            table.add_column(escape(name), justify="right")
    if facts:
        table.add_column("facts")
    for one, chosen in choice.likeliest(most):
        by_relation = {score.relation: score for score in one.scores}
        row = [("> " if chosen else "  ") + escape(one.label)]
        row += [_figure(one.own)] if owned else []
        row += [_figure(by_relation[r].value if r in by_relation else None) for r in relations]
        row += [_figure(one.logit)] if mixed else []
        row.append(f"{one.probability:.1%}")
        if facts:
            row.append(escape("; ".join(fact for score in one.scores for fact in score.facts)))
        table.add_row(*row, style="bold" if chosen else None)
    if (left := len(choice.candidates) - most) > 0:
        table.caption = f"and {left} less likely"
    return table


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
