"""Parts of the gradual learner: where a question begins, and which programs show a way to others."""

from gumption.agents.gradual.ends import EndRule
from gumption.agents.gradual.skills import Skill, Skills
from gumption.agents.gradual.splits import Splitter

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
