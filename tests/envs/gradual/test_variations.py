"""Tasks in other words, with other signs and feedback: the same to an agent that is told, new to one that is not."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from gumption.data import InputError
from gumption.envs.gradual import Variation, all_tasks, known_tasks, load_variations
from gumption.envs.gradual.engine import Life, Stream
from gumption.envs.gradual.task import Task

Knower = Callable[[Stream], int]

WORDS = Variation("words", words=(("say", "mip"), ("union", "serm")))
SIGNS = Variation("signs", characters=((".", "x"),))
FEEDBACK = Variation("feedback", right="yes ;", wrong="no, {answer} it was ;")


def test_words_change_places_in_all_that_is_sent_and_said() -> None:
    task = WORDS.task(all_tasks()["micro12"])
    solution = task.solve("mip: ab mip: b serm:.", {})
    assert solution.answer == "ab."
    with pytest.raises(InputError, match="no question of this task"):
        task.solve("say: ab say: b union:.", {})
    questions = list(islice(task.questions({}, Random(0)), 50))
    assert all(question.startswith("mip: ") and "say" not in question for question in questions)
    said = WORDS.task(all_tasks()["micro7.2"])
    assert said.solve("mip: say.", {}).answer == "say."  # the word to be said is exchanged as well
    assert said.solve("mip: union.", {}).wrong == ("false! union.;",)
    assert said.solve("mip: mips.", {}).answer == "mips.", "a word within another one stays"


def test_right_answers_of_which_there_are_several_stay_right() -> None:
    variation = Variation("words", words=(("ab", "cd"), ("or", "fu")))
    task = variation.task(all_tasks()["micro13.2"])
    solution = task.solve("say: cd fu ef.", {})
    assert solution.is_right("cd.")
    assert solution.is_right("ef.")
    assert not solution.is_right("ab.")


def test_feedback_is_what_the_variation_says_where_there_is_any() -> None:
    solution = FEEDBACK.task(all_tasks()["micro7.1"]).solve("say: a.", {})
    assert (solution.right, solution.wrong) == (("yes ;",), ("no, a. it was ;",))
    assert FEEDBACK.task(all_tasks()["micro4"]).solve("a", {"mapping": {"a": "a"}}).right == ()
    both = Variation("both", words=(("say", "mip"), ("it", "es")), wrong="it was {answer} ;")
    assert both.task(all_tasks()["micro7.2"]).solve("mip: es.", {}).wrong == ("it was es. ;",)
    assert SIGNS.task(task := all_tasks()["micro7.1"]) is task


def test_characters_change_places_for_the_agent() -> None:
    heard: list[int] = []

    def agent(reward: int, byte: int) -> int:
        heard.append(byte)
        return ord("x")

    assert SIGNS.agent(agent)(0, ord(".")) == ord(".")
    assert SIGNS.agent(agent)(0, ord("x")) == ord(".")
    assert SIGNS.agent(agent)(0, ord("a")) == ord(".")
    assert bytes(heard) == b"x.a"
    assert WORDS.agent(agent) is agent


@pytest.mark.parametrize("variation", load_variations(), ids=lambda one: one.name)
def test_what_ships_can_be_played_by_one_who_knows(knower: Knower, variation: Variation) -> None:
    for task in known_tasks().values():
        stream = Stream(Life([variation.task(task)], 1, 0))
        stream.first()
        for _ in range(5_000):
            assert stream.step(knower(stream))[1] >= 0, task.name
            if stream.over:
                break
        assert stream.over, task.name


def test_a_file_of_variations_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[[variation]]\nname = "a"\nwords = {say = "mip"}\n[[variation]]\nname = "b"\ncharacters = {"." = "x"}\n'
    )
    (tmp_path / "mine.json").write_text('{"variation": [{"name": "c", "right": "yes ;"}]}')
    assert load_variations(tmp_path / "mine.toml") == [
        Variation("a", words=(("say", "mip"),)), Variation("b", characters=((".", "x"),)),
    ]  # fmt: skip
    assert load_variations(tmp_path / "mine.json") == [Variation("c", right="yes ;")]
    assert [one.name for one in load_variations()][2] == "'.' and 'x' exchanged"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[variation]]\nname = "a"\nwords = {"say:" = "mip"}', r"'say:', which is not a word of letters and _"),
        ('[[variation]]\nname = "a"\nwords = {say = "mip", write = "mip"}', "'a' exchanges 'mip' more than once"),
        ('[[variation]]\nname = "a"\ncharacters = {ab = "x"}', "'ab', which is not one character"),
        ('[[variation]]\nname = "a"\ncharacters = {"€" = "x"}', "'€', which is not one character with a code below"),
        ('[[variation]]\nname = "a"\nwrong = "no {question}"', "has {question} in its feedback; it knows {answer}"),
        ('[[variation]]\nname = "a"\nwrong = "no {"', "braces that do not fit"),
        ('[[variation]]\nname = "a"\n[[variation]]\nname = "a"', "variation 'a': there is one of this name already"),
        ('[[variation]]\nname = "a"\nword = {}', "has no 'word'; did you mean 'words'"),
        ('[[variation]]\nwords = {say = "mip"}', "variation 1 lacks the key 'name'"),
        ("", "lacks the key 'variation'"),
    ],
)
def test_what_is_wrong_in_a_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_variations(tmp_path / "mine.toml")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_variations(tmp_path / "none.toml")


def test_a_task_of_ones_own_is_varied() -> None:
    task = Task("double", "", all_tasks()["micro14"].instances, lambda hidden, draw: iter(["say: a."] * 20),
                all_tasks()["micro7.1"].solve)  # fmt: skip
    assert list(islice(WORDS.task(task).questions({}, Random(0)), 2)) == ["mip: a."] * 2
