"""Curricula from files: what they may hold, what comes of it, and what is said of a wrong one."""

import doctest
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from gumption.data import InputError
from gumption.envs.gradual import Curriculum, Session, Task, all_tasks, known_tasks, load_curriculum
from gumption.envs.gradual.curriculum import shipped_curricula
from gumption.envs.gradual.engine import Life, Stream
from gumption.envs.gradual.settings import GradualSettings

PAIRS = """
[[task]]
name = "capital"
about = "capitals"
requires = ["micro7.2"]
tolerance = 2
pairs = {"capital of France." = "Paris.", "capital of Peru." = "Lima."}
right = ["yes;", "yes, {answer};"]
wrong = "no, {answer};"
"""
TWICE = """
[[task]]
name = "twice"
question = "twice: {a} in {{{b}}}."
answer = "{a}{a}{b}."
draw = {a = {from = "letters", length = [1, 3]}, b = ["x y", "x", "y"]}
wrong = "wrong! {b} {answer};"
"""
CODE = """
[[task]]
name = "code"
question = "code: {key}."
answer = "<{value}>"
keys = {from = "words", length = 4}
values = {from = "digits", length = 2}
number = 5
fixed_length = true
"""

Load = Callable[[str], Curriculum]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(text: str) -> Curriculum:
        path = tmp_path / "lesson.toml"
        path.write_text(text, encoding="utf-8")
        return load_curriculum(path)

    return load


def asked(task: Task, number: int = 50) -> list[tuple[str, str]]:
    """Questions of an instance, and their answers."""
    draw = Random(0)
    hidden = next(task.instances(draw))
    questions = task.questions(hidden, draw)
    return [
        (question, task.solve(question, hidden).answer) for question, _ in zip(questions, range(number), strict=False)
    ]


def test_the_challenge_ships_in_its_order() -> None:
    curriculum = load_curriculum("challenge")
    assert [task.name for task in curriculum.tasks] == list(all_tasks())
    assert (curriculum.name, curriculum.success_threshold) == ("challenge", 5)


@pytest.mark.parametrize("name", shipped_curricula())
def test_a_curriculum_that_ships_is_in_order(name: str) -> None:
    assert GradualSettings(tasks=name).curriculum() == load_curriculum(name)


def test_each_task_is_in_a_curriculum_that_ships() -> None:
    found = {task.name for name in shipped_curricula() for task in load_curriculum(name).tasks}
    assert found == set(known_tasks())


def test_names_patterns_and_own_tasks_in_order(load: Load) -> None:
    curriculum = load('success_threshold = 3\ntasks = ["micro7.*", "capital", "hex1"]\n' + PAIRS)
    assert [task.name for task in curriculum.tasks] == ["micro7.1", "micro7.2", "micro7.3", "capital", "hex1"]
    assert (curriculum.name, curriculum.success_threshold) == ("lesson", 3)


def test_json_says_the_same(load: Load, tmp_path: Path) -> None:
    table = {"name": "capital", "pairs": {"capital of France.": "Paris."}}
    path = tmp_path / "lesson.json"
    path.write_text(json.dumps({"tasks": ["capital"], "task": [table]}))
    (task,) = load_curriculum(str(path)).tasks
    assert asked(task, 1) == [("capital of France.", "Paris.")]


def test_pairs(load: Load) -> None:
    (task,) = load(PAIRS).tasks
    assert (task.name, task.about, task.requires, task.tolerance) == ("capital", "capitals", ("micro7.2",), 2)
    assert set(asked(task)) == {("capital of France.", "Paris."), ("capital of Peru.", "Lima.")}
    solution = task.solve("capital of Peru.", {})
    assert (solution.right, solution.wrong) == (("yes;", "yes, Lima.;"), ("no, Lima.;",))
    with pytest.raises(InputError, match=r"'capital of Chad\.' is no question of this task"):
        task.solve("capital of Chad.", {})


def test_a_template(load: Load) -> None:
    (task,) = load(TWICE).tasks
    assert task.solve("twice: ab in {x y}.", {}).answer == "ababx y."
    assert task.solve("twice: ab in {x y}.", {}).wrong == ("wrong! x y ababx y.;",)
    for question, answer in asked(task):
        a, b = re.fullmatch(r"twice: ([a-z]{1,3}) in \{(.+)\}\.", question).groups()  # pyright: ignore
        assert answer == f"{a}{a}{b}."
    with pytest.raises(InputError, match="is no question of this task"):
        task.solve("twice: abcd in {x}.", {})


def test_a_variable_may_be_called_as_the_answer_is_in_feedback(load: Load) -> None:
    text = 'question = "say {answer}."\nanswer = "{answer}{answer}."\ndraw = {answer = "letters"}'
    (task,) = load(TASK + text).tasks
    assert task.solve("say b.", {}).wrong == ("wrong! bb.;",)


def test_a_hidden_mapping(load: Load) -> None:
    (task,) = load(CODE).tasks
    found = dict(asked(task))
    assert len(found) == 5
    assert all(re.fullmatch(r"code: .{4}\.", question) for question in found)
    assert all(re.fullmatch("<[0-9]{2}>", answer) for answer in found.values())
    assert found != dict(asked(task, 0))
    assert task.solve("code: word.", {"mapping": {"word": "12"}}).answer == "<12>"
    with pytest.raises(InputError, match="no question about a key of the mapping: it has word"):
        task.solve("code: w.", {"mapping": {"word": "12"}})


@pytest.mark.parametrize("text", [PAIRS, TWICE, CODE])
def test_a_knower_passes_and_a_silent_agent_does_not(load: Load, knower: Callable[[Stream], int], text: str) -> None:
    tasks = load(text).tasks
    stream = Stream(Life(tasks, 5, 0))
    stream.first()
    while not stream.over:
        assert stream.step(knower(stream))[1] >= 0
    assert Session(tasks, lambda reward, byte: 32, max_steps=20_000).run().ended == "steps"


@pytest.mark.parametrize(("text", "keys"), [(PAIRS, 2), (CODE, 5)])
def test_answers_should_be_known_once_each_key_was_asked_for(load: Load, text: str, keys: int) -> None:
    (task,) = load(text).tasks
    hidden = next(task.instances(Random(0)))
    assert task.presumption is not None
    presumption = task.presumption(hidden)
    met = {task.solve(question, hidden).key for question, _ in asked(task)}
    assert [presumption.after(key, False) for key in met] == [False] * (keys - 1) + [True]


TASK = '[[task]]\nname = "a"\n'
A_AND_STOP = 'question = "{a}"\nanswer = "{a}."\n'
HIDDEN = 'question = "{key}"\nanswer = "{value}."\nkeys = "digits"\n'
WRONG = {
    "no such task": ('tasks = ["micro71"]', "key 'tasks': the curriculum has no 'micro71'; did you mean 'micro7.1'"),
    "no pattern": ('tasks = ["maxi*"]', "key 'tasks': no task has a name of the form 'maxi*'"),
    "twice": ('tasks = ["micro1", "micro1"]', "key 'tasks': micro1 is in the curriculum twice"),
    "order": ('tasks = ["micro2", "micro1"]', "has micro2 before micro1, which it requires"),
    "nothing": ("success_threshold = 2", "key 'tasks': a curriculum has at least one task"),
    "empty list": ("tasks = []", "key 'tasks': tasks is []"),
    "threshold": ('tasks = ["micro1"]\nsuccess_threshold = 0', "key 'success_threshold': success_threshold is 0"),
    "strange key": ('taks = ["micro1"]', "has no 'taks'; did you mean 'task"),
    "no TOML": ("tasks = [", "not valid TOML"),
    "tasks that are none": ("task = 3", "key 'task': task is 3"),
    "circle": (
        'tasks = ["micro1"]\n[[task]]\nname = "a"\nrequires = ["b"]\npairs = {q = "a."}\n'
        '[[task]]\nname = "b"\nrequires = ["c"]\npairs = {q = "a."}\n'
        '[[task]]\nname = "c"\nrequires = ["a"]\npairs = {q = "a."}',
        "key 'requires': tasks require each other in a circle: a -> b -> c -> a",
    ),
    "unknown requirement": (TASK + 'requires = ["micro71"]\npairs = {q = "a."}', "task 'a', key 'requires': the curr"),
    "same name": (TASK + 'pairs = {q = "a."}\n' + TASK + 'pairs = {q = "a."}', "task 'a', key 'name': there is a task"),
    "a known name": ('[[task]]\nname = "micro1"\npairs = {q = "a."}', "task 'micro1', key 'name': there is a task of"),
    "no name": ('[[task]]\npairs = {q = "a."}', "task 1 lacks the key 'name'"),
    "name of a number": ('[[task]]\nname = 3\npairs = {q = "a."}', "task 1, key 'name': name is 3"),
    "no kind": (TASK + 'question = "a"', "task 'a' has to have exactly one of the keys pairs, draw, keys"),
    "two kinds": (TASK + 'pairs = {q = "a."}\ndraw = {a = "words"}', "exactly one of the keys"),
    "key of another kind": (TASK + 'pairs = {q = "a."}\nnumber = 3', "task 'a': it has no 'number'"),
    "tolerance": (TASK + 'pairs = {q = "a."}\ntolerance = "1"', "task 'a', key 'tolerance': tolerance is '1'"),
    "no pairs": (TASK + "pairs = {}", "task 'a', key 'pairs': pairs is {}"),
    "no answer": (TASK + 'pairs = {q = ""}', "key 'pairs': a question and an answer have at least"),
    "a number": (TASK + "pairs = {q = 3}", "task 'a', key 'pairs': pairs is {'q': 3}"),
    "no full stop": (TASK + 'pairs = {q = "a"}', "key 'pairs': an answer ends with its only full stop"),
    "two full stops": (TASK + 'pairs = {q = "a.b."}', "key 'pairs': an answer ends with its only full stop"),
    "not a byte": (TASK + 'pairs = {q = "€."}', "key 'pairs': '€.' has '€', which is not in Latin-1"),
    "feedback that is no byte": (TASK + 'pairs = {q = "a."}\nright = "✓"', "key 'right': '✓' has '✓', which is not"),
    "feedback of unknown names": (TASK + 'pairs = {q = "a."}\nwrong = "{b}"', "key 'wrong': the variable {b} is not d"),
    "undefined": (
        TASK + 'question = "{a} {b}"\nanswer = "{a}."\ndraw = {a = "words"}',
        "key 'question': the variable {b}",
    ),
    "undefined answer": (
        TASK + 'question = "{a}"\nanswer = "{b}."\ndraw = {a = "words"}',
        "key 'answer': the variable {b}",
    ),
    "unused": (TASK + 'question = "q"\nanswer = "a."\ndraw = {a = "words"}', "key 'draw': the variable 'a' is not in"),
    "an attribute": (
        TASK + 'question = "{a.real}"\nanswer = "."\ndraw = {a = "words"}',
        "key 'question': '{a.real}' has",
    ),
    "a form": (TASK + 'question = "{a:>9}"\nanswer = "."\ndraw = {a = "words"}', "has more than a name in braces"),
    "a conversion": (TASK + 'question = "{a!r}"\nanswer = "."\ndraw = {a = "words"}', "has more than a name in braces"),
    "a place": (TASK + 'question = "{}"\nanswer = "."\ndraw = {a = "words"}', "has more than a name in braces"),
    "a brace": (TASK + 'question = "{a"\nanswer = "."\ndraw = {a = "words"}', "has braces that do not fit"),
    "an answer without stop": (
        TASK + 'question = "{a}"\nanswer = "{a}"\ndraw = {a = "words"}',
        "key 'answer': an answer",
    ),
    "a value with a stop": (TASK + A_AND_STOP + 'draw = {a = ["."]}', "key 'answer': an answer ends"),
    "two readings": (
        TASK + 'question = "{a}{b}"\nanswer = "{a}."\ndraw = {a = {from = "letters", length = [1, 3]}, b = "words"}',
        "can be read in two ways",
    ),
    "no source": (TASK + A_AND_STOP + 'draw = {a = "leters"}', "a source has no 'leters'; did you mean"),
    "an empty source": (TASK + A_AND_STOP + 'draw = {a = []}', "key 'draw': a source is []"),
    "an empty value": (TASK + A_AND_STOP + 'draw = {a = [""]}', "key 'draw': a source has an empty"),
    "a value twice": (TASK + A_AND_STOP + 'draw = {a = ["b", "b"]}', "a source has 'b' twice"),
    "a strange value": (TASK + A_AND_STOP + 'draw = {a = ["€"]}', "which is not in Latin-1"),
    "a source's key": (TASK + A_AND_STOP + 'draw = {a = {form = "words"}}', "a source has no 'form'; did"),
    "no such length": (TASK + A_AND_STOP + 'draw = {a = {from = "words", length = 99}}', "nothing in the"),
    "a length": (TASK + A_AND_STOP + 'draw = {a = {from = "digits", length = 0}}', "length is (0, 0)"),
    "lengths": (TASK + A_AND_STOP + 'draw = {a = {from = "digits", length = [3, 1]}}', "from 3 to 1"),
    "few keys": (
        TASK + HIDDEN + 'values = "words"\nnumber = 11',
        "task 'a', key 'keys': a mapping of 11 keys cannot be drawn from 10 texts",
    ),
    "one key": (
        TASK + HIDDEN + 'values = "words"\nnumber = 1',
        "task 'a', key 'number': number is 1",
    ),
    "no values": (TASK + HIDDEN + 'number = 4', "lacks the key 'values'"),
    "no key in the question": (
        TASK + 'question = "q"\nanswer = "{value}."\nkeys = "digits"\nvalues = "words"\nnumber = 4',
        "task 'a', key 'question': of a hidden mapping it has {key} in braces",
    ),
    "no value in the answer": (
        TASK + 'question = "{key}"\nanswer = "{key}."\nkeys = "digits"\nvalues = "words"\nnumber = 4',
        "task 'a', key 'answer': of a hidden mapping it has {value} in braces",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file(load: Load, case: str) -> None:
    text, message = WRONG[case]
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        load(text)
    assert "lesson.toml" in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no 'chalenge'; did you mean 'challenge'"):
        load_curriculum("chalenge")
    for name in ("none.toml", "none.json"):
        with pytest.raises(InputError, match=f"{name}: cannot be read"):
            load_curriculum(tmp_path / name)
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(InputError, match=r"list\.json has to be a table"):
        load_curriculum(tmp_path / "list.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InputError, match=r"bad\.json: not valid JSON \(.*\); correct it there"):
        load_curriculum(tmp_path / "bad.json")


def test_the_example_of_a_task_runs() -> None:
    (example,) = (test for test in doctest.DocTestFinder().find(Task, "Task") if test.examples)
    assert doctest.DocTestRunner().run(example).failed == 0
