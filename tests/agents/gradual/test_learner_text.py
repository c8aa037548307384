"""The learner's code holds no text of the curriculum."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from gumption.envs.gradual import all_tasks
from gumption.envs.gradual.micro_tasks import SEQUENCES, SYNONYMS
from gumption.envs.gradual.task import Task

FOLDER = Path(__file__).parents[3] / "agents" / "gradual"
NOT_THE_LEARNER = {"validation.py", "recurrent.py", "recurrent_config.py"}
MANY = 0.2  # of a task's texts: commands and feedback are in so many, words to be said are not


def frequent_words(task: Task) -> set[str]:
    """The words that many questions or feedbacks of a task have."""
    draw, number = Random(0), 0
    counts: Counter[str] = Counter()
    for hidden in islice(task.instances(draw), 5):
        for question in islice(task.questions(hidden, draw), 20):
            solution = task.solve(question, hidden)
            for texts in ((question,), solution.right, solution.wrong):
                number += bool(texts)
                counts.update({word for text in texts for word in re.findall(r"[A-Za-z_]{2,}", text)})
    return {word for word, count in counts.items() if count >= MANY * number / 3}


def strings(source: str) -> Iterator[str]:
    """The strings of code, but for docstrings and the texts of errors."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    prose |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def told(source: str, forbidden: set[str]) -> set[str]:
    return {word for text in strings(source) for word in re.findall(r"\w+", text)} & forbidden


def curriculum_words() -> set[str]:
    tasks = all_tasks()
    words = {word for task in tasks.values() for word in frequent_words(task)} | set(tasks)
    return words | {word for row in SEQUENCES for word in row} | {word for row in SYNONYMS.values() for word in row}


def test_no_word_of_the_curriculum_stands_in_the_code() -> None:
    forbidden = curriculum_words()
    assert {"say", "spell", "random_map", "interleave", "wrong", "good", "description", "anything"} <= forbidden
    files = [path for path in sorted(FOLDER.glob("*.py")) if path.name not in NOT_THE_LEARNER]
    assert len(files) > 6
    assert {path.name: told(path.read_text(encoding="utf-8"), forbidden) for path in files} == {
        path.name: set() for path in files
    }


def test_a_word_of_the_curriculum_is_seen() -> None:
    assert told('"""say"""\nx = "say: "', {"say"}) == {"say"}
    assert told('"""say"""\nraise ValueError("say")', {"say"}) == set()
