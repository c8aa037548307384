"""Parts of the gradual learner: where a question begins, which programs show a way to others, what makes one right."""

from itertools import combinations

from gumption.agents.gradual.induction import Inducer
from gumption.agents.gradual.skills import Skill, Skills
from gumption.agents.gradual.turns import EndRule, Splitter

RULE = EndRule(end="!", after="|")


def test_feedback_ends_at_the_first_end_that_is_known() -> None:
    splitter = Splitter()
    for number in range(8):
        splitter.place(f"ja|do: {number}!", RULE, 0, first=False, late=False)
    text = "ja|let x be do / do: 9!"
    assert text[splitter.place(text, RULE, 0, first=False, late=False) :] == "let x be do / do: 9!"


def test_a_program_that_is_often_wrong_shows_no_way() -> None:
    skills = Skills(lambda question: None)
    skills.add(Skill(frozenset({"do"}), ("mirrored", ("question",)), record={"ws": [60, 1]}))
    skills.add(Skill(frozenset({"be"}), ("start", ("question",)), record={"ws": [54, 5]}))
    assert set(skills.used()) == {"mirrored", "question"}


def test_a_stored_answer_does_not_make_a_program_right() -> None:
    """Six answers by chance make a look-up, which then stores the answers to questions of two words as well. A program
    that takes a part of such a question, and looks the answer up by that, has learned nothing."""
    skills = Skills(lambda question: None)
    inducer = Inducer(skills)
    names = ["ant", "bee", "cow", "dog", "elk", "fox"]
    for name, answer in zip(names, "kylmzv", strict=True):
        inducer.learn(f"zorb: {name}.", "", -1, answer)
    assert skills.best("zorb: ant.")[1] == "k"
    for name, other in combinations(names, 2):
        inducer.learn(f"zorb: {name} zorb: {other}.", "", -1, f"{name} {other}")
    assert skills.best("zorb: gnu zorb: hen.")[1] == "gnu hen"
